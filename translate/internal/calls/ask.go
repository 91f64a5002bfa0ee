package calls

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Question is the question of a call. Kind, Reason and Message are required.
type Question struct {
	Kind    *Kind  // the form of the answer, one of Table.Kinds
	Reason  string // "tool_call" for the approval of a call, "input_required" for a value
	Message string // the text that the person reads
	// Call is the id of the call at which the client sees the question. The client does not get it if
	// it was not shown that call.
	Call     string
	Schema   string // the schema of the answer, or "" for any answer
	Metadata string // the member metadata of the interrupt, a JSON object, or ""
	// Calls are the calls that a yes runs. If it is empty, a yes runs Call.
	Calls []agui.AskedCall
	// Runs is the id of the call that runs after an approval, or "". If the run then ends without the
	// result of that call, the answer is in doubt.
	Runs string
}

// AsksToCall returns the message of a question that has no text of its own.
func AsksToCall(tool string) string { return fmt.Sprintf(askCall, tool) }

// WaitsFor returns the message of a question for the result of a tool.
func WaitsFor(tool string) string {
	return fmt.Sprintf(askResult, tool)
}

// PrivateState is the content of Interrupt.Private.
type PrivateState struct {
	Kind string `json:"kind,omitempty"`
	Call string `json:"call,omitempty"` // the id of the call that asks
	Name string `json:"name,omitempty"` // the name of its tool
	Args string `json:"args,omitempty"`
	Runs string `json:"runs,omitempty"`
	// Repeated reports that several calls of the turn have the id. The backend gives all of them the
	// same answer.
	Repeated bool `json:"twice,omitempty"`
}

// keptOf returns the kind and the state of a question, or nil if they cannot be read. A kind
// without a name stores only Repeated. Its other fields are taken from the question.
func (t *Table) keptOf(i agui.Interrupt) (*Kind, PrivateState) {
	var kept PrivateState
	if len(i.Private) > 0 && json.Unmarshal(i.Private, &kept) != nil {
		return nil, PrivateState{}
	}
	switch k := t.kind(kept.Kind); {
	case k == nil:
	case k.Name == "":
		return k, PrivateState{Call: i.ToolCallID(), Args: argumentsOf(i), Repeated: kept.Repeated}
	case kept.Call != "":
		return k, kept
	}
	return nil, PrivateState{}
}

// argumentsOf returns the arguments of the call that a question is about.
func argumentsOf(i agui.Interrupt) string {
	for _, c := range i.Calls {
		if c.ID == i.ToolCallID() {
			return c.Args
		}
	}
	return ""
}

// KeptOfPause is the content of AskedPause.Private.
type KeptOfPause struct {
	// Clients are the calls of the turn that the client answers itself. Their results must be sent
	// with the answers.
	Clients []string `json:"clients,omitempty"`
	// Outcome reports that the run ended with an interrupt outcome.
	Outcome bool `json:"outcome,omitempty"`
}

// KeptIn returns the state of a pause. It is empty if another version made the pause.
func KeptIn(p agui.Pause) KeptOfPause {
	var kept KeptOfPause
	if json.Unmarshal(p.Private, &kept) != nil {
		return KeptOfPause{}
	}
	return kept
}

// interrupt returns the question of a call. shown reports that the client sees q.Call, and twice
// that another call of the turn has the call's id.
func (t *Table) interrupt(q Question, c agui.Call, shown, twice bool) agui.Interrupt {
	o := kit.Question{Reason: q.Reason, Message: q.Message, Schema: q.Schema, Metadata: q.Metadata}
	if shown {
		o.Call = q.Call
	}
	i := agui.Interrupt{Native: c.ID, Object: o.Object(), Keys: []string{c.ID}, Calls: q.Calls, Secret: q.Kind.Secret}
	kept := PrivateState{Repeated: twice}
	if q.Kind.Name != "" {
		kept = PrivateState{Kind: q.Kind.Name, Call: c.ID, Name: c.Name, Runs: q.Runs, Repeated: twice}
	}
	if t.Resume == WithCalls {
		kept.Args = c.Args
	}
	if kept != (PrivateState{}) {
		i.Private = agui.MustMarshal(kept)
	}
	return i
}

// Asks reports whether the stream has a call without a result that asks.
func (t *Table) Asks(r *translate.Request) bool {
	return slices.ContainsFunc(pending(r), func(c agui.Call) bool {
		_, asks := t.asks(c, r)
		return asks
	})
}

// asks returns the question of a call, or false if the call does not ask.
func (t *Table) asks(c agui.Call, r *translate.Request) (Question, bool) {
	if r.Input.Declares(c.Name) {
		return Question{}, false
	}
	return t.Ask(c, r)
}

// pending returns the calls of this stream that have no result. A transcript has one call for each
// id, because a client treats a second call with the id as the same call.
func pending(r *translate.Request) []agui.Call {
	if r.Transcript == nil || !agui.MayHaveFreshCalls(r.Transcript) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Transcript.Calls()), func(c agui.Call) bool { return !c.StreamedInRun || c.Answered })
}

// A HiddenCall is a call that the client is not shown.
type HiddenCall struct {
	agui.Call
	Repeated bool // see PrivateState
	// Frames returns the events of the call. It is called only if the call asks.
	Frames func() []agui.Event
}

// Ask returns the result of a run that ended with finish: a pause if calls ask. hidden are calls
// that the transcript does not have. skip reports that one of the transcript's calls does not ask
// after all.
func (run *Run) Ask(finish agui.Event, hidden []HiddenCall, skip func(c agui.Call, k *Kind) bool) translate.Result {
	res := translate.Result{Finish: finish}
	var open []agui.Call
	for _, c := range pending(run.Request) {
		if q, asks := run.Table.asks(c, run.Request); asks && !skip(c, q.Kind) {
			open = append(open, c)
		}
	}
	run.AskAbout(&res.Asked, hidden, open)
	if len(res.Asked.Interrupts) == 0 {
		return res
	}
	kept := run.PauseState()
	kept.Outcome = !PlainEnd(finish)
	res.Asked.Private = agui.MustMarshal(kept)
	if run.Native {
		res.Asked.NativeFinish = slices.Clone(finish.JSON)
	}
	res.Finish = kit.WithoutOutcome(finish)
	return res
}

// AskAbout adds the questions of some calls to a pause. A client that is shown the backend's own
// form already has the events of the calls. They are stored for the case that Holdpoint asks again.
func (run *Run) AskAbout(p *translate.AskedPause, hidden []HiddenCall, open []agui.Call) {
	t, r := run.Table, run.Request
	shown := map[string]bool{}
	if r.Transcript != nil {
		for _, c := range r.Transcript.Calls() {
			shown[c.ID] = c.ID != ""
		}
	}
	asked := map[string]bool{}
	ask := func(c agui.Call, twice bool, frames func() []json.RawMessage) {
		q, asks := t.asks(c, r)
		if !asks || asked[c.ID] {
			return
		}
		asked[c.ID], p.NativeShown = true, run.Native
		p.Interrupts = append(p.Interrupts, t.interrupt(q, c, shown[q.Call], twice))
		if own := frames(); run.Native {
			p.NativeEvents = append(p.NativeEvents, own...)
		}
	}
	for _, c := range hidden {
		ask(c.Call, c.Repeated, func() (own []json.RawMessage) {
			for _, ev := range c.Frames() {
				own = append(own, ev.JSON)
			}
			return own
		})
	}
	for _, c := range open {
		ask(c, run.OpenCalls.IsRepeated(c.ID), func() []json.RawMessage { return kit.CallFrames(c) })
	}
}

// PauseState returns the state of a pause: the calls of the stream without a result that the client
// answers itself.
func (run *Run) PauseState() (kept KeptOfPause) {
	for _, c := range pending(run.Request) {
		if run.Request.Input.Declares(c.Name) {
			kept.Clients = append(kept.Clients, c.ID)
		}
	}
	return kept
}
