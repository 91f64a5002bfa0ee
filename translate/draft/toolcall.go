package draft

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// askedBy returns the calls that ask, for a backend that says outcome:"interrupt" and no more. They
// are calls of configured tools without a result. Tools that the request declares are not among
// them, because the client itself answers those. A client's history has no result for a call that
// was answered, so the calls of this run come first. If this run made none, the backend still waits
// for those that it made last.
func (run *run) askedBy() []agui.Call {
	var open []agui.Call
	for _, c := range run.calls() {
		if !c.Answered && run.d.tools.Match(c.Name) && !run.r.Input.Declares(c.Name) {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if ofThisRun := slices.DeleteFunc(slices.Clone(open), func(c agui.Call) bool { return !c.Fresh }); len(ofThisRun) > 0 {
		return ofThisRun
	}
	last := open[len(open)-1].Parent
	return slices.DeleteFunc(open, func(c agui.Call) bool { return c.Parent != last })
}

// pausedBy returns the result of a run that asks by tool calls. A client that is shown the
// backend's own form has had the calls. It needs them again only if Holdpoint asks again.
func (run *run) pausedBy(end end, asked []agui.Call) translate.Result {
	native := run.r.Show == translate.ShowNative
	p := translate.Asked{Private: agui.MustMarshal(pausePrivate{byMessage}), Shown: native}
	for _, c := range asked {
		message := question(kit.ParseText(gjson.Result{Type: gjson.String, Str: c.Args}))
		if message == "" || message == c.Args {
			message = fmt.Sprintf("The agent asks to call the tool %s.", c.Name)
		}
		o := kit.AppendText([]byte{'{'}, "reason", reasonToolCall)
		o = kit.AppendText(kit.AppendText(o, "message", message), "toolCallId", c.ID)
		o = kit.AppendMember(o, `"responseSchema"`, kit.ApprovalSchema)
		p.Interrupts = append(p.Interrupts, agui.Interrupt{Native: c.ID, Object: append(o, '}'), Keys: []string{c.ID}})
		if native {
			p.Own = append(p.Own, kit.CallFrames(c)...)
		}
	}
	return run.result(end, p)
}

// withoutAbandoned returns the input without the calls that asked in an earlier pause and have no
// result. Such a pause ended in doubt or in an error, and a model refuses a history with such a
// call. A client that is shown the backend's own form sees to its history itself.
func withoutAbandoned(r *translate.Request) agui.RunInput {
	asked := map[string]bool{}
	for _, p := range r.Ended {
		for _, i := range p.Interrupts {
			asked[i.ToolCallID()] = asked[i.ToolCallID()] || formOf(p.Pause) == byMessage
		}
	}
	for _, i := range r.Pause.Interrupts {
		delete(asked, i.ToolCallID())
	}
	if len(asked) == 0 || r.Show == translate.ShowNative {
		return r.Input
	}
	return kit.WithoutDangling(r.Input, func(c kit.DanglingCall) bool { return asked[c.ID] })
}

// replies returns the answers to a pause that was asked by calls, in the pause's order.
func replies(r *translate.Request) []kit.ToolReply {
	list := make([]kit.ToolReply, len(r.Answers))
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		list[n] = kit.ToolReply{ID: i.ID, Call: i.ToolCallID(), Content: denied}
		if a.Status == agui.Resolved && approves(a.Payload) {
			list[n].Content = `{"approved":true}`
		}
	}
	return list
}

// approves says whether a payload is a yes to every reader. Of two equal keys one reader takes the
// first, another the last.
func approves(payload json.RawMessage) bool {
	said := kit.Members(gjson.ParseBytes(payload), "approved")
	return len(said) > 0 && !slices.ContainsFunc(said, func(v gjson.Result) bool { return v.Type != gjson.True })
}

// next returns the exchange for the messages beside the answers. The first exchange could not carry
// them, because the answers have to be the last there. Here each answer stands behind its call,
// because a model refuses a call without one. A client that is shown the backend's own form was not
// told these answers, and its own were taken out.
func (run *run) next() *translate.Exchange {
	list := kit.After(run.r, kit.CallsOf(run.told)).Behind(kit.ToolMessages(run.told))
	out := translate.Out{Body: kit.Unanswered(run.r.Input, list), TakesNew: true}
	return &translate.Exchange{Out: out, Run: run.d.plainRun(run.r)}
}
