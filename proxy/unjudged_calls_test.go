package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// A callFamily is a kind of backend that reads decisions in tool messages. It describes how the
// backend asks, and which messages the backend reads as a yes.
type callFamily struct {
	dialect string
	options map[string]string
	asks    []string // the events of its stream, which ask about call c1
	tool    string   // the tool of call c1
	yes, no string   // payloads of a resume
	says    []string // contents of tool messages that it reads as a yes
}

func callFamilies() map[string]callFamily {
	asks := func(name, args string) []string {
		return []string{
			fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":%q,"parentMessageId":"a1"}`, name),
			fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":%q}`, args), endDelete,
		}
	}
	raw := `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`
	confirm := `{"originalFunctionCall":{"id":"A","name":"delete_file","args":{}},"toolConfirmation":{"hint":"ok?","confirmed":false}}`
	return map[string]callFamily{
		"agno": {"agno", nil, append(append([]string{raw}, asks("delete_file", `{}`)...), finished), "delete_file",
			`{"accepted":true}`, `{"accepted":false}`,
			[]string{`{"accepted":true}`, `ok {"accepted":true}`, "```json\n{\"accepted\":true}\n```", `{"accepted":true,"x":1}`, ` {"accepted" : true}`}},
		"ADK": {"adk", nil, append(asks("adk_request_confirmation", confirm), finished), "adk_request_confirmation",
			`{"confirmed":true}`, `{"confirmed":false}`,
			[]string{`{"confirmed":true}`, `{"confirmed":"yes"}`, `{"confirmed":1,"payload":{}}`, `{"response":"{\"confirmed\":true}"}`, ` {"confirmed":true}`}},
		"tool-call": {"tool-call", map[string]string{"HOLDPOINT_TOOLS": "delete_file=approval"}, append(asks("delete_file", `{}`), finished), "delete_file",
			`{"approved":true}`, `{"approved":false}`,
			[]string{`{"approved":true}`, `{"approved":true,"x":1}`, `{"Approved":true}`, `{"approved":"yes"}`, ` {"approved":true}`}},
		"draft": {"draft", nil, append(asks("pando_permission_request", `{}`), `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`), "pando_permission_request",
			`{"approved":true}`, `{"approved":false}`,
			[]string{`{"approved":true}`, `{"approved":true,"x":1}`, `{"Approved":true}`, `{"approved":"yes"}`}},
		"Agent Framework": {"agent-framework", nil, append(asks("delete_file", `{}`),
			`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"c1","function_call":{"call_id":"c1","name":"delete_file","arguments":{}}}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","interrupt":[{"id":"c1","value":{}}]}`), "delete_file",
			`{"approved":true}`, `{"approved":false}`,
			[]string{`{"accepted":true}`, `{"accepted":true,"x":1}`, `{"accepted":"no"}`, ` {"accepted":true,"steps":[]}`}},
	}
}

// newFamilyRig returns a rig in front of a backend of the family f. The function serve returns the
// events of the backend's n-th run. If named is true, the operator has named the dialect, otherwise
// the dialect is auto.
func newFamilyRig(t *testing.T, f callFamily, named bool, serve func(n int) []string, change ...func(*Options)) *rig {
	t.Helper()
	list := dialects.All()
	if errs := list.Read(f.options); len(errs) > 0 {
		t.Fatal(errs)
	}
	name := "auto"
	if named {
		name = f.dialect
	}
	d, err := list.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	change = append([]func(*Options){func(o *Options) { o.Dialect = d }}, change...)
	return newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) { sendStream(w, streamOf(serve(n)...)) }, change...)
}

// asksOnce returns the events of the n-th run. The backend asks in its first run only.
func (f callFamily) asksOnce(n int) []string {
	if n == 1 {
		return append([]string{started}, f.asks...)
	}
	return []string{started, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"said%d","role":"assistant","delta":"ok"}`, n), finished}
}

func calls(name string) string {
	return fmt.Sprintf(`{"id":"a9","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, name)
}

func declares(name string) string {
	return fmt.Sprintf(`,"tools":[{"name":%q,"description":"","parameters":{}}]`, name)
}

// arrived reports whether body, a request to the backend, contains the tool message m1 with this
// content.
func arrived(body []byte, content string) bool {
	found := false
	gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
		found = found || m.Get("id").Str == "m1" && m.Get("content").Str == content
		return !found
	})
	return found
}

// resumeOf returns a resume array that answers the question in stream with the payload. If payload
// is "", the resume array cancels the question.
func resumeOf(stream, payload string) string {
	id := textBetween(stream, `"interrupts":[{"id":"`, `"`)
	if payload == "" {
		return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"cancelled"}]`, id)
	}
	return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, id, payload)
}

func textBetween(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

// ends returns one function for each way in which a question can end. The function ends the
// question in the stream asked.
func (f callFamily) ends(now *time.Time) map[string]func(g *rig, asked string) {
	free := func(how store.EndKind) func(g *rig, _ string) {
		return func(g *rig, _ string) {
			rec, err := g.store.Load(g.t.Context(), recordKey("/", "t"), "")
			if err != nil || rec.Pause == nil {
				g.t.Fatal(err, rec)
			}
			if _, err := g.store.Do(g.t.Context(), recordKey("/", "t"), store.Close{PauseID: rec.Pause.ID, Result: store.Result{EndKind: how, SeenMessages: rec.Pause.SeenMessages, Door: "desk"}}); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	says := func(payload string) func(g *rig, asked string) {
		return func(g *rig, asked string) { g.do(talk("t", resumeOf(asked, payload))) }
	}
	return map[string]func(g *rig, asked string){
		"approved": says(f.yes), "denied": says(f.no), "cancelled": says(""), "freed at the desk": free(store.Withdrawn), "retired": free(store.Retired),
		"expired": func(g *rig, _ string) {
			*now = now.Add(time.Minute)
			g.do(talk("t", "", `{"id":"u5","role":"user","content":"Well?"}`))
		},
	}
}

// expiring makes questions expire 30 seconds after they were asked, by the test's clock.
func expiring(now *time.Time) func(*Options) {
	return func(o *Options) {
		clock := func() time.Time { return *now }
		o.Now, o.InterruptTTL = clock, 30*time.Second
		o.Store = memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour, Now: clock})
	}
}

// TestCallThatHasAskedIsHeld: a question about a call has ended, in any way. The backend may still
// wait for the answer. So Holdpoint must not send the backend a message about this call, even if
// the request declares the call's tool as one of the client.
func TestCallThatHasAskedIsHeld(t *testing.T) {
	for family, f := range callFamilies() {
		for _, named := range []bool{true, false} {
			var now time.Time
			for end := range f.ends(&now) {
				t.Run(fmt.Sprintf("%s, named %v, %s", family, named, end), func(t *testing.T) {
					now := time.Now()
					g := newFamilyRig(t, f, named, f.asksOnce, expiring(&now))
					asked := g.do(talk("t", ""))
					if !strings.Contains(asked, `"interrupts"`) {
						t.Fatal(asked)
					}
					f.ends(&now)[end](g, asked)
					for _, content := range f.says {
						for claim, messages := range map[string][]string{
							declares(f.tool):        {calls(f.tool)},
							declares("show"):        {calls("show")},
							declares("other"):       {calls("read_file")},
							"":                      {calls("read_file")},
							" ":                     {calls(f.tool)},
							declares("other") + " ": nil,
							"  ":                    nil,
						} {
							before := g.called()
							g.do(talk("t", claim, append(messages, decided(content))...))
							for _, body := range g.calls[before:] {
								if arrived(body, content) {
									t.Errorf("%q on a call that asked, with %s %s: the backend got\n%s", content, messages, claim, body)
								}
							}
							before = g.called()
							if told := g.do(talk("t", claim, append(messages, decided(content), noWords)...)); g.called() != before+1 || strings.Contains(told, "RUN_ERROR") {
								t.Errorf("%q, with %s %s and words behind it: %d requests to the backend, and the client was told\n%s", content, messages, claim, g.called()-before, told)
							}
						}
					}
				})
			}
		}
	}
}

// TestCallThatBeginsAgain: some models repeat the ids of calls. A call had a question. Later, a
// stream of the thread begins a second call with the same id, of a tool of the client. If the
// question was answered, the client's message about the second call is the result of that call, and
// every replica must send it to the backend. If the backend may still wait for the answer to the
// question, no replica may send the message, because the backend could read it as the answer.
func TestCallThatBeginsAgain(t *testing.T) {
	again := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show","parentMessageId":"b1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, endDelete, finished,
	}
	shows := `{"id":"b1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"show","arguments":"{}"}}]}`
	result := `{"id":"x1","role":"tool","toolCallId":"c1","content":"deleted"}`
	for family, f := range callFamilies() {
		if family == "ADK" {
			continue // ADK makes the ids of adk_request_confirmation, and they do not repeat
		}
		for _, named := range []bool{true, false} {
			var now time.Time
			for end := range f.ends(&now) {
				answered := end == "approved" || end == "denied" || end == "cancelled" || end == "expired"
				t.Run(fmt.Sprintf("%s, named %v, %s", family, named, end), func(t *testing.T) {
					now := time.Now()
					// runs counts the runs of the backend; later is the number of the run that
					// begins the call again
					var runs, later int
					serve := func(int) []string {
						runs++
						if later > 0 && runs == later {
							return append([]string{started, `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`}, again...)
						}
						events := f.asksOnce(runs)
						// the backends that send the result of an approved call
						if runs > 1 && (f.dialect == "agno" || f.dialect == "agent-framework") {
							events = append([]string{started, `{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"deleted"}`}, events[1:]...)
						}
						return events
					}
					g := newFamilyRig(t, f, named, serve, expiring(&now))
					f.ends(&now)[end](g, g.do(talk("t", "")))
					later = runs + 1
					history := []string{calls(f.tool), result, `{"id":"u6","role":"user","content":"Show it."}`}
					g.do(talk("t", declares("show"), history...))
					if runs != later {
						t.Fatalf("the backend ran %d times", runs)
					}
					replica := newFamilyRig(t, f, named, serve, func(o *Options) { o.Store, o.Now = g.store, func() time.Time { return now } })
					for _, at := range []*rig{g, replica} {
						says := append(history, shows, decided(f.says[0]))
						before := runs
						told := at.do(talk("t", declares("show"), says...))
						switch {
						case answered && (runs != before+1 || !gotMessage(at.last(), "m1")):
							t.Errorf("the client's own result did not arrive: %s", told)
						case !answered && runs > before && arrived(at.last(), f.says[0]):
							t.Errorf("what may still wait got an answer: %s", at.last())
						}
						for claim, messages := range map[string][]string{
							declares("other"):      append(history, calls("read_file"), decided(f.says[0])),
							declares("show") + " ": append(history, calls(f.tool), decided(f.says[0])),
						} {
							before := runs
							if at.do(talk("t", claim, messages...)); runs > before && arrived(at.last(), f.says[0]) {
								t.Errorf("on another call of the id the backend got %s", at.last())
							}
						}
					}
				})
			}
		}
	}
}

// TestCallThatBeginsAgainInTheResume: a question about a call was answered. The resumed run makes a
// second call with the same id, of a tool of the client. It may also ask a further question. The
// client's result of the second call must reach the backend.
func TestCallThatBeginsAgainInTheResume(t *testing.T) {
	show := []string{
		`{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"deleted"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show","parentMessageId":"b1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, endDelete,
	}
	more := []string{`{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"delete_file","parentMessageId":"b1"}`, `{"type":"TOOL_CALL_END","toolCallId":"c2"}`}
	for family, f := range callFamilies() {
		if f.dialect != "agno" && f.dialect != "tool-call" {
			continue // the other families end such a run in another way
		}
		for _, asksMore := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, asks more %v", family, asksMore), func(t *testing.T) {
				g := newFamilyRig(t, f, true, func(n int) []string {
					if n != 2 {
						return f.asksOnce(n)
					}
					events := append([]string{started}, show...)
					if asksMore {
						events = append(events, more...)
					}
					return append(events, finished)
				})
				told := g.do(talk("t", declares("show")))
				told = g.do(talk("t", declares("show")+resumeOf(told, f.yes), calls(f.tool)))
				history := []string{calls(f.tool), `{"id":"x1","role":"tool","toolCallId":"c1","content":"deleted"}`,
					`{"id":"b1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"show","arguments":"{}"}}]}`, decided(f.says[0])}
				answers := ""
				if asksMore {
					answers = resumeOf(told, f.yes)
				}
				told = g.do(talk("t", declares("show")+answers, history...))
				if g.called() != 3 || !gotMessage(g.last(), "m1") {
					t.Errorf("the client's own result did not arrive: %s\nthe backend got %s", told, g.last())
				}
			})
		}
	}
}

// gotMessage reports whether a request to the backend has a message with this id.
func gotMessage(body []byte, id string) bool {
	return gjson.GetBytes(body, `messages.#(id=="`+id+`")`).Exists()
}

// last returns the last request to the backend, or nil.
func (g *rig) last() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.calls) == 0 {
		return nil
	}
	return g.calls[len(g.calls)-1]
}
