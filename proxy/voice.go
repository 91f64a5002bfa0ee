package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/door"
	"holdpoint/internal/event"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// A voice tells of the steps of a thread: what each event has in common, and who hears of it. The
// zero voice tells nobody.
type voice struct {
	sinks       *Options // Events, Notices and Posted; nil: nobody
	span        Span     // of the run; nil: none is made
	who         principal.Who
	thread, run string // as the client has them
	desk        bool   // a request of Holdpoint's own, in place of the chat's
	decider     string // who decides at the desk, "" where what was decided is carried
}

// tells reports whether anybody hears of events. Digests are made only for those who do.
func (v *voice) tells() bool {
	return v.sinks != nil && (v.sinks.Events != nil || v.sinks.Notices != nil || v.span != nil)
}

// posts reports whether anybody is sent notices.
func (v *voice) posts() bool { return v.sinks != nil && v.sinks.Notices != nil }

// required reports whether a step must not be made if it cannot be told.
func (v *voice) required() bool { return v.sinks != nil && v.sinks.EventsRequired }

// event returns the event that s says of the thread. p is the pause that it is about, nil if there
// is none.
func (v *voice) event(s saying, thread store.Key) *event.Event {
	e := event.Event{
		Kind: s.kind, Time: v.sinks.Now(), Agent: v.sinks.Agent, Tenant: v.who.Tenant, Thread: v.thread, Run: agui.Cut(v.run),
		Door: event.Chat, Code: s.code, Interrupts: s.of,
	}
	if e.Principal, e.PrincipalHash = v.sinks.ShowPrincipal.Of(v.who); v.desk {
		e.Door, e.Principal, e.PrincipalHash = event.Desk, v.decider, ""
	}
	if p := s.pause; p != nil {
		e.Pause, e.Dialect, e.Approval = p.ID, p.Dialect, event.ApprovalOf(string(thread), p.ID)
	}
	return &e
}

// tell tells what s says. It is an error only if events are required.
func (v *voice) tell(s saying, thread store.Key) error {
	if v.span != nil {
		pause := ""
		if s.pause != nil {
			pause = s.pause.ID
		}
		v.span.Happened(s.kind, pause, s.code)
	}
	if v.sinks == nil || v.sinks.Events == nil {
		return nil
	}
	if err := v.sinks.Events.Take(v.event(s, thread)); err != nil && v.sinks.EventsRequired {
		return errors.Join(door.ErrNotWritten, err)
	}
	return nil
}
