package strands

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

const (
	waitsTS = `{"error":"Agent is in an interrupted state. Resume by invoking with interruptResponse content blocks."}`
	lostTS  = "hook:beforeToolCall:c1:approval"
	otherTS = "hook:beforeToolCall:c2:approval"
	toolTS  = "tool:c3:ask"
)

// failedPause returns an ended pause with questions of the given ids. It is in doubt whether the
// agent got the answers.
func failedPause(ids ...string) []translate.EndedPause {
	p := agui.Pause{ID: "p", Dialect: Name}
	for _, id := range ids {
		p.Interrupts = append(p.Interrupts, agui.Interrupt{ID: id + "~bits", Native: id, Object: []byte(`{}`)})
	}
	return []translate.EndedPause{{Pause: p, Failed: true}}
}

// A waitingTS responds to prompts like an agent of @strands-agents/sdk 1.19.0 that waits for
// answers.
type waitingTS struct {
	open     []string
	requests int
}

func (b *waitingTS) answer(t *testing.T, body []byte) string {
	t.Helper()
	b.requests++
	prompt := gjson.GetBytes(body, "prompt")
	if !prompt.IsArray() {
		if len(b.open) > 0 {
			return frames(waitsTS)
		}
		return frames(`{"event":{"contentBlockDelta":{"delta":{"text":"Hi."}}}}`, `{"result":{"stop_reason":"end_turn"}}`)
	}
	for _, e := range prompt.Array() {
		id, said := e.Get("interruptResponse.interruptId").Str, e.Get("interruptResponse.response").Raw
		if said != `"n"` && said != `{"status":"cancelled"}` {
			t.Errorf("sent %s", e.Raw)
		}
		if !slices.Contains(b.open, id) {
			return frames(`{"error":"interrupt_id=<` + id + `> | no interrupt found"}`)
		}
	}
	b.open = nil
	return frames(tsBegan, tsTools, `{"type":"agentResultEvent","result":{"stopReason":"endTurn"}}`)
}

// TestLostQuestion: a TypeScript agent refuses a prompt because it waits for an answer. If
// Holdpoint knows an id of the agent's question, the client must get a lost question. If the client
// cancels it, the dialect must send the rule's text for no.
func TestLostQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		named  []string
		ended  []translate.EndedPause
		show   translate.Show
		waits  []string
		asks   bool
		fate   translate.Fate
		most   int
		prompt string // the prompt that the first cancel sends
	}{
		"an answer is in doubt":       {ended: failedPause(lostTS), waits: []string{lostTS}, asks: true, most: 1, prompt: `[{"interruptResponse":{"interruptId":"` + lostTS + `","response":"n"}}]`},
		"a tool's own":                {ended: failedPause(toolTS), waits: []string{toolTS}, asks: true, most: 1},
		"a client names it":           {named: []string{lostTS + "~bits"}, waits: []string{lostTS}, asks: true, most: 1},
		"beside one that is made up":  {named: []string{otherTS + "~bits", lostTS + "~bits"}, waits: []string{lostTS}, asks: true, most: 2},
		"what is made up alone":       {named: []string{otherTS + "~bits"}, waits: []string{lostTS}, asks: true, fate: translate.Lost, most: 1},
		"an id of Python":             {named: []string{payID + "~bits"}, waits: []string{lostTS}},
		"an id of another framework":  {named: []string{"af2e169036763cc5~bits"}, waits: []string{lostTS}},
		"nothing is known":            {waits: []string{lostTS}},
		"a client of the native form": {ended: failedPause(lostTS), waits: []string{lostTS}, show: translate.ShowNative},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Server{})
			l, in, b := &dialecttest.Log{}, input(t, ""), &waitingTS{open: c.waits}
			out, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l, NamedInterrupts: c.named, EndedPauses: c.ended, Show: c.show})
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, l, stream, b.answer(t, out.Body)).Result
			if asks := len(res.Asked.Interrupts) == 1 && res.Asked.Interrupts[0].Reason() == kit.ReasonLost; asks != c.asks {
				t.Fatalf("asks: %v, %s", asks, res.Finish.JSON)
			} else if !asks {
				return
			}
			if len(res.UnacceptedMessages) != 1 {
				t.Errorf("%d messages were not taken", len(res.UnacceptedMessages))
			}
			b.requests = 0
			p := dialecttest.WithIDs(res.Asked.Pause(Name))
			answered := input(t, ","+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":false}`)))
			answers, err := d.Answers(answered, p)
			if err != nil {
				t.Fatal(err)
			}
			sent := ""
			dialecttest.CancelTest{
				Dialect: d, Request: &translate.Request{Input: answered, Transcript: l, Pause: p, Answers: answers, NewMessages: in.Messages},
				Answer: func(run translate.Run, body []byte) translate.Result {
					sent = cmp.Or(sent, gjson.GetBytes(body, "prompt").Raw)
					return play(t, run, l, stream, b.answer(t, body)).Result
				},
				Waits: func() []string { return b.open }, Fate: c.fate, Message: "Clean up.",
			}.Check(t)
			if c.prompt != "" && sent != c.prompt || b.requests > c.most {
				t.Errorf("sent %s, %d requests", sent, b.requests)
			}
		})
	}
}

// TestAnswerThatBreaksOff: the response of a Python agent breaks off. The dialect must send null
// for each question that may be open, which makes the agent repeat its questions. It must not send
// null for questions of other backends, where null could be a yes.
func TestAnswerThatBreaksOff(t *testing.T) {
	const null = `[{"interruptResponse":{"interruptId":"` + payID + `","response":null}}]`
	for name, c := range map[string]struct {
		named []string
		ended []translate.EndedPause
		first string // the backend's answer to the first prompt
		next  string // the backend's answer to the nulls
		want  string // the error code, or the reason of the question
	}{
		"an answer is in doubt":     {ended: failedPause(payID), next: frames(asksPay, endsAsk), want: "tool_call"},
		"a client names it":         {named: []string{payID + "~bits"}, next: frames(asksPay, endsAsk), want: "tool_call"},
		"it breaks off again":       {named: []string{payID + "~bits"}, next: "<cut>", want: string(agui.UpstreamEOF)},
		"it does not wait":          {ended: failedPause(payID), next: frames(`{"error":"agent is not in interrupt state"}`), want: string(agui.UpstreamEOF)},
		"nothing is known":          {want: string(agui.UpstreamEOF)},
		"a question of TypeScript":  {ended: failedPause(lostTS), want: string(agui.UpstreamEOF)},
		"it has said something":     {ended: failedPause(payID), first: frames(`{"data":"Hi"}`) + "<cut>"},
		"its end is in doubt again": {ended: failedPause(payID), first: frames(asksPay, endsAsk), want: "tool_call"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Server{})
			l, in := &dialecttest.Log{}, input(t, "")
			_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l, NamedInterrupts: c.named, EndedPauses: c.ended})
			if err != nil {
				t.Fatal(err)
			}
			first := c.first
			if first == "" {
				first = "<cut>"
			}
			p := play(t, run, l, stream, first)
			if asks := p.Result.Next != nil; asks != (c.next != "") {
				t.Fatalf("asks: %v", asks)
			} else if asks {
				if sent := gjson.GetBytes(p.Result.Next.Out.Body, "prompt").Raw; sent != null || p.Result.Next.Out.Resumes {
					t.Errorf("sent %s", sent)
				}
				p = play(t, p.Result.Next.Run, l, stream, c.next)
			}
			got := p.Result.Finish.Get("code").Str
			if list := p.Result.Asked.Interrupts; len(list) > 0 {
				got = list[0].Reason()
				if again := strings.Contains(string(list[0].Object), "answered before"); again != (c.ended != nil && c.next != "") {
					t.Errorf("says that it was answered before: %v", again)
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

const (
	nextID = "v1:before_tool_call:c2:75a96266-45d2-581c-8a6f-043e472e1763"
	oldID  = "v1:before_tool_call:c0:75a96266-45d2-581c-8a6f-043e472e1763"
)

// A waitingPython responds to prompts like an agent of strands-agents 1.40.0 and 1.62.0 that waits
// for answers. Its server catches no errors: if a prompt has an id that is not open, the response
// breaks off.
type waitingPython struct {
	open []string
	says string // what a server sends instead that catches errors
	sent []string
}

func (b *waitingPython) answer(t *testing.T, body []byte) string {
	t.Helper()
	prompt := gjson.GetBytes(body, "prompt")
	if !prompt.IsArray() {
		return "<cut>"
	}
	var ids []string
	for _, e := range prompt.Array() {
		if e.Get("interruptResponse.response").Raw != "null" {
			t.Errorf("sent %s", e.Raw)
		}
		id, _ := strings.CutPrefix(e.Get("interruptResponse.interruptId").Str, "v1:before_tool_call:")
		ids = append(ids, id[:strings.IndexByte(id, ':')])
	}
	b.sent = append(b.sent, strings.Join(ids, "+"))
	for _, e := range prompt.Array() {
		if id := e.Get("interruptResponse.interruptId").Str; !slices.Contains(b.open, id) {
			return cmp.Or(strings.ReplaceAll(b.says, "ID", id), "<cut>")
		}
	}
	list := make([]string, len(b.open))
	for n, id := range b.open {
		list[n] = `{"id": "` + id + `", "name": "approval", "reason": null, "response": null}`
	}
	return frames(began, `{"result": {"stop_reason": "interrupt", "interrupts": [`+strings.Join(list, ",")+`]}}`)
}

// TestAnswerThatBreaksOffAmongQuestions: a Python agent refuses a list with an id that is not open.
// So each request must contain the questions of only one pause, beginning with the newest. It must
// contain all questions of this pause, because the agent may use an older answer to a question that
// is left out.
func TestAnswerThatBreaksOffAmongQuestions(t *testing.T) {
	answered := func(ids ...string) []translate.EndedPause {
		list := failedPause(ids...)
		list[0].Failed = false
		return list
	}
	var many []string
	for n := range 8 {
		many = append(many, strings.Replace(payID, ":c1:", ":m"+string(rune('a'+n))+":", 1)+"~bits")
	}
	const unknown = `{"error": "'interrupt_id=<ID> | no interrupt found'", "error_type": "KeyError"}`
	for name, c := range map[string]struct {
		named []string
		ended []translate.EndedPause
		open  []string
		says  string
		sent  string // empty if only the number of requests matters
		asks  int
	}{
		"an older question was answered": {ended: slices.Concat(failedPause(payID), answered(oldID)), open: []string{payID}, sent: "c1", asks: 1},
		"the older one waits":            {ended: slices.Concat(answered(payID), failedPause(oldID)), open: []string{oldID}, sent: "c1 c0", asks: 1},
		"two questions of one pause":     {ended: slices.Concat(failedPause(payID, nextID), answered(oldID)), open: []string{payID, nextID}, sent: "c1+c2", asks: 2},
		"the same pause ended twice":     {ended: slices.Concat(failedPause(payID), failedPause(payID), answered(oldID)), open: []string{oldID}, sent: "c1 c0", asks: 1},
		"clients name two of one pause":  {named: []string{payID + "~bits", nextID + "~bits"}, open: []string{payID, nextID}, sent: "c1+c2", asks: 2},
		"clients name an older one":      {named: []string{payID + "~bits", nextID + "~bits", oldID + "~bits"}, open: []string{payID, nextID}, sent: "c1+c2+c0 c1+c2", asks: 2},
		"clients name a newer one":       {named: []string{payID + "~bits", oldID + "~bits"}, open: []string{oldID}, sent: "c1+c0 c1 c0", asks: 1},
		"named, and of another record":   {named: []string{payID + "~bits"}, ended: answered(oldID), open: []string{payID}, sent: "c0 c1", asks: 1},
		"the server says which id":       {ended: slices.Concat(answered(payID), failedPause(oldID)), open: []string{oldID}, says: frames(unknown), sent: "c1 c0", asks: 1},
		"it does not wait":               {ended: slices.Concat(failedPause(payID), answered(oldID)), says: frames(`{"error": "agent is not in interrupt state"}`), sent: "c1"},
		"it breaks off at its work":      {ended: slices.Concat(failedPause(payID), answered(oldID)), says: frames(began) + "<cut>", sent: "c1"},
		"it waits for what nobody knows": {named: many, ended: answered(oldID), open: []string{payID}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Server{})
			l, in, b := &dialecttest.Log{}, input(t, ""), &waitingPython{open: c.open, says: c.says}
			out, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l, NamedInterrupts: c.named, EndedPauses: c.ended})
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, l, stream, b.answer(t, out.Body)).Result
			for res.Next != nil && len(b.sent) <= kit.MaxLost {
				res = play(t, res.Next.Run, l, stream, b.answer(t, res.Next.Out.Body)).Result
			}
			if sent := strings.Join(b.sent, " "); c.sent != "" && sent != c.sent || len(b.sent) > kit.MaxLost {
				t.Errorf("sent %s, want %s", sent, c.sent)
			}
			if len(res.Asked.Interrupts) != c.asks {
				t.Fatalf("asks %d questions, want %d: %s", len(res.Asked.Interrupts), c.asks, res.Finish.JSON)
			}
			if c.asks == 0 && res.Finish.Get("code").Str != string(agui.UpstreamEOF) {
				t.Errorf("ends with %s", res.Finish.JSON)
			} else if c.asks > 0 && len(res.UnacceptedMessages) != 1 {
				t.Errorf("%d messages were not taken", len(res.UnacceptedMessages))
			}
		})
	}
}
