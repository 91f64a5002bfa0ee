// Package draft translates backends that follow AG-UI's draft page on interrupts, from the time
// before the outcome object. Their runs end in one of these ways. The line after each end is the
// answer to it:
//
//	v1, 2025-09 to 2026-04:   "outcome":"interrupt","interrupt":{"id"?,"reason"?,"payload"?}
//	                          "resume":{"interruptId"?,"payload"?}
//	v1.5, 2026-04:            "outcome":"interrupt","interrupts":[{"id","reason","message"?,...}]
//	                          "resume":[{"interruptId","status","payload"?}]
//	only a tool call:         "outcome":"interrupt" after a call of a configured name (Pando)
//	                          a tool message {"approved":b} for that call, the last of the messages
//
// If the end has an interrupt, the outcome may be missing. The outcome is a string at the end of
// every run, also "success". All clients from 0.0.54 on fail at a string. So the dialect also
// repairs the ends of runs that never pause.
//
// v1 has one interrupt, no status, no schema and no expiry. None of the three forms checks whether
// all questions are answered, whether an answer is repeated, and whether there is new input. The
// backend gets the payload of an answer unchanged.
//
// The dialect publishes a schema for the answer only if it knows the form of the answer: for the
// approval of a function (functionName in the payload, the .NET plan), and for a payload that
// contains a schema. It does not know the form for an inputType (email, date, ...). The plan's
// {"response":"..."} is only an example, and the bare text may be right too. So a schema could
// refuse the right answer.
//
// Not supported: a backend that is resumed at an endpoint of its own (CAIPE's dynamic agents)
// ignores an answer in a run. A result {"outcome":"interrupt"} is an ordinary result. The list
// RUN_FINISHED.interrupt:[..] belongs to agent-framework.
//
// Facts: the history of ag-ui docs/drafts/interrupts.mdx (v1 2025-09-23, v1.5 2026-04-22, the
// outcome object from 2026-04-30 on) and the public code of its producers.
package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// Name is the name of the dialect.
const Name = "draft"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	*calls.Plain // for backends that ask by a tool call
	cancel       json.RawMessage
	warn         translate.Warn
	once         sync.Once // lets the dialect call warn only once
}

// New makes the dialect. The function warn may be nil. The dialect calls it once, if a run that
// paused without a question is ended as a success.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	o = o.withDefaults()
	if warn == nil {
		warn = func(string, ...any) {}
	}
	d := &Dialect{Plain: askedByCalls(o.ApprovalTools), cancel: json.RawMessage(o.Cancel), warn: warn}
	d.Wrap = func(begun calls.Run) translate.Run { return &run{begun, d} }
	return d, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It claims a RUN_FINISHED with a string outcome, with an
// interrupt object, or with interrupts as a member of the event. If the event also has an outcome
// object, the dialect only removes these members. Sign also claims a null outcome, because the
// schema of 1.0.0 fails at null.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	if ev.Type != agui.RunFinished || !ev.Valid() {
		return false
	}
	e := readEnd(ev, agui.View(ev.JSON))
	return e.outcome.Type == gjson.String || isNull(e.outcome) || e.interrupt.IsObject() || e.interrupts.IsArray()
}

// Begin implements translate.Dialect. A draft backend never gets protocolVersion, which is newer
// than the draft. A run without answers never has a resume array, because a typed v1 server cannot
// read it.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return d.plainOut(r), &run{d.New(r), d}, nil
	}
	out, begun, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, &run{begun, d}, nil
}

func (d *Dialect) plainOut(r *translate.Request) translate.Out {
	body := agui.DeleteKey(agui.DeleteKey(d.WithoutOldCalls(r).Raw, "protocolVersion"), "resume")
	if len(body) == len(r.Input.Raw) {
		return translate.Out{}
	}
	return translate.Out{Body: body}
}

func isNull(v gjson.Result) bool { return v.Exists() && v.Type == gjson.Null }
