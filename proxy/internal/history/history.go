// Package history compares the messages of a request with the record of its thread. It decides
// which replies in them answer which question, which messages the backend gets, and which calls and
// results are added or removed. Its input is a View: the request, the record, what the dialect can
// read, and a Memory for facts from the store and this process. It does not change its input. It
// neither logs nor claims a pause; the caller acts on the results.
package history

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A View is the input of this package. The package does not change it, nor anything to which it
// points.
type View struct {
	Input        *agui.RunInput // the request, including the changes already made for the backend
	Record       *store.Record  // the record of the thread
	LinkedPauses []LinkedPause  // pauses of other threads about which the request's messages are
	Dialect      Dialect
	KnownDialect string // the dialect of the thread's backend, or "" if unknown
	Backend      string // which backend of the dialect it is, or "" if unknown
	Show         translate.Show

	NeedsResult      bool // the client itself carries out an answered call that has no result
	OmitsCalls       bool // the client omits calls about which it was asked a question
	CarriesDecisions bool // Holdpoint itself sent the request, to continue a decided pause
	NotAsked         bool // the record could not be loaded
	InMemory         bool // the store loses its records with the process

	Thread store.Key // the key of the thread to which the calls of the run's stream belong
	Scope  Scope

	Memory Memory
}

// A Memory knows facts that are neither in the request nor in its record.
type Memory interface {
	// Snapshots loads the snapshots of a pause from the store. bytes is their size, or 0 if there
	// are none. If the store fails, Snapshots returns none.
	Snapshots(pauseID string, at store.Moment, bytes int) store.Snapshots
	// IsLeftToClient reports whether this process saw that a stream of the thread left the call to
	// the client. If own is true, only calls of tools count that the request of that run declared.
	IsLeftToClient(call string, own bool) bool
	// LeftOpen reports whether this process saw that a run left the call without a result.
	LeftOpen(key CallKey) bool
	// WasAsked reports whether the store's index contains a question about the call. inThread is true
	// if that question belongs to the conversation of the request. inAnyThread is true if it belongs
	// to any conversation.
	WasAsked(c agui.Call) (inThread, inAnyThread bool, err error)
}

// A Dialect contains those optional interfaces of a dialect that concern the history. A field is
// nil if the dialect does not implement the interface.
type Dialect struct {
	Reader    translate.HistoryReader
	Decisions translate.DecisionReader
	Stateless translate.Stateless
	Continuer translate.Continuer
	Reviver   translate.Reviver
}

// AbilitiesOf returns a Dialect with the interfaces that d implements.
func AbilitiesOf(d translate.Dialect) Dialect {
	var can Dialect
	can.Reader, _ = d.(translate.HistoryReader)
	can.Decisions, _ = d.(translate.DecisionReader)
	can.Stateless, _ = d.(translate.Stateless)
	can.Continuer, _ = d.(translate.Continuer)
	can.Reviver, _ = d.(translate.Reviver)
	return can
}

// A LinkedPause is a pause of another thread to which the request's messages refer.
type LinkedPause struct {
	Pause  *agui.Pause
	Result *store.Result // how the pause ended; nil if it is open
}

// Pauses returns the pauses to which messages may refer. First come those of the record, open or
// ended, the newest first. The linked pauses follow.
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

// askedMessages returns the messages that the store has as a snapshot of the open pause. It returns
// nil if there are none.
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

// endedMessages returns the messages that the store has as a snapshot of the end of a pause.
func (v *View) endedMessages(result *store.Result) []byte {
	return v.Memory.Snapshots(result.PauseID, store.AtEnd, result.SnapshotBytes).Messages
}

// keepsNothing reports whether the backend that raised the pause stores no state between two runs.
func (v *View) keepsNothing(p *agui.Pause) bool {
	return v.Dialect.Stateless != nil && v.Dialect.Stateless.KeepsNothing(p)
}

// readsCalls reports whether the backend that raised the pause passes the calls in each request's
// messages to its model.
func (v *View) readsCalls(p *agui.Pause) bool {
	return v.Dialect.Stateless != nil && v.Dialect.Stateless.ReadsCalls(p)
}

// CallsOf returns all ids under which a message may name the call of a question.
func CallsOf(i *agui.Interrupt) []string {
	list := append([]string{i.Native, i.ToolCallID()}, i.Keys...)
	return slices.DeleteFunc(list, func(call string) bool { return call == "" })
}

// askedCalls returns the ids of the calls about which the given pauses ask.
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

// Changed reports whether list and of are different slices. list was made from of, and is the same
// slice if nothing was changed.
func Changed(list, of []agui.Message) bool {
	return len(list) != len(of) || len(list) > 0 && &list[0] != &of[0]
}
