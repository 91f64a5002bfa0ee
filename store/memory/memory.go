// Package memory is the store of a single process: records under one mutex, in memory only. A
// restart forgets every open pause. The binary says so at start.
//
// It deliberately has no goroutine. It applies leases, the retention and the replay time when
// somebody looks at a record. It uses golang-lru's simplelru under a lock of its own. The expirable
// of golang-lru has a goroutine that cannot be stopped (hashicorp/golang-lru#159), one time to live
// for the whole cache, and no compare-and-set.
//
// It is not a Table of package engine. The simplest one in memory takes 3 times the time for a
// Load, and 15 times that for a pause with its answer, because engine keeps records as bytes (go
// test ./store/engine -run '^$' -bench InMemory). A table knows no results and no snapshots either,
// and so not what may go for room. What the steps do is the same: rules.Apply.
//
// bounds.go bounds what it holds. It never gives up an open pause for room.
package memory

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// Defaults for unset Options.
const (
	DefaultEntries = 10_000

	// A result has the thread's snapshots, and a long conversation has some hundred KiB of them.
	// DefaultEntries records with store.MaxReplayable results each could take gigabytes. 256 MiB
	// are the ends of a thousand long runs, and leave half of a sidecar's 512 MiB to the streams.
	DefaultReplayBytes = 256 << 20

	// An open pause has snapshots too, and the oldest ones are dropped first. The rest of a pause
	// is some KiB, so this is room for DefaultEntries of them.
	DefaultBytes = 512 << 20
)

// Options of a Store. Zero or a negative value means the default.
type Options struct {
	// Entries limits the open threads (open, claimed, in doubt) and those that can be replayed,
	// together. Threads that have only an owner and tombstones are kept in addition, up to
	// bareFactor times as many, and keys that have only notes up to notedFactor times.
	Entries int
	// RecordBytes is the maximum size of a record with its snapshots, roughly counted. Above it the
	// snapshots are dropped. Zero means store.DefaultRecordBytes.
	RecordBytes int
	// ReplayTTL is how long a result can be replayed, unless an interrupt of its pause expires
	// later.
	ReplayTTL time.Duration
	// PauseRetention is when an unanswered pause is closed, and one in doubt that nobody asks
	// about.
	PauseRetention time.Duration
	// Bytes limits the size of all records, roughly counted. Results are dropped first, then the
	// snapshots of pauses. The rest of a pause stays, so a store that is full of pauses accepts no
	// more.
	Bytes int
	// ReplayBytes is the part of Bytes that results may take.
	ReplayBytes int
	// Share is the percentage of Entries and of Bytes that the open pauses from one address may
	// take. Zero means all.
	Share int
	// OnEnded is as in engine.Options.
	OnEnded func(store.Key, *store.Result)
	// Notices and NoticesLost are as in engine.Options. They must not call the Store.
	Notices     func(store.Key, *store.Result) []store.Notice
	NoticesLost func(int)
	// OnEvicted, if set, is called when something is dropped to make room: "results" of a thread, or
	// the "snapshots" of a pause. It must not call the Store.
	OnEvicted func(what string)
	// Now is the store's clock. If it is nil, time.Now is used.
	Now func() time.Time
}

// A Store is a store.Store in memory.
type Store struct {
	entries     int
	replayBytes int
	totalBytes  int // bytes
	share       int // in hundredths
	policy      rules.Policy
	now         func() time.Time
	tellEnded   func(store.Key, *store.Result)
	onEvicted   func(what string)
	notices     func(store.Key, *store.Result) []store.Notice
	tellLost    func(int)

	mu sync.Mutex
	// Each record is in one of four lists: it is open, it has a result that can be replayed, it is
	// bare, or it has notes only.
	waiting            map[store.Key]*entry
	ended, bare, noted *simplelru.LRU[store.Key, *entry]
	// replayable has the results that are not tombstones, in the order in which their pauses ended.
	replayable     *simplelru.LRU[resultRef, struct{}]
	bytes          int                                 // of all results
	openSpace      portion                             // space of all open pauses
	snapshots      *simplelru.LRU[store.Key, struct{}] // pauses with snapshots, in the order in which they were opened
	spaceByAddress map[uint64]portion
	retireFrom     time.Time // no open pause can reach the retention before this time
	unsent         map[store.Key]*entry
	sends          int            // bytes of all notices
	lost           int            // number of dropped notices to report to Options.NoticesLost
	unreportedEnds []expiredPause // pauses for which Options.OnEnded is called once the lock is released
}

// An expiredPause is a pause that ended by time.
type expiredPause struct {
	key    store.Key
	result *store.Result
}

// noteEnded notes a change of a record for Options.OnEnded.
func (s *Store) noteEnded(key store.Key, was, is *store.Record) {
	if s.tellEnded == nil {
		return
	}
	if r := rules.EndedByTime(was, is); r != nil {
		s.unreportedEnds = append(s.unreportedEnds, expiredPause{key, r})
	}
}

// An entry is a record in one of the lists. rec is a snapshot: rules replaces what it refers to,
// and never writes into it.
type entry struct {
	key       store.Key
	rec       store.Record
	kept      []rules.SnapshotPut
	class     class
	bytes     int // of its results
	openSpace portion
	sends     int // bytes of its notices
}

// A portion is the space that pauses take: places, bytes, and the part of the bytes that cannot be
// dropped.
type portion struct{ places, bytes, questions int }

func (p portion) plus(o portion) portion {
	return portion{p.places + o.places, p.bytes + o.bytes, p.questions + o.questions}
}

func (p portion) less(o portion) portion {
	return portion{p.places - o.places, p.bytes - o.bytes, p.questions - o.questions}
}

type resultRef struct {
	key     store.Key
	pauseID string
}

var _ store.Store = (*Store)(nil)

// New returns an empty Store.
func New(o Options) *Store {
	s := &Store{
		entries:        o.Entries,
		replayBytes:    o.ReplayBytes,
		policy:         rules.Policy{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes}.WithDefaults(),
		now:            o.Now,
		waiting:        map[store.Key]*entry{},
		ended:          newLRU[store.Key, *entry](),
		bare:           newLRU[store.Key, *entry](),
		noted:          newLRU[store.Key, *entry](),
		replayable:     newLRU[resultRef, struct{}](),
		snapshots:      newLRU[store.Key, struct{}](),
		spaceByAddress: map[uint64]portion{},
		totalBytes:     o.Bytes,
		share:          o.Share,
		tellEnded:      o.OnEnded,
		onEvicted:      o.OnEvicted,
		notices:        o.Notices,
		tellLost:       o.NoticesLost,
		unsent:         map[store.Key]*entry{},
	}
	if s.entries <= 0 {
		s.entries = DefaultEntries
	}
	if s.totalBytes <= 0 {
		s.totalBytes = DefaultBytes
	}
	if s.replayBytes <= 0 {
		s.replayBytes = min(DefaultReplayBytes, s.totalBytes)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.onEvicted == nil {
		s.onEvicted = func(string) {}
	}
	return s
}

// newLRU returns a list without a limit of its own, because what is dropped depends on all lists
// together.
func newLRU[K comparable, V any]() *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU[K, V](math.MaxInt, nil)
	if err != nil {
		panic(err) // only for a size below one
	}
	return l
}

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	done, err := s.do(ctx, key, rules.Load(owner))
	if err != nil {
		return store.Record{}, err
	}
	return *done.Standing, nil
}

// Do implements store.Store.
func (s *Store) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	return s.do(ctx, key, rules.StepOf(step))
}

// Snapshots implements store.Store.
func (s *Store) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (store.Snapshots, error) {
	if err := ctx.Err(); err != nil {
		return store.Snapshots{}, notAsked(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.peek(key); ok {
		for _, k := range e.kept {
			if (k.Ref == rules.Ref{PauseID: pauseID, At: at}) {
				return k.Snapshots, nil
			}
		}
	}
	return store.Snapshots{}, nil
}

func notAsked(err error) error { return fmt.Errorf("store: not asked: %w", err) }

// do applies the step to the settled record of key, or to a zero record.
func (s *Store) do(ctx context.Context, key store.Key, step rules.Step) (done store.StepResult, err error) {
	if err := ctx.Err(); err != nil {
		return done, notAsked(err)
	}
	var ended []expiredPause
	lost := 0
	defer func() {
		if lost > 0 && s.tellLost != nil {
			s.tellLost(lost)
		}
		for _, u := range ended {
			s.tellEnded(u.key, u.result)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { ended, lost, s.unreportedEnds, s.lost = s.unreportedEnds, s.lost, nil, 0 }()
	defer s.enforceLimits()
	now := s.now()
	e := s.use(key)
	rec := e.rec
	changed := rules.Settle(&rec, now, s.policy)
	if changed {
		s.noteEnded(key, &e.rec, &rec)
	}
	if changed || rec.Outbox != nil {
		s.post(key, &e.rec, &rec, now)
		s.set(e, rec, nil)
	}
	done, puts, err := rules.Apply(&rec, now, &step)
	if err == nil && step.Opens && rec.Pause != e.rec.Pause {
		err = s.admits(rec.Pause, portionOf(e.rec.Pause, nil), now)
	}
	if err != nil {
		return done, err
	}
	if !step.Closes {
		s.noteEnded(key, &e.rec, &rec)
		s.postEnded(key, &e.rec, &rec, now)
	}
	rules.DropSnapshots(&rec, s.policy)
	s.postBrought(step.Notices, &e.rec, &rec, now)
	s.set(e, rec, puts)
	return done, nil
}
