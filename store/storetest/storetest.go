// Package storetest is the contract of store.Store as tests. Every engine must pass them.
//
// It deliberately knows nothing of an engine. It sees what Load returns, and moves a clock that the
// engine was told to use. An engine names what it cannot offer as a Limit. Everything else holds
// for all engines.
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

// Options are the engine's options for a test.
type Options struct {
	Entries        int // threads that wait or can be replayed; 0 is more than a test makes
	ReplayBytes    int // of all results together; 0 is more than a test makes
	Bytes          int // of all there is; 0 is more than a test makes
	Share          int // of places and bytes that pauses from one address may have, in hundredths; 0 is all
	RecordBytes    int // of a record with its snapshots; 0 is store.DefaultRecordBytes
	ReplayTTL      time.Duration
	PauseRetention time.Duration
}

// A Limit is something that an engine does not offer to the tests.
type Limit int

const (
	// OwnClock: the engine's clock cannot be set, as with a server's. The tests then use short
	// times, and those that would wait long, or need the exact moment, are left out.
	OwnClock Limit = iota
	// Unbounded: the engine has no limits of its own, and ignores Options.Entries, ReplayBytes,
	// Bytes and Share.
	Unbounded
)

// Run runs the contract against an engine. open returns a store that is empty, or that has only
// keys of other tests. It gets the clock that the store must use, unless the store has its own, and
// cleans up with t.Cleanup. Many tests call it at once.
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

// A testCase is one behaviour, tried on its own store.
type testCase struct {
	name    string
	entries int           // needs this bound
	bytes   int           // needs this bound of results
	all     int           // needs this bound of all bytes
	share   int           // needs this share
	record  int           // needs this bound of a record
	elapses bool          // needs the replay time or the retention to go by
	exact   bool          // needs the exact moment
	unit    time.Duration // of the times of an engine whose clock can be set, 0 for a minute
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

// fixture opens a store. elapses says that the test waits for the replay time and the retention.
func (s suite) fixture(t *testing.T, o Options, elapses bool) *fixture {
	x := &fixture{T: t, unit: cmp.Or(s.unit, time.Minute), ownClock: s.ownClock}
	if s.ownClock {
		x.unit = 10 * time.Millisecond
	}
	x.clock = newClock(s.ownClock)
	x.lease, x.long = 2*x.unit, 1000*x.unit
	x.replay, x.retention = 10*x.unit, 30*x.unit
	if s.ownClock {
		x.long = time.Hour // ten seconds are not long on a machine with other work
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
	// A store may be shared by tests, and outlive a run of them.
	x.prefix = fmt.Sprintf("%s %d ", strings.TrimPrefix(t.Name(), "Test"), time.Now().UnixNano())
	return x
}

// A Clock is the clock of a store under test.
type Clock struct {
	own bool // the engine's; then this one is the machine's
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

// advance lets d pass.
func (c *Clock) advance(d time.Duration) {
	if c.own {
		time.Sleep(d)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
