package langgraph

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/translate/internal/langgraphapi"
)

// markRivalCalls marks the questions whose answer may reach another call, because several calls ran
// in one task at the same time. The id of a question shows its task. But a tool that runs a graph
// of its own asks under the namespace of that graph. So if no question has the id of such a task,
// the task may have asked every question whose task the stream did not show.
func (run *run) markRivalCalls(natives []langgraphapi.Native) {
	switch {
	case run.onlyAsks() && run.againResult == nil && !slices.ContainsFunc(natives, func(n langgraphapi.Native) bool { return n.AnswerForm == langgraphapi.ByBareScalar }):
		run.markReemitted(natives)
	case run.cannotSeeCalls(natives):
		run.d.warnBlind.Do(func() { run.d.warn(logBlind) })
	}
	run.markAsBefore(natives)
	tangled := run.trail.RivalCalls(func(task string) bool {
		return slices.Contains(run.previousPause.Tasks, langgraphapi.OutermostTask(task))
	})
	if len(tangled) > 0 {
		askedIn := run.trail.IDs()
		for _, calls := range tangled {
			langgraphapi.Mark(natives, askedIn, calls)
		}
	}
	for n := range natives {
		if run.trail.Full && natives[n].RivalCalls == nil {
			// the trail is incomplete, so the stream may have had rival calls
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil)
		}
	}
}

// markReemitted marks the questions of a run that only repeats them, because the tasks of such a
// run are unknown. It marks them if more calls wait for their results than questions are open. It
// does not mark them if a question is a review of calls.
func (run *run) markReemitted(natives []langgraphapi.Native) {
	if run.fewerThanCalls(natives) {
		for n := range natives {
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil)
		}
	}
}

// cannotSeeCalls reports whether a run without RAW events asks a question that one of several calls
// may have asked. It may also be the question of a node about all these calls: the stream is the
// same.
func (run *run) cannotSeeCalls(natives []langgraphapi.Native) bool {
	return len(run.trail.Tasks) == 0 && !run.trail.Full && run.steps > 0 && run.fewerThanCalls(natives)
}

func (run *run) fewerThanCalls(natives []langgraphapi.Native) bool {
	if run.r.Transcript == nil {
		return false
	}
	calls := run.r.Transcript.Calls()
	open := 0
	for _, c := range calls {
		if !c.Answered && c.Parent == calls[len(calls)-1].Parent && !run.r.Input.Declares(c.Name) {
			open++
		}
	}
	return open > 1 && len(natives) < open && !slices.ContainsFunc(natives, func(n langgraphapi.Native) bool {
		v := gjson.ParseBytes(n.Value)
		n.Shape = n.ShapeOf()
		return n.AskedByNode() || v.Get("tool_call_id").Exists() || v.Get("toolCallId").Exists()
	})
}

// markAsBefore marks repeated questions as they were marked in the previous pause, because a run
// that repeats questions shows no tasks.
func (run *run) markAsBefore(natives []langgraphapi.Native) {
	before := map[string]json.RawMessage{}
	for _, old := range run.previousPause.Natives {
		if old.ID != "" && old.RivalCalls != nil {
			before[old.ID] = old.RivalCalls
		}
	}
	for n := range natives {
		if natives[n].RivalCalls == nil {
			natives[n].RivalCalls = before[natives[n].ID]
		}
	}
}
