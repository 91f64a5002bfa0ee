package agentframework

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const waiting = `{"type":"RUN_ERROR","message":"Pending interrupts require a resume entry for every interruptId.","code":"APPROVAL_RESUME_REQUIRED"}`

// A waitingBackend checks a resume array as Agent Framework 1.7.0 does.
type waitingBackend struct {
	pending, settled []string
	byCall           map[string]string // maps a call that a tool message can deny to its approval
	requests         int
}

func (b *waitingBackend) refuses(code, message string) []string {
	return []string{startedRun, `{"type":"RUN_ERROR","message":"` + message + `","code":"APPROVAL_RESUME_` + code + `"}`}
}

func (b *waitingBackend) answer(t *testing.T, body []byte) []string {
	t.Helper()
	b.requests++
	entries := gjson.GetBytes(body, "resume").Array()
	if len(entries) == 0 {
		messages := gjson.GetBytes(body, "messages").Array()
		for n := len(messages) - 1; n >= 0 && messages[n].Get("role").Str == "tool"; n-- {
			if messages[n].Get("content").Str != `{"accepted":false}` {
				t.Errorf("denied with %s", messages[n].Raw)
			}
			id := b.byCall[messages[n].Get("toolCallId").Str]
			b.pending = slices.DeleteFunc(b.pending, func(one string) bool { return one == id })
		}
		if len(b.pending) > 0 {
			return []string{startedRun, waiting}
		}
		return []string{startedRun, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`}
	}
	var named []string
	for _, e := range entries {
		id := e.Get("interruptId").Str
		if e.Get("status").Str != "cancelled" || e.Get("payload").Exists() || slices.Contains(named, id) {
			t.Errorf("sent %s", e.Raw)
		}
		named = append(named, id)
	}
	if len(gjson.GetBytes(body, "messages").Array()) > 0 {
		t.Errorf("messages beside a cancel: %s", body)
	}
	slices.Sort(named)
	for _, id := range named {
		switch {
		case slices.Contains(b.pending, id), slices.Contains(b.settled, id):
		case len(b.pending) > 0:
			return b.refuses("NOT_FOUND", "No pending interrupt found for resume interruptId '"+id+"'.")
		default:
			return b.refuses("NOT_FOUND", "No pending approval interrupt found for resume interruptId '"+id+"'.")
		}
	}
	for _, id := range b.pending {
		if !slices.Contains(named, id) {
			return b.refuses("MISSING_INTERRUPT", "Resume omitted pending interruptId '"+id+"'.")
		}
	}
	if slices.ContainsFunc(named, func(id string) bool { return slices.Contains(b.settled, id) }) {
		return b.refuses("INVALID", "Approval cancellation conflicts with the retained terminal decision.")
	}
	b.pending = nil
	return []string{startedRun, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`}
}

const startedRun = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`

// TestLostQuestionIsCancelled: Holdpoint has lost the questions of a thread. If it knows at least
// one of their ids, and the backend names the other ids, a cancel must free the thread. No request
// to the backend may approve anything.
func TestLostQuestionIsCancelled(t *testing.T) {
	const asksWithCall = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"delete","arguments":"{}"}}]}`
	many := make([]string, 12)
	for n := range many {
		many[n] = fmt.Sprintf("p%d", n)
	}
	for name, c := range map[string]struct {
		named    []string
		messages []string
		ended    []translate.EndedPause
		backend  waitingBackend
		fate     translate.Fate
		asks     bool
		most     int
	}{
		"a client names it":                  {named: []string{"p1~bits"}, backend: waitingBackend{pending: []string{"p1"}}, asks: true, most: 2},
		"its id has a tilde":                 {named: []string{"p~1~bits"}, backend: waitingBackend{pending: []string{"p~1"}}, asks: true, most: 2},
		"a client names what is made up too": {named: []string{"x'~y", "p1~bits", "<z>~"}, backend: waitingBackend{pending: []string{"p1"}}, asks: true, most: 6},
		"a client names one of twelve":       {named: []string{"p3~bits"}, backend: waitingBackend{pending: many}, asks: true, most: 14},
		"what is made up alone":              {named: []string{"x~y"}, backend: waitingBackend{pending: []string{"p1"}}, asks: true, fate: translate.Lost, most: 2},
		"one was approved before":            {named: []string{"s1~bits", "p1~bits"}, backend: waitingBackend{pending: []string{"p1"}, settled: []string{"s1"}}, asks: true, most: 6},
		"an approved one tells the other":    {named: []string{"s1~bits"}, backend: waitingBackend{pending: []string{"p1"}, settled: []string{"s1"}}, asks: true, most: 5},
		"nothing waits any more":             {named: []string{"p1~bits"}, backend: waitingBackend{}, asks: true, most: 1},
		"it was approved, and nothing waits": {named: []string{"s1~bits"}, backend: waitingBackend{settled: []string{"s1"}}, asks: true, most: 3},
		"its call is its id":                 {messages: []string{asksWithCall}, backend: waitingBackend{pending: []string{"c1"}}, asks: true, most: 1},
		"its call is denied":                 {messages: []string{asksWithCall}, backend: waitingBackend{pending: []string{"p1"}, byCall: map[string]string{"c1": "p1"}}, asks: true, most: 2},
		"its call is not the one that waits": {messages: []string{asksWithCall}, backend: waitingBackend{pending: []string{"p1"}}, asks: true, fate: translate.Lost, most: 2},
		"nothing is known":                   {backend: waitingBackend{pending: []string{"p1"}}},
		"a blank id is none":                 {named: []string{"  "}, backend: waitingBackend{pending: []string{"p1"}}},
		"it was cancelled as a lost one before": {named: []string{"p1~bits"}, ended: []translate.EndedPause{{Pause: agui.Pause{ID: "p", Dialect: Name, Interrupts: []agui.Interrupt{
			{Native: "p1", Object: []byte(`{}`), Private: []byte(`{"of":"x","natives":["p1","p1~bits"]}`), CancelOnly: true}}}}}, backend: waitingBackend{pending: []string{"p1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t)
			in := input(t, "")
			for _, m := range c.messages {
				in = in.WithMessages(append(slices.Clone(in.Messages), agui.ParseMessage([]byte(m))))
			}
			said := agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"Hello?"}`))
			in = in.WithMessages(append(slices.Clone(in.Messages), said))
			l := dialecttest.NewLog(in.Messages)
			_, run, err := d.Begin(&translate.Request{Input: in, Transcript: l, NamedInterrupts: c.named, EndedPauses: c.ended})
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, l, startedRun, waiting).Result
			if asks := len(res.Asked.Interrupts) == 1; asks != c.asks || !asks && string(res.Finish.JSON) != waiting {
				t.Fatalf("asks: %v, %s", asks, res.Finish.JSON)
			} else if !asks {
				return
			}
			if n := len(res.UnacceptedMessages); n == 0 || res.UnacceptedMessages[n-1].ID != "u2" || res.Finish.Type != agui.RunFinished {
				t.Errorf("not taken: %d messages", n)
			}
			p := dialecttest.WithIDs(res.Asked.Pause(Name))
			answers, err := d.Answers(input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":false}`))), p)
			if err != nil || len(answers) != 1 || answers[0].Status != agui.Cancelled {
				t.Fatalf("a denial is read as %v %v", answers, err)
			}
			dialecttest.CancelTest{
				Dialect: d, Request: &translate.Request{Input: in, Transcript: l, Pause: p, Answers: answers, NewMessages: []agui.Message{said}},
				Answer: func(run translate.Run, body []byte) translate.Result {
					return play(t, run, l, c.backend.answer(t, body)...).Result
				},
				Waits: func() []string { return c.backend.pending }, Fate: c.fate, Message: "Hello?",
			}.Check(t)
			if c.backend.requests > c.most {
				t.Errorf("%d requests, want %d at most", c.backend.requests, c.most)
			}
		})
	}
}

// TestFrees checks which cancels free a thread. Versions before the outcome do not lock a thread,
// and .NET ignores a cancel.
func TestFrees(t *testing.T) {
	made := func(private, interrupt string) agui.Pause {
		return agui.Pause{ID: "p", Dialect: Name, Private: []byte(private), Interrupts: []agui.Interrupt{{Native: "n", Object: []byte(`{}`), Private: []byte(interrupt)}}}
	}
	for name, c := range map[string]struct {
		pause agui.Pause
		want  bool
	}{
		"an approval of 1.0.0rc8 and later": {made(`{"row":"outcome"}`, `{"kind":"approval","id":"n","call":"c"}`), true},
		"a workflow of 1.0.0rc8 and later":  {made(`{"row":"outcome"}`, `{"kind":"request","id":"n"}`), true},
		"a predicted state":                 {made(`{"row":"outcome"}`, `{"kind":"confirm","id":"n"}`), false},
		"1.0.0rc7":                          {made(`{"row":"list"}`, `{"kind":"approval","id":"n","call":"c"}`), false},
		"a record that cannot be read":      {made(`7`, `{"kind":"approval","id":"n"}`), false},
		"a question that cannot be read":    {made(`{"row":"outcome"}`, `7`), false},
	} {
		if got := new(Dialect).Frees(&c.pause); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBackendOf checks which events identify the backend as the Python version. On a path that may
// belong to the .NET host, proxy checks calls without a result (translate.Continuer). So a question
// that any model could ask by a call must not identify the backend.
func TestBackendOf(t *testing.T) {
	for name, c := range map[string]struct{ finish, want string }{
		"a list":                  {withList("a"), python},
		"an empty list":           {withList(), ""},
		"a predicted state":       {finished, ""},
		"an outcome of its own":   {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a","metadata":{"` + metadataKey + `":{}}}]}}`, python},
		"an outcome of another's": {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a"}]}}`, ""},
	} {
		if got := backendOf(agui.NewEvent([]byte(c.finish))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for name, stream := range map[string][]string{
		"a predicted state":            events([]string{started}, confirms("c", "w"), []string{finished}),
		"a call beside another's":      events([]string{started}, confirms("c", "w"), []string{`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"c","reason":"x"}]}}`}),
		"an approval that is too old":  asking(finished, "", "a"),
		"an approval of other members": asking(withOutcome(schemaOld, "a"), "", "a"),
	} {
		want := map[bool]string{true: python}[strings.Contains(name, "approval")]
		if p, _ := playPlain(t, "", stream...); p.Result.Backend != want {
			t.Errorf("%s: %q, want %q", name, p.Result.Backend, want)
		}
	}
}
