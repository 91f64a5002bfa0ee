package settle

import (
	"bytes"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// leavesDoubt reports whether the fate of an approval is not known although the dialect considers
// the exchange finished. If a RUN_ERROR follows an approval, it does not show whether the approved
// action was carried out. Only a result of the call shows that.
func (f *Facts) leavesDoubt(res *translate.Result, e *End, fate translate.Fate) bool {
	return fate == translate.Finished && !e.Known && e.Event.Type == agui.RunErrored && res.Next == nil && len(res.Asked.Interrupts) == 0 && f.isActionUnproven()
}

// isActionUnproven reports whether an approval was sent to the backend and no result of its call
// shows that the action was carried out.
func (f *Facts) isActionUnproven() bool {
	p := f.Record.Pause
	if p == nil || !f.Claimed || !f.Resumes || !f.Evidence.MayHaveSent() {
		return false
	}
	return slices.ContainsFunc(f.Answers, func(a agui.Answer) bool {
		i := p.Interrupt(a.ID)
		return i != nil && a.Status == agui.Resolved && kit.MeaningOf(*i, a) != agui.Denies && !f.hasResult(i)
	})
}

// hasResult reports whether the stream had a result of a call that the question names. A result in
// the messages of the request does not count, because the client may have made it up.
func (f *Facts) hasResult(i *agui.Interrupt) bool {
	return slices.ContainsFunc(f.Calls, func(c agui.Call) bool {
		return c.Answered && c.ID != "" && bytes.Contains(i.Object, agui.AppendString(nil, c.ID)) && !f.broughtResult(c.ID)
	})
}

// broughtResult reports whether the client's messages have a result of the call with the given id.
func (f *Facts) broughtResult(call string) bool {
	return slices.ContainsFunc(f.ClientMessages, func(m agui.Message) bool {
		return m.Role == "tool" && m.ToolCallID == call
	})
}
