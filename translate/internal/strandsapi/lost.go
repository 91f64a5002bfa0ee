package strandsapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A LostDetector detects a question that ag_ui_strands up to 0.2.5 has dropped. That adapter ends a
// run that asks as if the run was complete, and then accepts no answer. The stream shows only the
// call that waits, without a result. Other backends end a run that asks in the same way (agno,
// ag-ui-adk, Mastra with a working memory). So LostDetector also compares the rest of the stream
// with what the adapter sends. The zero value is ready for a run without answers. LostDetector does
// not allocate.
type LostDetector struct {
	begun, results int
	first, last    agui.Type // types of the first and the last event after RUN_STARTED
	foreignEvent   bool      // the stream has an event that this adapter never sends
}

// LostHint is the log line about a run for which LostDetector.LikelyAsked reports true. A dialect
// writes it only once.
const LostHint = logLost

// Observe notes an event of the stream that is not terminal. The following is true of ag_ui_strands
// 0.2.5 (agent.py). It is older than protocolVersion. It sends its state directly after RUN_STARTED
// if the request has a state. It never sends RAW events or chunks.
func (l *LostDetector) Observe(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		l.foreignEvent = l.foreignEvent || agui.View(ev.JSON).Get("protocolVersion").Exists()
		return
	case agui.Raw, agui.TextChunk, agui.CallChunk:
		l.foreignEvent = true
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

// Passes reports whether Observe need not see events of type t until an event of another type
// comes. A call is counted by its TOOL_CALL_END and its result. Of the last event, Observe needs to
// know only whether it is a STATE_SNAPSHOT.
func (l *LostDetector) Passes(t agui.Type) bool {
	switch t {
	case agui.RunStarted, agui.CallEnd, agui.CallResult:
		return false
	case agui.Raw, agui.TextChunk, agui.CallChunk:
		if !l.foreignEvent {
			return false
		}
	}
	return l.first != agui.Unknown && (t == agui.StateSnapshot) == (l.last == agui.StateSnapshot)
}

// LikelyAsked reports whether the run that ended with the event finish probably asked a question.
// It returns true in two cases.
//
// First, the run has no outcome, ends with a STATE_SNAPSHOT, as every version of the adapter sends
// it, and has calls without a result. The request declares the tool of none of these calls: a run
// that ends because of a client's call leaves its other calls without results too. The calls are
// compared one by one only if the stream has more calls than results.
//
// Second, the run failed because the thread waits for an answer. The text of this error is Strands'
// own. Newer adapters prevent the error.
func (l *LostDetector) LikelyAsked(r *translate.Request, finish agui.Event) bool {
	if finish.Type == agui.RunErrored {
		return finish.Get("code").Str == string(CodeError) && strings.Contains(finish.Get("message").Str, "must resume from interrupt")
	}
	stateful := len(r.Input.State) > 0 && string(r.Input.State) != "null"
	if l.foreignEvent || stateful && l.first != agui.StateSnapshot || l.begun <= l.results || l.last != agui.StateSnapshot || finish.Type != agui.RunFinished || r.Transcript == nil || finish.Get("outcome").Exists() {
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
