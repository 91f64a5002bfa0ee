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

// A sweep ends expired pauses in records that nobody uses, and forgets old rows. Every replica
// sweeps. Sweeps only limit the size of the store: each step ends what has expired in its record by
// itself.
type sweep struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu sync.Mutex
	// where the next sweep continues in the list of due rows; "" is the beginning of the list
	position string
}

const (
	sweepEvery = time.Minute
	// sweepBatch and sweepTime limit one sweep, so that it does not occupy the store for long.
	// sweepBatch is the largest number of records.
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
			// The time is random, so that replicas that were started together do not sweep at the
			// same time.
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

// Sweep ends what has expired in a limited number of due records, and forgets old rows. In the list
// of due records, the next Sweep continues where this one stopped. Two sweeps must not run at the
// same time.
//
// A record that cannot be read is skipped. It stays due for ever. So if a sweep stopped at such a
// record, or always began with it, the sweeps would never reach the later records.
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

// settleDue loads the records that are due. Loading a record ends what has expired in it. A claim
// whose lease has lapsed stays. unread is the number of records that cannot be read.
func (s *Store) settleDue(ctx context.Context) (unread int, err error) {
	// The clock of this process only selects the rows that are loaded. Load then decides by the
	// table's clock what has expired.
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
