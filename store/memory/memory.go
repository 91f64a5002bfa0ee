// Package memory is the store of a single process. It has its records in memory only, under one
// mutex. A restart forgets every open pause. The binary logs this at its start.
//
// The package has no goroutine. It applies leases, the retention and the replay time when a record
// is used. It uses golang-lru's simplelru under its own lock. golang-lru's expirable is not used:
// it has a goroutine that cannot be stopped (hashicorp/golang-lru#159), only one time to live for
// the whole cache, and no compare-and-set.
//
// The store is not a Table of package engine. The simplest Table in memory takes 3 times the time
// for a Load, and 15 times the time for a pause and its answer, because package engine keeps
// records as bytes (go test ./store/engine -run '^$' -bench InMemory). Moreover, a Table does not
// know which bytes are results and snapshots, so it does not know what it may drop. The steps are
// the same in both: rules.Apply.
//
// bounds.go limits the size of the store. The store never drops an open pause to make room.
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

// These are the defaults of Options.
const (
	DefaultEntries = 10_000

	// A result has the thread's snapshots, which in a long conversation have some hundred KiB.
	// DefaultEntries records with store.MaxReplayable results each could take gigabytes. 256 MiB
	// are enough for the ends of a thousand long runs, and leave half of a sidecar's 512 MiB to the
	// streams.
	DefaultReplayBytes = 256 << 20

	// An open pause has snapshots too, and the oldest snapshots are dropped first. A pause without
	// snapshots has some KiB, so there is room for DefaultEntries pauses.
	DefaultBytes = 512 << 20
)

// Options configure a Store. If a number is zero or negative, the default applies.
type Options struct {
	// Entries is the largest number of threads that have an open pause (open, claimed or in doubt)
	// or a result that can be replayed. In addition, the store keeps up to bareFactor times as many
	// threads that have only an owner and tombstones, and up to notedFactor times as many keys that
	// have only notes.
	Entries int
	// RecordBytes is the maximum size of a record with its snapshots, in bytes. The size is an
	// estimate. A larger record loses its snapshots. Zero means store.DefaultRecordBytes.
	RecordBytes int
	// ReplayTTL is how long a result can be replayed. The time is longer if an interrupt of its
	// pause expires later.
	ReplayTTL time.Duration
	// PauseRetention is the time after which the store ends a pause that got no answer, or that is
	// in doubt and was not asked for.
	PauseRetention time.Duration
	// Bytes is the largest size of all records together. The size is an estimate. If it is
	// exceeded, results are dropped first, then the snapshots of pauses. The rest of a pause is
	// never dropped, so a store that is full of pauses accepts no more pauses.
	Bytes int
	// ReplayBytes is the part of Bytes that results may take.
	ReplayBytes int
	// Share is the percentage of Entries and of Bytes that the open pauses from one client address
	// may take. Zero means that there is no such limit.
	Share int
	// OnEnded has the same meaning as in engine.Options.
	OnEnded func(store.Key, *store.Result)
	// Notices and NoticesLost have the same meaning as in engine.Options. They must not call the
	// Store.
	Notices     func(store.Key, *store.Result) []store.Notice
	NoticesLost func(int)
	// OnEvicted may be nil. It is called when data is dropped to make room. what is "results" for
	// results of a thread, or "snapshots" for the snapshots of a pause. It must not call the Store.
	OnEvicted func(what string)
	// Now is the store's clock. If it is nil, time.Now is used.
	Now func() time.Time
}

// A Store is a store.Store in memory.
type Store struct {
	entries     int
	replayBytes int
	totalBytes  int // largest size of all records, in bytes
	share       int // in percent
	policy      rules.Policy
	now         func() time.Time
	tellEnded   func(store.Key, *store.Result)
	onEvicted   func(what string)
	notices     func(store.Key, *store.Result) []store.Notice
	tellLost    func(int)

	mu sync.Mutex
	// Each record is in one of four lists. waiting has open records, ended has records with a
	// result that can be replayed, bare has bare records (see bounds.go), and noted has records
	// that have only notes.
	waiting            map[store.Key]*entry
	ended, bare, noted *simplelru.LRU[store.Key, *entry]
	// replayable has the results that are not tombstones, in the order in which their pauses ended.
	replayable *simplelru.LRU[resultRef, struct{}]
	bytes      int     // size of all results, in bytes
	openSpace  portion // space that all open pauses take
	// keys of pauses with snapshots, in the order in which the pauses were opened
	snapshots      *simplelru.LRU[store.Key, struct{}]
	spaceByAddress map[uint64]portion
	retireFrom     time.Time // before this time, no open pause is older than the retention
	unsent         map[store.Key]*entry
	sends          int // size of all notices, in bytes
	lost           int // number of dropped notices to report to Options.NoticesLost
	// pauses for which Options.OnEnded is called when the lock is released
	unreportedEnds []expiredPause
}

// An expiredPause is a pause that ended by time.
type expiredPause struct {
	key    store.Key
	result *store.Result
}

// noteEnded notes for Options.OnEnded if a record's pause has ended by time. was and is are the
// record before and after the change.
func (s *Store) noteEnded(key store.Key, was, is *store.Record) {
	if s.tellEnded == nil {
		return
	}
	if r := rules.EndedByTime(was, is); r != nil {
		s.unreportedEnds = append(s.unreportedEnds, expiredPause{key, r})
	}
}

// An entry is a record in one of the lists. rec is a snapshot of the record: package rules never
// changes a value to which it refers, but replaces the value.
type entry struct {
	key       store.Key
	rec       store.Record
	kept      []rules.SnapshotPut
	class     class
	bytes     int // size of its results, in bytes
	openSpace portion
	sends     int // size of its notices, in bytes
}

// A portion is the space that pauses take: their number (places), their size in bytes, and the part
// of these bytes that cannot be dropped (questions).
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

// newLRU returns a list that has no limit itself, because it depends on all lists together what is
// dropped.
func newLRU[K comparable, V any]() *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU[K, V](math.MaxInt, nil)
	if err != nil {
		panic(err) // an error is possible only for a size below one
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

func notAsked(err error) error { return fmt.Errorf(textNotAsked, err) }

// do applies the step to the record with the key, after Settle has ended what has expired in it. If
// there is no record, it applies the step to a zero record.
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
