// Package storetest is the contract of store.Store as tests. Every engine must pass them.
//
// The tests deliberately know nothing of an engine. They see what Load returns, and advance a clock
// that the engine was told to use. An engine that cannot offer the tests something passes a Limit
// to Run. All other tests apply to all engines.
package storetest

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/store"
)

// Options are the engine's options for a test. For a number of 0 the test needs no bound, unless
// the field says otherwise.
type Options struct {
	// bounds the threads that have an open pause or a result that can be replayed
	Entries        int
	ReplayBytes    int // bounds the bytes of all results together
	Bytes          int // bounds all bytes of the store
	Share          int // percentage of Entries and Bytes that the pauses from one address may use
	RecordBytes    int // bounds a record with its snapshots; 0: store.DefaultRecordBytes
	ReplayTTL      time.Duration
	PauseRetention time.Duration
}

// A Limit names something that an engine cannot offer to the tests.
type Limit int

const (
	// OwnClock means that the tests cannot set the engine's clock, because it is a server's, for
	// example. The tests then use short times. Tests that would wait long, or that need an exact
	// moment, are left out.
	OwnClock Limit = iota
	// Unbounded means that the engine has no limits of its own, and ignores Options.Entries,
	// ReplayBytes, Bytes and Share.
	Unbounded
)

// Run runs the contract against an engine. The function open returns a store that is empty, or that
// has only keys of other tests. The store must use the given clock, unless it has its own. open
// registers the store's clean-up with t.Cleanup. Several tests may call open at the same time.
func Run(t *testing.T, open func(t *testing.T, clock *Clock, opts Options) store.Store, limits ...Limit) {
	s := suite{open: open}
	for _, l := range limits {
		switch l {
		case OwnClock:
			s.ownClock = true
		case Unbounded:
			s.unbounded = true
		}
	}
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Load", loadCases()},
		{"owner", ownerCases()},
		{"steps", stepCases()},
		{"Open", openCases()},
		{"Claim", claimCases()},
		{"Finish", finishCases()},
		{"doubt", doubtCases()},
		{"Close", closeCases()},
		{"misuse", misuseCases()},
		{"copies", copyCases()},
		{"time", timeCases()},
		{"snapshots", snapshotCases()},
		{"Occupy", occupyCases()},
		{"Contest", contestCases()},
		{"Decide", decideCases()},
		{"Remember", rememberCases()},
		{"Waiting", waitingCases()},
		{"outbox", outboxCases()},
		{"bounds", boundCases()},
		{"races", raceCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { s.runCase(t, c) })
			}
		})
	}
	t.Run("model", s.runModel)
	t.Run("history", s.runHistory)
	t.Run("full", s.runFull)
}

type suite struct {
	open                func(t *testing.T, clock *Clock, opts Options) store.Store
	ownClock, unbounded bool
	unit                time.Duration
}

// A testCase tests one behaviour of a store of its own.
type testCase struct {
	name    string
	entries int           // Options.Entries
	bytes   int           // Options.ReplayBytes
	all     int           // Options.Bytes
	share   int           // Options.Share
	record  int           // Options.RecordBytes
	elapses bool          // needs the replay time or the retention to go by
	exact   bool          // needs an exact moment, so it is left out with OwnClock
	unit    time.Duration // unit of the test's times if the engine's clock can be set; 0: a minute
	run     func(x *fixture)
}

func (s suite) runCase(t *testing.T, c testCase) {
	if s.ownClock && c.exact {
		t.Skip("the engine's clock cannot be set")
	}
	if s.unbounded && (c.entries > 0 || c.bytes > 0 || c.all > 0) {
		t.Skip("the engine has no bounds")
	}
	t.Parallel()
	s.unit = c.unit
	c.run(s.fixture(t, Options{Entries: c.entries, ReplayBytes: c.bytes, Bytes: c.all, Share: c.share, RecordBytes: c.record}, c.elapses))
}

// fixture opens a store for a test. The parameter elapses says that the test waits until the replay
// time or the retention has gone by.
func (s suite) fixture(t *testing.T, o Options, elapses bool) *fixture {
	x := &fixture{T: t, unit: cmp.Or(s.unit, time.Minute), ownClock: s.ownClock}
	if s.ownClock {
		x.unit = 10 * time.Millisecond
	}
	x.clock = newClock(s.ownClock)
	x.lease, x.long = 2*x.unit, 1000*x.unit
	x.replay, x.retention = 10*x.unit, 30*x.unit
	if s.ownClock {
		x.long = time.Hour // ten seconds can lapse on a busy machine
	}
	if s.ownClock && !elapses {
		x.replay, x.retention = time.Hour, time.Hour
	}
	o.ReplayTTL, o.PauseRetention = x.replay, x.retention
	o.Entries = cmp.Or(o.Entries, 100_000)
	o.ReplayBytes = cmp.Or(o.ReplayBytes, 1<<30)
	o.Bytes = cmp.Or(o.Bytes, 1<<30)
	x.opts = o
	x.Store = Sealed(t, s.open(t, x.clock, o))
	// Several tests may share a store, and the store may keep keys of earlier test runs. So the
	// prefix is unique.
	x.prefix = fmt.Sprintf("%s %d ", strings.TrimPrefix(t.Name(), "Test"), time.Now().UnixNano())
	return x
}

// A Clock is the clock that a store under test uses.
type Clock struct {
	own bool // the engine has its own clock; Now then returns the machine's time
	mu  sync.Mutex
	now time.Time
}

func newClock(own bool) *Clock {
	return &Clock{own: own, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

// Now returns the store's current time.
func (c *Clock) Now() time.Time {
	if c.own {
		return time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// advance moves the clock by d. If the engine has its own clock, advance sleeps for d.
func (c *Clock) advance(d time.Duration) {
	if c.own {
		time.Sleep(d)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
