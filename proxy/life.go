package proxy

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdpoint/internal/edge/front"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
)

// detachTimeout bounds how long a run continues after its client has left.
const detachTimeout = time.Hour

// A runRegistry lists the runs of a handler that are under way, and which of them continue without
// their clients.
type runRegistry struct {
	reports reporter       // writes the last log line of each run
	ending  *ledger.Ending // shortens the steps of the store once drain has begun

	mu       sync.Mutex
	live     map[*runLife]struct{}
	alone    map[store.Key]int // number of runs that continue without their clients, by thread
	draining bool
	ended    chan struct{} // closed when no run is left; nil if nothing waits for that
}

func newRunRegistry() runRegistry {
	return runRegistry{ending: ledger.NewEnding(), live: map[*runLife]struct{}{}, alone: map[store.Key]int{}}
}

// A runLife controls how long a run lasts.
//
// The run does not always end with the client's request. A claimed run continues without its
// client, so that the outcome of the approved action is recorded, and so does a run for which
// outlive was called. In any other run, the request to the backend is cancelled when the client
// leaves.
type runLife struct {
	registry *runRegistry
	key      store.Key
	log      *slog.Logger
	client   context.Context // context of the client's request

	ctx    context.Context // context of the run
	cancel context.CancelCauseFunc

	mayAsk    atomic.Bool       // the run has no answers, and may still raise a question
	lasting   atomic.Bool       // the run continues if its client leaves
	detached  atomic.Bool       // the run continues without its client, and the handler has returned
	left      bool              // the client has left and the run continues; guarded by registry.mu
	place     func()            // releases the run's place among the connections of its client; set with left
	unfollow  func() bool       // stops the cancellation of the run when its client leaves
	unwatch   func() bool       // stops the call of goOnAlone when the client leaves
	alone     ledger.Renewal    // bounds how long the run continues without its client
	occupancy *ledger.Occupancy // tells other replicas that the run continues
	// ownThread reserves the thread that the request names, while the run continues a question of
	// another thread; else nil.
	ownThread *ledger.Occupancy
}

// enter registers a run for a client's request. It returns false if the proxy is draining. The
// caller must call leave in either case.
func (l *runLife) enter(books *runRegistry, client context.Context) bool {
	l.registry, l.client = books, client
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(client))
	l.unfollow = context.AfterFunc(client, func() { l.cancel(context.Canceled) })
	books.mu.Lock()
	defer books.mu.Unlock()
	if books.draining {
		return false
	}
	books.live[l] = struct{}{}
	return true
}

// outlive makes the run continue if its client leaves. It returns false if the client has left
// already.
func (l *runLife) outlive() bool {
	if l.lasting.Load() {
		return true
	}
	if !l.unfollow() {
		return false
	}
	l.lasting.Store(true)
	l.unwatch = context.AfterFunc(l.client, l.goOnAlone)
	return true
}

// clientLeft reports whether the client has left.
func (l *runLife) clientLeft() bool { return l.client != nil && l.client.Err() != nil }

// endGrace is the time that a backend has after the end of a run whose client has left, for example
// to save its session.
const endGrace = 10 * time.Second

// follow makes the run end soon after its client leaves, because the client has been told the end.
// Otherwise a backend that leaves its stream open would keep the thread busy.
func (l *runLife) follow() {
	if !l.lasting.CompareAndSwap(true, false) {
		return
	}
	if l.unwatch() {
		l.unfollow = context.AfterFunc(l.client, func() {
			time.AfterFunc(endGrace, func() { l.cancel(context.Canceled) })
		})
	}
}

// goOnAlone records that the client has left and the run continues, in whatever phase the run is.
func (l *runLife) goOnAlone() {
	if !l.registry.countAlone(l) {
		return
	}
	l.log.Info("client left: the run goes on")
	l.alone.Start(detachTimeout, func(context.Context) bool {
		l.cancel(errAlone)
		return false
	})
	l.occupancy.Begin()
}

// detach lets a run continue in goOn after its client has left and its handler has returned. goOn
// must call leave.
func (l *runLife) detach(goOn func()) {
	l.detached.Store(true)
	l.goOnAlone()
	go goOn()
}

// leave removes the run from the registry and writes its last log line. out is nil if its client
// has left.
func (l *runLife) leave(line []slog.Attr, out *stream.Writer) {
	l.unfollow()
	if l.unwatch != nil {
		l.unwatch()
	}
	l.alone.Stop()
	l.cancel(context.Canceled)
	l.occupancy.End()
	l.ownThread.End()
	if l.registry.remove(l, line) {
		return
	}
	l.registry.quiet()
	if out != nil {
		_ = out.Send(nil, nil, false)
	}
	l.registry.reports.write(line) // only the end of the stream waits for the log; all output was sent before
}

// remove deletes a run from the registry, and queues its last log line. It returns false if the
// queue is full: then the caller must write the line.
func (b *runRegistry) remove(l *runLife, line []slog.Attr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.left {
		b.uncount(l.key)
		l.place()
	}
	delete(b.live, l)
	return b.reports.add(line)
}

// uncount deletes a run from the count of those that continue without their clients. The caller
// holds the lock.
func (b *runRegistry) uncount(key store.Key) {
	if b.alone[key]--; b.alone[key] == 0 {
		delete(b.alone, key)
	}
}

// move makes a run count for another thread.
func (b *runRegistry) move(l *runLife, key store.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.left {
		b.uncount(l.key)
		b.alone[key]++
	}
	l.key = key
}

// countAlone counts a run that continues without its client, also among that client's connections.
// It returns false if the run was counted before or has ended.
func (b *runRegistry) countAlone(l *runLife) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, live := b.live[l]; !live || l.left {
		return false
	}
	l.left, l.place = true, front.Outlives(l.client)
	b.alone[l.key]++
	return true
}

// busyAlone reports whether a run of the thread continues without its client.
func (b *runRegistry) busyAlone(key store.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alone[key] > 0
}

// quiet closes b.ended if all runs have ended.
func (b *runRegistry) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil && b.idle() {
		close(b.ended)
		b.ended = nil
	}
}

// count returns the number of runs under way.
func (b *runRegistry) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.live)
}

// idle reports that no run is under way and that the last lines of all runs are written. The caller
// holds the lock.
func (b *runRegistry) idle() bool { return len(b.live) == 0 && b.reports.empty() }

// drain cancels all runs, and makes enter refuse new ones.
func (b *runRegistry) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.ending.Begin()
	for l := range b.live {
		l.cancel(errDraining)
	}
}

// streamsEnded returns a channel that is closed when no run is left.
func (b *runRegistry) streamsEnded() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle() {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	return b.ended
}

// hasOtherRun reports whether this process has another run of the thread that may still raise a
// question. Runs of other replicas that continue without their clients are in the record
// (store.Record.Busy).
func (b *runRegistry) hasOtherRun(key store.Key, l *runLife) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.live {
		if other != l && other.key == key && other.mayAsk.Load() {
			return true
		}
	}
	return false
}
