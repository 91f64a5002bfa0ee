package backend

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch checks that the limit applies to each wait separately.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		w := &Watch{Limit: time.Minute, OnSilence: func() { told.Add(1) }}
		read := func(d time.Duration) {
			src := w.Reader(readerFunc(func([]byte) (int, error) {
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
			{59 * time.Second, time.Hour, 0}, // the client reads slowly
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

// TestWatchIsLate checks that, in the same wait, OnGraceOver is called after OnSilence. When a wait
// ends, both must start anew with the next wait.
func TestWatchIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // the timer calls note in another goroutine
		var heard []string
		note := func(what string) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, what)
			}
		}
		w := &Watch{Limit: time.Minute, OnSilence: note("told"), OnGraceOver: note("late"), Grace: time.Hour}
		r, up := io.Pipe()
		src := w.Reader(r, nil)
		for _, silence := range []time.Duration{time.Second, 2 * time.Minute, time.Second, 2 * time.Hour, time.Second} {
			go func() {
				time.Sleep(silence)
				io.WriteString(up, "x")
			}()
			src.Read(make([]byte, 1))
			note(silence.String())()
			time.Sleep(3 * time.Hour) // after the read, OnGraceOver must not be called
		}
		if got := strings.Join(heard, " "); got != "1s told 2m0s 1s told late 2h0m0s 1s" {
			t.Error(got)
		}
	})
}
