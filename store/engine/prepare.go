package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A TablePreparer prepares a table in a server that may not be running yet, because processes that
// belong together start in any order. Until the table is ready, all steps fail, so no run is
// forwarded. The TablePreparer tries again without end, even after an error that does not go away
// by waiting, because a person may remove its cause.
type TablePreparer struct {
	prepare func(context.Context) error
	lasting func(error) bool
	log     *slog.Logger
	first   chan struct{} // closed when the first try is over
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu  sync.Mutex
	err error // nil if the table is ready
	// reports whether an error of the first try ends the tries; nil: no error does
	refused func(error) bool
	final   error // the error that ended the tries
}

const (
	prepareTimeout           = 10 * time.Second
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
)

var errNotTried = errors.New(textNotTried)

// Await begins the tries. The function prepare makes the table usable, and is called again after an
// error. The function isPermanent reports whether an error does not go away by waiting. Await logs
// the first error. Then it logs each lasting error that differs from the last logged error, and
// finally the success.
func Await(prepare func(context.Context) error, isPermanent func(error) bool, log *slog.Logger) *TablePreparer {
	return startPreparing(prepare, isPermanent, nil, log)
}

// AwaitUnless does what Await does, for a server that may be the wrong one. It returns at the end
// of the first try, or when ctx ends. If the function isRefusal returns true for the error of the
// first try, AwaitUnless ends the tries, and returns the error without logging it. Errors of later
// tries never end the tries.
func AwaitUnless(ctx context.Context, isRefusal func(error) bool, prepare func(context.Context) error, isPermanent func(error) bool, log *slog.Logger) (*TablePreparer, error) {
	r := startPreparing(prepare, isPermanent, isRefusal, log)
	select {
	case <-r.first:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = nil
	return r, r.final
}

func startPreparing(prepare func(context.Context) error, isPermanent, isRefusal func(error) bool, log *slog.Logger) *TablePreparer {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	r := &TablePreparer{prepare: prepare, lasting: isPermanent, refused: isRefusal, log: log, first: make(chan struct{}), cancel: cancel, err: errNotTried}
	r.done.Go(func() { r.run(ctx) })
	return r
}

func (r *TablePreparer) run(ctx context.Context) {
	told := "" // the last error that was logged
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := r.try(ctx)
		first, final := r.noteTry(err)
		if !final && ctx.Err() == nil {
			told = r.tell(err, told)
		}
		if first {
			close(r.first)
		}
		if err == nil || final || ctx.Err() != nil {
			return
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// noteTry notes the result of a try. first is true if it was the first try. final is true if no
// further try follows.
func (r *TablePreparer) noteTry(err error) (first, final bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.err == errNotTried //nolint:errorlint // it is this one or none
	r.err = err
	if err != nil && first && r.refused != nil && r.refused(err) {
		r.final = err
	}
	return first, r.final != nil
}

// tell logs the result of a try. The parameter told is the text of the last error that was logged,
// or "". tell returns the new value of told.
func (r *TablePreparer) tell(err error, told string) string {
	switch {
	case err == nil && told != "":
		r.log.Info("the store is there")
	case err == nil:
	case r.lasting(err) && err.Error() != told:
		r.log.Error(logCannotUse, "err", err)
		return err.Error()
	case told == "":
		r.log.Warn(logNotThereYet, "err", err)
		return err.Error()
	}
	return told
}

func (r *TablePreparer) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	return r.prepare(ctx)
}

// Err returns nil if the table is ready, and otherwise the error of the last try. It waits for the
// end of the first try, but not for later tries.
func (r *TablePreparer) Err(ctx context.Context) error {
	select {
	case <-r.first:
	case <-ctx.Done():
		return notAsked(ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return fmt.Errorf(textNotThere, r.err)
	}
	return nil
}

// Stop ends the tries, and waits until the current try has ended.
func (r *TablePreparer) Stop() {
	r.cancel()
	r.done.Wait()
}
