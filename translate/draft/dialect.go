// Package draft translates backends that follow AG-UI's draft page on interrupts, from before there
// was an outcome object. Their run ends in one of these ways. The answer stands below each:
//
//	v1, 2025-09 to 2026-04:   "outcome":"interrupt","interrupt":{"id"?,"reason"?,"payload"?}
//	                          "resume":{"interruptId"?,"payload"?}
//	v1.5, 2026-04:            "outcome":"interrupt","interrupts":[{"id","reason","message"?,...}]
//	                          "resume":[{"interruptId","status","payload"?}]
//	a tool call and no more:  "outcome":"interrupt" after a call of a configured name (Pando)
//	                          a tool message {"approved":b} for that call, the last of the messages
//
// If an interrupt is there, the outcome may be missing. The outcome is a string on every run, also
// "success". All clients from 0.0.54 on fail at that, so the dialect also repairs the end of a run
// that never pauses.
//
// v1 has one interrupt, no status, no schema and no expiry. In none of the three does the backend
// check coverage, replays or new input. What a backend does with an answer is its own matter: it
// gets the payload as it came. The dialect publishes the shape of an answer only if it knows it. It
// knows the approval of a function (functionName in the payload, the .NET plan), and a payload that
// brings a schema itself. It does not know the shape for an inputType (email, date, ...). The
// plan's {"response":"..."} is an example; the bare text may be as right, and a schema would refuse
// one of them.
//
// What cannot be done: a backend that is resumed at an endpoint of its own (CAIPE's dynamic agents)
// gets its answer in a run, and does not read it there. result:{"outcome":"interrupt"} is a result
// and says nothing of a pause. The list RUN_FINISHED.interrupt:[..] is agent-framework's.
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

// Name of the dialect.
const Name = "draft"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	*calls.Plain // of backends that ask by a call
	cancel       json.RawMessage
	warn         translate.Warn
	once         sync.Once // of warn
}

// New makes the dialect. warn may be nil. It is told once if a pause passes as a plain end.
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

// Sign implements translate.Signer. It signs an end with a string outcome, with an interrupt
// object, or with interrupts at the root. Beside an outcome object the dialect only takes these
// out. It also signs a null outcome, because the schema of 1.0.0 fails at it.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	if ev.Type != agui.RunFinished || !ev.Valid() {
		return false
	}
	e := readEnd(ev, agui.View(ev.JSON))
	return e.outcome.Type == gjson.String || isNull(e.outcome) || e.interrupt.IsObject() || e.interrupts.IsArray()
}

// Begin implements translate.Dialect. A draft backend never gets protocolVersion, which is younger
// than the draft. It never gets an array without an answer either, because a typed v1 server cannot
// read one.
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
	body := agui.DeleteKey(agui.DeleteKey(d.Cleaned(r).Raw, "protocolVersion"), "resume")
	if len(body) == len(r.Input.Raw) {
		return translate.Out{}
	}
	return translate.Out{Body: body}
}

func isNull(v gjson.Result) bool { return v.Exists() && v.Type == gjson.Null }
