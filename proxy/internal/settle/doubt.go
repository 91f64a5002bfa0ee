package settle

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// leavesDoubt reports whether an exchange leaves open what became of an approval, although its
// dialect says that it is over: a RUN_ERROR behind an approval does not report whether the approved
// was carried out. Only a result of the call shows that it was.
func (f *Facts) leavesDoubt(res *translate.Result, e *End, became translate.Fate) bool {
	return became == translate.Finished && !e.Known && e.Event.Type == agui.RunErrored && res.Next == nil && len(res.Asked.Interrupts) == 0 && f.unproven()
}

// unproven reports whether the exchange carried an answer that lets something run, and no result
// shows that it ran.
func (f *Facts) unproven() bool {
	p := f.Record.Pause
	if p == nil || !f.Claimed || !f.Resumes || !f.Evidence.Sent() {
		return false
	}
	return slices.ContainsFunc(f.Answers, func(a agui.Answer) bool {
		i := p.Interrupt(a.ID)
		return i != nil && a.Status == agui.Resolved && kit.Says(*i, a) != agui.Denies && !f.hasResult(i)
	})
}

// hasResult reports whether the stream brought the result of a call that the question names. A
// result in the request may be made up.
func (f *Facts) hasResult(i *agui.Interrupt) bool {
	return slices.ContainsFunc(f.Calls, func(c agui.Call) bool {
		return c.Answered && c.ID != "" && bytes.Contains(i.Object, agui.AppendString(nil, c.ID)) && !f.broughtResult(c.ID)
	})
}

// broughtResult reports whether the client's messages hold a result of the call.
func (f *Facts) broughtResult(call string) bool {
	return slices.ContainsFunc(f.ClientMessages, func(m agui.Message) bool {
		return m.Role == "tool" && gjson.GetBytes(m.JSON, "toolCallId").Str == call
	})
}
