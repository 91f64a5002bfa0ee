package strandsapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Lost looks out for ag_ui_strands up to 0.2.5, which ends a run that asks something as if it was
// over, and has no way to answer it. Nothing in the stream says so: all there is to see is the call
// that was held, without a result. Others end a run that waits in the same way (agno, ag-ui-adk,
// Mastra with a working memory), so the rest of the stream is held against the adapter's too. The
// zero value is ready for a run without answers; it costs no allocation.
type Lost struct {
	begun, results int
	first, last    agui.Type // behind RUN_STARTED
	other          bool      // there was what the adapter never sends
}

// LostHint is what an operator is told, once.
const LostHint = "a run ended as if it was over although a tool of the backend was called and gave no result, or the backend waits for an " +
	"answer to a question that it never told: if it is ag_ui_strands up to 0.2.5, it has dropped an interrupt and that thread cannot go on; " +
	"upgrade to 0.3.0 or later, or serve the stream of Strands itself (HOLDPOINT_DIALECT=strands)"

// See takes an event of the stream, any but the terminal one. The adapter predates protocolVersion,
// sends its state directly behind RUN_STARTED if the request has any, and neither RAW events nor
// chunks (ag_ui_strands 0.2.5, agent.py).
func (l *Lost) See(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		l.other = l.other || agui.View(ev.JSON).Get("protocolVersion").Exists()
		return
	case agui.Raw, agui.TextChunk, agui.CallChunk:
		l.other = true
	case agui.CallEnd:
		l.begun++
	case agui.CallResult:
		l.results++
	}
	if l.first == agui.Unknown {
		l.first = ev.Type
	}
	l.last = ev.Type
}

// Passes says whether See learns nothing from events of the type until it sees another: a call is
// counted by its END and its result, and of the last event nothing matters but whether it is a
// STATE_SNAPSHOT.
func (l *Lost) Passes(t agui.Type) bool {
	switch t {
	case agui.RunStarted, agui.CallEnd, agui.CallResult:
		return false
	case agui.Raw, agui.TextChunk, agui.CallChunk:
		if !l.other {
			return false
		}
	}
	return l.first != agui.Unknown && (t == agui.StateSnapshot) == (l.last == agui.StateSnapshot)
}

// Likely says whether the run that ended so asked something: no outcome, a STATE_SNAPSHOT just
// before the end, as every version of the adapter sends it, and calls of this run without a result,
// none of a tool that the request declares: for such a one a run ends too, and takes the calls
// beside it along. Only where more calls were made than answered is anything looked into. Or the
// run failed since the thread waits: the text is Strands' own, and newer adapters never let it come
// so far.
func (l *Lost) Likely(r *translate.Request, finish agui.Event) bool {
	if finish.Type == agui.RunErrored {
		return finish.Get("code").Str == string(CodeError) && strings.Contains(finish.Get("message").Str, "must resume from interrupt")
	}
	stateful := len(r.Input.State) > 0 && string(r.Input.State) != "null"
	if l.other || stateful && l.first != agui.StateSnapshot || l.begun <= l.results || l.last != agui.StateSnapshot || finish.Type != agui.RunFinished || r.Transcript == nil || finish.Get("outcome").Exists() {
		return false
	}
	before := map[string]bool{}
	for _, m := range r.Input.Messages {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			before[c.Get("id").Str] = true
		}
	}
	lost := false
	for _, c := range r.Transcript.Calls() {
		if c.Answered || before[c.ID] {
			continue
		}
		if r.Input.Declares(c.Name) {
			return false
		}
		lost = true
	}
	return lost
}
