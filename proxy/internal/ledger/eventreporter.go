package ledger

import (
	"errors"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// Sinks receive the events of an agent's threads. They also have the name under which an event
// names the agent, and decide how it names principals. They are made once and are read-only.
type Sinks struct {
	Events event.Sink // nil: no receiver of events
	// an answer is sent to the backend only after the receiver accepted the answer's event
	Required bool

	// Notices returns the notice to send about an event. It returns false if no notice is to be
	// sent. The record keeps the notice until it is sent. OnNotices is called with the key of each
	// record that got such a notice. If the functions are nil, no notices are sent.
	Notices   func(*event.Event) (store.Notice, bool)
	OnNotices func(store.Key)

	Agent string
	Names principal.NameStyle
	Now   func() time.Time
}

// A Span receives the events of a run.
type Span interface {
	Happened(kind event.Kind, pause, code string)
}

// An EventReporter reports the events of one thread to the receivers. It has the values that all
// events of the thread have in common. The zero EventReporter reports nothing.
type EventReporter struct {
	Sinks       *Sinks // nil: no receivers
	Span        Span   // the trace span of the run; nil: no span
	Principal   principal.Identity
	Thread, Run string // the ids that the client sent
	// Holdpoint itself sent the request, to carry out a decision made at the desk (the web page of
	// approvers)
	Desk bool
	// The person who decides at the desk. It is "" if the request only carries out an earlier
	// decision.
	Decider string
}

// An Occurrence is something that happened, or is about to happen, to the questions of a pause. It
// is an event without the values that all events of its thread have in common. A step writes the
// occurrence into the record as a notice. All other receivers get it after the step.
type Occurrence struct {
	Kind       event.Kind
	Pause      *agui.Pause // nil if the occurrence concerns no pause
	Code       string      // code of a refusal, or of the RUN_ERROR that ended the answered run
	Interrupts []event.Interrupt
}

// IsReporting reports whether events have a receiver. If they have none, the digests for events
// need not be computed.
func (v *EventReporter) IsReporting() bool {
	return v.Sinks != nil && (v.Sinks.Events != nil || v.Sinks.Notices != nil) || v.Span != nil
}

// isRequired reports whether a step may be made only after its event was accepted.
func (v *EventReporter) isRequired() bool { return v.Sinks != nil && v.Sinks.Required }

// notices returns the notices about the occurrences in list. The parameter thread is the key of the
// thread's record.
func (v *EventReporter) notices(list []Occurrence, thread store.Key) []store.Notice {
	if v.Sinks == nil || v.Sinks.Notices == nil {
		return nil
	}
	var notices []store.Notice
	for _, o := range list {
		if n, ok := v.Sinks.Notices(v.event(o, thread)); ok {
			notices = append(notices, n)
		}
	}
	return notices
}

// event returns the event of an occurrence. The parameter thread is the key of the thread's record.
func (v *EventReporter) event(o Occurrence, thread store.Key) *event.Event {
	e := event.Event{
		Kind: o.Kind, Time: v.Sinks.Now(), Agent: v.Sinks.Agent, Tenant: v.Principal.Tenant, Thread: v.Thread, Run: agui.Shorten(v.Run),
		Door: event.Chat, Code: o.Code, Interrupts: o.Interrupts,
	}
	if e.Principal, e.PrincipalHash = v.Sinks.Names.NameOf(v.Principal); v.Desk {
		e.Door, e.Principal, e.PrincipalHash = event.Desk, v.Decider, ""
	}
	if p := o.Pause; p != nil {
		e.Pause, e.Dialect, e.Approval = p.ID, p.Dialect, event.ApprovalOf(string(thread), p.ID)
	}
	return &e
}

// report reports an occurrence to the span and to the receiver of events. It returns an error only
// if Sinks.Required is set and the receiver did not accept the event.
func (v *EventReporter) report(o Occurrence, thread store.Key) error {
	if v.Span != nil {
		pause := ""
		if o.Pause != nil {
			pause = o.Pause.ID
		}
		v.Span.Happened(o.Kind, pause, o.Code)
	}
	if v.Sinks == nil || v.Sinks.Events == nil {
		return nil
	}
	if err := v.Sinks.Events.Take(v.event(o, thread)); err != nil && v.Sinks.Required {
		return errors.Join(door.ErrNotWritten, err)
	}
	return nil
}
