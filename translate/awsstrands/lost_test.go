package awsstrands

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const waitsFor = `{"type":"RUN_ERROR","message":"Thread has pending interrupts. Include resume[] to address them.","code":"PENDING_INTERRUPTS"}`

// A parkedAdapter checks a resume array as ag_ui_strands 1.0.2 does. If older is true, it checks
// the array as 0.3.0 does.
type parkedAdapter struct {
	open     []string
	older    bool
	requests int
}

func (a *parkedAdapter) answer(t *testing.T, body []byte) []string {
	t.Helper()
	a.requests++
	refused := func(code, message string) []string {
		return []string{started, `{"type":"RUN_ERROR","message":"` + message + `","code":"` + code + `"}`}
	}
	named := map[string]bool{}
	for _, e := range gjson.GetBytes(body, "resume").Array() {
		id := e.Get("interruptId").Str
		if e.Get("status").Str != "cancelled" || e.Get("payload").Exists() || named[id] {
			t.Errorf("sent %s", e.Raw)
		}
		named[id] = true
	}
	if len(a.open) == 0 {
		return refused("UNKNOWN_INTERRUPT_ID", "No pending interrupts for this thread.")
	}
	for _, e := range gjson.GetBytes(body, "resume").Array() {
		if id := e.Get("interruptId").Str; !slices.Contains(a.open, id) {
			return refused("INTERRUPT_RESUME_ERROR", "Resume references an interrupt that is not open: "+id)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(a.open), func(id string) bool { return named[id] })
	switch {
	case len(missing) > 0 && a.older:
		return refused("PARTIAL_RESUME", "Partial resume: missing interrupt IDs ['"+strings.Join(missing, "', '")+"']. All open interrupts must be addressed.")
	case len(missing) > 0:
		return refused("PARTIAL_RESUME", "Partial resume: missing interrupt IDs: "+strings.Join(missing, ", ")+". All open interrupts must be addressed.")
	}
	a.open = nil
	return []string{started, success}
}

// TestLostQuestionIsCancelled: Holdpoint has lost the questions of a thread. If it knows at least
// one of their ids, and the adapter names the other ids, a cancel must free the thread. Holdpoint
// may send only cancels, and only for ids of the Python SDK.
func TestLostQuestionIsCancelled(t *testing.T) {
	// ag_ui_strands 0.3.0 and 1.0.2 sent this id
	const gate = "v1:before_tool_call:A:e71bf523-6bf3-55b7-9695-2f5d4e0e58b6"
	const other = "v1:before_tool_call:B:" + hash
	asked := `{"id":"m1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_files","arguments":"{}"}}]}`
	for name, c := range map[string]struct {
		named   []string
		calls   bool
		refusal string
		adapter parkedAdapter
		fate    translate.Fate
		asks    bool
		most    int
	}{
		"a client names it":                 {named: []string{pyID + "~bits"}, adapter: parkedAdapter{open: []string{pyID}}, asks: true, most: 1},
		"a client names one of two":         {named: []string{pyID + "~bits"}, adapter: parkedAdapter{open: []string{pyID, other}}, asks: true, most: 2},
		"one of two, 0.3.0":                 {named: []string{pyID + "~bits"}, adapter: parkedAdapter{open: []string{pyID, other}, older: true}, asks: true, most: 2},
		"beside ids that are made up":       {named: []string{other + "~bits", "nope~bits", pyID + "~bits"}, adapter: parkedAdapter{open: []string{pyID}}, asks: true, most: 2},
		"the gate's, which nobody names":    {calls: true, adapter: parkedAdapter{open: []string{gate}}, asks: true, most: 2},
		"the gate's, and another":           {calls: true, adapter: parkedAdapter{open: []string{gate, other}}, asks: true, most: 3},
		"a hook's, which nobody names":      {calls: true, adapter: parkedAdapter{open: []string{pyID}}, most: 1},
		"a hook's, which a client names":    {named: []string{pyID + "~bits"}, calls: true, adapter: parkedAdapter{open: []string{pyID}}, asks: true, most: 2},
		"nothing waits any more":            {named: []string{pyID + "~bits"}, asks: true, most: 1},
		"an id of TypeScript":               {named: []string{tsID + "~bits"}, adapter: parkedAdapter{open: []string{tsID}}},
		"nothing is known":                  {adapter: parkedAdapter{open: []string{pyID}}},
		"the same code in other words":      {named: []string{pyID + "~bits"}, refusal: failed("PENDING_INTERRUPTS"), adapter: parkedAdapter{open: []string{pyID}}},
		"the same words under another code": {named: []string{pyID + "~bits"}, refusal: strings.Replace(waitsFor, "PENDING_INTERRUPTS", "X", 1), adapter: parkedAdapter{open: []string{pyID}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := dialect(t, "")
			list := []string{`{"id":"u1","role":"user","content":"one"}`}
			if c.calls {
				list = append(list, asked)
			}
			const said = `{"id":"u2","role":"user","content":"Hello?"}`
			in := parse(t, `"messages":[`+strings.Join(append(list, said), ",")+`]`)
			l := dialecttest.NewLog(in.Messages)
			_, run, err := d.Begin(&translate.Request{Input: in, Transcript: l, NamedInterrupts: c.named})
			if err != nil {
				t.Fatal(err)
			}
			refusal := waitsFor
			if c.refusal != "" {
				refusal = c.refusal
			}
			res := play(t, run, l, started, refusal)
			for res.Next != nil {
				res = play(t, res.Next.Run, l, c.adapter.answer(t, res.Next.Out.Body)...)
			}
			if asks := len(res.Asked.Interrupts) == 1; asks != c.asks || !asks && string(res.Finish.JSON) != refusal {
				t.Fatalf("asks: %v, %s", asks, res.Finish.JSON)
			} else if !asks {
				return
			}
			p := dialecttest.WithIDs(res.Asked.Pause(Name))
			if held := possiblyOpenCalls(p); c.calls != slices.Equal(held, []string{"A"}) {
				t.Errorf("holds %v", held)
			}
			answers := []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Cancelled}}
			dialecttest.CancelTest{
				Dialect: d, Request: &translate.Request{
					Input: in, Transcript: l, Pause: p, Answers: answers, NewMessages: []agui.Message{agui.ParseMessage([]byte(said))},
				},
				Answer: func(run translate.Run, body []byte) translate.Result {
					return play(t, run, l, c.adapter.answer(t, body)...)
				},
				Waits: func() []string { return c.adapter.open }, Fate: c.fate, Message: "Hello?",
			}.Check(t)
			if c.adapter.requests > c.most {
				t.Errorf("%d requests, want %d at most", c.adapter.requests, c.most)
			}
		})
	}
}

// TestRevivedQuestion: the record no longer has a question, but the client's request names its id.
// A cancel must be sent as for an open question. TypeScript's adapter refuses ids that are not open
// and names them, so the cancel must be repeated without these ids.
func TestRevivedQuestion(t *testing.T) {
	const other = "hook:beforeToolCall:B:myapp-approval"
	for name, c := range map[string]struct {
		ids     []string
		locks   bool
		want    string
		unknown string // the ids that TypeScript's adapter refuses
		again   string // the ids of the next request
	}{
		"a hook in TypeScript": {ids: []string{tsID + "~bits"}, locks: true, want: `[{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`},
		"the native id":        {ids: []string{tsID}, locks: true, want: `[{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`},
		"a tool in TypeScript": {ids: []string{"tool:c1:ask~bits"}, locks: true, want: `[{"interruptId":"tool:c1:ask","status":"cancelled"}]`},
		"Python":               {ids: []string{pyID + "~bits"}, want: `[{"interruptId":"` + pyID + `","status":"cancelled"}]`},
		"of another framework": {ids: []string{"95b93ade5d71718992515f7daf83c1ce~bits", "ficc_1~bits", "call_1", "nope"}},
		"beside one that is old": {
			ids: []string{other + "~bits", tsID + "~bits"}, locks: true, unknown: other,
			want:  `[{"interruptId":"` + other + `","status":"resolved","payload":"n"},{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`,
			again: `[{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`,
		},
		"nothing waits": {ids: []string{tsID + "~bits"}, locks: true, unknown: tsID, want: `[{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			d := dialect(t, "")
			p := d.Revive(c.ids, Name)
			if len(p.Interrupts) == 0 {
				if c.want != "" {
					t.Error("it is not known")
				}
				return
			}
			p.ID = "p"
			if d.Locks(&p) != c.locks || !d.Frees(&p) || p.Dialect != Name {
				t.Errorf("%+v", p)
			}
			var answers []agui.Answer
			for n := range p.Interrupts {
				if i := &p.Interrupts[n]; i.CancelOnly && gjson.GetBytes(i.Object, "id").Str == i.ID {
					answers = append(answers, agui.Answer{ID: i.ID, Status: agui.Cancelled})
				}
			}
			const said = `{"id":"u2","role":"user","content":"Hello?"}`
			in := parse(t, `"messages":[{"id":"u1","role":"user","content":"one"},`+said+`]`)
			r := &translate.Request{Input: in, Transcript: dialecttest.NewLog(in.Messages), Pause: p, Answers: answers, NewMessages: []agui.Message{agui.ParseMessage([]byte(said))}}
			out, run, err := d.Begin(r)
			if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != c.want || strings.Contains(string(out.Body), "Hello?") {
				t.Fatalf("sent %s %v", out.Body, err)
			}
			if c.unknown == "" {
				return
			}
			refused := `{"type":"RUN_ERROR","message":"This agent did not issue any interrupts to resume: ` + c.unknown + `. Resume entries must reference an outstanding interruptId.","code":"UNKNOWN_INTERRUPT"}`
			res := play(t, run, dialecttest.NewLog(in.Messages), started, refused)
			if res.Next == nil {
				t.Fatalf("%+v", res)
			}
			if got := gjson.GetBytes(res.Next.Out.Body, "resume").Raw; got != c.again || c.again == "" && !strings.Contains(string(res.Next.Out.Body), "Hello?") {
				t.Errorf("then sent %s", res.Next.Out.Body)
			}
		})
	}
}

// TestCancelOfADoubt: the cancel of a question in doubt must be sent as for an open question. A
// hook in TypeScript must get its text for no, because that adapter runs the call after a cancel.
func TestCancelOfADoubt(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt, rules, want string
		again                  bool
	}{
		"a hook in TypeScript": {tsHook, "", `[{"interruptId":"` + tsID + `","status":"resolved","payload":"n"}]`, false},
		"a hook in Python":     {pyHook, "", `[{"interruptId":"` + pyID + `","status":"cancelled"}]`, true},
		"a rule for Python":    {pyHook, `{"names":"*","profile":"docs-string"}`, `[{"interruptId":"` + pyID + `","status":"cancelled"}]`, true},
		"the gate":             {pyGate, "", `[{"interruptId":"` + pyID + `","status":"cancelled"}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, c.interrupt)
			for n := range p.Interrupts {
				p.Interrupts[n].CancelOnly = true
			}
			d := dialect(t, "")
			if !d.Frees(&p) || d.Locks(&p) == c.again {
				t.Fatal("its cancel is not handed on, or goes before a message without need")
			}
			in := parse(t, `"messages":[{"id":"u1","role":"user","content":"one"}]`)
			r := &translate.Request{Input: in, Transcript: dialecttest.NewLog(in.Messages), Pause: p, Answers: []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Cancelled}}}
			out, run, err := d.Begin(r)
			if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != c.want {
				t.Fatalf("sent %s %v", got, err)
			}
			res := play(t, run, dialecttest.NewLog(in.Messages), started, `{"type":"RUN_ERROR","message":"Partial resume: missing interrupt IDs: v1:before_tool_call:B:`+hash+`. All","code":"PARTIAL_RESUME"}`)
			if (res.Next != nil) != c.again || c.again && !strings.HasPrefix(gjson.GetBytes(res.Next.Out.Body, "resume").Raw, strings.TrimSuffix(c.want, "]")) {
				t.Errorf("%v %+v", c.again, res.Next)
			}
			_, run, _ = d.Begin(r)
			if res := play(t, run, dialecttest.NewLog(in.Messages), started, failed("UNKNOWN_INTERRUPT_ID")); res.Fate != translate.Finished || res.Finish.Type != agui.RunFinished {
				t.Errorf("nothing waits any more: %v %s", res.Fate, res.Finish.JSON)
			}
		})
	}
}
