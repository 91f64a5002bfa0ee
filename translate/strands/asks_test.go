package strands

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// TestAQuestionIsNoSuccess checks all forms in which a server may report a question. Such a run
// must never be reported as a success.
func TestAQuestionIsNoSuccess(t *testing.T) {
	const list = `"interrupts": [{"id": "` + payID + `", "name": "approval", "reason": null}]`
	d := newDialect(t, Server{})
	for name, c := range map[string]struct{ mediaType, answer string }{
		"the reason in two spellings":            {stream, frames(calls, argument, closed, `{"result": {"stop_reason": "interrupt", "stopReason": "interrupt", `+list+`}}`)},
		"beside a status":                        {stream, frames(calls, argument, closed, `{"result": {"stop_reason": "tool_use", "status": "interrupted", `+list+`}}`)},
		"a list without a reason":                {stream, frames(calls, argument, closed, `{"result": {`+list+`}}`)},
		"a list without a reason, in JSON":       {"application/json", `{"result": {` + list + `}}`},
		"a list alone":                           {"application/json", `{` + list + `}`},
		"a list beside a text":                   {"application/json", `{"result": "I will pay.", ` + list + `}`},
		"a list beside a message":                {"application/json", `{"output": {"message": {"role": "assistant", "content": [{"text": "I will pay."}]}}, ` + list + `}`},
		"a status beside a text":                 {"application/json", `{"result": "I will pay.", "status": "interrupted", ` + list + `}`},
		"a graph":                                {"application/json", `{"result": {"status": "interrupted", "results": {}, ` + list + `}}`},
		"a status":                               {stream, frames(`{"result": {"status": "INTERRUPTED", ` + list + `}}`)},
		"a text and a list in the stream's end":  {stream, frames(opened, hi, closed, `{"result": "Hi.", `+list+`}`)},
		"a list in the stream's end, before the": {stream, frames(opened, hi, closed, `{`+list+`, "result": "Hi."}`)},
	} {
		got := plain(t, d, c.mediaType, c.answer)
		if len(got.Result.Asked.Interrupts) != 1 || got.Result.Asked.Interrupts[0].Native != payID {
			t.Errorf("%s: %s %+v", name, got.types(), got.Result.Asked)
		}
		got = plain(t, d, c.mediaType, strings.Replace(c.answer, `"id"`, `"nr"`, 1))
		if got.Result.Finish.Type != agui.RunErrored && len(got.Result.Asked.Interrupts) == 0 {
			t.Errorf("%s, unreadable: %s", name, got.types())
		}
	}
}

// TestTextsThatLookLikeResults: a text begins like Python's repr of a result, but it is not a repr.
// It must be shown as the agent's text.
func TestTextsThatLookLikeResults(t *testing.T) {
	d := newDialect(t, Server{})
	for _, text := range []string{"Result(s): 5 files", "TestResult(ok)", "[{'id': 1}]", `[{\"id\":\"x\"}]`, "AgentResult is what I returned."} {
		got := plain(t, d, "application/json", `{"result": "`+text+`"}`)
		if !strings.HasSuffix(got.types(), "TEXT_MESSAGE_END RUN_FINISHED") || len(got.Result.Asked.Interrupts) > 0 {
			t.Errorf("%s: %s", text, got.types())
		}
	}
}
