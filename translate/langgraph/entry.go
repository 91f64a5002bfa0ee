package langgraph

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// takesArray reports whether the stream is from an adapter that takes the array `resume`: 0.0.43
// and later, in both languages. Only these send the outcome. Only these send CUSTOM on_interrupt
// behind the snapshots of the run's end (RAN Python 0.0.43 to 0.0.47 and TypeScript 0.0.43; earlier
// ones send it before). A run that only asks again has neither, so it is as it was before.
func (run *run) takesArray(finish agui.Event) bool {
	switch {
	case finish.Get("outcome").Exists():
		return true
	case run.customs != nil && run.steps > 0 && run.states > 0 && run.messages > 0:
		return run.statesAfter+run.messagesAfter == 0
	}
	return run.before.Array
}

// entryOf returns the entry of resume that carries the answer to the one open question. It returns
// nil where only command.resume can carry it:
//
//   - to an adapter that does not take the array, or is not known to;
//   - for a false, empty or zero value, which LangGraph for JavaScript takes for no input, and
//     null, which all take for no answer;
//   - for an object that LangGraph would take for an id map;
//   - if another call may get the answer. The id map at least keeps it in the task that asked.
//
// The adapters hand the payload of a single entry to the graph as it is, and look at no id (READ
// interrupts.py, agent.py of 0.0.43 to 0.0.47, dist/index.mjs of 0.0.43). LangGraph gives it to
// whatever waits then. So the payload is LangGraph's own id map, which gives the answer to the
// question that was shown and to no other (e2e: TestDirectAnswerMeetsTheOtherRunsQuestion,
// TestTwoRealRunsAtOnce). Without an id of LangGraph's it is the bare value; see
// kit.RefuseContested.
//
// The status is always resolved. Of a cancelled entry the adapters make an object with
// __agui_cancelled__, which is true to `if interrupt(...)`. What a cancel means is in the value.
// Several entries become an object that LangGraph does not know (ag-ui issue 2178), so several
// questions are answered by an id map.
func entryOf(g langgraphapi.Group, r *translate.Request, value json.RawMessage) json.RawMessage {
	if !keptOf(r.Pause).Array || g.Rivals != nil || langgraphapi.Falsy(value) || langgraphapi.IsIDMap(value) {
		return nil
	}
	id := g.ID
	if id == "" { // the backend gave none, and looks at none
		id = r.Pause.Interrupts[g.At[0]].ID
	}
	entry := []byte{'{', '}'}
	if given := kit.GivenEntries(r.Input)[g.Answers[0].ID]; given.IsObject() && len(g.Answers) == 1 {
		entry = []byte(given.Raw) // with its metadata
	}
	entry = agui.SetString(entry, "interruptId", id)
	entry = agui.SetString(entry, "status", string(agui.Resolved))
	if g.Way == langgraphapi.ByID {
		value = kit.AppendMember([]byte{'{'}, `"`+g.ID+`"`, string(value))
		value = append(value, '}')
	}
	return agui.SetKey(entry, "payload", value)
}
