// Package awsstrands translates the AG-UI adapters of Strands Agents: @ag-ui/aws-strands 0.1.0 to
// 0.2.3 for TypeScript, and ag_ui_strands from 0.3.0 on for Python.
//
// The adapters announce a pause by the interrupt outcome, and accept the array `resume`. The id of
// a question contains the id of its call; no other member does. In TypeScript the reason is free
// text or "confirmation", and the message may be JSON.
//
// The adapters check little of their input. After new input 0.2.3 forgets its question, and the
// thread can never continue. 0.2.3 also accepts an incomplete set of answers. After a resolved
// entry without a payload it repeats its question forever. The package proxy refuses all these
// requests.
//
// An adapter passes an answer on to a hook or a tool. The stream does not show which answers that
// hook or tool can read:
//
//   - In TypeScript it gets the payload unchanged, or {"status":"cancelled"} for a cancel. The
//     documented hook compares a word with "y" after toLowerCase(), and throws at everything
//     but text. If a hook throws, SDK 1.19.0 runs the call and all other calls of the turn
//     (RAN): a cancel would delete the file. So a hook gets only text: "y" for a yes, "n" for a
//     no or a cancel, and a text unchanged. Other answers are refused. A tool that asks while
//     it runs can get any answer, because it does nothing if it throws. A cancel of its
//     question is sent in the adapter's form.
//   - In Python it gets {"response": payload} or {"cancelled": true}, which the adapter makes.
//     A hook that was not written for these objects fails at every answer. The documented hook
//     then stops the run and runs nothing, and its thread accepts no further input.
//   - The gate of the Python adapter, interrupt_on_call, sends a schema of its own,
//     {"approved": boolean}. Only {"approved": true} is a yes.
//
// A rule of HOLDPOINT_AWS_STRANDS_RULES_FILE sets another form of answer for the interrupts that it
// names. A hook in TypeScript that was written for objects needs the form raw. Two kinds of hooks
// are unsafe without a rule: a hook that checks only for its own no would not read "n" as a no, and
// a hook that throws at a word approves.
//
// Defects of the adapters, and what the dialect does about them:
//
//   - They do not send some results: in Python those of calls whose result is only JSON, in
//     TypeScript those of a denied batch. The dialect does not make up a result, because it
//     does not know it. If such a call stays in the history, Python runs it again, and models
//     of TypeScript refuse the history. So the dialect removes the call from the next request
//     (history.go). It also removes calls of a lost pause.
//   - Python sends the result of a call that needs no approval only in the resumed run. The
//     dialect does not change that.
//   - Python 0.3.0 reports success if a hook fails at an answer. So a resume without any event
//     of the agent is in doubt.
//   - They do not apply edited arguments, although 0.2.3 announces the capability. No schema
//     offers edits, and an approval with edits is refused.
//   - They ignore a new message that comes with the answers. In their history it would stand
//     between a call and its result. So it is sent in a second exchange. The results of the
//     client's own calls are sent with the answers, because Python runs nothing without them.
//   - TypeScript gives its model a text of its own as the result of a client's call, and the
//     model gets the client's result only in the next turn. If the client's call is the first
//     of its turn, or the tools run at once, TypeScript does not ask.
//   - In a resumed run the snapshot of TypeScript has only the messages of the request. So the
//     request gets the messages of the record if they are more.
//
// What cannot be done: ag_ui_strands up to 0.2.5 ends a run that asks without an outcome, and
// accepts no answer. Graphs and swarms behind either adapter do the same, and their streams do not
// show it. The dialect logs this once (strandsapi.LostDetector). A thread can never continue after
// one of these events:
//
//   - 0.2.3 got new input without Holdpoint, or was restarted with a session;
//   - the client left while TypeScript's agent paused;
//   - a hook in Python failed at an answer.
//
// An agent that is used as a tool asks with the id of an inner call that no client has (Python
// before 1.62). Its question has no toolCallId.
//
// Facts: the packages themselves. RAN in a comment means that the behaviour was seen on a running
// backend.
package awsstrands

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// Name is the name of the dialect.
const Name = "aws-strands"

var (
	_ translate.Signer        = (*Dialect)(nil)
	_ translate.HistoryReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	rules strandsapi.Rules
	warn  translate.Warn
	lost  sync.Once // lets the dialect write LostHint only once
}

// New returns the dialect. The function warn may be nil. The dialect calls it once if the backend
// loses a pause.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("awsstrands: %w", err)
	}
	if warn == nil {
		warn = func(string, ...any) {}
	}
	return &Dialect{rules: o.Rules, warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Replies implements translate.HistoryReader. No message can answer a question of this dialect, so
// it yields only messages that another backend could read as a decision.
func (*Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return microsoft.NativeApprovals(in, detectedDialect == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. It recognizes an interrupt outcome if Strands made each of its
// interrupts. metadata.strandsName shows this, or the form of the interrupt's id. Other backends
// may have ids like tool:<x>:<y>, so x must be the id of a call in the stream. Sign also recognizes
// the RUN_ERROR with which ag_ui_strands refuses a run of a thread that waits for an answer.
func (*Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	if ev.Type == agui.RunErrored {
		return ev.Valid() && refusesWaiting(ev)
	}
	if ev.Type != agui.RunFinished {
		return false
	}
	mine := false
	var seen map[string]agui.Call
	for i := range kit.Interrupts(ev) {
		mine = true
		id, ok := strandsapi.ParseID(text(i, "id"))
		if text(i.Get("metadata"), "strandsName") != "" {
			continue
		}
		if ok && !id.Python && id.Kind == strandsapi.FromTool {
			if seen == nil {
				seen = calls(r.Transcript)
			}
			ok = seen[id.ToolUseID].ID != ""
		}
		if !ok {
			return false
		}
	}
	return mine
}

// calls returns the calls that the client has, in a map by their ids.
func calls(t agui.Transcript) map[string]agui.Call {
	seen := map[string]agui.Call{}
	if t == nil {
		return seen
	}
	for _, c := range t.Calls() {
		if c.ID != "" {
			seen[c.ID] = c
		}
	}
	return seen
}

// Begin implements translate.Dialect. It sends an ordinary run unchanged, with two exceptions: it
// removes the calls of ended pauses that have no result, and protocolVersion, which the adapters do
// not know.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		var out translate.Out
		in := withoutHeld(r.Input, r.EndedPauses, agui.Pause{})
		body := agui.DeleteKey(in.Raw, "protocolVersion")
		if len(body) < len(r.Input.Raw) {
			out.Body = body
		}
		out.WithheldMessages = missingFrom(r.Input.Messages, in.Messages)
		return out, d.plainRun(r, out.WithheldMessages), nil
	}
	out, left, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, d.resumedRun(left, out), nil
}

// resumedRun returns the run of an exchange that sends answers to the backend.
func (d *Dialect) resumedRun(r *translate.Request, out translate.Out) *run {
	next := &run{d: d, r: r, withheld: out.WithheldMessages}
	if kit.CancelsOnly(r.Pause) {
		next.cancels = kit.NewCancels(r.Pause)
	}
	return next
}

func (d *Dialect) plainRun(r *translate.Request, withheld []translate.WithheldMessage) *run {
	return &run{d: d, r: r.Plain(), withheld: withheld}
}
