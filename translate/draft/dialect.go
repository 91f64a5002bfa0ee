// Package draft translates backends that were built on AG-UI's draft page on interrupts, before there was an outcome
// object. Their run ends in one of these, resumed by what stands below it:
//
//	v1, 2025-09 to 2026-04:   "outcome":"interrupt","interrupt":{"id"?,"reason"?,"payload"?}
//	                          "resume":{"interruptId"?,"payload"?}
//	v1.5, 2026-04:            "outcome":"interrupt","interrupts":[{"id","reason","message"?,...}]
//	                          "resume":[{"interruptId","status","payload"?}]
//	a tool call and no more:  "outcome":"interrupt" after a call of a configured name (Pando)
//	                          a tool message {"approved":b} for that call, the last of the messages
//
// The outcome may be left out where an interrupt is there. It is a string on every run, "success" too, of which all
// clients from 0.0.54 on die, so the end of a run that never pauses is repaired as well.
//
// v1 has one interrupt, no status, no schema and no expiry; nothing in any of the three holds coverage, replays or new
// input off. What a backend of the family does with an answer is its own matter: a payload goes to it as it came. The
// shape of an answer is published only where it is known, which is the approval of a function (functionName in the
// payload, the .NET plan) and what a payload brings as a schema itself. Of an inputType (email, date, ...) it is not:
// the plan's {"response":"..."} is an example, the bare text may be as right, and a schema would refuse one of them.
//
// What cannot be done: a backend that is resumed at an endpoint of its own (CAIPE's dynamic agents) is shown, but gets
// the answer in a run, which it does not read. result:{"outcome":"interrupt"} is a result and says nothing of a pause.
// The list RUN_FINISHED.interrupt:[..] is agent-framework's.
//
// Facts: the history of ag-ui docs/drafts/interrupts.mdx (v1 2025-09-23, v1.5 2026-04-22, the outcome object from
// 2026-04-30 on) and the public code of its producers; reference/draft.md of this project.
package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Name of the dialect.
const Name = "draft"

var (
	_ translate.Signer  = (*Dialect)(nil)
	_ translate.Decider = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	cancel json.RawMessage
	tools  Names
	warn   translate.Warn
	once   sync.Once // of warn
}

// New makes the dialect. warn, which may be nil, is told of a pause that passes as a plain end, once.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	o = o.withDefaults()
	if warn == nil {
		warn = func(string, ...any) {}
	}
	return &Dialect{cancel: json.RawMessage(o.Cancel), tools: o.ApprovalTools, warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer: an end with a string outcome, with an interrupt object or with interrupts at the
// root. Beside an outcome object these are only to be taken out, as is a null outcome, at which the schema of 1.0.0 fails.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	if ev.Type != agui.RunFinished || !ev.Valid() {
		return false
	}
	e := readEnd(ev, agui.View(ev.JSON))
	return e.outcome.Type == gjson.String || isNull(e.outcome) || e.interrupt.IsObject() || e.interrupts.IsArray()
}

// Begin implements translate.Dialect. A draft backend never gets protocolVersion, which is younger, nor an array without
// an answer, which a typed v1 server cannot read.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return plainOut(r), d.plainRun(r), nil
	}
	out, told, err := d.resume(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	beside := notAbout(r.New, told) // the backend would take the others for one more answer
	return out, &run{d: d, r: r.With(r.Input, beside), told: told}, nil
}

func plainOut(r *translate.Request) translate.Out {
	body := agui.DeleteKey(agui.DeleteKey(withoutAbandoned(r).Raw, "protocolVersion"), "resume")
	if len(body) == len(r.Input.Raw) {
		return translate.Out{}
	}
	return translate.Out{Body: body}
}

func (d *Dialect) plainRun(r *translate.Request) *run {
	return &run{d: d, r: r.Plain()}
}

func isNull(v gjson.Result) bool { return v.Exists() && v.Type == gjson.Null }
