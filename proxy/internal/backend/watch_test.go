package backend

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: what counts is how long one wait lasts.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		w := &Watch{Limit: time.Minute, Told: func() { told.Add(1) }}
		read := func(d time.Duration) {
			src := w.Over(readerFunc(func([]byte) (int, error) {
				time.Sleep(d)
				return 0, errors.New("end")
			}), nil)
			src.Read(nil)
		}
		for _, step := range []struct {
			read, pause time.Duration
			want        int32
		}{
			{59 * time.Second, 59 * time.Second, 0},
			{59 * time.Second, time.Hour, 0}, // a client that reads slowly
			{61 * time.Second, 0, 1},
			{59 * time.Second, 0, 1},
		} {
			read(step.read)
			time.Sleep(step.pause)
			if n := told.Load(); n != step.want {
				t.Errorf("after a read of %v and a pause of %v: told %d times, want %d", step.read, step.pause, n, step.want)
			}
		}
		time.Sleep(time.Hour)
		if n := told.Load(); n != 1 {
			t.Errorf("told %d times after the end", n)
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
