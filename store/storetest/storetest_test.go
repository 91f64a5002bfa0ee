package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/internal/rules"
	"holdpoint/store/storetest"
)

// The contract must be one that an engine can keep that holds records as bytes, as those with a
// disk or a network do: without bounds of its own, and with a clock that nobody sets.
func TestContractWithRecordsAsBytes(t *testing.T) {
	open := func(now func(*storetest.Clock) func() time.Time) func(*testing.T, *storetest.Clock, storetest.Options) store.Store {
		return func(_ *testing.T, c *storetest.Clock, o storetest.Options) store.Store {
			p := rules.Policy{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention}
			return &bytesStore{records: map[store.Key][]byte{}, policy: p, now: now(c)}
		}
	}
	t.Run("unbounded", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, open(func(c *storetest.Clock) func() time.Time { return c.Now }), storetest.Unbounded)
	})
	t.Run("with its own clock", func(t *testing.T) {
		if testing.Short() {
			t.Skip("waits for time to go by")
		}
		t.Parallel()
		storetest.Run(t, open(func(*storetest.Clock) func() time.Time { return time.Now }),
			storetest.Unbounded, storetest.OwnClock)
	})
}

// bytesStore is the least engine that there can be.
type bytesStore struct {
	mu      sync.Mutex
	records map[store.Key][]byte
	policy  rules.Policy
	now     func() time.Time
}

func (s *bytesStore) step(ctx context.Context, key store.Key, f func(*store.Record, time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rec store.Record
	if b, ok := s.records[key]; ok {
		if err := json.Unmarshal(b, &rec); err != nil {
			return err
		}
	}
	now := s.now()
	rules.Settle(&rec, now, s.policy)
	if err := f(&rec, now); err != nil || rec.Version == 0 {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(rec); err != nil {
		return err
	}
	s.records[key] = b.Bytes()
	return nil
}

func (s *bytesStore) Load(ctx context.Context, key store.Key, owner string) (view store.Record, err error) {
	err = s.step(ctx, key, func(rec *store.Record, now time.Time) error {
		rules.Own(rec, owner)
		view = rules.View(*rec, now)
		return nil
	})
	return view, err
}

func (s *bytesStore) Open(ctx context.Context, key store.Key, owner string, p agui.Pause) error {
	return s.step(ctx, key, func(rec *store.Record, now time.Time) error { return rules.Open(rec, now, owner, p) })
}

func (s *bytesStore) Claim(ctx context.Context, key store.Key, pauseID, token, digest string, lease time.Duration) error {
	return s.step(ctx, key, func(rec *store.Record, now time.Time) error {
		return rules.Claim(rec, now, pauseID, token, digest, lease)
	})
}

func (s *bytesStore) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	return s.step(ctx, key, func(rec *store.Record, now time.Time) error { return rules.Renew(rec, now, token, lease) })
}

func (s *bytesStore) Finish(ctx context.Context, key store.Key, token string, r store.Result, next *agui.Pause) error {
	return s.step(ctx, key, func(rec *store.Record, now time.Time) error {
		return rules.Finish(rec, now, token, rules.Receipt(token, r, next), r, next)
	})
}

func (s *bytesStore) Release(ctx context.Context, key store.Key, token string) error {
	return s.step(ctx, key, func(rec *store.Record, _ time.Time) error { return rules.Release(rec, token) })
}

func (s *bytesStore) Close(ctx context.Context, key store.Key, pauseID string, r store.Result) error {
	return s.step(ctx, key, func(rec *store.Record, now time.Time) error { return rules.Close(rec, now, pauseID, r) })
}
