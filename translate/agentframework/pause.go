package agentframework

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// open returns the interrupts with which a run ended, and the state of the pause.
func (run *run) open(finish agui.Event) ([]agui.Interrupt, pauseState) {
	k := pauseState{Row: rowList}
	if run.thread != run.r.Input.ThreadID {
		k.Thread = run.thread
	}
	k.Siblings = run.siblings()
	if list := kit.Outcome(finish); len(list) > 0 {
		k.Row = rowOutcome
		open := run.ofOutcome(list)
		if !takesApproved(open) {
			k.Clients, open = run.withoutClients(open)
		}
		return open, k
	}
	list := listedInterrupt(finish)
	k.Registry = len(list) > 1 || run.answered != nil && (run.answered.hasResult || run.answered.kept.Registry)
	known := map[string]bool{}
	knows := func(a ask) { known[a.ID], known[a.Call], known[a.Confirm] = true, true, true }
	for _, a := range run.asks {
		knows(a)
	}
	for _, i := range list {
		if !known[i.Get("id").Str] {
			one := readListed(i)
			knows(one)
			run.ask(one)
		}
	}
	var open []agui.Interrupt
	for _, a := range run.asks {
		open = append(open, agui.Interrupt{Native: a.ID, Object: a.object(run.hasCall(a.Call)), Private: agui.MustMarshal(a), Calls: run.askedCalls(&a)})
	}
	k.Clients, open = run.withoutClients(open)
	return open, k
}

// withoutClients splits the parameter open into the approvals of the client's own calls, and the
// other interrupts. If there are no other interrupts, the backend has a tool of the same name and
// asks about that tool. Then withoutClients returns no clients, and open unchanged.
func (run *run) withoutClients(open []agui.Interrupt) (clients []ask, others []agui.Interrupt) {
	for _, i := range open {
		if a, _ := askOf(i); a.Kind == approval && run.r.Input.Declares(a.Name) && run.hasCall(a.Call) {
			clients = append(clients, a)
		} else {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return nil, open
	}
	return clients, others
}

// askedCalls returns the call that the question is about. It returns nil if the backend did not
// send the call.
func (run *run) askedCalls(a *ask) []agui.AskedCall {
	if a.Name == "" {
		return nil
	}
	c := agui.AskedCall{Name: a.Name, Args: string(a.Args)}
	if args := gjson.ParseBytes(a.Args); args.Type == gjson.String {
		c.Args = args.Str
	}
	if run.hasCall(a.Call) {
		c.ID = a.Call
	}
	return []agui.AskedCall{c}
}

// siblings returns the ids of the calls that need no approval, but wait together with calls that
// need one.
func (run *run) siblings() []string {
	if run.r.Transcript == nil {
		return nil
	}
	calls := run.r.Transcript.Calls()
	asked := map[string]bool{}
	for _, a := range run.asks {
		asked[a.Call] = true
	}
	parents := map[string]bool{}
	for _, c := range calls {
		if asked[c.ID] {
			parents[c.Parent] = true
		}
	}
	var list []string
	for _, c := range calls {
		if parents[c.Parent] && !c.Answered && !asked[c.ID] && !run.removedCalls[c.ID] && !run.r.Input.Declares(c.Name) {
			list = append(list, c.ID)
		}
	}
	return list
}

// ofOutcome returns the interrupts of an interrupt outcome. It keeps the objects that the backend
// sent, except for members at which clients fail.
func (run *run) ofOutcome(list []gjson.Result) []agui.Interrupt {
	var open []agui.Interrupt
	for _, i := range list {
		id := i.Get("id").Str
		a := run.asked(id)
		if a == nil {
			read := readOutcome(i)
			a = &read
		}
		object := kit.WithoutMembers(i, "id")
		if gjson.GetBytes(object, "reason").Type != gjson.String { // all clients fail at a reason that is not a string
			object = agui.SetString(object, "reason", gjson.GetBytes(a.object(false), "reason").Str)
		}
		if call := gjson.GetBytes(object, "toolCallId"); call.Exists() && !run.hasCall(call.Str) {
			object = agui.DeleteKey(object, "toolCallId")
		}
		open = append(open, agui.Interrupt{Native: id, Object: object, Private: agui.MustMarshal(a), Calls: run.askedCalls(a)})
	}
	return open
}

// readOutcome returns the question of an interrupt in the outcome. It is used for interrupts
// without an event of their own in the stream.
func readOutcome(i gjson.Result) ask {
	id, about := i.Get("id"), i.Get("metadata."+metadataKey)
	if a, ok := readApproval(id, about.Get("function_call")); ok {
		if c := about.Get("confirmation_tool_call_id"); c.Str != "" {
			a.Kind, a.Confirm = confirm, c.Str
		}
		return a
	}
	if call := i.Get("toolCallId").Str; call != "" {
		return ask{Kind: approval, ID: id.Str, Call: call}
	}
	return ask{Kind: request, ID: id.Str}
}

// paused returns the result of a run that asks a question.
func (run *run) paused(open []agui.Interrupt, k pauseState, finish agui.Event) translate.Result {
	asked := translate.AskedPause{Interrupts: withKeys(open), Private: agui.MustMarshal(k), NativeShown: run.showsNative}
	if run.showsNative {
		asked.NativeEvents, asked.NativeFinish = run.removedEvents, slices.Clone(finish.JSON)
	}
	backend := backendOf(finish)
	finish = kit.WithoutOutcome(finish)
	return translate.Result{Finish: finish.WithJSON(agui.DeleteKey(finish.JSON, "interrupt")), Asked: asked, Backend: backend}
}

// backendOf returns python if the event that ends the run shows that the Python package asked. It
// returns "" if the event does not show it. A confirm_changes call alone does not show it, because
// any model can make such a call, even the model of the .NET host.
func backendOf(finish agui.Event) string {
	if speaksOutcome(finish) || len(listedInterrupt(finish)) > 0 {
		return python
	}
	return ""
}
