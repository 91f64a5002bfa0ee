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

// detachTimeout is how long a run may continue after its client has left.
const detachTimeout = time.Hour

// A runRegistry has the current runs of a handler, and knows which of them continue without their
// clients.
type runRegistry struct {
	reports reporter       // writes the last log line of each run
	ending  *ledger.Ending // shortens the steps of the store once the process is about to end

	mu      sync.Mutex
	running map[*runLife]struct{}
	// for each thread, the number of its runs that continue without their clients
	alone    map[store.Key]int
	draining bool
	ended    chan struct{} // closed when no run remains; nil if nothing waits for that
}

func newRunRegistry() runRegistry {
	return runRegistry{ending: ledger.NewEnding(), running: map[*runLife]struct{}{}, alone: map[store.Key]int{}}
}

// A runLife controls how long a run lasts.
//
// A run may last longer than the request of its client. A run with a claim continues after its
// client has left, so that the outcome of the approved action is recorded. So does a run for which
// outlive was called. Any other run ends when its client leaves: its request to the backend is
// cancelled.
type runLife struct {
	registry *runRegistry
	key      store.Key
	log      *slog.Logger
	client   context.Context // context of the client's request

	ctx    context.Context // context of the run
	cancel context.CancelCauseFunc

	mayAsk         atomic.Bool // the run has no answers, and may still raise a question
	outlivesClient atomic.Bool // the run continues if its client leaves
	detached       atomic.Bool // the run continues without its client, and the handler has returned
	clientGone     bool        // the client has left, and the run continues; guarded by registry.mu
	// Releases the place that the run has among the connections of its client; set together with
	// left.
	releasePlace  func()
	stopFollowing func() bool       // stops ctx from being cancelled when the client leaves
	stopWatching  func() bool       // stops goOnAlone from being called when the client leaves
	aloneBound    ledger.Renewal    // limits how long the run continues without its client
	occupancy     *ledger.Occupancy // shows other replicas that the run continues
	// ownThread occupies the thread that the request names, if the run answers a question of
	// another thread. Otherwise it is nil.
	ownThread *ledger.Occupancy
}

// enter registers a run for a client's request. The parameter client is the context of the request.
// enter returns false if Holdpoint is about to end and accepts no more runs. The caller must call
// leave in either case.
func (l *runLife) enter(books *runRegistry, client context.Context) bool {
	l.registry, l.client = books, client
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(client))
	l.stopFollowing = context.AfterFunc(client, func() { l.cancel(context.Canceled) })
	books.mu.Lock()
	defer books.mu.Unlock()
	if books.draining {
		return false
	}
	books.running[l] = struct{}{}
	return true
}

// outliveClient makes the run continue if its client leaves later. It returns false if the client
// has already left.
func (l *runLife) outliveClient() bool {
	if l.outlivesClient.Load() {
		return true
	}
	if !l.stopFollowing() {
		return false
	}
	l.outlivesClient.Store(true)
	l.stopWatching = context.AfterFunc(l.client, l.goOnAlone)
	return true
}

// clientLeft reports whether the client has left.
func (l *runLife) clientLeft() bool { return l.client != nil && l.client.Err() != nil }

// endGrace is how long the backend's request may still last when a run has ended and its client has
// left. The backend may, for example, save its session in that time.
const endGrace = 10 * time.Second

// follow makes the run end soon after its client leaves. It is called when the client has got the
// end of the run. Without it, a backend that does not close its stream would keep the thread busy.
func (l *runLife) follow() {
	if !l.outlivesClient.CompareAndSwap(true, false) {
		return
	}
	if l.stopWatching() {
		l.stopFollowing = context.AfterFunc(l.client, func() {
			time.AfterFunc(endGrace, func() { l.cancel(context.Canceled) })
		})
	}
}

// goOnAlone records that the client has left and that the run continues. It works in every phase of
// the run.
func (l *runLife) goOnAlone() {
	if !l.registry.countAlone(l) {
		return
	}
	l.log.Info("client left: the run goes on")
	l.aloneBound.Start(detachTimeout, func(context.Context) bool {
		l.cancel(errAlone)
		return false
	})
	l.occupancy.Begin()
}

// detach starts the function proceed, in which the run continues after its client has left and its
// handler has returned. proceed must call leave.
func (l *runLife) detach(proceed func()) {
	l.detached.Store(true)
	l.goOnAlone()
	go proceed()
}

// leave removes the run from the registry and writes its last log line. out is nil if its client
// has left.
func (l *runLife) leave(line []slog.Attr, out *stream.Writer) {
	l.stopFollowing()
	if l.stopWatching != nil {
		l.stopWatching()
	}
	l.aloneBound.Stop()
	l.cancel(context.Canceled)
	l.occupancy.End()
	l.ownThread.End()
	if l.registry.remove(l, line) {
		return
	}
	l.registry.closeWhenEmpty()
	if out != nil {
		_ = out.Send(nil, nil, false)
	}
	// Only the end of the stream waits for the log. All output was sent before.
	l.registry.reports.write(line)
}

// remove deletes a run from the registry, and adds its last log line to a queue. It returns false
// if the queue is full. Then the caller must write the line itself.
func (b *runRegistry) remove(l *runLife, line []slog.Attr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.clientGone {
		b.uncountAlone(l.key)
		l.releasePlace()
	}
	delete(b.running, l)
	return b.reports.add(line)
}

// uncountAlone deletes one run from the number of runs of a thread that continue without their
// clients. The caller must hold the lock.
func (b *runRegistry) uncountAlone(key store.Key) {
	if b.alone[key]--; b.alone[key] == 0 {
		delete(b.alone, key)
	}
}

// moveRun makes a run count for another thread, whose record has the key.
func (b *runRegistry) moveRun(l *runLife, key store.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.clientGone {
		b.uncountAlone(l.key)
		b.alone[key]++
	}
	l.key = key
}

// countAlone counts a run that continues without its client, for its thread and among the
// connections of its client. It returns false if the run was already counted or has ended.
func (b *runRegistry) countAlone(l *runLife) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, live := b.running[l]; !live || l.clientGone {
		return false
	}
	l.clientGone, l.releasePlace = true, front.HoldPlace(l.client)
	b.alone[l.key]++
	return true
}

// busyAlone reports whether a run of the thread continues without its client.
func (b *runRegistry) busyAlone(key store.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alone[key] > 0
}

// closeWhenEmpty closes b.ended if all runs have ended and their log lines are written.
func (b *runRegistry) closeWhenEmpty() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil && b.idle() {
		close(b.ended)
		b.ended = nil
	}
}

// count returns the number of current runs.
func (b *runRegistry) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

// idle reports whether no run is active and the last log lines of all runs are written. The caller
// must hold the lock.
func (b *runRegistry) idle() bool { return len(b.running) == 0 && b.reports.empty() }

// drain cancels all runs. After that, enter accepts no new run.
func (b *runRegistry) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.ending.Begin()
	for l := range b.running {
		l.cancel(errDraining)
	}
}

// streamsEnded returns a channel that is closed when no run remains.
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
// question. It does not find runs of other replicas; if these continue without their clients, they
// are in the record (store.Record.Occupants).
func (b *runRegistry) hasOtherRun(key store.Key, l *runLife) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.running {
		if other != l && other.key == key && other.mayAsk.Load() {
			return true
		}
	}
	return false
}
