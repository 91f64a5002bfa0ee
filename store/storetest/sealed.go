package storetest

import (
	"context"
	"crypto/sha256"
	"sync"

	"holdpoint/store"
)

// Sealed returns a store that fails the test if a record that Load returned changes later. A record
// may share memory with the store, so neither the store nor a caller may write into what the record
// refers to.
func Sealed(t TB, s store.Store) store.Store {
	sealed := &sealed{Store: s}
	t.Cleanup(func() {
		t.Helper()
		sealed.mu.Lock()
		defer sealed.mu.Unlock()
		for _, l := range sealed.loaded {
			if now := asJSON(l.rec); sha256.Sum256([]byte(now)) != l.sum {
				t.Errorf("somebody wrote into a record that was loaded:\n  %.2000s", now)
				return
			}
		}
	})
	return sealed
}

// TB is the part of testing.TB that Sealed needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

type sealed struct {
	store.Store

	mu     sync.Mutex
	loaded []loaded
}

type loaded struct {
	rec store.Record
	sum [sha256.Size]byte
}

// Load implements store.Store.
func (s *sealed) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	rec, err := s.Store.Load(ctx, key, owner)
	sum := sha256.Sum256([]byte(asJSON(rec)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = append(s.loaded, loaded{rec, sum})
	return rec, err
}
