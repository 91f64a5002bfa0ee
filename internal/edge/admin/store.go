package admin

import (
	"context"
	"time"
)

const (
	// checkInterval is how often the store is checked after it was reached once.
	checkInterval = 2 * time.Second
	// askTimeout bounds the time of one check of the store.
	askTimeout = 5 * time.Second
	// minPause and maxPause are the shortest and the longest wait between two checks before
	// the store is reached for the first time.
	minPause, maxPause = 50 * time.Millisecond, 2 * time.Second
)

// A storeState is the result of the checks of the store so far.
type storeState struct {
	wasReached bool
	lost       time.Time // when the store stopped answering; zero if it answered the last check
}

// Watch checks the store until ctx is done. ask returns nil if the store answers. Probes report the
// result of the last check. They do not wait for the store, because a probe has only one second.
func (s *Server) Watch(ctx context.Context, ask func(context.Context) error) {
	if s == nil {
		return
	}
	pause := minPause
	for {
		asked, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(asked)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if s.noteCheck(err) {
			pause = checkInterval
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, max(maxPause, pause))
	}
}

// noteCheck records the result of a check, and logs a change. It reports whether the store was ever
// reached.
func (s *Server) noteCheck(err error) (reached bool) {
	s.mu.Lock()
	before := s.store
	switch {
	case err == nil:
		s.store = storeState{wasReached: true}
	case before.wasReached && before.lost.IsZero():
		s.store.lost = s.now()
	}
	after := s.store
	s.mu.Unlock()
	switch {
	case before.lost.IsZero() && !after.lost.IsZero():
		s.log.Warn(logStoreLost, "err", err)
	case !before.lost.IsZero() && after.lost.IsZero():
		s.log.Info("the store answers again", "away", s.now().Sub(before.lost).Round(time.Second).String())
	case err != nil:
		s.log.Debug("the store was not reached", "err", err)
	}
	return after.wasReached
}
