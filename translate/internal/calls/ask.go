package calls

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Question is what a call asks.
type Question struct {
	Kind    *Kind
	Reason  string
	Message string
	// Call is the call that the client sees the question at. It is left out if the client was not
	// shown that call.
	Call     string
	Schema   string // of the answer; "" for any
	Metadata string // a JSON object, or ""
	About    []agui.AskedCall
	Runs     string // the call that a yes lets run, if its result proves that it ran
}

// AsksToCall returns the message of a question that says nothing itself.
func AsksToCall(tool string) string { return fmt.Sprintf("The agent asks to call the tool %s.", tool) }

// WaitsFor returns the message of a question for the result of a tool.
func WaitsFor(tool string) string {
	return fmt.Sprintf("The agent waits for the result of the tool %s.", tool)
}

// Kept is Interrupt.Private.
type Kept struct {
	Kind string `json:"kind"`
	Call string `json:"call"` // that asks
	Name string `json:"name"` // of its tool
	Args string `json:"args,omitempty"`
	Runs string `json:"runs,omitempty"`
	// Twice reports that several calls of the turn have the id. The backend gives all of them one
	// answer.
	Twice bool `json:"twice,omitempty"`
}

func (t *Table) keptOf(i agui.Interrupt) (*Kind, Kept) {
	var kept Kept
	if json.Unmarshal(i.Private, &kept) != nil || kept.Call == "" {
		return nil, Kept{}
	}
	return t.kind(kept.Kind), kept
}

// KeptOfPause is Asked.Private.
type KeptOfPause struct {
	// Clients are the calls of the turn that the client answers itself. Their results have to come
	// with the answers.
	Clients []string `json:"clients,omitempty"`
	// Outcome reports that the run ended with an interrupt outcome.
	Outcome bool `json:"outcome,omitempty"`
}

// KeptIn returns what was kept of a pause. A pause of another version has kept nothing.
func KeptIn(p agui.Pause) KeptOfPause {
	var kept KeptOfPause
	if json.Unmarshal(p.Private, &kept) != nil {
		return KeptOfPause{}
	}
	return kept
}

// interrupt returns the question of a call. shown reports whether the client sees q.Call, and twice
// whether another call of the turn has the call's id.
func (t *Table) interrupt(q Question, c agui.Call, shown, twice bool) agui.Interrupt {
	o := kit.AppendText([]byte{'{'}, "reason", q.Reason)
	o = kit.AppendText(o, "message", q.Message)
	if shown {
		o = kit.AppendText(o, "toolCallId", q.Call)
	}
	if q.Schema != "" {
		o = kit.AppendMember(o, `"responseSchema"`, q.Schema)
	}
	if q.Metadata != "" {
		o = kit.AppendMember(o, `"metadata"`, q.Metadata)
	}
	kept := Kept{Kind: q.Kind.Name, Call: c.ID, Name: c.Name, Runs: q.Runs, Twice: twice}
	if t.Resume == WithCalls {
		kept.Args = c.Args
	}
	return agui.Interrupt{
		Native: c.ID, Object: append(o, '}'), Keys: []string{c.ID}, Calls: q.About, Secret: q.Kind.Secret,
		Private: agui.MustMarshal(kept),
	}
}

// Asks reports whether the stream has a call without a result that asks.
func (t *Table) Asks(r *translate.Request) bool {
	return slices.ContainsFunc(pending(r), func(c agui.Call) bool {
		_, asks := t.Ask(c, r)
		return asks && !r.Input.Declares(c.Name)
	})
}

// pending returns the calls of the stream without a result.
func pending(r *translate.Request) []agui.Call {
	if r.Transcript == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Transcript.Calls()), func(c agui.Call) bool { return !c.Fresh || c.Answered })
}

// A HiddenCall is a call that the client is not shown.
type HiddenCall struct {
	agui.Call
	Twice bool // see Kept
	// Frames returns its events. It is called if the call asks.
	Frames func() []agui.Event
}

// Ask returns the result of a run that ended with the event: a pause if calls ask. hidden are calls
// that the transcript lacks. skip reports of any other call that it does not ask after all.
func (run *Run) Ask(finish agui.Event, hidden []HiddenCall, skip func(c agui.Call, k *Kind) bool) translate.Result {
	res, asked := translate.Result{Finish: finish}, map[string]bool{}
	t, r := run.Table, run.Request
	shown := map[string]bool{}
	if r.Transcript != nil {
		for _, c := range r.Transcript.Calls() {
			shown[c.ID] = c.ID != ""
		}
	}
	ask := func(q Question, c agui.Call, twice bool, frames []json.RawMessage) {
		asked[c.ID] = true
		res.Asked.Interrupts = append(res.Asked.Interrupts, t.interrupt(q, c, shown[q.Call], twice))
		if run.Native {
			res.Asked.Own = append(res.Asked.Own, frames...)
		}
	}
	for _, c := range hidden {
		if q, asks := t.Ask(c.Call, r); asks && !asked[c.ID] {
			var frames []json.RawMessage
			for _, ev := range c.Frames() {
				frames = append(frames, ev.JSON)
			}
			ask(q, c.Call, c.Twice, frames)
		}
	}
	kept := KeptOfPause{Outcome: !PlainEnd(finish)}
	for _, c := range pending(r) {
		if asked[c.ID] {
			continue
		}
		if r.Input.Declares(c.Name) {
			if !slices.Contains(kept.Clients, c.ID) {
				kept.Clients = append(kept.Clients, c.ID)
			}
			continue
		}
		if q, asks := t.Ask(c, r); asks && !skip(c, q.Kind) {
			ask(q, c, run.Starts.Twice(c.ID), kit.CallFrames(c))
		}
	}
	if len(asked) == 0 {
		return res
	}
	res.Asked.Private = agui.MustMarshal(kept)
	if run.Native {
		res.Asked.OwnFinish, res.Asked.Shown = slices.Clone(finish.JSON), true
	}
	res.Finish = kit.WithoutOutcome(finish)
	return res
}
