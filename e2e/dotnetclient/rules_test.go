package dotnetclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The recordings are whole chats of a few kinds. The tests below check the clients' other rules one
// by one, as they were observed in running programs.

const (
	started  = `{"type":"RUN_STARTED","threadId":"T","runId":"R"}`
	finished = `{"type":"RUN_FINISHED","threadId":"T","runId":"R"}`
	deletes  = `{"type":"TOOL_CALL_START","toolCallId":"call_4","toolCallName":"delete_file"}
{"type":"TOOL_CALL_ARGS","toolCallId":"call_4","delta":"{\"path\":\"a.txt\"}"}
{"type":"TOOL_CALL_END","toolCallId":"call_4"}`
	asks = `{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"ficc_call_4","reason":"tool_call","toolCallId":"call_4"}]}}`
	says = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Well"}
{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	result = `{"type":"TOOL_CALL_RESULT","messageId":"call_4","toolCallId":"call_4","content":"done"}`
	args   = `"{\u0022path\u0022:\u0022a.txt\u0022}"`
	call   = `{"role":"assistant","toolCalls":[{"id":"call_4","type":"function","function":{"name":"delete_file","arguments":` + args + `}}]}`
	yes    = `"resume":[{"interruptId":"ficc_call_4","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"call_4","name":"delete_file","arguments":{"path":"a.txt"}}}}]`
)

// served returns an application with the SDK's client, and a player that gives it these responses.
// Each response is a list of events.
func served(answers ...string) (*player, *Application) {
	p := &player{recording: recording{name: "sdk-x", answers: answers}}
	for range answers {
		p.sent = append(p.sent, `{"threadId":"T"}`)
	}
	at := Connection{"http://recorded/", &http.Client{Transport: p}}
	return p, &Application{Client: AGUIClient{Connection: at, Invoking: MEAI108}, Options: func() *Options { return &Options{Thread: "T"} }}
}

func stream(events ...string) string { return strings.Join(events, "\n") + "\n" }

// messages returns the end of a request's body: the value of its member messages, and all that
// follows it. Random ids are replaced by the text GUID.
func messages(request string) string {
	_, rest, _ := strings.Cut(request, `"messages":`)
	return strings.TrimSuffix(regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(rest, "GUID"), "}")
}

func TestAnswersOfTheSDKClient(t *testing.T) {
	user := `{"role":"user","content":"delete a.txt"}`
	made := `{"role":"assistant","toolCalls":[{"id":"call_4","type":"function","function":{"name":"delete_file","arguments":` + args + `}}],"id":"GUID"},` +
		`{"role":"tool","content":"Error: Requested function \u0022delete_file\u0022 not found.","toolCallId":"call_4","id":"call_4"}`
	approve := func(r *ApprovalRequest) *ApprovalAnswer {
		return &ApprovalAnswer{ID: r.ID, Approved: true, Call: r.Call}
	}
	for _, test := range []struct {
		name   string
		answer func(a *Application, r *ApprovalRequest) Run
		want   string
	}{
		{"yes", func(a *Application, r *ApprovalRequest) Run { return a.Send(NewMessage("user", approve(r))) },
			`[` + user + `],` + yes},
		{"edited", func(a *Application, r *ApprovalRequest) Run {
			return a.Send(NewMessage("user", &ApprovalAnswer{ID: r.ID, Approved: true, Call: &Call{ID: "call_4", Name: "delete_file", Arguments: json.RawMessage(`{"path":"z.txt"}`)}}))
		}, `[` + user + `],` + strings.Replace(yes, "a.txt", "z.txt", 1)},
		{"with a result", func(a *Application, r *ApprovalRequest) Run {
			answer := approve(r)
			answer.Result = "ran here"
			return a.Send(NewMessage("user", answer))
		}, `[` + user + `],` + strings.Replace(yes, `}}}}]`, `}},"result":"ran here"}}]`, 1)},
		{"words in its message", func(a *Application, r *ApprovalRequest) Run {
			return a.Send(NewMessage("user", Text{"do it quickly"}, approve(r)))
		}, `[` + user + `],` + yes},
		{"words before it", func(a *Application, r *ApprovalRequest) Run {
			return a.Send(NewMessage("user", Text{"do it quickly"}), NewMessage("user", approve(r)))
		}, `[` + user + `,{"role":"user","content":"do it quickly"}],` + yes},
		{"words behind it", func(a *Application, r *ApprovalRequest) Run {
			return a.Send(NewMessage("user", approve(r)), NewMessage("user", Text{"do it quickly"}))
		}, `[` + user + `,{"role":"user","content":"do it quickly"},` + made + `]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, a := served(stream(started, deletes, asks), stream(started, finished))
			first := a.Say("delete a.txt")
			if len(first.Questions) != 1 {
				t.Fatalf("the questions are %v", first)
			}
			if run := test.answer(a, first.Questions[0]); run.Thrown != nil || len(p.got) != 2 || messages(p.got[1]) != test.want {
				t.Errorf("%v, sent\n%s\nwant\n%s", run.Thrown, messages(p.got[len(p.got)-1]), test.want)
			}
		})
	}
	t.Run("words instead", func(t *testing.T) {
		p, a := served(stream(started, deletes, asks))
		a.Say("delete a.txt")
		if run := a.Say("never mind"); run.Thrown == nil || !strings.Contains(run.Thrown.Error(), "'call_4' that have no matching") || len(p.got) != 1 {
			t.Errorf("thrown %v, sent %q", run.Thrown, p.got)
		}
	})
	t.Run("two, in two messages", func(t *testing.T) {
		second := strings.ReplaceAll(deletes, "call_4", "call_5")
		both := strings.Replace(asks, `}]`, `},{"id":"ficc_call_5","reason":"TOOL_CALL","toolCallId":"call_5"}]`, 1)
		p, a := served(stream(started, deletes, second, both), stream(started, finished))
		q := a.Say("delete a.txt").Questions
		a.Send(NewMessage("user", approve(q[0])), NewMessage("user", approve(q[1])))
		if want := `[` + user + `],` + strings.ReplaceAll(yes, "call_4", "call_5"); messages(p.got[1]) != want {
			t.Errorf("sent\n%s\nwant\n%s", messages(p.got[1]), want)
		}
	})
	t.Run("text before the call", func(t *testing.T) {
		p, a := served(stream(started, says, deletes, asks), stream(started, deletes, result, finished), stream(started, finished))
		a.Answer(a.Say("delete a.txt").Questions, func(int) bool { return true })
		a.Say("more")
		want := `[` + user + `,{"role":"assistant","content":"Well","id":"m1"},` + call + `,{"role":"tool","content":"done","toolCallId":"call_4","id":"call_4"},{"role":"user","content":"more"}]`
		if messages(p.got[1]) != `[`+user+`],`+yes || messages(p.got[2]) != want {
			t.Errorf("sent\n%s\nthen\n%s\nwant\n%s", messages(p.got[1]), messages(p.got[2]), want)
		}
	})
	t.Run("a made exchange stays, and its answer goes as the name of its type", func(t *testing.T) {
		p, a := served(stream(started, deletes, asks), "HTTP 500", stream(started, finished), stream(started, finished))
		a.Answer(a.Say("delete a.txt").Questions, func(int) bool { return true })
		a.Say("more")
		a.Say("and more")
		want := `[` + user + `,{"role":"assistant"},{"role":"user","content":"Microsoft.Extensions.AI.ToolApprovalResponseContent"},{"role":"user","content":"more"},` + made +
			`,{"role":"assistant"},{"role":"user","content":"and more"}]`
		if messages(p.got[3]) != want {
			t.Errorf("sent\n%s\nwant\n%s", messages(p.got[3]), want)
		}
	})
	t.Run("a tool of the client and a question in one turn", func(t *testing.T) {
		pick := `{"type":"TOOL_CALL_START","toolCallId":"call_3","toolCallName":"pick_color"}
{"type":"TOOL_CALL_END","toolCallId":"call_3"}`
		p, a := served(stream(started, pick, deletes, asks), stream(started, finished), stream(started, finished))
		a.Options = func() *Options {
			return &Options{Thread: "T", Tools: []Tool{{Name: "pick_color", Parameters: json.RawMessage("{}"), Run: func(json.RawMessage) any { return "blue" }}}}
		}
		q := a.Say("front").Questions
		a.Answer(q, func(int) bool { return true })
		tools := `,"tools":[{"name":"pick_color","description":"","parameters":{}}]`
		tool := `{"role":"tool","content":"blue","toolCallId":"call_3","id":"call_3"}`
		picks := `{"role":"assistant","toolCalls":[{"id":"call_3","type":"function","function":{"name":"pick_color","arguments":""}}]}`
		for n, want := range []string{`[{"role":"user","content":"front"},` + picks + `,` + tool + `]` + tools, `[{"role":"user","content":"front"},` + tool + `,{"role":"assistant"}]` + tools + `,` + yes} {
			if messages(p.got[n+1]) != want {
				t.Errorf("request %d\n%s\nwant\n%s", n+2, messages(p.got[n+1]), want)
			}
		}
	})
}

func TestInterruptsOfTheSDKClient(t *testing.T) {
	interrupt := func(members string) string {
		return `{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"i1",` + members + `}]}}`
	}
	for _, test := range []struct {
		name, answer      string
		questions, inputs int
		throws            string
	}{
		{"a call of this stream", stream(started, deletes, interrupt(`"reason":"Tool_Call","toolCallId":"call_4"`)), 1, 0, ""},
		{"a call of an earlier stream", stream(started, interrupt(`"reason":"tool_call","toolCallId":"call_4"`)), 0, 0, ""},
		{"a call that has its result", stream(started, deletes, result, interrupt(`"reason":"tool_call","toolCallId":"call_4"`)), 0, 0, ""},
		{"no call", stream(started, interrupt(`"reason":"tool_call"`)), 0, 1, ""},
		{"another reason", stream(started, deletes, interrupt(`"reason":"confirm","toolCallId":"call_4"`)), 0, 1, ""},
		{"an outcome that is a string", stream(started, strings.Replace(finished, `"runId":"R"`, `"runId":"R","outcome":"interrupt"`, 1)), 0, 0, "RunFinishedOutcome"},
		{"an outcome of another type", stream(started, strings.Replace(finished, `"runId":"R"`, `"runId":"R","outcome":{"type":"pause"}`, 1)), 0, 0, "RunFinishedOutcome"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, a := served(test.answer)
			run := a.Say("delete a.txt")
			if len(run.Questions) != test.questions || len(run.Inputs) != test.inputs || (run.Thrown != nil) != (test.throws != "") || run.Thrown != nil && !strings.Contains(run.Thrown.Error(), test.throws) {
				t.Errorf("%d questions, %d inputs, thrown %v", len(run.Questions), len(run.Inputs), run.Thrown)
			}
		})
	}
}

// TestEvents checks at which events each client throws.
func TestEvents(t *testing.T) {
	at := func(p *player) Connection { return Connection{"http://recorded/", &http.Client{Transport: p}} }
	clients := map[string]func(p *player) Client{
		"sdk":   func(p *player) Client { return AGUIClient{Connection: at(p), Invoking: MEAI108} },
		"0.0.3": func(p *player) Client { return AGUIClient{Connection: at(p), Invoking: MEAI108, ThrowsRunError: true} },
		"0413":  func(p *player) Client { return InTreeClient{Connection: at(p), Invoking: MEAI108} },
		"0707":  func(p *player) Client { return InTreeClient{Connection: at(p), Invoking: MEAI108, Reasoning: true} },
	}
	unknownTo := func(kind string) string { return "Unknown BaseEvent type discriminator: '" + kind + "'" }
	both := "0413 0707"
	all := "sdk 0.0.3 0413 0707"
	for _, test := range []struct{ event, throws, message string }{
		{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}`, all, unknownTo("TEXT_MESSAGE_CHUNK")},
		{`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","delta":"x"}`, all, unknownTo("TOOL_CALL_CHUNK")},
		{`{"type":"THINKING_START"}`, all, unknownTo("THINKING_START")},
		{`{"type":"SOMETHING"}`, all, unknownTo("SOMETHING")},
		{`{"type":"CUSTOM","name":"n","value":1}`, both, unknownTo("CUSTOM")},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[]}`, both, unknownTo("MESSAGES_SNAPSHOT")},
		{`{"type":"RAW","event":1}`, both, unknownTo("RAW")},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m"}`, both, unknownTo("ACTIVITY_SNAPSHOT")},
		{`{"type":"STEP_STARTED","stepName":"s"}` + "\n" + `{"type":"STEP_FINISHED","stepName":"s"}`, both, unknownTo("STEP_STARTED")},
		{`{"type":"REASONING_START","messageId":"m"}`, "0413", unknownTo("REASONING_START")},
		{`{"type":"STATE_SNAPSHOT","snapshot":{}}`, "", ""},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"robot"}]}`, all, "'"},
		{`{"type":"RUN_ERROR","message":"kaput","code":"c"}`, "0.0.3 sdk", "kaput|RUN_FINISHED"}, // a RUN_FINISHED follows it in this test
		{started, "sdk 0.0.3", "RUN_STARTED"},
		{finished, "sdk 0.0.3", "RUN_FINISHED"},
		{strings.Replace(finished, `"T"`, `"another"`, 1), "sdk 0.0.3 0413 0707", "RUN_FINISHED|another"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"Tool call invocation rejected."}`, both, "'T' is an invalid start of a value"},
		{`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"n"}` + "\n" + `{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"n"}`, all, "ToolCallStart|c1"},
		{strings.Replace(deletes, `{\"path\":\"a.txt\"}`, `[1]`, 1), all, "IDictionary"},
		{says, "", ""},
		{strings.ReplaceAll(says, `"m1"`, `"m1","timestamp":null,"rawEvent":{"x":1}`) + "\n: a comment", "", ""},
	} {
		for name, client := range clients {
			t.Run(fmt.Sprintf("%.40s/%s", test.event, name), func(t *testing.T) {
				p, a := served(stream(started, test.event, finished))
				a.Client = client(p)
				run := a.Say("x")
				throws := strings.Contains(" "+test.throws+" ", " "+name+" ")
				if (run.Thrown != nil) != throws {
					t.Fatalf("thrown %v, want %v", run.Thrown, throws)
				}
				if throws && !regexp.MustCompile(test.message).MatchString(run.Thrown.Error()) {
					t.Errorf("thrown %v, want %s", run.Thrown, test.message)
				}
			})
		}
	}
}

// TestCallsOfABrokenRun: the SDK's client holds a run's calls back until their results come or the
// run ends. If the run fails, it must lose them.
func TestCallsOfABrokenRun(t *testing.T) {
	for name, end := range map[string]string{"RUN_ERROR": `{"type":"RUN_ERROR","message":"kaput"}`, "cut": "CUT"} {
		t.Run(name, func(t *testing.T) {
			_, a := served(stream(started, deletes, end))
			a.Say("x")
			for _, m := range a.Messages {
				if has[*Call](m) {
					t.Error("a call is kept")
				}
			}
		})
	}
}

// TestThreads: if the program keeps no thread, a client uses a new thread for each run. One case
// differs: a run sends the result of a tool of the client. With the SDK's client it must have the
// thread of the run that called the tool. With the in-tree client it must have a new thread.
func TestThreads(t *testing.T) {
	tool := []Tool{{Name: "delete_file", Parameters: json.RawMessage("{}"), Run: func(json.RawMessage) any { return "done" }}}
	for name, same := range map[string]bool{"sdk": true, "in-tree": false} {
		t.Run(name, func(t *testing.T) {
			p, a := served(stream(started, deletes, finished), stream(started, finished), stream(started, finished))
			if !same {
				a.Client = InTreeClient{Connection: a.Client.(AGUIClient).Connection, Invoking: MEAI108}
			}
			a.Options = func() *Options { return &Options{Tools: tool} }
			a.Say("x")
			a.Say("y")
			thread := func(n int) string {
				var in struct{ ThreadID string }
				if err := json.Unmarshal([]byte(p.got[n]), &in); err != nil {
					t.Fatal(err)
				}
				return in.ThreadID
			}
			if len(p.got) != 3 || (thread(0) == thread(1)) != same || thread(1) == thread(2) {
				t.Errorf("%d requests: %q", len(p.got), p.got)
			}
		})
	}
}
