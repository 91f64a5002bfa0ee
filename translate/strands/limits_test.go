package strands

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestTooManyQuestions: the backend asks too many or too large questions. The run must fail, and
// the client must get no question at all.
func TestTooManyQuestions(t *testing.T) {
	ask := func(n int, reason string) string {
		return fmt.Sprintf(`{"tool_interrupt_event": {"interrupts": [{"id": "v1:batch:%d", "name": "n", "reason": %s}]}}`, n, reason)
	}
	const ends = `{"result": {"stop_reason": "interrupt"}}`
	var list []string
	for n := range maxQuestions {
		list = append(list, ask(n, "1"), ask(n, "1"))
	}
	d := newDialect(t, Server{})
	if p := plain(t, d, stream, frames(append(list, ends)...)); len(p.Result.Asked.Interrupts) != maxQuestions {
		t.Errorf("%d questions, %s", len(p.Result.Asked.Interrupts), p.types())
	}
	more := append(list, ask(maxQuestions, "1"), ends)
	if p := plain(t, d, stream, frames(more...)); p.types() != "RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)" || len(p.Result.Asked.Interrupts) != 0 {
		t.Errorf("%d questions, %s", len(p.Result.Asked.Interrupts), p.types())
	}
	big := dialecttest.Quoted(strings.Repeat("x", maxQuestionBytes/2))
	if p := plain(t, d, stream, frames(ask(1, big), ask(2, big), ends)); p.types() != "RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)" || len(p.Result.Asked.Interrupts) != 0 {
		t.Errorf("large questions: %s", p.types())
	}
	var reprs []string
	for n := range maxQuestions + 1 {
		reprs = append(reprs, fmt.Sprintf("Interrupt(id='v1:%d', name='n')", n))
	}
	if p := plain(t, d, stream, frames(`"{'result': AgentResult(stop_reason='interrupt', interrupts=[`+strings.Join(reprs, ", ")+`])}"`)); p.types() != "RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)" {
		t.Errorf("in a repr: %s", p.types())
	}
}

// TestHostileStreams: a stream has a huge number of names and ids. The memory must stay limited,
// and the time must be proportional to the number of bytes.
func TestHostileStreams(t *testing.T) {
	const n = 100_000
	many := func(s string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, s, i)
		}
		return b.String()
	}
	answers := map[string]string{
		"nodes":             many("data: {\"type\": \"multiagent_node_start\", \"node_id\": \"n%d\"}\n\n"),
		"nodes that speak":  many("data: {\"type\": \"multiagent_node_stream\", \"node_id\": \"n%d\", \"event\": {\"data\": \"x\"}}\n\n"),
		"calls":             many("data: {\"event\": {\"contentBlockStart\": {\"start\": {\"toolUse\": {\"name\": \"pay\", \"toolUseId\": \"c%d\"}}}}}\n\n"),
		"results":           many("data: {\"message\": {\"role\": \"user\", \"content\": [{\"toolResult\": {\"toolUseId\": \"c%d\", \"content\": []}}]}}\n\n"),
		"texts of a frame":  "data: {" + many(`"data": "x%d", `) + `"x": 1}` + "\n\n",
		"errors of a frame": "data: {" + many(`"error": "x%d", `) + `"x": 1}` + "\n\n",
		"the same question": strings.Repeat("data: "+asksPay+"\n\n", n) + "data: " + endsAsk + "\n\n",
		"a deep dict":       "data: \"{'result': " + strings.Repeat("{'a': ", n) + "\"\n\n",
		"a deep call":       "data: \"{'result': AgentResult(" + strings.Repeat("F(", n) + "\"\n\n",
		"deep brackets":     "data: \"{'result': AgentResult(x=" + strings.Repeat("<", n) + "\"\n\n",
		"open strings":      "data: \"{'result': AgentResult(x=[" + strings.Repeat("<'a' ", n) + "\"\n\n",
		"wide":              "data: \"{'result': AgentResult(stop_reason='interrupt', interrupts=[" + strings.Repeat("Interrupt(id='v1:a', name='b'), ", n) + "])}\"\n\n",
		"numbers":           "data: {\"result\": [" + strings.Repeat("NaN, ", n) + "]}\n\n",
		"nested nodes":      "data: " + strings.Repeat(`{"type": "multiagent_node_stream", "node_id": "n", "event": `, 5000) + asksPay + strings.Repeat("}", 5000) + "\n\n",
		"waiting calls":     many("data: "+fakes("c%d")+"\n\n") + "data: " + tsAsk + "\n\ndata: " + tsPaused + "\n\n",
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			before := hostile.ProcessorTime(t)
			in := input(t, "")
			d := newDialect(t, Server{})
			r := &translate.Request{Input: in, ClientMessages: in.Messages}
			run := newRun(d, r, newIDs(r))
			l := &dialecttest.Log{}
			play(t, run, l, stream, answer)
			if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
				t.Errorf("took %s", took)
			}
			if len(run.lanes) > maxLanes+1 || len(run.steps) > maxSteps || len(run.answered) > maxCalls || len(run.waitingCalls) > maxCalls {
				t.Errorf("kept %d lanes, %d steps, %d results, %d calls", len(run.lanes), len(run.steps), len(run.answered), len(run.waitingCalls))
			}
			for path, lane := range run.lanes {
				if len(lane.calls) > maxCalls {
					t.Errorf("%q keeps %d calls", path, len(lane.calls))
				}
			}
		})
	}
}
