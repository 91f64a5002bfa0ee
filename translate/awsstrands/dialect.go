// Package awsstrands translates the AG-UI adapters of Strands Agents: @ag-ui/aws-strands 0.1.0 to 0.2.3 for TypeScript and
// ag_ui_strands 0.3.0 for Python.
//
// They tell a pause by the interrupt outcome and take the array `resume`, so that the ids, the claim and the contract are all
// that they need, and a few words more: the call that a question is about stands in its id only, TypeScript's reason is free
// text or "confirmation" and its message may be JSON, and the adapters check little or nothing. Neither a second answer, nor a
// part of the answers, nor new input while something is open may reach them: 0.2.3 drops its record at new input and can never
// be answered again, and a resolved entry without a payload asks again for ever. proxy lets none of these through.
//
// An answer goes through an adapter to a hook or a tool, and nothing on the wire says what that can read:
//
//	TypeScript   the payload as it is; cancelled is {"status":"cancelled"}. The documented hook compares a word with "y" after
//	             toLowerCase(): an object ends the run, and the thread can never go on (the adapter has forgotten the question
//	             and Strands has not). So a yes or no becomes "y" or "n" here, a cancelled answer to a hook too; text goes as it
//	             is, and what is neither is refused, but for questions that a tool asks in the midst of its work, where anything
//	             may be the answer and cancelled stays the adapter's own word.
//	Python       {"response": payload} and {"cancelled": true}, made by the adapter. A hook that was not written for that fails
//	             whatever it is sent: the documented one ends the run with an error, and its thread takes nothing any more.
//	its gate     interrupt_on_call asks with a schema of its own, {"approved": boolean}, and only {"approved": true} is a yes.
//
// HOLDPOINT_AWS_STRANDS_ANSWERS says otherwise by the interrupt's name. A hook in TypeScript that was written for objects needs
// raw there: one that looks for a no only, and not for a yes, would take "n" for none.
//
// What the adapters get wrong and is left as it is, since only they know what is true: Python 0.3.0 tells no result of a call
// that its gate approved, and tells the result of a call that was not held only in the resumed run; TypeScript tells no results
// for a batch that was denied. A result is never made up. TypeScript up to 0.2.3 shows the capability of edited arguments, and
// no code applies them: no schema offers them, and an approval that brings them is refused.
//
// What cannot be done: ag_ui_strands up to 0.2.5 ends a run that asks as if it was over, and can be told nothing; that is logged
// once (translate.LostStrands). A thread of 0.2.3 that got new input behind our back, or of 0.3.0 whose hook failed on an answer,
// can be moved by nobody. An agent used as a tool asks by the id of an inner call that no client has seen: such a question has no
// toolCallId.
//
// Facts: the packages themselves, and reference/strands.md of this project, sections 2 to 6. RAN in a comment says that it was
// seen on a running backend.
package awsstrands

import (
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Name of the dialect.
const Name = "aws-strands"

// A Dialect implements translate.Dialect.
type Dialect struct {
	rules translate.StrandsRules
	warn  func(msg string, args ...any)
	lost  sync.Once // of warn
}

// New makes the dialect. warn, which may be nil, is told of a pause that was lost, once.
func New(o Options, warn func(msg string, args ...any)) (*Dialect, error) {
	if err := o.Answers.check(); err != nil {
		return nil, fmt.Errorf("awsstrands: ANSWERS %w", err)
	}
	if warn == nil {
		warn = func(string, ...any) {}
	}
	return &Dialect{rules: translate.StrandsRules(o.Answers), warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Dialect: an interrupt outcome in which every interrupt is Strands', by metadata.strandsName or by
// an id of its making. An id tool:<x>:<y> could be anybody's, so x has to be a call that was seen.
func (*Dialect) Sign(ev agui.Event, held agui.Call, t agui.Transcript) translate.Verdict {
	if held.ID != "" || ev.Type != agui.RunFinished {
		return translate.No // the same was asked without a call
	}
	list := interrupts(ev)
	var seen map[string]agui.Call
	for _, i := range list {
		id, ok := translate.ParseStrandsID(text(i, "id"))
		if text(i.Get("metadata"), "strandsName") != "" {
			continue
		}
		if ok && !id.Python && id.Kind == translate.FromTool {
			if seen == nil {
				seen = calls(t)
			}
			ok = seen[id.ToolUseID].ID != ""
		}
		if !ok {
			return translate.No
		}
	}
	if len(list) == 0 {
		return translate.No
	}
	return translate.Mine
}

// interrupts of an interrupt outcome, nil if the event has none.
func interrupts(finish agui.Event) []gjson.Result {
	if finish.Get("outcome.type").Str != "interrupt" || !finish.Valid() {
		return nil
	}
	var list []gjson.Result
	for _, i := range finish.Get("outcome.interrupts").Array() {
		if i.IsObject() {
			list = append(list, i)
		}
	}
	return list
}

// calls are those that the client has seen, by their ids.
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

// Begin implements translate.Dialect. A plain run goes as it came, but for calls that an ended pause has left without a result
// and for the protocolVersion, which is younger than the adapters.
func (d *Dialect) Begin(r translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		var out translate.Out
		body := agui.DeleteKey(withoutHeld(r.Input, r.Ended, agui.Pause{}).Raw, "protocolVersion")
		if len(body) < len(r.Input.Raw) {
			out.Body = body
		}
		return out, d.plainRun(r), nil
	}
	out, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, &run{d: d, r: r}, nil
}

func (d *Dialect) plainRun(r translate.Request) *run {
	r.Pause, r.Answers, r.New = agui.Pause{}, nil, nil
	return &run{d: d, r: r}
}
