package langgraph

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// takesArray reports whether the stream is from an adapter that accepts the array `resume`: 0.0.43
// and later, in both languages. Only these adapters send the outcome, and only they send CUSTOM
// on_interrupt after the snapshots at the end of the run (RAN Python 0.0.43 to 0.0.47 and
// TypeScript 0.0.43). Earlier adapters send it before the snapshots. A run that only repeats a
// question has neither an outcome nor snapshots, so takesArray then returns what the previous pause
// recorded.
func (run *run) takesArray(finish agui.Event) bool {
	switch {
	case finish.Get("outcome").Exists():
		return true
	case run.customs != nil && run.steps > 0 && run.states > 0 && run.messages > 0:
		return run.statesAfter+run.messagesAfter == 0
	}
	return run.previousPause.Array
}

// entryOf returns the entry of `resume` that carries the answer to the only open question. It
// returns nil if only command.resume can carry the answer:
//
//   - The adapter does not accept the array, or Holdpoint does not know whether it does.
//   - The value is false, empty or zero, which LangGraph for JavaScript does not read as input,
//     or null, which no version reads as an answer.
//   - The value is an object that LangGraph would read as an id map.
//   - Another call may get the answer. The id map at least gives the answer only to the task that
//     asked.
//
// The adapters pass the payload of a single entry to the graph unchanged and ignore its id (READ
// interrupts.py, agent.py of 0.0.43 to 0.0.47, dist/index.mjs of 0.0.43). LangGraph gives such a
// payload to whichever question is open. So the payload is LangGraph's own id map, which gives the
// answer only to the question that was shown (e2e: TestDirectAnswerMeetsTheOtherRunsQuestion,
// TestTwoRealRunsAtOnce). If LangGraph sent no id, the payload is the bare value; see
// kit.RefuseContested.
//
// The status is always resolved. If an entry is cancelled, the adapters turn it into an object with
// __agui_cancelled__, which `if interrupt(...)` reads as a yes. So the value itself says no. If
// there are several entries, the adapters turn them into an object that LangGraph does not
// understand (ag-ui issue 2178). So several questions are answered by an id map in command.resume.
func entryOf(g langgraphapi.Group, r *translate.Request, value json.RawMessage) json.RawMessage {
	if !keptOf(r.Pause).Array || g.RivalCalls != nil || langgraphapi.Falsy(value) || langgraphapi.IsIDMap(value) {
		return nil
	}
	id := g.ID
	if id == "" { // the backend sent no id and ignores the entry's
		id = r.Pause.Interrupts[g.At[0]].ID
	}
	entry := []byte{'{', '}'}
	if given := kit.EntriesByID(r.Input)[g.Answers[0].ID]; given.IsObject() && len(g.Answers) == 1 {
		entry = []byte(given.Raw) // the new entry keeps the client's metadata
	}
	entry = agui.SetString(entry, "interruptId", id)
	entry = agui.SetString(entry, "status", string(agui.Resolved))
	if g.AnswerForm == langgraphapi.ByID {
		value = kit.AppendMember([]byte{'{'}, `"`+g.ID+`"`, string(value))
		value = append(value, '}')
	}
	return agui.SetKey(entry, "payload", value)
}
