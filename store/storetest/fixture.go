package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A fixture is a store under test, with short names for what the tests do. Its methods end the test
// if the store returns an error that the test does not expect.
type fixture struct {
	*testing.T
	store.Store
	clock    *Clock
	ownClock bool
	opts     Options
	prefix   string
	unit     time.Duration
	// The lease lease is so short that it lapses within a test. The lease long does not lapse.
	lease, long       time.Duration
	replay, retention time.Duration
}

// key returns the key of the test's thread that has this name.
func (x *fixture) key(name string) store.Key { return store.Key(x.prefix + name) }

// must ends the test unless err is nil.
func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected: %v", err)
	}
}

// want ends the test unless err is the error target. If target is nil, err must be nil.
func (x *fixture) want(target, err error) {
	x.Helper()
	if !is(err, target) {
		x.Fatalf("got error %v, want %v", err, target)
	}
}

// is reports whether err is the error target, or whether both are nil. It returns false if err
// wraps more than one of the store's errors.
func is(err, target error) bool {
	if target == nil {
		return err == nil
	}
	for _, e := range knownErrors() {
		if errors.Is(err, e) != errors.Is(target, e) {
			return false
		}
	}
	return errors.Is(err, target)
}

func knownErrors() []error {
	return []error{
		store.ErrExists, store.ErrNotFound, store.ErrReplay, store.ErrConflict, store.ErrStale, store.ErrOwner,
		store.ErrFull, store.ErrShare,
	}
}

// do applies a step and returns only its error.
func (x *fixture) do(key store.Key, step store.Step) error { return Do(x.Context(), x, key, step) }

// load returns the record with its snapshots. It sets no owner.
func (x *fixture) load(key store.Key) store.Record {
	x.Helper()
	rec, err := Whole(x.Context(), x.Store, key)
	x.must(err)
	return rec
}

func (x *fixture) open(key store.Key, p agui.Pause) {
	x.Helper()
	x.must(x.do(key, store.Ask{Pause: p}))
}

func (x *fixture) claim(key store.Key, pauseID, token, digest string) {
	x.Helper()
	x.must(x.do(key, store.Claim{PauseID: pauseID, Token: token, Digest: digest, Lease: x.long}))
}

// sweep makes the engine delete what has expired. It returns false if the engine has no method
// Sweep.
func (x *fixture) sweep() bool {
	x.Helper()
	engine, ok := x.Store.(*sealed).Store.(interface{ Sweep(ctx context.Context) })
	if ok {
		engine.Sweep(x.Context())
	}
	return ok
}

// lapse claims the pause, and waits until the lease has lapsed.
func (x *fixture) lapse(key store.Key, pauseID, token, digest string) {
	x.Helper()
	x.must(x.do(key, store.Claim{PauseID: pauseID, Token: token, Digest: digest, Lease: x.lease}))
	x.clock.advance(x.lease)
	if x.ownClock {
		x.clock.advance(x.unit) // the engine's clock may be coarse
	}
}

func (x *fixture) finish(key store.Key, token string, r store.Result, next *agui.Pause) {
	x.Helper()
	x.must(x.do(key, store.Finish{Token: token, Result: r, Next: next}))
}

func (x *fixture) close(key store.Key, pauseID string, how store.EndKind) {
	x.Helper()
	x.must(x.do(key, store.Close{PauseID: pauseID, Result: store.Result{EndKind: how}}))
}

// end opens a pause and finishes it.
func (x *fixture) end(key store.Key, p agui.Pause) {
	x.Helper()
	x.open(key, p)
	x.claim(key, p.ID, "token of "+p.ID, "answers")
	x.finish(key, "token of "+p.ID, result(p.ID), nil)
}

// state loads the record, and ends the test unless the thread is in state s with the pause pauseID.
func (x *fixture) state(key store.Key, s store.State, pauseID string) store.Record {
	x.Helper()
	rec := x.load(key)
	got := ""
	if rec.Pause != nil {
		got = rec.Pause.ID
	}
	if rec.State != s || got != pauseID {
		x.Fatalf("state is %q with pause %q, want %q with %q", rec.State, got, s, pauseID)
	}
	return rec
}

// same ends the test unless the JSON of got and the JSON of want are equal, byte for byte.
func (x *fixture) same(what string, got, want any) {
	x.Helper()
	if g, w := asJSON(got), asJSON(want); g != w {
		x.Fatalf("%s is\n  %s\nwant\n  %s", what, g, w)
	}
}

// near ends the test unless t equals want. If the engine has its own clock, t may differ from want
// by up to 10 seconds.
func (x *fixture) near(what string, t, want time.Time) {
	x.Helper()
	d := t.Sub(want).Abs()
	if x.ownClock && d < 10*time.Second {
		return
	}
	if d != 0 {
		x.Fatalf("%s is %v, want %v", what, t, want)
	}
}

// asJSON encodes v without json.Marshal's escapes for HTML, because the tests compare raw bytes.
func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("not JSON: %v: %#v", err, v)
	}
	return b.String()
}

// pause returns a pause with two interrupts and a value in every field.
func pause(id string) agui.Pause {
	return agui.Pause{
		ID:      id,
		Dialect: "langgraph",
		Interrupts: []agui.Interrupt{
			asking(interrupt(id+"~1", `{"reason":"tool_call","toolCallId":"c1"}`)),
			interrupt(id+"~2", `{"reason":"input"}`),
		},
		Private:      json.RawMessage(`{"run":"r1"}`),
		Native:       []json.RawMessage{json.RawMessage(`{"type":"CUSTOM","name":"on_interrupt"}`)},
		NativeFinish: json.RawMessage(`{"type":"RUN_FINISHED"}`),
		Digest:       "digest of " + id,
		Finish:       json.RawMessage(`{"type":"RUN_FINISHED","runId":"r1"}`),
		Messages:     json.RawMessage(`[{"id":"m1","role":"user","content":"hi"}]`),
		State:        json.RawMessage(`{"n":1}`),
		SeenMessages: []agui.SeenMessage{{ID: "m1", Digest: "dm1"}, {ID: "m2"}},
		Origin:       &agui.Origin{Agent: "a", Tenant: "x", Path: "/p", Thread: "t1", Run: "r1", Requester: "ann", ShownAs: "both"},
	}
}

func interrupt(id, object string) agui.Interrupt {
	return agui.Interrupt{ID: id, Native: "native", Object: json.RawMessage(object), Private: json.RawMessage(`{"k":1}`)}
}

// asking returns the interrupt i with two calls that it asks about.
func asking(i agui.Interrupt) agui.Interrupt {
	i.Calls = []agui.AskedCall{{ID: "c1", Name: "rm", Args: `{ "path":"<&>" , "n":1.0}`}, {ID: "c2", Name: "ls", ArgumentsUnknown: true}}
	return i
}

// expiring returns a pause with one interrupt for each time of at. That time is its expiresAt.
func expiring(id string, at ...time.Time) agui.Pause {
	p := pause(id)
	p.Interrupts = nil
	for i, t := range at {
		o := fmt.Sprintf(`{"reason":"input","expiresAt":%q}`, t.UTC().Format(time.RFC3339Nano))
		p.Interrupts = append(p.Interrupts, interrupt(fmt.Sprintf("%s~%d", id, i+1), o))
	}
	return p
}

// result returns the result of a run that finished well. Every field that a caller sets has a
// value. The parameter mark makes results differ.
func result(mark string) store.Result {
	return store.Result{
		EndKind:      store.Finished,
		ByArray:      true,
		Finish:       json.RawMessage(fmt.Sprintf(`{"type":"RUN_FINISHED","runId":%q}`, mark)),
		Messages:     json.RawMessage(`[{"id":"m1"},{"id":"m3"}]`),
		State:        json.RawMessage(`{"n":2}`),
		SeenMessages: []agui.SeenMessage{{ID: "m1", Digest: "dm1"}, {ID: "m3", Digest: "dm3"}},
		GivenAnswers: []store.GivenAnswer{{ID: "i1", Status: agui.Resolved, Verdict: "approved", Edited: true, Payload: json.RawMessage(`{"ok":true}`), Digest: "d"}},
		Door:         "desk",
		By:           "ops",
	}
}

// tombstone returns the tombstone that the store must keep of the result r.
func tombstone(r *store.Result) *store.Result {
	return &store.Result{
		PauseID: r.PauseID, IDs: r.IDs, EndKind: r.EndKind, ByArray: r.ByArray, At: r.At, Door: r.Door, By: r.By, Receipt: r.Receipt, Tombstone: true,
	}
}
