//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests in this file are about Google ADK 2. It asks for a value by a call of
// adk_request_input, and for a credential by a call of adk_request_credential. A run with such a
// question ends normally, even with emit_interrupt_outcome.

// eachADKInput runs test for the three kinds of ADK application. Each runs behind two Holdpoints:
// one recognizes the dialect by itself, and one has HOLDPOINT_DIALECT=adk.
func eachADKInput(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "adk", "0.11.0")
	for n, mode := range []string{"default", "resumable", "outcome"} {
		for _, dialect := range []string{"auto", "adk"} {
			t.Run(mode+"/"+dialect, func(t *testing.T) {
				t.Parallel()
				h := ownHoldpoint(t, s.base()+"/"+mode, map[string]string{"HOLDPOINT_DIALECT": dialect})
				test(t, world{b: &backend{name: "adk", mode: mode, server: s}, h: h, version: []string{newest, pinned}[n%2]})
			})
		}
	}
}

func begun(order string) string { return `start {"order":"` + order + `"}` }

// TestADKAsksForInput: the question must have the message, the schema and the payload of ADK.
// Holdpoint must refuse an answer that does not fit the schema. A correct answer must then reach
// ADK once.
func TestADKAsksForInput(t *testing.T) {
	t.Parallel()
	approves := map[string]any{"approved": true, "note": "well done"}
	eachADKInput(t, func(t *testing.T, w world) {
		for name, test := range map[string]struct {
			flow, message, schema, metadata string
			wrong, right                    any
			given                           string
		}{
			"with a schema": {
				"review", "Publish the draft?", `{"properties":{"approved":{"type":"boolean"},"note":{"type":"string"}},"required":["approved"],"type":"object"}`,
				`{"adk":{"payload":{"draft":"hello"}}}`, map[string]any{"nonsense": 1}, approves, `{"approved":true,"note":"well done"}`,
			},
			"a number":               {"count", "The agent asks for input.", `{"type":"integer"}`, "", "many", 3, "3"},
			"any value":              {"free", "Say anything.", "", "", nil, "hello", `"hello"`},
			"a text that looks JSON": {"free", "Say anything.", "", "", nil, "5", `"5"`},
			"an object":              {"free", "Say anything.", "", "", nil, map[string]any{"result": 1}, `{"result":1}`},
		} {
			t.Run(name, func(t *testing.T) {
				c := w.client(t, test.flow)
				c.asksAbout(t, step{say: "write it"}, 1)
				i := c.pending[0]
				if i.str("reason") != "input_required" || i.str("message") != test.message {
					t.Errorf("asked with %v", i)
				}
				for key, want := range map[string]string{"responseSchema": test.schema, "metadata": test.metadata} {
					if got, has := i[key]; has != (want != "") || has && text(got) != want {
						t.Errorf("%s: %s, want %s", key, text(got), want)
					}
				}
				if test.wrong != nil {
					c.refused(t, step{resume: c.answers(gives(test.wrong))}, "INVALID_PAYLOAD", true)
					w.called(t, c, 1)
				}
				c.finish(t, step{resume: c.answers(gives(test.right))})
				w.ran(t, c, begun("write it"), `publish {"given":`+test.given+`}`)
				c.pending = nil
				c.asksAbout(t, step{say: "once more"}, 1)
				c.finish(t, step{resume: c.answers(gives(test.right))})
				w.ran(t, c, begun("write it"), begun("once more"), `publish {"given":`+test.given+`}`, `publish {"given":`+test.given+`}`)
			})
		}
		t.Run("of a model", func(t *testing.T) {
			c := w.client(t, "agent")
			c.asksAbout(t, step{say: "input Which colour?"}, 1)
			if got := c.pending[0].str("message"); got != "Which colour?" {
				t.Errorf("asked %q", got)
			}
			if a := c.finish(t, step{resume: c.answers(gives("blue"))}); !strings.Contains(a.Text, `\"blue\"`) {
				t.Errorf("the model was not told: %s", a.Text)
			}
			c.goesOn(t, nil)
			c.asksAbout(t, step{say: "input Which colour?, input Which size?"}, 2)
			if a := c.finish(t, c.each(t, gives("red"), gives("large"))); !contains(a.Text, `\"red\"`, `\"large\"`) {
				t.Errorf("the model was not told both: %s", a.Text)
			}
			c.goesOn(t, nil)
		})
	})
}

// TestADKAsksForInputBesideAConfirmation: in one turn, the model asks for a value and makes a call
// that requires a confirmation. After the answers, a resumable application sends the result of the
// confirmed call, but not the call itself. The client's next request contains this result, and must
// still be accepted.
func TestADKAsksForInputBesideAConfirmation(t *testing.T) {
	t.Parallel()
	s := need(t, "adk", "0.11.0")
	for _, dialect := range []string{"auto", "adk"} {
		t.Run(dialect, func(t *testing.T) {
			h := ownHoldpoint(t, s.base()+"/resumable", map[string]string{"HOLDPOINT_DIALECT": dialect})
			w := world{b: &backend{name: "adk", mode: "resumable", server: s}, h: h, version: newest}
			for name, confirms := range map[string]bool{"approved": true, "denied": false} {
				t.Run(name, func(t *testing.T) {
					c := w.client(t, "agent")
					c.asksAbout(t, step{say: "input Which colour?, delete a.txt"}, 2)
					var s step
					for _, i := range c.pending {
						if i.str("reason") == "confirmation" {
							s.resume = append(s.resume, confirmed[confirms](i.str("id")))
						} else {
							s.resume = append(s.resume, resolved(i.str("id"), "blue"))
						}
					}
					c.finish(t, s)
					if confirms {
						w.ran(t, c, deleteA)
					} else {
						w.ran(t, c)
					}
					c.goesOn(t, nil)
				})
			}
		})
	}
}

// TestADKsNodeWantsAConfirmation: a node of a workflow requires a confirmation. The question must
// describe the node and its arguments. ADK uses the same id for the confirmation in every run of
// the workflow, and each of the runs must get its own answer.
func TestADKsNodeWantsAConfirmation(t *testing.T) {
	t.Parallel()
	eachADKInput(t, func(t *testing.T, w world) {
		c := w.client(t, "pay")
		want := []string{}
		for n, answer := range []answer{confirmed[true], confirmed[false], gives(true), gives(map[string]any{"approved": false})} {
			order := []string{"rent", "tax", "wages", "gifts"}[n]
			c.asksAbout(t, step{say: order}, 1)
			if i := c.pending[0]; i.str("reason") != "confirmation" || !strings.Contains(text(i["metadata"]), order) {
				t.Errorf("asked with %v", i)
			}
			c.refused(t, step{resume: c.answers(gives("no"))}, "INVALID_PAYLOAD", true)
			c.finish(t, step{resume: c.answers(answer)})
			want = append(want, begun(order))
			if n%2 == 0 {
				want = append(want, `pay {"order":"`+order+`"}`, `publish {"given":"paid"}`)
			} else {
				want = append(want, `publish {"given":{"error":"This tool call is rejected."}}`)
			}
			w.ran(t, c, want...)
		}
	})
}

// TestADKsInputIsCancelled: ADK cannot be told that a question for a value or a credential is
// cancelled. Holdpoint must send nothing, and the next message starts the workflow again.
func TestADKsInputIsCancelled(t *testing.T) {
	t.Parallel()
	eachADKInput(t, func(t *testing.T, w world) {
		for _, flow := range []string{"review", "free", "count", "pay", "key"} {
			t.Run(flow, func(t *testing.T) {
				c := w.client(t, flow)
				c.asksAbout(t, step{say: "write it"}, 1)
				c.finish(t, step{resume: c.answers(cancelled)})
				w.called(t, c, 1)
				c.asksAbout(t, step{say: "again"}, 1)
				c.asksAbout(t, step{say: "beside", resume: c.answers(cancelled)}, 1)
				c.refused(t, step{say: "early", empty: true}, "PENDING_INTERRUPTS", true)
				w.ran(t, c, begun("write it"), begun("again"), begun("beside"))
			})
		}
		for _, say := range []string{"input Which colour?", "mail inbox"} {
			t.Run(say, func(t *testing.T) {
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: say}, 1)
				c.finish(t, step{resume: c.answers(cancelled)})
				w.called(t, c, 1)
				c.goesOn(t, nil)
				c.asksAbout(t, step{say: say}, 1)
				c.goesOn(t, nil)
				w.ran(t, c)
			})
		}
	})
}

// TestADKsQuestionsAreAllCancelled: the model asks for two values, or for a value and a
// confirmation, and the client cancels both questions. Nothing may run, and the agent must
// continue. Only a resumable application reports the question for a value next to a confirmation.
func TestADKsQuestionsAreAllCancelled(t *testing.T) {
	t.Parallel()
	s := need(t, "adk", "0.11.0")
	for _, mode := range []string{"default", "resumable", "outcome"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, s.base()+"/"+mode, map[string]string{"HOLDPOINT_DIALECT": "adk"})
			w := world{b: &backend{name: "adk", mode: mode, server: s}, h: h, version: newest}
			for _, say := range []string{"input Which colour?, input Which size?", "input Which colour?, delete a.txt"} {
				if mode != "resumable" && strings.Contains(say, "delete") {
					continue
				}
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: say}, 2)
				c.finish(t, step{resume: c.answers(cancelled)})
				w.ran(t, c)
				c.goesOn(t, nil)
				c.asksAbout(t, step{say: "delete a.txt"}, 1)
				c.finish(t, step{resume: c.answers(confirmed[true])})
				w.ran(t, c, deleteA)
			}
		})
	}
}

// TestADKAsksForACredential: Holdpoint must put the person's credential into the AuthConfig that
// ADK sent. The question must not contain the secrets of the agent's own OAuth client.
func TestADKAsksForACredential(t *testing.T) {
	t.Parallel()
	eachADKInput(t, func(t *testing.T, w world) {
		t.Run("an API key", func(t *testing.T) {
			c := w.client(t, "key")
			c.asksAbout(t, step{say: "write it"}, 1)
			if got := c.pending[0].str("message"); got != "Please provide your API key for X-Key." {
				t.Errorf("asked %q", got)
			}
			c.refused(t, step{resume: c.answers(gives(map[string]any{"approved": true}))}, "INVALID_PAYLOAD", true)
			c.finish(t, step{resume: c.answers(gives("k-123"))})
			w.ran(t, c, begun("write it"), `publish {"given":"k-123"}`)
		})
		for name, payload := range map[string]any{
			"an OAuth credential": map[string]any{"oauth2": map[string]any{"accessToken": "t-1"}},
			"an AuthConfig":       map[string]any{"exchangedAuthCredential": map[string]any{"authType": "oauth2", "oauth2": map[string]any{"accessToken": "t-1"}}},
		} {
			t.Run(name, func(t *testing.T) {
				c := w.client(t, "agent")
				a := c.run(t, step{say: "mail inbox"}).answer(t)
				if len(a.outcome()) != 1 {
					t.Fatalf("not asked: %v", a.kinds())
				}
				if strings.Contains(a.Text, "the-agents-own-secret") {
					t.Errorf("the agent's own secret is published: %s", a.Text)
				}
				if !contains(a.Text, `"authUri":"https://login.test/auth?`, `"message":"The agent asks for a credential."`) {
					t.Errorf("nobody could log in: %s", a.Text)
				}
				c.refused(t, step{resume: c.answers(gives("t-1"))}, "INVALID_PAYLOAD", true)
				c.finish(t, step{resume: c.answers(gives(payload))})
				if w.b.mode == "resumable" { // ADK does not call the tool again there, with or without Holdpoint
					w.ran(t, c)
				} else {
					w.ran(t, c, `read_mail {"folder":"inbox","secret":"the-agents-own-secret","token":"t-1"}`)
				}
				c.goesOn(t, nil)
			})
		}
	})
	t.Run("google-adk 1", func(t *testing.T) {
		s := need(t, "adk", "0.7.1")
		w := world{b: &backend{name: "adk", mode: "default", server: s}, h: ownHoldpoint(t, s.base()+"/default", nil), version: newest}
		c := w.client(t, "agent")
		c.asksAbout(t, step{say: "mail inbox"}, 1)
		c.finish(t, step{resume: c.answers(gives(map[string]any{"oauth2": map[string]any{"accessToken": "t-1"}}))})
		w.ran(t, c, `read_mail {"folder":"inbox","secret":"the-agents-own-secret","token":"t-1"}`)
	})
}

// TestADKsCredentialIsKeptNowhere: a person enters a credential. Neither the store's file nor the
// audit may contain it, even if the audit has payloads. No stream may show the credential or the
// secrets of the agent's own OAuth client. This also holds if ADK sends all messages at the end of
// a run.
func TestADKsCredentialIsKeptNowhere(t *testing.T) {
	t.Parallel()
	s := need(t, "adk", "0.11.0")
	for _, mode := range []string{"default", "snapshots", "outcome"} {
		for _, dialect := range []string{"auto", "adk"} {
			t.Run(mode+"/"+dialect, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				audit, state := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "state.db")
				h := ownHoldpoint(t, s.base()+"/"+mode, map[string]string{
					"HOLDPOINT_DIALECT": dialect, "HOLDPOINT_AUDIT": "file://" + audit, "HOLDPOINT_AUDIT_PAYLOAD": "true", "HOLDPOINT_STORE": "bolt://" + filepath.ToSlash(state)})
				w := world{b: &backend{name: "adk", mode: mode, server: s}, h: h, version: newest}
				c := w.client(t, "agent")
				const given, own = "t-given-by-a-person", "the-agents-own-secret"
				var shown strings.Builder
				asked := c.run(t, step{say: "mail inbox"}).answer(t)
				shown.WriteString(asked.Text)
				if len(asked.outcome()) != 1 {
					t.Fatalf("not asked: %s", asked.Text)
				}
				shown.WriteString(c.finish(t, step{resume: c.answers(gives(map[string]any{"oauth2": map[string]any{"accessToken": given}}))}).Text)
				w.ran(t, c, `read_mail {"folder":"inbox","secret":"`+own+`","token":"`+given+`"}`)
				again := c.run(t, step{say: "plain hello"}).answer(t)
				if !strings.Contains(again.Text, "echo: plain hello") {
					t.Errorf("the next message is answered by %s", again.Text)
				}
				shown.WriteString(again.Text)
				if mode == "snapshots" && !strings.Contains(again.Text, `"MESSAGES_SNAPSHOT"`) {
					t.Errorf("the backend tells no messages: %s", again.Text)
				}
				if strings.Contains(shown.String(), given) || strings.Contains(shown.String(), own) {
					t.Errorf("the client is shown %s", shown.String())
				}
				for _, file := range []string{audit, state} {
					if kept, err := os.ReadFile(file); err != nil || strings.Contains(string(kept), given) {
						t.Errorf("%s keeps it, %v", file, err)
					}
				}
			})
		}
	}
}

// TestADKsOwnClientAnswersInput: ADK asks by a tool call, and a client that was written for ADK
// answers this call with a tool message. With another dialect or with HOLDPOINT_CLIENT=native, the
// client must see the call and can answer it as without Holdpoint. The tool message must reach ADK,
// and the workflow must continue.
func TestADKsOwnClientAnswersInput(t *testing.T) {
	t.Parallel()
	s := need(t, "adk", "0.11.0")
	for name, env := range map[string]map[string]string{
		"agui":         {"HOLDPOINT_DIALECT": "agui"},
		"tool-call":    {"HOLDPOINT_DIALECT": "tool-call", "HOLDPOINT_TOOLS": "delete_file=approval"},
		"auto, native": {"HOLDPOINT_CLIENT": "native"},
		"adk, native":  {"HOLDPOINT_DIALECT": "adk", "HOLDPOINT_CLIENT": "native"},
	} {
		for _, mode := range []string{"default", "resumable", "outcome"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				w := world{b: &backend{name: "adk", mode: mode, server: s}, h: ownHoldpoint(t, s.base()+"/"+mode, env), version: newest}
				c := w.client(t, "review")
				c.run(t, step{say: "write it", loose: true})
				c.answersItself(t, `{"approved":true}`)
				w.ran(t, c, begun("write it"), `publish {"given":{"approved":true,"note":null}}`)
			})
		}
	}
}

// answersItself sends a tool message with content that answers the last call in the client's
// messages.
func (c *client) answersItself(t *testing.T, content string) {
	t.Helper()
	all := calls(c.messages)
	if len(all) == 0 {
		t.Fatal("the client has no call to answer")
	}
	var messages []any
	for _, m := range c.messages {
		messages = append(messages, m)
	}
	messages = append(messages, map[string]any{"id": fresh("m"), "role": "tool", "toolCallId": all[len(all)-1], "content": content})
	if a := c.run(t, step{patch: map[string]any{"messages": messages}, empty: true, loose: true}).answer(t); a.code() != "" {
		t.Errorf("%s", terminal(a))
	}
}
