package langgraph

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/translate/internal/langgraphapi"
)

// markRivalCalls marks the questions whose answer another call may get, because several calls ran
// in one task. The id of a question identifies its task. A tool that runs a graph asks under the
// namespace of that graph. So if no question has the id of such a task, every question of a task
// that the stream did not show may belong to it.
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
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil) // the trail is full, so it may lack tasks
		}
	}
}

// markReemitted marks the questions of a run that only repeats them, because its tasks are not
// known. It does so if more calls wait for their results than questions are open, unless a question
// is a review of calls.
func (run *run) markReemitted(natives []langgraphapi.Native) {
	if run.fewerThanCalls(natives) {
		for n := range natives {
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil)
		}
	}
}

// cannotSeeCalls reports whether a run without RAW events asks a question that one of several calls
// may have raised. A node that asks about all these calls sends the same stream.
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

// markAsBefore marks repeated questions as in the pause before, because a repeating run shows no
// tasks.
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
