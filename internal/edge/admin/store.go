package admin

import (
	"context"
	"time"
)

const (
	// askEvery is how often a store is asked that was reached.
	askEvery = 2 * time.Second
	// askTimeout is how long it may take to answer.
	askTimeout = 5 * time.Second
	// firstPause and longestPause are between two tries to reach it at all.
	firstPause, longestPause = 50 * time.Millisecond, 2 * time.Second
)

// storeState is what is known of the store.
type storeState struct {
	reached bool
	lost    time.Time // since when it has not answered, zero if it does
}

// Watch asks the store until ctx is done. ask returns nil if the store has answered. Probes say
// what came of the last time, because a probe has a second and must not wait for a store.
func (s *Server) Watch(ctx context.Context, ask func(context.Context) error) {
	if s == nil {
		return
	}
	pause := firstPause
	for {
		asked, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(asked)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if s.note(err) {
			pause = askEvery
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, max(longestPause, pause))
	}
}

// note notes an answer of the store, and logs what it changes. It returns whether the store was
// reached once.
func (s *Server) note(err error) (reached bool) {
	s.mu.Lock()
	before := s.store
	switch {
	case err == nil:
		s.store = storeState{reached: true}
	case before.reached && before.lost.IsZero():
		s.store.lost = s.now()
	}
	after := s.store
	s.mu.Unlock()
	switch {
	case before.lost.IsZero() && !after.lost.IsZero():
		s.log.Warn("the store does not answer; /readyz says so and stays ready", "err", err)
	case !before.lost.IsZero() && after.lost.IsZero():
		s.log.Info("the store answers again", "away", s.now().Sub(before.lost).Round(time.Second).String())
	case err != nil:
		s.log.Debug("the store was not reached", "err", err)
	}
	return after.reached
}
