package strandsapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// LostDetector looks out for ag_ui_strands up to 0.2.5. That ends a run that asks as if it was
// over, and has no way to answer it. Nothing in the stream says so. It shows only the call that was
// held, without a result. Others end a run that waits in the same way (agno, ag-ui-adk, Mastra with
// a working memory). So Lost also compares the rest of the stream with what the adapter sends. The
// zero value is ready for a run without answers. It costs no allocation.
type LostDetector struct {
	begun, results int
	first, last    agui.Type // behind RUN_STARTED
	other          bool      // there was what the adapter never sends
}

// LostHint is the log line about a run that LostDetector.Likely reports. A dialect writes it once
// in a process.
const LostHint = logLost

// See notes an event of the stream, any but the terminal one. The adapter is older than
// protocolVersion. It sends its state directly behind RUN_STARTED if the request has any, and
// neither RAW events nor chunks (ag_ui_strands 0.2.5, agent.py).
func (l *LostDetector) See(ev agui.Event) {
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

// Passes reports whether See learns nothing from events of the type until it sees another one. A
// call is counted by its END and its result. Of the last event only one thing matters: whether it
// is a STATE_SNAPSHOT.
func (l *LostDetector) Passes(t agui.Type) bool {
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

// Likely reports whether the run that ended so probably asked something. There are two signs. The
// first: the run has no outcome, a STATE_SNAPSHOT just before the end, as every version of the
// adapter sends it, and calls without a result. None of these calls may be of a tool that the
// request declares, because a run also ends for such a call, and takes the calls beside it along.
// Likely looks closer only if more calls were made than answered. The second sign: the run failed
// because the thread waits. Then the text is Strands' own, and newer adapters never let it come so
// far.
func (l *LostDetector) Likely(r *translate.Request, finish agui.Event) bool {
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
