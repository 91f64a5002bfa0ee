package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// TestOpen checks that a pause is opened only once, and that its event is reported after it was
// opened.
func TestOpen(t *testing.T) {
	for situation, c := range map[string]struct {
		before func(t *testing.T, f *faults)
		err    error
		open   string // the pause that is open afterwards, or ""
		heard  string
	}{
		"nothing is open":        {func(*testing.T, *faults) {}, nil, "p", raised},
		"the reply is lost":      {func(_ *testing.T, f *faults) { f.loses("Open", 1) }, nil, "p", raised},
		"both replies are lost":  {func(_ *testing.T, f *faults) { f.loses("Open", 2) }, errDown, "p", ""},
		"the store is away":      {func(_ *testing.T, f *faults) { f.refuses("Open") }, errDown, "", ""},
		"another one was opened": {func(t *testing.T, f *faults) { open(t, New(f, "t", EventReporter{}, nil), "q") }, store.ErrExists, "q", ""},
		"the thread is another's": {func(t *testing.T, f *faults) {
			if _, err := f.Store.Load(t.Context(), "t", "another"); err != nil {
				t.Fatal(err)
			}
		}, store.ErrOwner, "", ""},
	} {
		t.Run(situation, func(t *testing.T) {
			f, h := newFaults(), &hearer{}
			c.before(t, f)
			l := New(f, "t", heardBy(h, false), nil)
			l.Owner = "me"
			if err := l.Open(pause("p")); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			opened := ""
			if p := f.record(t, "t").Pause; p != nil {
				opened = p.ID
			}
			if heard := h.heard(); opened != c.open || heard != c.heard {
				t.Errorf("%q is open, and %q was heard; want %q, %q", opened, heard, c.open, c.heard)
			}
		})
	}
}

// TestReopen: a pause has ended and is reopened. The reopened pause must accept only a cancel.
func TestReopen(t *testing.T) {
	ended := func(t *testing.T, f *faults) (*Ledger, *store.Result) {
		l := New(f, "t", EventReporter{}, nil)
		p := open(t, l, "p")
		if err := l.Close(p.ID, store.Result{EndKind: store.Lost, SeenMessages: []agui.SeenMessage{{ID: "m"}}}); err != nil {
			t.Fatal(err)
		}
		return l, f.record(t, "t").Results[0]
	}
	t.Run("nothing is open", func(t *testing.T) {
		f := newFaults()
		l, result := ended(t, f)
		if err := l.Reopen(result); err != nil {
			t.Fatal(err)
		}
		p := f.record(t, "t").Pause
		if p == nil || p.ID == "p" || p.Interrupts[0].ID != result.IDs[0] || !p.Interrupts[0].CancelOnly || len(p.SeenMessages) != 1 {
			t.Errorf("open is %+v", p)
		}
		if result.Pause.Interrupts[0].CancelOnly {
			t.Error("the record's own result was changed")
		}
	})
	t.Run("another question is open", func(t *testing.T) {
		f := newFaults()
		l, result := ended(t, f)
		open(t, l, "q")
		if err := l.Reopen(result); !errors.Is(err, store.ErrExists) || f.record(t, "t").Pause.ID != "q" {
			t.Errorf("got %v", err)
		}
	})
}

// TestClose: several requests try to close a pause at the same time. Only one of them may close it.
// If a request does not know whether it was the one, it must report the event.
func TestClose(t *testing.T) {
	for situation, c := range map[string]struct {
		before         func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		closed, ended  bool
		heard          string
		state          store.State
		withoutAnError bool
	}{
		"it is open": {
			before: func(*testing.T, *Ledger, *faults, *agui.Pause) {},
			closed: true, withoutAnError: true, heard: "interrupt.withdrawn",
		},
		"the reply is lost: nobody knows who closed it": {
			before: loses("Close"), closed: true, ended: true, heard: "interrupt.withdrawn",
		},
		"somebody else has closed it": {
			before: func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
				if err := New(l.store, "t", EventReporter{}, nil).Close(p.ID, store.Result{EndKind: store.Withdrawn}); err != nil {
					t.Fatal(err)
				}
			},
			ended: true,
		},
		"it is claimed": {
			before: func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
				c, err := take(New(l.store, "t", EventReporter{}, nil), p, yes(p))
				if err != nil {
					t.Fatal(err)
				}
				c.Stop()
			},
			ended: true, state: store.Claimed,
		},
		"the store is away": {before: refuses("Close"), state: store.Open},
	} {
		t.Run(situation, func(t *testing.T) {
			f, h := newFaults(), &hearer{}
			l := New(f, "t", heardBy(h, false), nil)
			p := open(t, l, "p")
			c.before(t, l, f, p)
			h.kinds = nil
			err := l.Close(p.ID, store.Result{EndKind: store.Withdrawn}, WithdrawnPause(p))
			if Closed(err) != c.closed || EndedAlready(err) != c.ended || (err == nil) != c.withoutAnError {
				t.Errorf("closed %t, ended already %t (%v); want %t, %t", Closed(err), EndedAlready(err), err, c.closed, c.ended)
			}
			if heard := h.heard(); heard != c.heard {
				t.Errorf("heard %q, want %q", heard, c.heard)
			}
			if state := f.record(t, "t").State; state != c.state {
				t.Errorf("the record is %q, want %q", state, c.state)
			}
		})
	}
}

// TestDecide checks that the store records a decision before its event is reported.
func TestDecide(t *testing.T) {
	const decides, says = "interrupt.deciding", "interrupt.decided"
	for situation, c := range map[string]struct {
		before func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		fails  []event.Kind // events that the sink rejects, as a required audit log
		err    error
		stands bool
		heard  string
	}{
		"nobody has decided it": {
			before: func(*testing.T, *Ledger, *faults, *agui.Pause) {}, stands: true, heard: decides + " " + says,
		},
		"the reply is lost": {before: loses("Decide"), stands: true, heard: decides + " " + says},
		"the store is away": {before: refuses("Decide"), err: errDown, heard: decides},
		"the audit is required, and cannot be written": {
			before: func(*testing.T, *Ledger, *faults, *agui.Pause) {},
			fails:  []event.Kind{event.Deciding}, err: door.ErrNotWritten,
		},
		"somebody decided it otherwise": {
			before: func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
				if err := New(l.store, "t", EventReporter{}, nil).Decide(p, decided(p, no(p)[0])); err != nil {
					t.Fatal(err)
				}
			},
			err: store.ErrConflict, heard: decides,
		},
		"the store does not know the pause": {
			before: func(_ *testing.T, l *Ledger, _ *faults, _ *agui.Pause) { l.Key = "another" },
			err:    store.ErrNotFound, heard: decides,
		},
	} {
		t.Run(situation, func(t *testing.T) {
			f, h := newFaults(), &hearer{}
			l := New(f, "t", heardBy(h, true), nil)
			p := open(t, l, "p")
			c.before(t, l, f, p)
			h.kinds, h.fails = nil, c.fails
			list := decided(p, yes(p)[0])
			if err := l.Decide(p, list); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			d := f.record(t, "t").Pause.Decision(p.Interrupts[0].ID)
			if stands := d != nil && d.Digest == list[0].Digest; stands != c.stands {
				t.Errorf("it stands: %t, want %t", stands, c.stands)
			}
			if heard := h.heard(); heard != c.heard {
				t.Errorf("heard %q, want %q", heard, c.heard)
			}
		})
	}
}

// TestQuietSteps checks the steps that report no events. It checks their results, and how often
// they call the store.
func TestQuietSteps(t *testing.T) {
	load := func(l *Ledger, _ *agui.Pause) error { _, err := l.Load(); return err }
	kept := func(bytes int) func(l *Ledger, p *agui.Pause) error {
		return func(l *Ledger, p *agui.Pause) error {
			_, err := l.Snapshots(settle.Ref{PauseID: p.ID, At: store.AtPause, Bytes: bytes})
			return err
		}
	}
	for situation, c := range map[string]struct {
		before func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		step   func(l *Ledger, p *agui.Pause) error
		err    error
		steps  string
	}{
		"the record is loaded": {nil, load, nil, "Load"},
		"the record is loaded, the reply is lost": {func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			f.loses("Load", 1)
		}, load, nil, "Load Load"},
		"the record cannot be read: that is a reply": {func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			f.decide(func(string, func() error) error { return store.ErrUnread })
		}, load, store.ErrUnread, "Load"},
		"no snapshots are kept":                     {nil, kept(0), nil, ""},
		"snapshots are kept":                        {nil, kept(1), nil, "Snapshots"},
		"the chat has caught up, the reply is lost": {loses("See"), func(l *Ledger, p *agui.Pause) error { return l.MarkSeen(p.ID) }, nil, "See See"},
		"a call is noted, the reply is lost": {loses("Remember"), func(l *Ledger, _ *agui.Pause) error {
			return l.Remember(store.Note{ID: "n", Text: []byte(`{}`)}, 1)
		}, nil, "Remember Remember"},
	} {
		t.Run(situation, func(t *testing.T) {
			f := newFaults()
			l := New(f, "t", EventReporter{}, nil)
			p := open(t, l, "p")
			if c.before != nil {
				c.before(t, l, f, p)
			}
			f.asked()
			if err := c.step(l, p); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if steps := strings.Join(f.asked(), " "); steps != c.steps {
				t.Errorf("steps %q, want %q", steps, c.steps)
			}
		})
	}
}

// A beating is a client that counts the heartbeats that it gets.
type beating struct{ n int }

func (b *beating) Alive() { b.n++ }

// TestStepOfARunThatHasEnded: a run has ended, but its step of the store must still be done. With
// each step, a waiting client must get a heartbeat.
func TestStepOfARunThatHasEnded(t *testing.T) {
	f, b := newFaults(), &beating{}
	l := New(f, "t", EventReporter{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.SetContext(ctx)
	l.SetClient(b)
	if err := l.Open(pause("p")); err != nil || f.record(t, "t").State != store.Open {
		t.Errorf("not opened: %v", err)
	}
	f.loses("Load", 1)
	if _, err := l.Load(); err != nil || b.n != 3 {
		t.Errorf("%d heartbeats (%v), want 3", b.n, err)
	}
}
