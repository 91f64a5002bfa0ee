package strands

import (
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestWordsOfARefusalInTheMidstOfARun: an agent refuses a prompt only at the beginning. If the text
// of a refusal comes later in a run, it must be an ordinary failure. Otherwise the answers or the
// prompt would be sent again, and the agent would act on them twice.
func TestWordsOfARefusalInTheMidstOfARun(t *testing.T) {
	const node = `{"type": "multiagent_node_stream", "node_id": "a", "event": `
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	for name, before := range map[string]string{
		"a result was shown": paid, "text was": hi, "an agent began": began, "a node's did": node + began + "}", "a node's result": node + paid + "}",
	} {
		for _, words := range []string{
			`{"error": "Agent is already processing a request.", "error_type": "ConcurrencyException"}`, waits,
			`{"error": "'interrupt_id=<x> | no interrupt found'", "error_type": "KeyError"}`,
			`"{'type': 'multiagent_result', 'result': SwarmResult(status=<Status.FAILED: 'failed'>, results={'a': NodeResult(result=ValueError('Input prompt must be of type: x'))}, interrupts=[])}"`,
		} {
			l := &dialecttest.Log{}
			_, run, err := resume(t, d, p, l, nil, dialecttest.Entry(p.Interrupts[0].ID, `true`))
			if err != nil {
				t.Fatal(err)
			}
			if got := play(t, run, l, stream, frames(before, words)); got.Result.Fate == translate.Lost || got.Result.Fate == translate.Untouched || got.Result.Next != nil || !strings.HasSuffix(got.types(), "RUN_ERROR(STRANDS_ERROR)") {
				t.Errorf("%s, then %s: %s lost %v nothing %v", name, words, got.types(), got.Result.Fate == translate.Lost, got.Result.Fate == translate.Untouched)
			}
			if got := plain(t, d, stream, frames(before, words)); got.Result.Next != nil {
				t.Errorf("%s, then %s: the agent is asked, and gets the prompt once more", name, words)
			}
		}
	}
}

// TestRefusalsThatRepeatWhatWasSent: a 422 of FastAPI repeats the input of the request, which may
// contain the text of a refusal. The 422 must not count as a refusal.
func TestRefusalsThatRepeatWhatWasSent(t *testing.T) {
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	for _, status := range []int{400, 422} {
		_, run, err := resume(t, d, p, &dialecttest.Log{}, nil, dialecttest.Entry(p.Interrupts[0].ID, `"no interrupt found"`))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := run.End(translate.End{Status: status, Body: []byte(`{"detail":[{"input":[{"interruptResponse":{"response":"no interrupt found"}}]}]}`)}); err != nil || res.Fate == translate.Lost {
			t.Errorf("%d: lost %v %v", status, res.Fate == translate.Lost, err)
		}
		in := input(t, "")
		_, run, _ = d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages})
		if res, err := run.End(translate.End{Status: status, Body: []byte(`{"detail":"must resume from interrupt"}`)}); err != nil || res.Next != nil {
			t.Errorf("%d: the agent is asked what it waits for: %v", status, err)
		}
	}
}
