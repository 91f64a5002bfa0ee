package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"holdpoint/store"
)

// A sweep writes down what time has done to threads that nobody asks for, and forgets what is gone.
// Every replica does it. Nothing depends on it but the room that the store takes: each step sees by
// itself what time has done.
type sweep struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

const (
	sweepEvery = time.Minute
	// sweepBatch bounds what one sweep does, so that it never is what the store is busy with.
	sweepBatch = 1000
	sweepTime  = 20 * time.Second
)

func (w *sweep) begin(s *Store, every time.Duration) {
	if every < 0 {
		return
	}
	if every == 0 {
		every = sweepEvery
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.done.Go(func() {
		for {
			// Replicas that were started together do not come together.
			t := time.NewTimer(every/2 + rand.N(every))
			select {
			case <-ctx.Done():
				t.Stop()
				return
			case <-t.C:
				s.Sweep(ctx)
			}
		}
	})
}

func (w *sweep) end() {
	if w.cancel != nil {
		w.cancel()
	}
	w.done.Wait()
}

// Sweep does what is due, a bounded part of it.
func (s *Store) Sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	// The table's clock says what is due, and the rows say what its clock was.
	page, err := s.table.Waiting(ctx, store.Query{Due: time.Now(), Limit: sweepBatch})
	for n := 0; err == nil && n < len(page.Rows); n++ {
		// To load a record is to settle it. A claim whose lease has lapsed stays as it is.
		_, err = s.Load(ctx, page.Rows[n].Key, "")
	}
	for n := 0; err == nil && n < sweepBatch; {
		forgotten := 0
		if forgotten, err = s.table.Forget(ctx); forgotten == 0 {
			break
		}
		n += forgotten
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("the store's sweep ended early", "err", err)
	}
}
