package langgraph

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// takesArray reports whether the stream is from an adapter that accepts the array `resume`: 0.0.43
// and later, in both languages. Only these send the outcome, and only these send CUSTOM
// on_interrupt after the snapshots at the end of the run (RAN Python 0.0.43 to 0.0.47 and
// TypeScript 0.0.43; earlier ones send it before them). A run that only repeats a question has
// neither, so takesArray returns what the pause before it recorded.
func (run *run) takesArray(finish agui.Event) bool {
	switch {
	case finish.Get("outcome").Exists():
		return true
	case run.customs != nil && run.steps > 0 && run.states > 0 && run.messages > 0:
		return run.statesAfter+run.messagesAfter == 0
	}
	return run.previousPause.Array
}

// entryOf returns the entry of resume that carries the answer to the only open question. It returns
// nil where only command.resume can carry the answer:
//
//   - The adapter does not accept the array, or is not known to.
//   - The value is false, empty or zero, which LangGraph for JavaScript does not read as input,
//     or null, which no version reads as an answer.
//   - The value is an object that LangGraph would read as an id map.
//   - Another call may get the answer. The id map at least keeps it within the task that asked.
//
// The adapters pass the payload of a single entry to the graph unchanged and ignore its id (READ
// interrupts.py, agent.py of 0.0.43 to 0.0.47, dist/index.mjs of 0.0.43). LangGraph gives it to
// whichever question is open. So the payload is LangGraph's own id map, which gives the answer only
// to the question that was shown (e2e: TestDirectAnswerMeetsTheOtherRunsQuestion,
// TestTwoRealRunsAtOnce). Without an id of LangGraph the payload is the bare value; see
// kit.RefuseContested.
//
// The status is always resolved. From a cancelled entry the adapters make an object with
// __agui_cancelled__, which `if interrupt(...)` reads as a yes. The value itself says no. From
// several entries they make an object that LangGraph does not understand (ag-ui issue 2178), so
// several questions are answered by an id map in command.resume.
func entryOf(g langgraphapi.Group, r *translate.Request, value json.RawMessage) json.RawMessage {
	if !keptOf(r.Pause).Array || g.RivalCalls != nil || langgraphapi.Falsy(value) || langgraphapi.IsIDMap(value) {
		return nil
	}
	id := g.ID
	if id == "" { // the backend sent no id, and reads none
		id = r.Pause.Interrupts[g.At[0]].ID
	}
	entry := []byte{'{', '}'}
	if given := kit.EntriesByID(r.Input)[g.Answers[0].ID]; given.IsObject() && len(g.Answers) == 1 {
		entry = []byte(given.Raw) // keeps its metadata
	}
	entry = agui.SetString(entry, "interruptId", id)
	entry = agui.SetString(entry, "status", string(agui.Resolved))
	if g.AnswerForm == langgraphapi.ByID {
		value = kit.AppendMember([]byte{'{'}, `"`+g.ID+`"`, string(value))
		value = append(value, '}')
	}
	return agui.SetKey(entry, "payload", value)
}
