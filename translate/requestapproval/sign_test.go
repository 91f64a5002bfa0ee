package requestapproval

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestSign(t *testing.T) {
	held := agui.Call{ID: "a", Name: "request_approval"}
	with := func(args string) agui.Call { held.Args = args; return held }
	chunk := func(delta string) string {
		return `{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"request_approval","delta":` + dialecttest.Quoted(delta) + `}`
	}
	for name, c := range map[string]struct {
		event string
		held  agui.Call
		want  translate.Verdict
	}{
		"a start":                      {start("a"), with(""), translate.Hold},
		"a start of another":           {strings.Replace(start("a"), "request_approval", "x", 1), agui.Call{ID: "a", Name: "x"}, translate.No},
		"an opaque start":              {strings.Replace(start("a"), "{", `{"type":"TOOL_CALL_START",`, 1), with(""), translate.No},
		"no arguments yet":             {args("a", ""), with(""), translate.Hold},
		"arguments that may become it": {args("a", `{`), with(` {`), translate.Hold},
		"arguments that cannot":        {args("a", `[`), with(`[`), translate.No},
		"the end":                      {end("a"), with(argsA), translate.Mine},
		"the end of something else":    {end("a"), with(`{"x":1}`), translate.No},
		"the end of another call":      {end("a"), agui.Call{ID: "a", Name: "x", Args: argsA}, translate.No},
		"an end without a start":       {end("a"), agui.Call{}, translate.No},
		"a whole chunk":                {chunk(argsA), with(argsA), translate.Mine},
		"a chunk of something else":    {chunk(`{"x":1}`), with(`{"x":1}`), translate.No},
		"the first chunk":              {chunk(`{"request":`), with(`{"request":`), translate.Hold},
		"a chunk of a string":          {chunk(`"`), with(`"`), translate.No},
		"a next chunk":                 {`{"type":"TOOL_CALL_CHUNK","delta":"x"}`, with(argsA[:30]), translate.Hold},
		"the last chunk":               {`{"type":"TOOL_CALL_CHUNK","delta":"}}"}`, with(argsA), translate.Mine},
		"the run's end":                {finished, with(argsA), translate.Mine},
		"the run's end beside another": {finished, with(`{"x":1}`), translate.No},
		"the run's end alone":          {succeeded, agui.Call{}, translate.No},
		"an outcome":                   {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`, with(argsA), translate.No},
		"an error":                     {failed, with(argsA), translate.No},
		"a custom event beside":        {`{"type":"CUSTOM","name":"x"}`, with(argsA), translate.No},
	} {
		if got := new(Dialect).SignCall(agui.NewEvent([]byte(c.event)), c.held, &translate.Request{}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
