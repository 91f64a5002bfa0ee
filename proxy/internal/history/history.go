// Package history reads the messages of a request against the record of its thread: which decisions
// in them answer which question, what of them goes to the backend, and which calls and results are
// put back or taken out. It gets a View: the request, the record, what the dialect can read, and
// a Memory of what the store and this process know besides. It changes nothing that it gets, and it
// neither logs nor claims; its caller does what is to be done.
package history

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A View is what the messages of a request are read against. It and all that it points to are
// read-only.
type View struct {
	Input   *agui.RunInput // the request, as it goes to the backend so far
	Record  *store.Record  // of the thread
	Linked  []Linked       // pauses of other threads that the messages are about
	Dialect Dialect
	Spoken  string // the dialect that the backend of the thread speaks, "" if unknown
	Backend string // which backend of its dialect it is, "" if unknown
	Show    translate.Show

	NeedsResult bool // the client carries out an answered call that has no result
	Omits       bool // the client leaves out the calls that it was asked about
	Carries     bool // the request is Holdpoint's own and carries a pause
	NotAsked    bool // the store could not be asked for the record
	InMemory    bool // the store loses its records with the process

	Thread store.Key // of the record whose thread the calls of the run's stream are left to
	Scope  Scope

	Memory Memory
}

// A Memory says what neither the request nor its record says.
type Memory interface {
	// Kept fetches snapshots that the store keeps beside the record. bytes is their size, 0 if there
	// are none. It returns no snapshots if the store cannot be asked.
	Kept(pauseID string, at store.Moment, bytes int) store.Snapshots
	// Passed reports whether this process saw a stream of the thread leave the call to the client.
	// own asks for a call of a tool that the request of that run declared.
	Passed(call string, own bool) bool
	// LeftOpen reports whether this process saw a run leave the call open.
	LeftOpen(key CallKey) bool
	// WasAsked reports whether the index of the store knows a question about the call. here reports
	// that the question is of the request's conversation, somewhere that it may be of any.
	WasAsked(c agui.Call) (here, somewhere bool, err error)
}

// A Dialect is what a dialect can do with a history. A field is nil if the dialect cannot.
type Dialect struct {
	Reader    translate.HistoryReader
	Decisions translate.DecisionReader
	Stateless translate.Stateless
	Continuer translate.Continuer
	Reviver   translate.Reviver
}

// AbilitiesOf returns what the dialect can do with a history.
func AbilitiesOf(d translate.Dialect) Dialect {
	var can Dialect
	can.Reader, _ = d.(translate.HistoryReader)
	can.Decisions, _ = d.(translate.DecisionReader)
	can.Stateless, _ = d.(translate.Stateless)
	can.Continuer, _ = d.(translate.Continuer)
	can.Reviver, _ = d.(translate.Reviver)
	return can
}

// A Linked is a pause of another thread.
type Linked struct {
	Pause  *agui.Pause
	Result *store.Result // how it ended, nil if it waits
}

// Pauses returns the pauses that messages may be about: those of the record, open or ended, the
// newest first, and the linked ones.
func Pauses(rec *store.Record, linked []Linked) []*agui.Pause {
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

func (v *View) pauses() []*agui.Pause { return Pauses(v.Record, v.Linked) }

// askedMessages returns the messages that the store keeps with the open pause.
func (v *View) askedMessages() []byte {
	p := v.Record.Pause
	if p == nil {
		return nil
	}
	if p.Kept == 0 || p.Messages != nil || p.State != nil {
		return p.Messages
	}
	return v.Memory.Kept(p.ID, store.Asked, p.Kept).Messages
}

// endedMessages returns the messages that the store keeps with the end of a pause.
func (v *View) endedMessages(result *store.Result) []byte {
	return v.Memory.Kept(result.PauseID, store.Ended, result.Kept).Messages
}

// keepsNothing reports whether the backend that made the pause keeps nothing between two runs.
func (v *View) keepsNothing(p *agui.Pause) bool {
	return v.Dialect.Stateless != nil && v.Dialect.Stateless.KeepsNothing(p)
}

// readsCalls reports whether the backend that made the pause hands its model the calls of each
// request's messages.
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

// Changed reports whether a list differs from the one that it was made of.
func Changed(list, of []agui.Message) bool {
	return len(list) != len(of) || len(list) > 0 && &list[0] != &of[0]
}
