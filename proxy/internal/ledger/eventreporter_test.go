package ledger

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
)

var errFull = errors.New("the disk is full")

// A hearer is an event.Sink. It rejects events of the kinds in fails, and keeps the kinds of all
// others.
type hearer struct {
	kinds []event.Kind
	fails []event.Kind
}

func (h *hearer) Take(e *event.Event) error {
	if slices.Contains(h.fails, e.Kind) {
		return errFull
	}
	h.kinds = append(h.kinds, e.Kind)
	return nil
}

// heard returns the kinds of the events since the last call, separated by spaces.
func (h *hearer) heard() string {
	list := make([]string, len(h.kinds))
	for n, k := range h.kinds {
		list[n] = string(k)
	}
	h.kinds = nil
	return strings.Join(list, " ")
}

// heardBy returns an EventReporter that reports to h. If required is true, a step may be made only
// after h has accepted its event.
func heardBy(h *hearer, required bool) EventReporter {
	return EventReporter{Sinks: &Sinks{Events: h, Required: required, Now: time.Now}, Thread: "t", Run: "r"}
}

// TestEachStepBringsItsNotices: a step reports events. For each of them, the step must write a
// notice into the record.
func TestEachStepBringsItsNotices(t *testing.T) {
	f, h := newFaults(), &hearer{}
	l := New(f, "t", heardBy(h, false), nil)
	l.Reporter.Sinks.Notices = func(e *event.Event) (store.Notice, bool) {
		return store.Notice{ID: string(e.Kind) + " " + e.Pause, Body: []byte(`{}`)}, true
	}
	p, next := pause("p"), pause("q")
	var claim *Claim
	taking := func() (err error) { claim, err = take(l, p, yes(p)); return err }
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"Open", func() error { return l.Open(p) }, raised},
		{"Claim", taking, "resume.claimed"},
		{"Release", func() error { _, err := claim.Release(); return err }, released},
		{"Claim again", taking, "resume.claimed"},
		{"Finish", func() error { return claim.finish(finished, next) }, resolved + " " + raised},
		{"Decide", func() error { return l.Decide(next, []agui.Decision{{Question: next.Interrupts[0].ID, Digest: "d"}}) }, "interrupt.decided"},
		{"Close", func() error { return l.Close("q", store.Result{EndKind: store.Withdrawn}, WithdrawnPause(next)) }, "interrupt.withdrawn"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(step.name, err)
		}
		if heard := h.heard(); heard != step.want {
			t.Errorf("%s: heard %q, want %q", step.name, heard, step.want)
		}
		done, err := f.Do(t.Context(), "t", store.Take{})
		if err != nil {
			t.Fatal(err)
		}
		var sent, ids []string
		for _, n := range done.Notices {
			kind, _, _ := strings.Cut(n.ID, " ")
			sent, ids = append(sent, kind), append(ids, n.ID)
		}
		if got := strings.Join(sent, " "); got != step.want {
			t.Errorf("%s: %q is to be sent, want %q", step.name, got, step.want)
		}
		if _, err := f.Do(t.Context(), "t", store.Sent{IDs: ids}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNotices checks that a step of the store and its notices are written into the record together.
// If the step is repeated, the record must still get each notice only once.
func TestNotices(t *testing.T) {
	for situation, c := range map[string]struct {
		at     func(f *faults)
		posted int
		sent   int
	}{
		"the step is done":         {func(*faults) {}, 1, 1},
		"its reply is lost":        {func(f *faults) { f.loses("Open", 1) }, 1, 1},
		"the store is away":        {func(f *faults) { f.refuses("Open") }, 0, 0},
		"a question is open there": {func(f *faults) { open(t, New(f, "t", EventReporter{}, nil), "earlier") }, 0, 0},
	} {
		t.Run(situation, func(t *testing.T) {
			f, posted := newFaults(), 0
			c.at(f)
			l := New(f, "t", EventReporter{Sinks: &Sinks{
				Now:       time.Now,
				OnNotices: func(store.Key) { posted++ },
				Notices: func(e *event.Event) (store.Notice, bool) {
					return store.Notice{ID: string(e.Kind), Body: []byte(`{}`)}, true
				},
			}}, nil)
			_ = l.Open(pause("p"))
			sent := 0
			if box := f.record(t, "t").Outbox; box != nil {
				sent = len(box.Notices)
			}
			if posted != c.posted || sent != c.sent {
				t.Errorf("posted %d, %d to send; want %d, %d", posted, sent, c.posted, c.sent)
			}
		})
	}
}
