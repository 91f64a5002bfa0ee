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

// detachTimeout bounds how long a run is read on after its client has left.
const detachTimeout = time.Hour

// runRegistry are the books of a handler: which runs go on, and which of them without their
// clients.
type runRegistry struct {
	reports reporter       // their last lines
	ending  *ledger.Ending // begins when the runs are ended

	mu       sync.Mutex
	live     map[*runLife]struct{}
	alone    map[store.Key]int // runs that go on without their clients, by thread
	draining bool
	ended    chan struct{} // closed when live gets empty; nil while nobody waits
}

func newLives() runRegistry {
	return runRegistry{ending: ledger.NewEnding(), live: map[*runLife]struct{}{}, alone: map[store.Key]int{}}
}

// A runLife reports whether a run goes on.
//
// It does not end with the client's request. A claimed run goes on without its client, so that the
// outcome of what was approved is recorded, and so does one whose dialect wants it (outlive). For
// any other run the client's leaving cancels the backend's request.
type runLife struct {
	books  *runRegistry
	key    store.Key
	log    *slog.Logger
	client context.Context // of the client's request

	ctx    context.Context // of the run
	cancel context.CancelCauseFunc

	plain    atomic.Bool       // it has no answers, and may still come to a question
	lasting  atomic.Bool       // the run would go on without its client
	detached atomic.Bool       // it does, and the handler has returned
	left     bool              // it does; under lives.mu
	place    func()            // gives back its place among the connections; set with left
	unfollow func() bool       // lets the run outlive its client
	unwatch  func() bool       // ends the watch on a client that may leave
	alone    ledger.Renewal    // bounds how long it goes on alone
	occupies *ledger.Occupancy // tells other replicas that it does
	// ownThread keeps other runs from the thread that the request names, while the run goes on with
	// a question of another thread; else nil.
	ownThread *ledger.Occupancy
}

// enter begins the life of a run for a client's request. It fails when the proxy drains; leave
// follows in either case.
func (l *runLife) enter(books *runRegistry, client context.Context) bool {
	l.books, l.client = books, client
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

// outlive lets the run go on without its client. false: that has left already.
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

// endGrace is how long a backend may do what it does behind the end of a run whose client has left,
// such as saving its session.
const endGrace = 10 * time.Second

// follow lets the run end soon after its client leaves, because its end was told. A backend may
// leave its stream open long after that, and the thread is to be free.
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

// goOnAlone notes that the client has left, wherever the run is by then.
func (l *runLife) goOnAlone() {
	if !l.books.countAlone(l) {
		return
	}
	l.log.Info("client left: the run goes on")
	l.alone.Start(detachTimeout, func(context.Context) bool {
		l.cancel(errAlone)
		return false
	})
	l.occupies.Begin()
}

// detach has a run go on behind its handler's back, after its client has left. goOn calls leave.
func (l *runLife) detach(goOn func()) {
	l.detached.Store(true)
	l.goOnAlone()
	go goOn()
}

// leave ends the run for good. out is nil if its client has left.
func (l *runLife) leave(line []slog.Attr, out *stream.Writer) {
	l.unfollow()
	if l.unwatch != nil {
		l.unwatch()
	}
	l.alone.Stop()
	l.cancel(context.Canceled)
	l.occupies.End()
	l.ownThread.End()
	if l.books.remove(l, line) {
		return
	}
	l.books.quiet()
	if out != nil {
		_ = out.Send(nil, nil, false)
	}
	l.books.reports.write(line) // the stream's end waits for the log, what there is to see does not
}

// remove takes a run out of the books, and its last line to the log. false: the log is behind, and
// the line is the caller's to write.
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

// uncount takes a run of a thread out of those that go on without their clients. The lock is held.
func (b *runRegistry) uncount(key store.Key) {
	if b.alone[key]--; b.alone[key] == 0 {
		delete(b.alone, key)
	}
}

// move has a run be one of another thread.
func (b *runRegistry) move(l *runLife, key store.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.left {
		b.uncount(l.key)
		b.alone[key]++
	}
	l.key = key
}

// countAlone counts a run that goes on without its client, also among that client's connections. It
// returns false if it was counted before, or has ended.
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

// busyAlone reports whether a run of the thread is read on without its client.
func (b *runRegistry) busyAlone(key store.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alone[key] > 0
}

// quiet tells who waits for the end of all runs, if it has come.
func (b *runRegistry) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil && b.idle() {
		close(b.ended)
		b.ended = nil
	}
}

// count returns how many runs are under way.
func (b *runRegistry) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.live)
}

// idle says that no run goes on and that all of them are in the log. The lock is held.
func (b *runRegistry) idle() bool { return len(b.live) == 0 && b.reports.empty() }

// drain ends what goes on, and lets nothing begin any more.
func (b *runRegistry) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draining = true
	b.ending.Begin()
	for l := range b.live {
		l.cancel(errDraining)
	}
}

// streamsEnded is closed when no stream is left.
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

// hasOtherRun reports whether another run of the thread that may come to a question goes on in this
// process. Those without their clients at other replicas stand in the record (store.Record.Busy).
func (b *runRegistry) hasOtherRun(key store.Key, l *runLife) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.live {
		if other != l && other.key == key && other.plain.Load() {
			return true
		}
	}
	return false
}
