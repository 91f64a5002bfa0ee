package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestDecisionAfterALostRecord: Holdpoint was started anew, and the backend may still wait. So a
// message that the backend of some family takes for a decision does not reach it on a call that
// nobody knows to have asked. A plain result passes, and the message after a refusal is answered.
func TestDecisionAfterALostRecord(t *testing.T) {
	for family, f := range callFamilies() {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, named %v", family, named), func(t *testing.T) {
				g := newFamilyRig(t, f, named, func(n int) []string { return f.asksOnce(n + 1) }, inMemory)
				for name, c := range map[string]struct {
					tools    string
					messages []string
				}{
					"its call":                   {"", []string{calls(f.tool)}},
					"another call of the id":     {"", []string{calls("read_file")}},
					"beside a tool of another":   {declares("show"), []string{calls("read_file")}},
					"no call":                    {"", nil},
					"no call, behind an answer":  {"", []string{isFine}},
					"two calls, one is declared": {declares("show"), []string{calls("show"), strings.Replace(calls("read_file"), `"a9"`, `"a10"`, 1)}},
				} {
					for _, content := range f.says {
						before := g.called()
						told := g.do(talk("t", c.tools, append(c.messages, decided(content))...))
						if harmlessHere := named && f.dialect == "agent-framework"; harmlessHere {
							if g.called() > before && arrived(g.last(), content) {
								t.Errorf("%s: %q arrived as %s", name, content, g.last())
							}
						} else if g.called() != before || !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
							t.Errorf("%s: %q was not refused: %s", name, content, told)
						}
						before = g.called()
						told = g.do(talk("t", c.tools, append(c.messages, decided(content), noWords)...))
						if g.called() != before+1 || strings.Contains(told, "RUN_ERROR") {
							t.Errorf("%s: behind %q a message is not answered: %s", name, content, told)
						}
						looksThere := f.dialect == "adk" || f.dialect == "tool-call" || f.dialect == "agent-framework" && content == `{"accepted":true}`
						if looksThere && arrived(g.last(), content) {
							t.Errorf("%s: %q arrived before words", name, content)
						}
					}
					for _, content := range []string{"deleted a.txt", `{"ok":true,"rows":[{"id":1}]}`} {
						if name == "no call" || name == "no call, behind an answer" {
							continue // no client makes up such a result
						}
						if told := g.do(talk("t", c.tools, append(c.messages, decided(content))...)); !arrived(g.last(), content) && f.dialect != "adk" {
							t.Errorf("%s: %q did not pass: %s", name, content, told)
						}
					}
				}
			})
		}
	}
}

// TestDecisionBesideAnAnswer: a decision on a call that nobody knows stays harmless in the run that
// answers another question, and in what the record gives back to the backend.
func TestDecisionBesideAnAnswer(t *testing.T) {
	for family, f := range callFamilies() {
		if f.dialect != "adk" && f.dialect != "tool-call" {
			continue // the others look at the last messages only
		}
		for name, before := range map[string]bool{"before the question": true, "in the resume": false} {
			for _, answer := range []string{f.yes, f.no} {
				t.Run(family+", "+name+", "+answer, func(t *testing.T) {
					for _, content := range f.says {
						g := newFamilyRig(t, f, true, func(n int) []string {
							asks := f.asksOnce(n)
							for i := range asks {
								asks[i] = strings.ReplaceAll(asks[i], `"c1"`, `"c7"`)
							}
							return asks
						}, inMemory)
						lost := []string{calls("read_file"), decided(content), noWords}
						first, then := talk("t", ""), lost
						if before {
							first, then = talk("t", "", lost...), nil
						}
						told := g.do(first)
						id := gjson.Get(told[strings.LastIndex(told, `{"type":"RUN_FINISHED"`):], "outcome.interrupts.0.id").Str
						if id == "" {
							t.Fatalf("nothing is asked: %s", told)
						}
						g.do(talk("t", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, id, answer), then...))
						if g.called() < 2 && answer == f.yes {
							t.Error("the answer was not handed on")
						}
						for n, body := range g.calls {
							if arrived(body, content) {
								t.Fatalf("%q arrived with request %d: %s", content, n+1, body)
							}
						}
					}
				})
			}
		}
	}
}

// inMemory is a Holdpoint whose records end with it.
func inMemory(o *Options) { o.StoreInMemory = true }

// TestDecisionOnAToolOfTheClients: the request claims the call for the client. Where the dialect is
// known and a restart may have lost what waits, that counts only for calls that this process has
// seen. With a store that outlives Holdpoint nothing is lost, and another replica may have seen it.
func TestDecisionOnAToolOfTheClients(t *testing.T) {
	shows := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show","parentMessageId":"a9"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, endDelete, finished,
	}
	for family, f := range callFamilies() {
		for name, c := range map[string]struct {
			named, memory, seen bool
			passes              bool
		}{
			"named, after a restart":                    {true, true, false, false},
			"named, of this thread":                     {true, true, true, true},
			"named, with a store that keeps":            {true, false, false, true},
			"auto, where nobody knows the dialect":      {false, true, false, true},
			"auto, of this thread":                      {false, true, true, true},
			"auto, nobody knows it, a store that keeps": {false, false, false, true},
		} {
			t.Run(family+", "+name, func(t *testing.T) {
				if f.dialect == "agent-framework" && c.named {
					return // Begin makes it harmless, whoever claims it
				}
				g := newFamilyRig(t, f, c.named, func(n int) []string {
					if c.seen && n == 1 {
						return append([]string{started}, shows...)
					}
					return f.asksOnce(n + 1)
				}, func(o *Options) { o.StoreInMemory = c.memory })
				if c.seen {
					g.do(talk("t", declares("show")))
				}
				for _, content := range f.says {
					before := g.called()
					told := g.do(talk("t", declares("show"), calls("show"), decided(content)))
					if passes := g.called() > before && arrived(g.last(), content); passes != c.passes {
						t.Errorf("%q passed: %v, the client was told %s", content, passes, told)
					}
					before = g.called()
					if told := g.do(talk("t", declares("show"), calls("show"), decided(content), noWords)); g.called() != before+1 {
						t.Errorf("behind %q a message is not answered: %s", content, told)
					}
				}
			})
		}
	}
}

// TestDecisionInAnOutage: the store cannot be asked what waits, and runs pass. What a backend reads
// as a decision is not among them, whoever claims the call.
func TestDecisionInAnOutage(t *testing.T) {
	for family, f := range callFamilies() {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, named %v", family, named), func(t *testing.T) {
				down := &downStore{}
				g := newFamilyRig(t, f, named, f.asksOnce, func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, OutagePass })
				g.do(talk("t", ""))
				down.load = true
				for _, content := range f.says {
					for claim, messages := range map[string][]string{
						declares("show"): {calls("show")}, declares(f.tool): {calls(f.tool)}, "": {calls("read_file")}, " ": nil,
					} {
						before := g.called()
						if g.do(talk("t", claim, append(messages, decided(content))...)); g.called() > before && arrived(g.last(), content) {
							t.Errorf("%q passed, with %s %s", content, messages, claim)
						}
					}
				}
			})
		}
	}
}
