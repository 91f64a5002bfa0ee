package calls

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Question is the question that a call asks. Kind, Reason and Message are required.
type Question struct {
	Kind    *Kind  // the form of the answer, one of Table.Kinds
	Reason  string // "tool_call" for the approval of a call; "input_required" for a value
	Message string // the text that the person reads
	// Call is the id of the call at which the client shows the question: the call that a yes runs,
	// or else the call that asks. If a call asks about an earlier one, as in translate/adk, this is
	// the earlier one. The client gets this id only if it has the call.
	Call     string
	Schema   string // JSON schema of the answer, or "" if any answer is allowed
	Metadata string // JSON object for the interrupt's member metadata, or ""
	// Calls are the calls that run after a yes. If it is empty, the call Call runs.
	Calls []agui.AskedCall
	// Runs is the id of the call that runs after an approval, or "". If the run then ends without a
	// result of that call, the answer is in doubt.
	Runs string
}

// AsksToCall returns the message of a question that has no text, for a call that waits for
// approval.
func AsksToCall(tool string) string { return fmt.Sprintf(askCall, tool) }

// WaitsFor returns the message of a question that asks a person for the result of the tool.
func WaitsFor(tool string) string {
	return fmt.Sprintf(askResult, tool)
}

// PrivateState is the state of a question. It is stored, as JSON, in Interrupt.Private.
type PrivateState struct {
	Kind string `json:"kind,omitempty"`
	Call string `json:"call,omitempty"` // id of the call that asks
	Name string `json:"name,omitempty"` // name of that call's tool
	Args string `json:"args,omitempty"`
	Runs string `json:"runs,omitempty"`
	// Repeated is true if several calls of the turn have the id Call. The backend then gives all of
	// them the same answer.
	Repeated bool `json:"twice,omitempty"`
}

// keptOf returns the kind and the state of a question, or nil if they cannot be read. If the kind
// has no name, only Repeated is stored, and keptOf takes the other fields from the question itself.
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

// argumentsOf returns the arguments of the call that the question is about.
func argumentsOf(i agui.Interrupt) string {
	for _, c := range i.Calls {
		if c.ID == i.ToolCallID() {
			return c.Args
		}
	}
	return ""
}

// KeptOfPause is the state of a pause. It is stored, as JSON, in AskedPause.Private.
type KeptOfPause struct {
	// Clients are the ids of the turn's calls that the client runs itself. Their results must be
	// sent with the answers.
	Clients []string `json:"clients,omitempty"`
	// Outcome is true if the run ended with an interrupt outcome.
	Outcome bool `json:"outcome,omitempty"`
}

// KeptIn returns the state of the pause. It is empty if another version of Holdpoint made the pause
// and the state cannot be read.
func KeptIn(p agui.Pause) KeptOfPause {
	var kept KeptOfPause
	if json.Unmarshal(p.Private, &kept) != nil {
		return KeptOfPause{}
	}
	return kept
}

// interrupt returns the interrupt for the question q of the call c. The parameter shown says that
// the client has the call q.Call. The parameter twice says that another call of the turn has the
// same id as c.
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

// Asks reports whether a call of this stream has no result and asks a question.
func (t *Table) Asks(r *translate.Request) bool {
	return slices.ContainsFunc(pending(r), func(c agui.Call) bool {
		_, asks := t.asks(c, r)
		return asks
	})
}

// asks returns the question that the call c asks. It returns false if c does not ask.
func (t *Table) asks(c agui.Call, r *translate.Request) (Question, bool) {
	if r.Input.Declares(c.Name) {
		return Question{}, false
	}
	return t.Ask(c, r)
}

// pending returns the calls of this stream that have no result. If two calls have the same id, it
// returns one, because a client treats them as the same call.
func pending(r *translate.Request) []agui.Call {
	if r.Transcript == nil || !agui.MayHaveFreshCalls(r.Transcript) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Transcript.Calls()), func(c agui.Call) bool { return !c.StreamedInRun || c.Answered })
}

// A HiddenCall is a call that the client does not get.
type HiddenCall struct {
	agui.Call
	Repeated bool // see PrivateState.Repeated
	// Frames returns the events of the call. It is called only if the call asks a question.
	Frames func() []agui.Event
}

// Ask returns the result of a run that ended with the event finish. If calls ask questions, the
// result has a pause. The parameter hidden has calls that the transcript lacks. The function skip
// reports that a call of the transcript does not ask after all.
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

// AskAbout adds the questions of the calls hidden and open to the pause p. It stores the events of
// the calls too. A client with HOLDPOINT_CLIENT=native has these events already, and gets them
// again if Holdpoint asks the question again.
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

// PauseState returns the state of the pause. It has the calls of this stream that have no result
// and that the client runs itself.
func (run *Run) PauseState() (state KeptOfPause) {
	for _, c := range pending(run.Request) {
		if run.Request.Input.Declares(c.Name) {
			state.Clients = append(state.Clients, c.ID)
		}
	}
	return state
}
