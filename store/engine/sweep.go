package engine

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
)

// A sweep writes down expired pauses of threads that nobody uses, and forgets old rows. Every
// replica does it. Only the size of the store depends on it, because each step applies the expiry
// itself.
type sweep struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	position string // position in the list of due rows from which the next sweep continues; "" is its beginning
}

const (
	sweepEvery = time.Minute
	// sweepBatch limits the work of one sweep, so that it never occupies the store.
	sweepBatch = 1000
	sweepTime  = 20 * time.Second
)

func (w *sweep) begin(s *Store, every time.Duration) {
	if every < 0 {
		return
	}
	every = cmp.Or(every, sweepEvery)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.done.Go(func() {
		for {
			// Replicas that were started together do not sweep at the same time.
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

// Sweep settles a limited number of due records and forgets old rows. The next Sweep continues in
// the list of due records after the last one. Two sweeps must not run at the same time.
//
// A record that cannot be read is skipped. It stays due for ever, so a sweep that stopped there, or
// began with it each time, would never get further.
func (s *Store) Sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	unread, err := s.settleDue(ctx)
	for n := 0; err == nil && n < sweepBatch; {
		forgotten := 0
		if forgotten, err = s.table.Forget(ctx); forgotten == 0 {
			break
		}
		n += forgotten
	}
	if unread > 0 {
		s.log.Debug("records that are due cannot be read", "records", unread)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("the store's sweep ended early", "err", err)
	}
}

// settleDue loads the records that are due, which settles them. A claim whose lease has lapsed
// stays. unread counts the records that cannot be read.
func (s *Store) settleDue(ctx context.Context) (unread int, err error) {
	// The table's clock decides what is due, and the rows have its time.
	q := store.Query{Due: time.Now(), Limit: sweepBatch, After: s.sweep.reached()}
	page, err := s.List(ctx, q)
	if err != nil {
		return 0, err
	}
	for _, row := range page.Rows {
		switch _, err := s.Load(ctx, row.Key, ""); {
		case errors.Is(err, store.ErrUnread):
			unread++
		case err != nil:
			return unread, err
		}
		s.sweep.reach(cursor.Of(q, row).String())
	}
	if page.Next == "" {
		s.sweep.reach("")
	}
	return unread, nil
}

func (w *sweep) reached() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.position
}

func (w *sweep) reach(after string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.position = after
}
