package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// A silentIndex is a store that never ends a Remember by itself.
type silentIndex struct {
	store.Store
	asked atomic.Int32
}

func (h *silentIndex) Remember(ctx context.Context, _ store.Key, _ store.Note, _ int) error {
	h.asked.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// TestIndexThatFails: however many keys a question has in the index, it waits for them as long as
// one step of the store may take. The first failure ends the rest.
func TestIndexThatFails(t *testing.T) {
	var keys []store.Key
	for n := range 256 {
		keys = append(keys, store.Key(fmt.Sprint(n)))
	}
	synctest.Test(t, func(t *testing.T) {
		h := &silentIndex{}
		l := New(h, "t", Voice{}, nil)
		begun := time.Now()
		err := l.rememberUnder(keys, store.Note{ID: "p"}, 8, 4)
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != StepTimeout || h.asked.Load() != 4 {
			t.Errorf("a store that hangs: %v after %v and %d steps", err, took, h.asked.Load())
		}

		ctx, drain := context.WithCancelCause(t.Context())
		drain(ErrDraining)
		l.SetContext(ctx)
		begun = time.Now()
		if err := l.rememberUnder(keys, store.Note{ID: "p"}, 8, 4); err == nil || time.Since(begun) != lastStepTimeout {
			t.Errorf("while Holdpoint ends: %v after %v", err, time.Since(begun))
		}
	})

	var steps atomic.Int32
	down := &faults{at: func(string, func() error) error { steps.Add(1); return errDown }}
	if err := New(down, "t", Voice{}, nil).rememberUnder(keys, store.Note{ID: "p"}, 8, 4); !errors.Is(err, errDown) || steps.Load() > 8 {
		t.Errorf("a store that is away: %v after %d steps", err, steps.Load())
	}

	steps.Store(0)
	lost := &faults{at: func(string, func() error) error {
		if steps.Add(1) == 1 {
			return errDown // its reply alone is lost
		}
		return nil
	}}
	if err := New(lost, "t", Voice{}, nil).rememberUnder(keys, store.Note{ID: "p"}, 8, 4); err != nil || steps.Load() != 257 {
		t.Errorf("a reply that was lost: %v after %d steps", err, steps.Load())
	}
}
