package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReady: if a server is not ready, the connection is tried again until it succeeds. The log has
// the first error once, each different error that lasts, and the success.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, wrong, other := errors.New("away"), errors.New("wrong password"), errors.New("no right")
		answers := []error{away, away, wrong, wrong, away, other, nil}
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		asked := 0
		r := Await(func(context.Context) error {
			asked++
			return answers[asked-1]
		}, func(err error) bool { return err != away }, logger)
		if err := r.Err(t.Context()); !errors.Is(err, away) {
			t.Errorf("after the first try: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := r.Err(t.Context()); err != nil || asked != len(answers) {
			t.Errorf("asked %d times, error %v", asked, err)
		}
		r.Stop()
		want := `level=WARN msg="the store is not there yet: all runs are refused meanwhile" err=away
level=ERROR msg="the store cannot be used, and waiting alone will not help: all runs are refused meanwhile" err="wrong password"
level=ERROR msg="the store cannot be used, and waiting alone will not help: all runs are refused meanwhile" err="no right"
level=INFO msg="the store is there"
`
		if log.String() != want {
			t.Errorf("the log is\n%swant\n%s", log.String(), want)
		}
	})
}

// TestReadyHangs: if the first try hangs, a step must wait no longer than its own time limit. Stop
// must end the try.
func TestReadyHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Await(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, func(error) bool { return false }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Err(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it hangs: %v", err)
		}
		r.Stop()
	})
}

// TestReadyUnless: the function refused returns true for an error. If the first try returns this
// error while the caller waits, AwaitUnless must return it and make no more tries. If the first try
// returns it later, or if another try returns it, the error must be treated like any other error.
func TestReadyUnless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, wrong := errors.New("away"), errors.New("the wrong one")
		is := func(err error) bool { return err == wrong }
		for name, c := range map[string]struct {
			answers []error
			slow    time.Duration
			refused bool
			log     string
		}{
			"refused at once": {[]error{wrong, nil}, 0, true, ""},
			"away at first":   {[]error{away, wrong, nil}, 0, false, "waiting alone will not help"},
			"too slow":        {[]error{wrong, nil}, time.Minute, false, "waiting alone will not help"},
			"there":           {[]error{nil}, 0, false, ""},
		} {
			var log strings.Builder
			asked := 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			r, err := AwaitUnless(ctx, is, func(context.Context) error {
				time.Sleep(c.slow)
				asked++
				return c.answers[asked-1]
			}, is, slog.New(slog.NewTextHandler(&log, nil)))
			cancel()
			if c.refused != (err == wrong) || !c.refused && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if there := r.Err(t.Context()) == nil; there == c.refused || !c.refused && asked != len(c.answers) {
				t.Errorf("%s: there %v, asked %d times", name, there, asked)
			}
			if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
				t.Errorf("%s: the log is %s", name, log.String())
			}
			r.Stop()
		}
	})
}
