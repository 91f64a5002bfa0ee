package requestapproval

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// An openRequest is a request of this run that is not answered yet.
type openRequest struct {
	*call
	hidden bool // the client was not shown the call
	place  int  // the position among all requests of the run
	size   int
}

// result handles a TOOL_CALL_RESULT. A call that has a result does not wait for an answer.
func (run *run) result(ev agui.Event, emit func(agui.Event)) {
	if len(run.calls) == 0 && len(run.asked) == 0 {
		return
	}
	var callID [1]string
	if !ev.Read(callID[:], "toolCallId") {
		return
	}
	id := agui.Text(callID[0])
	if c := run.holding(id); c != nil {
		run.release(c, emit)
	}
	if a, ok := run.asked[id]; ok {
		delete(run.asked, id)
		if !run.native { // in native mode its events stay in shown
			run.asking.Drop(1, a.size)
		}
		run.free(a.call)
	}
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	var before []agui.Event
	keep := func(ev agui.Event) { before = append(before, ev.Clone()) }
	asks := e.Event.Type == agui.RunFinished && plainEnd(e.Event)
	for _, c := range slices.Clone(run.calls) {
		if asks && fits(c.args) {
			run.decide(c, keep) // the stream has no TOOL_CALL_END; proxy closes open calls
		}
	}
	for _, f := range run.held {
		if !run.native {
			keep(f.ev)
		}
	}
	res := translate.Result{HeldEvents: before, Finish: e.Event}
	switch {
	case asks && len(run.asked) > 0:
		run.pause(&res)
	case e.Event.Type == agui.RunFinished && len(run.r.NewMessages) > 0 && !run.native:
		res.Next = &translate.Exchange{Out: newMessages(run.r), Run: newRun(run.r.Plain())}
	}
	return res, nil
}

// pause makes an interrupt from every open request.
func (run *run) pause(res *translate.Result) {
	var p translate.AskedPause
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	parents, ids := map[string]string{}, map[string]int{}
	for _, c := range calls {
		parents[c.ID] = c.Parent
	}
	open := slices.SortedFunc(maps.Values(run.asked), func(a, b openRequest) int { return cmp.Compare(a.place, b.place) })
	for _, a := range open {
		one, _ := readAsk(a.args)
		ids[one.approvalID]++
	}
	for _, a := range open {
		one, _ := readAsk(a.args)
		callID := string(a.id)
		k := questionState{Call: callID, Args: string(a.args), Approval: one.approvalID}
		// If the call has no parent, clients make a message with the id of the call.
		k.Parent = cmp.Or(parents[callID], string(a.parent), callID)
		native := one.approvalID
		if ids[native] > 1 {
			native = callID
		}
		native = strings.Clone(microsoft.ApprovalID(native)) // the prefix identifies the kind of backend
		if a.hidden {
			callID = ""
		}
		p.Interrupts = append(p.Interrupts, agui.Interrupt{
			Native: native, Object: one.object(callID), Private: agui.MustMarshal(k), Keys: []string{keyOf(k.Call, k.Approval), k.Call},
			Calls: run.askedCalls(callID, &one, a.args),
		})
	}
	if run.native {
		p.NativeEvents, p.NativeFinish, p.NativeShown = run.shown, slices.Clone(res.Finish.JSON), true
	}
	res.Asked = p
	res.Finish = kit.WithoutOutcome(res.Finish)
}

// askedCalls returns the call that a request asks about, as the client was shown it. id is the
// call's id, or "" if the client was not shown the call.
func (run *run) askedCalls(id string, one *ask, args []byte) []agui.AskedCall {
	if run.native {
		return []agui.AskedCall{{ID: id, Name: microsoft.RequestApproval, Args: string(args)}}
	}
	return []agui.AskedCall{{ID: id, Name: strings.Clone(one.function), Args: strings.Clone(one.arguments)}}
}
