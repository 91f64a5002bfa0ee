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

// Sinks are who hears of the steps of an agent's threads, and how the agent and its principals are
// named there. They are made once and read-only.
type Sinks struct {
	Events   event.Sink // nil: nobody hears of events
	Required bool       // no answer is handed on unless its event was taken before

	// Notices makes of an event what is to be sent of it, if anything is. It then stands in the
	// record until it is sent. Posted is told of each record that has something to send. nil:
	// nothing is sent.
	Notices func(*event.Event) (store.Notice, bool)
	Posted  func(store.Key)

	Agent string
	Shown principal.NameStyle
	Now   func() time.Time
}

// A Span notes the events of a run.
type Span interface {
	Happened(kind event.Kind, pause, code string)
}

// A Voice tells of the steps of a thread: what each event has in common, and who hears of it. The
// zero Voice tells nobody.
type Voice struct {
	Sinks       *Sinks // nil: nobody
	Span        Span   // of the run; nil: none is made
	Who         principal.Identity
	Thread, Run string // as the client has them
	Desk        bool   // a request of Holdpoint's own, in place of the chat's
	Decider     string // who decides at the desk, "" where what was decided is carried
}

// An Occurrence is what happened to the questions of a pause, or is about to: an event without what
// all events of its thread have in common. A step writes it into the record for who is to be sent
// it; everybody else is told after the step.
type Occurrence struct {
	Kind       event.Kind
	Pause      *agui.Pause // nil if it is about no pause
	Code       string      // of a refusal, or of the RUN_ERROR in which the answered run ended
	Interrupts []event.Interrupt
}

// Tells reports whether anybody hears of events. Digests are made only for those who do.
func (v *Voice) Tells() bool {
	return v.Sinks != nil && (v.Sinks.Events != nil || v.Sinks.Notices != nil) || v.Span != nil
}

// isRequired reports whether a step must not be made if it cannot be told.
func (v *Voice) isRequired() bool { return v.Sinks != nil && v.Sinks.Required }

// notices returns what is to be sent of some occurrences, of the thread with that key.
func (v *Voice) notices(list []Occurrence, thread store.Key) []store.Notice {
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

// event returns the event of an occurrence.
func (v *Voice) event(o Occurrence, thread store.Key) *event.Event {
	e := event.Event{
		Kind: o.Kind, Time: v.Sinks.Now(), Agent: v.Sinks.Agent, Tenant: v.Who.Tenant, Thread: v.Thread, Run: agui.Cut(v.Run),
		Door: event.Chat, Code: o.Code, Interrupts: o.Interrupts,
	}
	if e.Principal, e.PrincipalHash = v.Sinks.Shown.Of(v.Who); v.Desk {
		e.Door, e.Principal, e.PrincipalHash = event.Desk, v.Decider, ""
	}
	if p := o.Pause; p != nil {
		e.Pause, e.Dialect, e.Approval = p.ID, p.Dialect, event.ApprovalOf(string(thread), p.ID)
	}
	return &e
}

// tell tells an occurrence. It returns an error only if events are required.
func (v *Voice) tell(o Occurrence, thread store.Key) error {
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
