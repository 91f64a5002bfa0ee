package store

import (
	"context"
	"time"
)

// clockEvery is the interval at which a Clock reads the store's clock.
const clockEvery = time.Minute

// noThread is a key that no thread has. Loading it returns the store's time and no record.
const noThread Key = "0000000000000000000000000000000000000000000000000000000000000000"

// A Clock estimates the time of a store's clock. Due times are times of that clock. A Clock is not
// safe for concurrent use.
type Clock struct {
	asked time.Time     // when the store was last asked for its time
	ahead time.Duration // how far the store's clock is ahead of this process's clock
}

// Time returns the store's time. now is the time of this process.
func (c *Clock) Time(ctx context.Context, s Store, now time.Time) time.Time {
	if c.asked.IsZero() || now.Sub(c.asked) >= clockEvery {
		if rec, err := s.Load(ctx, noThread, ""); err == nil {
			c.asked, c.ahead = now, rec.Now.Sub(now)
		}
	}
	return now.Add(c.ahead)
}
