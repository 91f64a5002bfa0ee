package proxy

import (
	"context"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// A saying is an event that a step is about to make true. Who is to be sent it finds it in the
// record, written by that step; everybody else is told behind the step.
type saying struct {
	kind  event.Kind
	pause *agui.Pause
	code  string
	of    []event.Interrupt
}

// tell tells what s says, see voice.tell.
func (l *ledger) tell(s saying) error { return l.voice.tell(s, l.key) }

// posting is twice with the notices of what the step is about to make true. They are made once, so
// that a step done twice writes them once.
func (l *ledger) posting(says []saying, do func(ctx context.Context) error, known ...error) error {
	if !l.voice.posts() {
		return l.twice(do, known...)
	}
	var notices []store.Notice
	for _, s := range says {
		if n, ok := l.voice.sinks.Notices(l.voice.event(s, l.key)); ok {
			notices = append(notices, n)
		}
	}
	err := l.twice(func(ctx context.Context) error { return do(store.WithNotices(ctx, notices...)) }, known...)
	if err == nil && len(notices) > 0 && l.voice.sinks.Posted != nil {
		l.voice.sinks.Posted(l.key)
	}
	return err
}

// say tells what a step has made true.
func (l *ledger) say(says []saying) {
	for _, s := range says {
		_ = l.tell(s)
	}
}
