//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// workflowEnv has the Holdpoint settings for the workflows in these tests.
var workflowEnv = map[string]string{
	"HOLDPOINT_TOOLS": "ConfirmDelete=approval", "HOLDPOINT_TOOL_CALL_YES": "yes", "HOLDPOINT_TOOL_CALL_NO": "no", "HOLDPOINT_SESSIONS": "true",
}

// TestBackendWithSessions: a workflow asks by a call with the name of its port. Its host stores a
// session for each thread, and its clients send only new messages. When Holdpoint sends an answer,
// it must leave out the messages that the session already has. Then the workflow does not ask
// again, and each approved action runs once.
func TestBackendWithSessions(t *testing.T) {
	t.Parallel()
	type turn struct{ say, answer string }
	scenes := map[string]struct {
		turns []turn
		want  map[string]int
	}{
		"yes":                   {[]turn{{say: "delete a.txt"}, {answer: yesEntry}}, map[string]int{"delete a.txt": 1}},
		"no":                    {[]turn{{say: "delete a.txt"}, {answer: noEntry}}, nil},
		"cancel":                {[]turn{{say: "delete a.txt"}, {answer: cancelEntry}}, nil},
		"after words":           {[]turn{{say: "plain hello"}, {say: "delete a.txt"}, {answer: yesEntry}}, map[string]int{"delete a.txt": 1}},
		"one after the other":   {[]turn{{say: "delete a.txt"}, {answer: yesEntry}, {say: "delete b.txt"}, {answer: noEntry}, {say: "delete c.txt"}, {answer: yesEntry}}, map[string]int{"delete a.txt": 1, "delete c.txt": 1}},
		"words beside":          {[]turn{{say: "delete a.txt"}, {say: "plain more", answer: yesEntry}}, map[string]int{"delete a.txt": 1}},
		"a question beside it":  {[]turn{{say: "delete a.txt"}, {say: "delete b.txt", answer: yesEntry}, {answer: yesEntry}}, map[string]int{"delete a.txt": 1, "delete b.txt": 1}},
		"the same answer twice": {[]turn{{say: "delete a.txt"}, {answer: yesEntry}, {answer: "again"}}, map[string]int{"delete a.txt": 1}},
	}
	for _, line := range []scripted.Line{scripted.Line0413, scripted.Line0707, scripted.LineHead} {
		for _, dialect := range []string{"tool-call", "auto"} {
			t.Run(string(line)+"/"+dialect, func(t *testing.T) {
				t.Parallel()
				ledger := scripted.NewLedger()
				host := httptest.NewServer(line.Workflow(ledger))
				t.Cleanup(host.Close)
				env := maps.Clone(workflowEnv)
				env["HOLDPOINT_DIALECT"] = dialect
				h := ownHoldpoint(t, host.URL, env)
				for name, scene := range scenes {
					t.Run(name, func(t *testing.T) {
						c := &handChat{t: t, address: h.address + "/", thread: fresh("thread"), version: "1.0"}
						var asked []string
						for _, turn := range scene.turns {
							c.messages = nil
							members := onlyTools
							switch {
							case turn.answer == "again":
								members += "," + entries(asked, yesEntry)
							case turn.answer != "":
								asked = c.asked
								if len(asked) != 1 {
									t.Fatalf("asked %q before %+v", asked, turn)
								}
								members += "," + entries(asked, turn.answer)
							}
							send := c.run
							if turn.say != "" {
								send = func(members string) (int, string) { return c.says(turn.say, members) }
							}
							if status, told := send(members); status != 200 || strings.Contains(told, "RUN_ERROR") {
								t.Fatalf("%+v gets %d %s", turn, status, told)
							}
						}
						if len(c.asked) > 0 {
							t.Errorf("the workflow asks again: %q", c.asked)
						}
						if ran := ledger.Executed(c.thread); fmt.Sprint(ran) != fmt.Sprint(scene.want) {
							t.Errorf("ran %v, want %v", ran, scene.want)
						}
						if complaints := ledger.Complaints(c.thread); len(complaints) > 0 {
							t.Errorf("%q", complaints)
						}
						c.messages = nil
						if status, told := c.says("plain later", onlyTools); status != 200 || c.text != "echo: plain later" {
							t.Errorf("the next message gets %d %s", status, told)
						}
					})
				}
			})
		}
	}
}

// TestSessionsAreSeen: HOLDPOINT_SESSIONS is not set. A client answers with nothing but a tool
// message, as it does without Holdpoint. So Holdpoint knows that this client sends only new
// messages. Holdpoint must send this answer unchanged. It must also send later answers of the
// thread unchanged, in either form, if they contain nothing of the conversation.
func TestSessionsAreSeen(t *testing.T) {
	t.Parallel()
	for _, line := range []scripted.Line{scripted.Line0413, scripted.Line0707, scripted.LineHead} {
		for _, dialect := range []string{"", "tool-call", "auto"} { // "" is without Holdpoint
			for _, answer := range []string{"yes", "no"} {
				t.Run(fmt.Sprintf("%s/%q/%s", line, dialect, answer), func(t *testing.T) {
					ledger := scripted.NewLedger()
					host := httptest.NewServer(line.Workflow(ledger))
					t.Cleanup(host.Close)
					c := &handChat{t: t, address: host.URL + "/", thread: fresh("thread"), version: "1.0"}
					if dialect != "" {
						env := maps.Clone(workflowEnv)
						delete(env, "HOLDPOINT_SESSIONS")
						env["HOLDPOINT_DIALECT"] = dialect
						c.address = ownHoldpoint(t, host.URL, env).address + "/"
					}
					byResult := func() {
						c.messages = []string{fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":%q}`, fresh("result"), c.calls[0], answer)}
						if status, told := c.run(onlyTools); status != 200 || strings.Contains(told, "RUN_ERROR") || len(c.calls) > 0 {
							t.Fatalf("the result gets %d %s", status, told)
						}
					}
					asks := func(words string) {
						c.messages = nil
						if _, told := c.says(words, onlyTools); len(c.calls) != 1 {
							t.Fatalf("%s asks %q: %s", words, c.calls, told)
						}
					}
					asks("delete a.txt")
					byResult()
					if dialect != "" {
						asks("delete b.txt")
						c.messages = nil
						entry := map[string]string{"yes": yesEntry, "no": noEntry}[answer]
						if status, told := c.run(onlyTools + "," + entries(c.asked, entry)); status != 200 || strings.Contains(told, "RUN_ERROR") || len(c.calls) > 0 {
							t.Fatalf("the resume gets %d %s", status, told)
						}
					}
					asks("delete c.txt")
					byResult()
					for what, times := range ledger.Executed(c.thread) {
						if times > 1 || answer == "no" {
							t.Errorf("%s ran %d times", what, times)
						}
					}
					if ran := len(ledger.Executed(c.thread)); answer == "yes" && (ran < 2 || ran < 3 && dialect != "") {
						t.Errorf("ran %v", ledger.Executed(c.thread))
					}
					if complaints := ledger.Complaints(c.thread); len(complaints) > 0 {
						t.Errorf("%q", complaints)
					}
				})
			}
		}
	}
}

// TestPlainRunsShowSessions: HOLDPOINT_SESSIONS is not set, and the client answers with resume and
// messages: []. The second run of the thread lacks the message of the first run, so Holdpoint knows
// that the client sends only new messages. The workflow must get each message once and must not ask
// again, and each approved call must run once.
func TestPlainRunsShowSessions(t *testing.T) {
	t.Parallel()
	env := maps.Clone(workflowEnv)
	delete(env, "HOLDPOINT_SESSIONS")
	for _, line := range []scripted.Line{scripted.Line0413, scripted.Line0707, scripted.LineHead} {
		for _, dialect := range []string{"tool-call", "auto"} {
			for name, answer := range map[string]string{"yes": yesEntry, "no": noEntry, "cancel": cancelEntry} {
				t.Run(string(line)+"/"+dialect+"/"+name, func(t *testing.T) {
					t.Parallel()
					ledger := scripted.NewLedger()
					host := httptest.NewServer(line.Workflow(ledger))
					t.Cleanup(host.Close)
					env := maps.Clone(env)
					env["HOLDPOINT_DIALECT"] = dialect
					c := &handChat{t: t, address: ownHoldpoint(t, host.URL, env).address + "/", thread: fresh("thread"), version: "1.0"}
					if status, told := c.says("plain hello", onlyTools); status != 200 {
						t.Fatalf("%d %s", status, told)
					}
					for _, what := range []string{"a.txt", "b.txt"} {
						c.messages = nil
						if _, told := c.says("delete "+what, onlyTools); len(c.asked) != 1 {
							t.Fatalf("asked %q: %s", c.asked, told)
						}
						c.messages = nil
						if status, told := c.run(onlyTools + "," + entries(c.asked, answer)); status != 200 || strings.Contains(told, "RUN_ERROR") || len(c.asked) > 0 {
							t.Fatalf("%s of %s gets %d, and asks %q: %s", name, what, status, c.asked, told)
						}
					}
					want := map[string]int{}
					if name == "yes" {
						want = map[string]int{"delete a.txt": 1, "delete b.txt": 1}
					}
					if ran := ledger.Executed(c.thread); fmt.Sprint(ran) != fmt.Sprint(want) {
						t.Errorf("ran %v, want %v", ran, want)
					}
					seen := map[string]bool{}
					for _, body := range ledger.Requests(c.thread) {
						var in struct{ Messages []struct{ ID string } }
						if err := json.Unmarshal(body, &in); err != nil {
							t.Fatal(err)
						}
						for _, m := range in.Messages {
							if seen[m.ID] {
								t.Errorf("the message %s was sent twice", m.ID)
							}
							seen[m.ID] = true
						}
					}
					if complaints := ledger.Complaints(c.thread); len(complaints) > 0 {
						t.Errorf("%q", complaints)
					}
				})
			}
		}
	}
}

// TestBackendWithoutSessions: a client sends only new messages, but the backend stores nothing.
// With each answer, the model must get the conversation from Holdpoint's record.
func TestBackendWithoutSessions(t *testing.T) {
	t.Parallel()
	eachToolCall(t, "calls", func(t *testing.T, w world) {
		for name, answer := range map[string]string{"yes": yesEntry, "no": noEntry} {
			t.Run(name, func(t *testing.T) {
				c := &handChat{t: t, address: w.h.address + "/agent", thread: fresh("thread"), version: "1.0"}
				const members = `"tools":[],"state":{},"context":[],"forwardedProps":{}`
				if c.says("delete a.txt", members); len(c.asked) != 1 {
					t.Fatalf("asked %q", c.asked)
				}
				c.messages = nil
				if status, told := c.run(entries(c.asked, answer) + "," + members); status != 200 || strings.Contains(told, "RUN_ERROR") {
					t.Fatalf("the answer gets %d %s", status, told)
				}
				var want []string
				if answer == yesEntry {
					want = []string{deleteA}
				}
				w.ran(t, &client{thread: c.thread}, want...)
				for _, seen := range w.b.ledger(t, c.thread).Seen[1:] {
					if len(seen.Complaints) > 0 || len(seen.Results) == 0 {
						t.Errorf("the model was shown %+v", seen)
					}
				}
			})
		}
	})
}

// TestTalkerWithSessions: a backend asks in text messages, and stores the conversation of each
// thread. The backend must get each message only once.
func TestTalkerWithSessions(t *testing.T) {
	t.Parallel()
	ledger := scripted.NewLedger()
	host := httptest.NewServer(scripted.Talker{Keeps: true}.New(ledger))
	t.Cleanup(host.Close)
	h := ownHoldpoint(t, host.URL, map[string]string{"HOLDPOINT_PHRASES_ASK": "default", "HOLDPOINT_SESSIONS": "true"})
	for name, words := range map[string]string{"alone": "", "words beside": "plain more"} {
		t.Run(name, func(t *testing.T) {
			c := &handChat{t: t, address: h.address + "/", thread: fresh("thread"), version: "1.0"}
			says := func(words, members string) {
				c.messages = nil
				send := c.run
				if words != "" {
					send = func(members string) (int, string) { return c.says(words, members) }
				}
				if status, told := send(members); status != 200 || strings.Contains(told, "RUN_ERROR") {
					t.Fatalf("%q gets %d %s", words, status, told)
				}
			}
			says("plain hello", onlyTools)
			for _, what := range []string{"E-1", "E-2"} {
				if says("approve "+what, onlyTools); len(c.asked) != 1 {
					t.Fatalf("asked %q", c.asked)
				}
				says(words, onlyTools+","+entries(c.asked, yesEntry))
			}
			says("plain later", onlyTools)
			if ran := ledger.Executed(c.thread); fmt.Sprint(ran) != "map[E-1:1 E-2:1]" {
				t.Errorf("ran %v", ran)
			}
			seen := map[string]bool{}
			for _, body := range ledger.Requests(c.thread) {
				var in struct{ Messages []struct{ ID string } }
				if err := json.Unmarshal(body, &in); err != nil {
					t.Fatal(err)
				}
				for _, m := range in.Messages {
					if seen[m.ID] {
						t.Errorf("the message %s was sent twice", m.ID)
					}
					seen[m.ID] = true
				}
			}
		})
	}
}
