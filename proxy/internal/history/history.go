// Package history compares the messages of a request with the record of its thread. It decides
// which replies in them answer which question, which messages the backend gets, and which calls and
// results are added or removed. Its input is a View: the request, the record, what the dialect can
// read, and a Memory for facts from the store and this process. It changes none of its inputs, and
// neither logs nor claims; the caller acts on the results.
package history

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A View is the input of this package. It and everything that it points to are read-only.
type View struct {
	Input        *agui.RunInput // the request, with the changes made for the backend so far
	Record       *store.Record  // the record of the thread
	LinkedPauses []LinkedPause  // pauses of other threads that the messages are about
	Dialect      Dialect
	KnownDialect string // the dialect of the thread's backend, "" if unknown
	Backend      string // which backend of the dialect it is, "" if unknown
	Show         translate.Show

	NeedsResult      bool // the client carries out an answered call that has no result
	OmitsCalls       bool // the client omits the calls that it was asked about
	CarriesDecisions bool // Holdpoint itself sent the request, to carry decisions
	NotAsked         bool // the record could not be loaded
	InMemory         bool // the store loses its records with the process

	Thread store.Key // key of the thread that the calls of the run's stream belong to
	Scope  Scope

	Memory Memory
}

// A Memory has facts that are neither in the request nor in its record.
type Memory interface {
	// Snapshots loads snapshots that the store keeps with the record. bytes is their size, 0 if there
	// are none. It returns none if the store fails.
	Snapshots(pauseID string, at store.Moment, bytes int) store.Snapshots
	// IsLeftToClient reports whether this process saw a stream of the thread leave the call to the
	// client. own selects calls of tools that the request of that run declared.
	IsLeftToClient(call string, own bool) bool
	// LeftOpen reports whether this process saw a run leave the call open.
	LeftOpen(key CallKey) bool
	// WasAsked reports whether the index of the store has a question about the call. here reports
	// that the question belongs to the request's conversation, somewhere that it may belong to any.
	WasAsked(c agui.Call) (here, somewhere bool, err error)
}

// A Dialect has the optional interfaces of a dialect that concern the history. A field is nil if
// the dialect does not implement it.
type Dialect struct {
	Reader    translate.HistoryReader
	Decisions translate.DecisionReader
	Stateless translate.Stateless
	Continuer translate.Continuer
	Reviver   translate.Reviver
}

// AbilitiesOf returns the Dialect of d.
func AbilitiesOf(d translate.Dialect) Dialect {
	var can Dialect
	can.Reader, _ = d.(translate.HistoryReader)
	can.Decisions, _ = d.(translate.DecisionReader)
	can.Stateless, _ = d.(translate.Stateless)
	can.Continuer, _ = d.(translate.Continuer)
	can.Reviver, _ = d.(translate.Reviver)
	return can
}

// A LinkedPause is a pause of another thread that the request's messages are about.
type LinkedPause struct {
	Pause  *agui.Pause
	Result *store.Result // how it ended, nil if it is open
}

// Pauses returns the pauses that messages may be about: those of the record, open or ended, newest
// first, followed by the linked ones.
func Pauses(rec *store.Record, linked []LinkedPause) []*agui.Pause {
	list := []*agui.Pause{}
	if p := rec.Pause; p != nil {
		list = append(list, p)
	}
	for _, result := range rec.Results {
		if result.Pause != nil {
			list = append(list, result.Pause)
		}
	}
	for _, one := range linked {
		list = append(list, one.Pause)
	}
	return list
}

func (v *View) pauses() []*agui.Pause { return Pauses(v.Record, v.LinkedPauses) }

// askedMessages returns the messages that the store keeps with the open pause, nil if there are
// none.
func (v *View) askedMessages() []byte {
	p := v.Record.Pause
	if p == nil {
		return nil
	}
	if p.SnapshotBytes == 0 || p.Messages != nil || p.State != nil {
		return p.Messages
	}
	return v.Memory.Snapshots(p.ID, store.AtPause, p.SnapshotBytes).Messages
}

// endedMessages returns the messages that the store keeps with the end of a pause.
func (v *View) endedMessages(result *store.Result) []byte {
	return v.Memory.Snapshots(result.PauseID, store.AtEnd, result.SnapshotBytes).Messages
}

// keepsNothing reports whether the backend that raised the pause keeps no state between two runs.
func (v *View) keepsNothing(p *agui.Pause) bool {
	return v.Dialect.Stateless != nil && v.Dialect.Stateless.KeepsNothing(p)
}

// readsCalls reports whether the backend that raised the pause gives its model the calls in the
// messages of each request.
func (v *View) readsCalls(p *agui.Pause) bool {
	return v.Dialect.Stateless != nil && v.Dialect.Stateless.ReadsCalls(p)
}

// CallsOf returns the ids by which a message may name the call of a question.
func CallsOf(i *agui.Interrupt) []string {
	list := append([]string{i.Native, i.ToolCallID()}, i.Keys...)
	return slices.DeleteFunc(list, func(call string) bool { return call == "" })
}

// askedCalls returns the calls that the questions of some pauses are about.
func askedCalls(pauses ...*agui.Pause) map[string]bool {
	calls := map[string]bool{}
	for _, p := range pauses {
		for n := range p.Interrupts {
			for _, call := range CallsOf(&p.Interrupts[n]) {
				calls[call] = true
			}
		}
	}
	return calls
}

// Changed reports whether list is another slice than of, which it was made from.
func Changed(list, of []agui.Message) bool {
	return len(list) != len(of) || len(list) > 0 && &list[0] != &of[0]
}
