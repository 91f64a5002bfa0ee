//go:build unix

package steps

import (
	"errors"
	"testing"

	"holdpoint/internal/test/servers"
)

// TestSides: for each kind of store, the test fills a store with Fill, which copies threads. The
// store must be able to read these copies. Then every step that the benchmark measures must
// succeed.
func TestSides(t *testing.T) {
	const ended, waits = 700, 300
	for name, tools := range map[string][]servers.Tool{"redis": {servers.RedisServer}, "postgres": {servers.PostgreSQL}, "bolt": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers.Need(t, tools...)
			err := WithMachine(func(m *Machine) error {
				side, err := m.side(t, name)
				if err != nil {
					return err
				}
				if err := side.Fill(t.Context(), ended, waits); err != nil {
					return err
				}
				tour := side.Tour(ended)
				for range 3 {
					took, err := tour.RunOnce(t.Context())
					if err == nil && len(took) != len(TourSteps()) {
						err = errors.New("a tour without a step")
					}
					if err != nil {
						return err
					}
				}
				load, claim, err := side.WaitingThread(t.Context(), "eight", 8, 128<<10)
				if err != nil {
					return err
				}
				first, err := side.ManyThreads(t.Context(), 8)
				if err != nil {
					return err
				}
				for _, s := range []Step{side.Ask, side.Find, side.Keep, load, claim, first} {
					if s.Do == nil {
						continue
					}
					if took, err := s.Do(t.Context()); err != nil || took <= 0 {
						t.Errorf("%s: %v, error %v", s.Name, took, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (m *Machine) side(t *testing.T, name string) (*Side, error) {
	switch name {
	case "redis":
		return m.Redis(t.Context(), true, false)
	case "postgres":
		return m.Postgres().Side(t.Context(), "sides", true, false)
	}
	return m.Bolt(t.Context())
}
