// Package steps measures the stores for the benchmark. It measures each step of a store on a real
// server, and the smallest requests to the same server for comparison.
//
// The package starts the servers, makes records and fills a store. It measures the time of single
// steps; rounds, medians and goals are in the benchmark. It is a separate package because the rest
// of the benchmark uses Holdpoint only as a binary.
package steps

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/engine"
)

// A Step is an action that can be repeated. Do returns how long the action took. That time does not
// include the preparation before the action and the cleanup after it.
type Step struct {
	Name string
	Do   func(ctx context.Context) (time.Duration, error)
}

// A Side is a store, together with bare requests to its server with which its steps are compared.
type Side struct {
	Name    string
	Address string // in the form of the variable HOLDPOINT_STORE
	Store   *engine.Store
	// Ask is the smallest request to the server, Find the smallest read of a key, and Keep the
	// smallest write. The Do of a Step is nil if the server has no such request, or if it is the
	// same request as Ask.
	Ask, Find, Keep Step
	// clone copies everything that the store has of a thread. It makes a copy for each key in as.
	clone func(ctx context.Context, thread store.Key, as []store.Key) error
}

// lease is the duration of a claim. It is longer than any measurement.
const lease = time.Hour

// timeOf calls do and returns how long the call took.
func timeOf(do func() error) (time.Duration, error) {
	begin := time.Now()
	err := do()
	return time.Since(begin), err
}

// KeyOf returns the key of the n-th thread of a kind. It is a hash, as in package proxy.
func KeyOf(kind string, n int) store.Key {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return store.Key(hex.EncodeToString(sum[:]))
}

func token() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

const digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

// pause returns a pause with one question and with snapshots of the given number of bytes.
func pause(bytes int) agui.Pause {
	id := token()
	return agui.Pause{
		ID: id, Dialect: "langgraph",
		Interrupts: []agui.Interrupt{{
			ID: id + "~1", Native: "call_0", Question: digest,
			Object: json.RawMessage(`{"id":"` + id + `~1","reason":"tool_call","message":"Delete 3 reports?","toolCallId":"call_0",` +
				`"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`),
			Calls: []agui.AskedCall{{ID: "call_0", Name: "delete_reports", Args: `{"path":"/reports/2026","recursive":true}`}},
		}},
		Digest: digest, Finish: json.RawMessage(`{"type":"RUN_FINISHED","threadId":"thread","runId":"run"}`),
		Messages: messages(bytes), SeenMessages: seenMessages(),
	}
}

func result(bytes int) store.Result {
	return store.Result{
		EndKind: store.Finished, ByArray: true, Finish: json.RawMessage(`{"type":"RUN_FINISHED","threadId":"thread","runId":"run"}`),
		Messages: messages(bytes), SeenMessages: seenMessages(),
	}
}

func messages(bytes int) json.RawMessage {
	return json.RawMessage(`[{"id":"m1","role":"assistant","content":"` + strings.Repeat("The reports lie in two folders. ", bytes/32) + `"}]`)
}

func seenMessages() []agui.SeenMessage {
	return []agui.SeenMessage{{ID: "message-1", Digest: digest[:32]}, {ID: "message-2"}, {ID: "message-3", Digest: digest[:32]}}
}

// makeAnswered makes a thread with a question, and carries out its answer.
func (s *Side) makeAnswered(ctx context.Context, key store.Key, bytes int) error {
	p, t := pause(bytes), token()
	if _, err := s.Store.Do(ctx, key, store.Ask{Pause: p}); err != nil {
		return err
	}
	if _, err := s.Store.Do(ctx, key, store.Claim{PauseID: p.ID, Token: t, Digest: digest, Lease: lease}); err != nil {
		return err
	}
	return do(ctx, s.Store, key, store.Finish{Token: t, Result: result(bytes)})
}

// WaitingThread makes a thread that waits for an answer and has the given number of results. Each
// result has snapshots of the given number of bytes. It returns the steps Load and Claim for
// this thread.
func (s *Side) WaitingThread(ctx context.Context, kind string, results, bytes int) (load, claim Step, err error) {
	key := KeyOf(kind, 0)
	for range results {
		if err := s.makeAnswered(ctx, key, bytes); err != nil {
			return load, claim, err
		}
	}
	p := pause(bytes)
	if _, err := s.Store.Do(ctx, key, store.Ask{Pause: p}); err != nil {
		return load, claim, err
	}
	rec, err := s.Store.Load(ctx, key, "")
	if err != nil {
		return load, claim, err
	}
	for _, r := range rec.Results {
		if r.Tombstone || r.SnapshotBytes < bytes {
			return load, claim, fmt.Errorf("%s keeps %d bytes of %d of a result: it measures something else", s.Name, r.SnapshotBytes, bytes)
		}
	}
	if len(rec.Results) != results {
		return load, claim, fmt.Errorf("%s has %d results, want %d", s.Name, len(rec.Results), results)
	}
	load = Step{"Load", func(ctx context.Context) (time.Duration, error) {
		return timeOf(func() error { _, err := s.Store.Load(ctx, key, ""); return err })
	}}
	claim = Step{"Claim", func(ctx context.Context) (time.Duration, error) {
		t := token()
		took, err := timeOf(func() error {
			return do(ctx, s.Store, key, store.Claim{PauseID: p.ID, Token: t, Digest: digest, Lease: lease})
		})
		if err != nil {
			return 0, err
		}
		return took, do(ctx, s.Store, key, store.Release{Token: t})
	}}
	return load, claim, nil
}

// manyThreads is the number of threads that ManyThreads makes. It is larger than the number of
// threads whose bodies the engine caches.
const manyThreads = 1000

// ManyThreads makes many threads with the given number of results. It returns a step that loads
// another thread each time, so that the engine's cache never has the thread. The steps of
// WaitingThread always use the same thread.
func (s *Side) ManyThreads(ctx context.Context, results int) (Step, error) {
	first := KeyOf("strange", 0)
	for range results {
		if err := s.makeAnswered(ctx, first, filledSnapshotBytes); err != nil {
			return Step{}, err
		}
	}
	if err := s.clone(ctx, first, keys("strange", manyThreads)); err != nil {
		return Step{}, err
	}
	n := 0
	return Step{"Load", func(ctx context.Context) (time.Duration, error) {
		n++
		var rec store.Record
		key := KeyOf("strange", n%manyThreads)
		took, err := timeOf(func() (err error) { rec, err = s.Store.Load(ctx, key, ""); return err })
		if err == nil && len(rec.Results) != results {
			err = fmt.Errorf("%s: %d results, want %d", s.Name, len(rec.Results), results)
		}
		return took, err
	}}, nil
}

// Pauses returns two steps. Each opens n pauses, every pause on a thread of its own. together opens
// them concurrently, apart one after the other.
func (s *Side) Pauses(n int) (together, separate Step) {
	ask := func(ctx context.Context) error {
		return do(ctx, s.Store, KeyOf("pauses", mathrand.Int()), store.Ask{Pause: pause(1 << 10)})
	}
	together = Step{fmt.Sprint(n, " pauses at once"), func(ctx context.Context) (time.Duration, error) {
		return timeOf(func() error {
			failed := make(chan error, n)
			for range n {
				go func() { failed <- ask(ctx) }()
			}
			var err error
			for range n {
				err = errors.Join(err, <-failed)
			}
			return err
		})
	}}
	separate = Step{fmt.Sprint(n, " one after the other"), func(ctx context.Context) (time.Duration, error) {
		return timeOf(func() error {
			for range n {
				if err := ask(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}}
	return together, separate
}

// do executes a step of the store and returns only its error.
func do(ctx context.Context, s store.Store, key store.Key, step store.Step) error {
	_, err := s.Do(ctx, key, step)
	return err
}
