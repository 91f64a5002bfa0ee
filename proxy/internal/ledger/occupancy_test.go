package ledger

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// TestOccupancyEndsOnce: End of an Occupancy is called before Begin, as when a client leaves at the
// very end of its run. The thread must not be busy afterwards.
func TestOccupancyEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaults()
		o := New(f, "t", EventReporter{}, nil).Occupancy()
		o.End()
		o.Begin()
		time.Sleep(time.Minute)
		if rec := f.record(t, "t"); len(rec.Occupants) != 0 {
			t.Errorf("busy with %v", rec.Occupants)
		}
	})
}

// TestOccupancyOutlastsStepsWithoutAReply: a store fails over, and some steps get no reply.
// Meanwhile the thread of a run must not look free.
func TestOccupancyOutlastsStepsWithoutAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, first := newFaults(), true
		var away atomic.Bool
		f.at = func(_ string, do func() error) error {
			if away.Load() {
				time.Sleep(renewTimeout)
				return errDown
			}
			err := do()
			if first {
				first = false
				time.Sleep(2 * time.Second)
			}
			return err
		}
		o := New(f, "t", EventReporter{}, nil).Occupancy()
		o.Begin()
		away.Store(true)
		for at := time.Second; at < 3*LeaseTime; at += time.Second {
			time.Sleep(time.Second)
			away.Store(at < 2*leaseRenew)
			if rec := f.record(t, "t"); len(rec.Occupants) != 1 {
				t.Fatalf("after %v the thread is free", at)
			}
		}
		o.End()
		if rec := f.record(t, "t"); len(rec.Occupants) != 0 {
			t.Errorf("busy with %v", rec.Occupants)
		}
	})
}

// TestOccupy: a run wants to occupy another thread. It must succeed only if the other thread has no
// run and no question.
func TestOccupy(t *testing.T) {
	for situation, c := range map[string]struct {
		there func(t *testing.T, f *faults)
		free  bool
		err   error
	}{
		"nothing is there": {func(*testing.T, *faults) {}, true, nil},
		"a question is open there": {func(t *testing.T, f *faults) {
			open(t, New(f, "other", EventReporter{}, nil), "p")
		}, false, nil},
		"another run goes on there without its client": {func(t *testing.T, f *faults) {
			New(f, "other", EventReporter{}, nil).Occupancy().Begin()
		}, false, nil},
		"another run has gone on there, and its replica died": {func(t *testing.T, f *faults) {
			if _, err := f.Store.Do(t.Context(), "other", store.Occupy{Token: "token", Lease: LeaseTime}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(LeaseTime)
		}, true, nil},
		"the store does not note it":          {func(_ *testing.T, f *faults) { f.refuses("Occupy") }, false, errDown},
		"the store does not say who is there": {func(_ *testing.T, f *faults) { f.refuses("Load") }, false, errDown},
	} {
		t.Run(situation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFaults()
				c.there(t, f)
				before := len(f.record(t, "other").Occupants)
				o, err := New(f, "t", EventReporter{}, nil).Occupy("other")
				if (o != nil) != c.free || err != c.err {
					t.Fatalf("occupied: %t (%v), want %t (%v)", o != nil, err, c.free, c.err)
				}
				f.heals()
				if !c.free {
					if now := len(f.record(t, "other").Occupants); now != before {
						t.Errorf("%d runs are there, want %d", now, before)
					}
					return
				}
				time.Sleep(3 * LeaseTime)
				if rec := f.record(t, "other"); len(rec.Occupants) != 1 {
					t.Errorf("after three leases there are %d runs", len(rec.Occupants))
				}
				o.End()
				if rec := f.record(t, "other"); len(rec.Occupants) != 0 || rec.State != store.None {
					t.Errorf("the thread is not free: %+v", rec)
				}
			})
		})
	}
}
