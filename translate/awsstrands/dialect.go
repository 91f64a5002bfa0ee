// Package awsstrands translates the AG-UI adapters of Strands Agents: @ag-ui/aws-strands 0.1.0 to
// 0.2.3 for TypeScript, and ag_ui_strands from 0.3.0 on for Python.
//
// They tell a pause by the interrupt outcome and take the array `resume`. The call that a question
// is about stands in its id only. TypeScript's reason is free text or "confirmation", and its
// message may be JSON. They check little or nothing of what they are sent. 0.2.3 forgets its
// question at new input, and its thread can never go on. It takes a part of the answers. It asks
// for ever after a resolved entry without a payload. proxy lets none of these through.
//
// An answer goes through an adapter to a hook or a tool. Nothing in the stream says what that can
// read:
//
//   - TypeScript gets the payload as it is. Cancelled is {"status":"cancelled"}. The documented
//     hook compares a word with "y" after toLowerCase(), and throws at anything but text. If a hook
//     throws, SDK 1.19.0 runs the call, and those beside it (RAN): a cancelled answer deletes the
//     file. So a hook gets text and nothing else: "y" for a yes, "n" for a no and for a cancelled
//     answer, text as it is. Anything else is refused. A tool that asks in the midst of its work
//     may be answered with anything, because it fails closed. It is cancelled in the adapter's
//     word.
//   - Python gets {"response": payload} and {"cancelled": true}, made by the adapter. A hook that
//     was not written for that fails whatever it is sent. The documented one stops the run (it
//     fails closed), and its thread takes nothing any more.
//   - The gate of the Python adapter, interrupt_on_call, asks with a schema of its own,
//     {"approved": boolean}. Only {"approved": true} is a yes.
//
// HOLDPOINT_AWS_STRANDS_RULES_FILE says otherwise by the interrupt's name. A hook in TypeScript
// that was written for objects needs raw there. One that looks for a no only, and not for a yes,
// would not take "n" for a no, and one that throws at a word approves.
//
// What the adapters get wrong, and what the dialect does:
//
//   - They do not tell some results: of a call whose result is JSON only (Python), of a batch that
//     was denied (TypeScript). The dialect makes none up, because nobody here knows it. If such a
//     call stays in the history, Python carries it out anew, and models behind TypeScript refuse
//     it. So it is taken out of the next request (history.go). The same holds for calls of a pause
//     that was lost.
//   - The result of a call that was not held comes only in the resumed run (Python). It stays
//     there.
//   - A hook that failed on an answer is a success to Python 0.3.0. A resume that brought nothing
//     is told as in doubt.
//   - No code of theirs applies edited arguments, although 0.2.3 shows the capability. No schema
//     offers them, and an approval that brings them is refused.
//   - They do not read a new message beside the answers, and it would stand between a call and its
//     result. It goes as a second exchange. The results of the client's own calls go with the
//     answers: Python runs nothing without them.
//   - TypeScript shows its model a text of its own for a call of the client's. The model sees the
//     client's result in the next turn only. If the call is the first of its turn, or the tools run
//     at once, TypeScript asks nothing.
//   - TypeScript's snapshot in a resumed run is what the request brought. The request brings the
//     record's messages if they are more.
//
// What cannot be done: ag_ui_strands up to 0.2.5 ends a run that asks as if it was over, and can be
// told nothing. That is logged once (strandsapi.Lost). Graphs and swarms behind either adapter do
// the same, without a sign. Nobody can move a thread again if 0.2.3 got new input behind our back,
// if it was started anew with a session, if the client left in the moment in which TypeScript's
// agent paused, or if a hook in Python failed on an answer. An agent that is used as a tool asks by
// the id of an inner call that no client has seen (Python before 1.62). Such a question has no
// toolCallId.
//
// Facts: the packages themselves. RAN in a comment says that it was seen on a running backend.
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

// Name of the dialect.
const Name = "aws-strands"

var (
	_ translate.Signer        = (*Dialect)(nil)
	_ translate.HistoryReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	rules strandsapi.Rules
	warn  translate.Warn
	lost  sync.Once // of warn
}

// New makes the dialect. warn may be nil. It is told once if a pause was lost.
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

// Replies implements translate.HistoryReader. No message answers a question of this dialect. But
// another backend could take one for a decision.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return microsoft.Strays(in, spoken == Name)
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(agui.Message, translate.Reply, agui.Interrupt) (agui.Answer, bool) {
	return agui.Answer{}, false
}

// Sign implements translate.Signer. It signs an interrupt outcome if every interrupt in it is
// Strands', by metadata.strandsName or by the form of its id. Other backends may have ids like
// tool:<x>:<y>, so x has to be a call that was seen. It also signs the RUN_ERROR by which
// ag_ui_strands says that the thread waits.
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

// calls returns the calls that the client has seen, by their ids.
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

// Begin implements translate.Dialect. A plain run goes as it came, without two things: the calls
// that an ended pause has left without a result, and the protocolVersion, which is younger than the
// adapters.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		var out translate.Out
		in := withoutHeld(r.Input, r.Ended, agui.Pause{})
		body := agui.DeleteKey(in.Raw, "protocolVersion")
		if len(body) < len(r.Input.Raw) {
			out.Body = body
		}
		out.Withheld = missingFrom(r.Input.Messages, in.Messages)
		return out, d.plainRun(r, out.Withheld), nil
	}
	out, left, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, d.resumedRun(left, out), nil
}

// resumedRun returns the run of an exchange that carries answers.
func (d *Dialect) resumedRun(r *translate.Request, out translate.Out) *run {
	next := &run{d: d, r: r, cuts: out.Withheld}
	if kit.CancelsOnly(r.Pause) {
		next.cancels = kit.NewCancels(r.Pause)
	}
	return next
}

func (d *Dialect) plainRun(r *translate.Request, gone []translate.WithheldMessage) *run {
	return &run{d: d, r: r.Plain(), cuts: gone}
}
