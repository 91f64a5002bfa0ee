package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// TestDecisionAfterALostRecord: Holdpoint was restarted and has lost its record, and the backend
// may still wait for an answer. So Holdpoint must not send it a message that some backend reads as
// a decision, unless Holdpoint knows that the call had no question. Holdpoint sends plain results.
// After a refusal, the client's next message must be answered.
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

// TestDecisionBesideAnAnswer: the history contains a decision on an unknown call. The decision must
// not reach the backend. This must hold for a run that answers another question, and for the
// messages that Holdpoint adds from the record.
func TestDecisionBesideAnAnswer(t *testing.T) {
	for family, f := range callFamilies() {
		if f.dialect != "adk" && f.dialect != "tool-call" {
			continue // the other families read only the last messages
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

// inMemory tells Holdpoint that a restart empties its store.
func inMemory(o *Options) { o.StoreInMemory = true }

// TestDecisionOnAToolOfTheClients: a request contains a decision on a call, and declares the call's
// tool as one of the client. Holdpoint sends the decision if a stream of the thread left the call
// to the client. The record notes such calls for restarts and for other replicas. The declaration
// alone is enough only while the dialect is unknown and a restart may have lost the note.
func TestDecisionOnAToolOfTheClients(t *testing.T) {
	shows := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show","parentMessageId":"a9"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, endDelete, finished,
	}
	tells := []string{`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + calls("show") + `]}`, finished}
	for family, f := range callFamilies() {
		for name, c := range map[string]struct {
			named, memory   bool
			seen            []string // the events of the stream about the call
			restarted       bool     // after that stream, with the same store unless memory is set
			passes, passes1 bool     // with and without the call in the messages
		}{
			"named, after a restart":                     {named: true, memory: true},
			"named, of this thread":                      {named: true, memory: true, seen: shows, passes: true, passes1: true},
			"named, seen before a restart":               {named: true, memory: true, seen: shows, restarted: true},
			"named, a store that keeps, never seen":      {named: true},
			"named, a store that keeps, of this thread":  {named: true, seen: shows, passes: true, passes1: true},
			"named, a store that keeps, another replica": {named: true, seen: shows, restarted: true, passes: true, passes1: true},
			"named, a store that keeps, told in a list":  {named: true, seen: tells, restarted: true, passes: true, passes1: true},
			"auto, where nobody knows the dialect":       {memory: true, passes: true},
			"auto, of this thread":                       {memory: true, seen: shows, passes: true, passes1: true},
			"auto, seen before a restart":                {memory: true, seen: shows, restarted: true, passes: true},
			"auto, a store that keeps, never seen":       {},
			"auto, a store that keeps, of this thread":   {seen: shows, passes: true, passes1: true},
			"auto, a store that keeps, another replica":  {seen: shows, restarted: true, passes: true, passes1: true},
			"auto, a store that keeps, told in a list":   {seen: tells, restarted: true, passes: true, passes1: true},
		} {
			t.Run(family+", "+name, func(t *testing.T) {
				if f.dialect == "agent-framework" && c.named {
					return // Begin rewrites the decision in any case
				}
				serve := func(n int) []string {
					if c.seen != nil && n == 1 {
						return append([]string{started}, c.seen...)
					}
					return f.asksOnce(n + 1)
				}
				g := newFamilyRig(t, f, c.named, serve, func(o *Options) { o.StoreInMemory = c.memory })
				if c.seen != nil {
					g.do(talk("t", declares("show")))
				}
				if c.restarted {
					kept := g.store
					g = newFamilyRig(t, f, c.named, func(n int) []string { return f.asksOnce(n + 1) }, func(o *Options) {
						if o.StoreInMemory = c.memory; !c.memory {
							o.Store = kept
						}
					})
				}
				for _, content := range f.says {
					for _, shown := range []bool{true, false} {
						messages, want := []string{calls("show"), decided(content)}, c.passes
						if !shown {
							messages, want = messages[1:], c.passes1
						}
						before := g.called()
						told := g.do(talk("t", declares("show"), messages...))
						if passes := g.called() > before && arrived(g.last(), content); passes != want {
							t.Errorf("%q passed: %v, with the call: %v, the client was told %s", content, passes, shown, told)
						}
						before = g.called()
						if told := g.do(talk("t", declares("show"), append(messages, noWords)...)); g.called() != before+1 {
							t.Errorf("behind %q a message is not answered: %s", content, told)
						}
					}
				}
			})
		}
	}
}

// TestCallsThatAClientMakesUp: the client's messages contain a call, and the backend repeats these
// messages in a snapshot. The repeated call does not count as a call that the backend left to the
// client.
func TestCallsThatAClientMakesUp(t *testing.T) {
	f := callFamilies()["ADK"]
	repeats := []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + calls("show") + `]}`, finished}
	g := newFamilyRig(t, f, true, func(int) []string { return repeats })
	g.do(talk("t", declares("show"), calls("show")))
	before := g.called()
	if told := g.do(talk("t", declares("show"), calls("show"), decided(f.says[0]))); g.called() != before {
		t.Errorf("it passed: %s", told)
	}
}

// TestCallThatAsksIsNoLongerTheClients: some models repeat the ids of calls. The backend left a
// first call to the client. Then a second call with the same id asked a question, and the record
// has forgotten that question. A decision on this id must not reach the backend.
func TestCallThatAsksIsNoLongerTheClients(t *testing.T) {
	for family, f := range callFamilies() {
		if f.dialect == "agent-framework" {
			continue
		}
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %v", family, restarted), func(t *testing.T) {
				now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
				keeps := expiring(&now)
				serve := func(n int) []string {
					if n == 1 {
						return []string{started, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show"}`, endDelete, finished}
					}
					return f.asksOnce(n - 1)
				}
				g := newFamilyRig(t, f, true, serve, keeps)
				g.do(talk("t", declares("show")))
				g.do(talk("t", declares("show"), calls("show"), decided("shown"), noWords))
				now = now.Add(time.Minute)
				// the open question has expired, so this message is sent
				g.do(talk("t", "", noWords))
				now = now.Add(61 * time.Minute)
				if rec, err := g.store.Load(t.Context(), recordKey("/", "t"), ""); err != nil || len(rec.Results) != 1 || !rec.Results[0].Tombstone {
					t.Fatalf("the record: %+v, %v", rec, err)
				}
				if restarted {
					kept := g.store
					g = newFamilyRig(t, f, true, func(n int) []string { return f.asksOnce(n + 1) }, keeps, func(o *Options) { o.Store = kept })
				}
				before := g.called()
				if told := g.do(talk("t", declares("show"), calls("show"), decided(f.says[0]))); g.called() != before {
					t.Errorf("it passed: %s\n%s", told, g.last())
				}
			})
		}
	}
}

// TestDecisionInAnOutage: the store is down, so Holdpoint cannot look up open questions. It still
// sends runs to the backend. It must not send a message that some backend reads as a decision, even
// if the request declares the call's tool.
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
