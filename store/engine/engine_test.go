package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

var update = flag.Bool("update", false, "write the golden files")

// version is the member of a record's head that contains the version of the record's format.
var version = fmt.Appendf(nil, `"version":%d`, store.Version)

// start is the initial time of the tests' clock.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// An under is a Store on a table whose clock a test sets.
type under struct {
	*Store
	table *mapTable
	now   time.Time
}

func newUnder(t testing.TB, o Options) *under {
	u := &under{now: start}
	u.table = newMapTable(func() time.Time { return u.now })
	o.Sweep = -1
	u.Store = New(u.table, o)
	t.Cleanup(func() { _ = u.Stop() })
	return u
}

func (u *under) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func asking(id string) agui.Pause {
	return agui.Pause{
		ID: id, Dialect: "langgraph",
		Interrupts:   []agui.Interrupt{{ID: id + "~1", Native: "n", Object: json.RawMessage(`{"id":"` + id + `~1","reason":"tool_call","big":12345678901234567890,"html":"<&>"}`)}},
		Messages:     json.RawMessage(`[{"id":"m1","role":"user","content":"hi"}]`),
		State:        json.RawMessage(`{"n":1}`),
		SeenMessages: []agui.SeenMessage{{ID: "m1", Digest: "dm1"}},
	}
}

// TestRecordIsReadWithoutLoss: the store must write a record in the format of the golden files, and
// must read the record from these files without loss.
func TestRecordIsReadWithoutLoss(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{})
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Owner: "hmac of alice", Pause: asking("p1")}))
	u.must(t, storetest.Do(ctx, u, "k", store.Claim{PauseID: "p1", Token: "t1", Digest: "d1", Lease: time.Minute}))
	next := asking("p2")
	end := store.Result{EndKind: store.Finished, ByArray: true, Finish: json.RawMessage(`{"type":"RUN_FINISHED"}`), Messages: json.RawMessage(`[{"id":"m2"}]`)}
	u.must(t, storetest.Do(ctx, u, "k", store.Finish{Token: "t1", Result: end, Next: &next}))
	u.must(t, storetest.Do(ctx, u, "k", store.Claim{PauseID: "p2", Token: "t2", Digest: "d2", Lease: time.Minute}))
	u.must(t, storetest.Do(ctx, u, "k", store.Finish{Token: "t2", Result: store.Result{EndKind: store.Doubtful, Messages: json.RawMessage(`[{"id":"m3"}]`)}}))
	u.must(t, storetest.Do(ctx, u, "k", store.Occupy{Token: "run", Lease: time.Minute}))
	u.isGolden(t, "in-doubt")
	u.must(t, storetest.Do(ctx, u, "k", store.Close{PauseID: "p2", Result: store.Result{EndKind: store.Doubtful}}))
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Owner: "hmac of alice", Pause: asking("p3")}))
	u.must(t, storetest.Do(ctx, u, "k", store.Contest{PauseID: "p3"}))
	u.must(t, storetest.Do(ctx, u, "k", store.Decide{PauseID: "p3", Decisions: []agui.Decision{{
		Question: "p3~1", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true,"big":12345678901234567890}`), OwnForm: true,
		Verdict: "approved", Digest: "d3", QuestionDigest: "asked", Door: "desk", By: "Maria <&>", Comment: "fine",
	}}}))
	u.must(t, storetest.Do(ctx, u, "k", store.Remember{Note: store.Note{ID: "n", Text: json.RawMessage(`{"tool":"refund","amount":1.10}`)}, Most: 5}))
	u.isGolden(t, "decided")
}

// isGolden compares the record "k" with the golden files, and checks that the store reads the same
// record from the golden files.
func (u *under) isGolden(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	row := u.table.rows["k"]
	row.Revision = 7 // revisions begin at random
	head := strings.Replace(string(row.Head), `"body":`, `"body":7,"was":`, 1)
	head = head[:strings.Index(head, `,"was"`)] + head[strings.Index(head, `,"opened"`):]
	files := map[string][]byte{"head": []byte(head), "body": row.Body}
	for name, s := range row.snapshots {
		files[name] = s
	}
	dir := filepath.Join("testdata", name)
	if *update {
		u.must(t, os.MkdirAll(dir, 0o755))
		for name, part := range files {
			u.must(t, os.WriteFile(filepath.Join(dir, name+".json"), append(part, '\n'), 0o644))
		}
	}
	want, err := storetest.Whole(ctx, u.Store, "k")
	u.must(t, err)
	for name, part := range files {
		golden, err := os.ReadFile(filepath.Join(dir, name+".json"))
		u.must(t, err)
		if !bytes.Equal(bytes.TrimSpace(golden), part) {
			t.Errorf("%s is written as\n%s\nwant\n%s", name, part, golden)
		}
		switch name {
		case "head":
			row.Head = bytes.TrimSpace(golden)
		case "body":
			row.Body = bytes.TrimSpace(golden)
		default:
			row.snapshots[name] = bytes.TrimSpace(golden)
		}
	}
	got, err := storetest.Whole(ctx, u.Store, "k")
	u.must(t, err)
	if g, w := asJSON(t, got), asJSON(t, want); g != w {
		t.Errorf("read as\n%s\nwant\n%s", g, w)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRecordWithALowerNumberIsRead: a record with a lower version number is from before the first
// release. The store must be able to read it, and the next step must write the current version.
func TestRecordWithALowerNumberIsRead(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{})
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Pause: asking("p")}))
	row := u.table.rows["k"]
	row.Head = bytes.Replace(row.Head, version, []byte(`"version":1`), 1)
	if rec, err := u.Load(ctx, "k", ""); err != nil || rec.State != store.Open || rec.Pause.ID != "p" {
		t.Fatalf("%+v, %v", rec, err)
	}
	u.must(t, storetest.Do(ctx, u, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	if row := u.table.rows["k"]; !bytes.Contains(row.Head, version) {
		t.Errorf("written as %s", row.Head)
	}
}

// TestNewerRecordIsLeftAlone: a newer binary wrote a record with parts that this binary does not
// know. This binary must not drop them. So no step may write such a record, and no step may treat
// its thread as one without a question.
func TestNewerRecordIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(r *mapRow){
		"a newer format": func(r *mapRow) {
			r.Head = bytes.Replace(r.Head, version, fmt.Appendf(nil, `"version":%d`, store.Version+1), 1)
		},
		"a key in the head":             func(r *mapRow) { r.Head = bytes.Replace(r.Head, []byte(`{`), []byte(`{"new":1,`), 1) },
		"a key in the pause":            func(r *mapRow) { r.Body = bytes.Replace(r.Body, []byte(`"dialect"`), []byte(`"new":1,"dialect"`), 1) },
		"a key in one of the questions": func(r *mapRow) { r.Body = bytes.Replace(r.Body, []byte(`"native"`), []byte(`"new":1,"native"`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			u := newUnder(t, Options{})
			u.must(t, storetest.Do(ctx, u, "k", store.Ask{Pause: asking("p")}))
			row := u.table.rows["k"]
			change(row)
			before := *row
			if _, err := u.Load(ctx, "k", "alice"); !errors.Is(err, ErrNewer) {
				t.Errorf("Load: %v", err)
			}
			if _, err := u.Do(ctx, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}); !errors.Is(err, ErrNewer) {
				t.Errorf("Claim: %v", err)
			}
			if _, err := u.Do(ctx, "k", store.Ask{Pause: asking("q")}); !errors.Is(err, ErrNewer) {
				t.Errorf("Open: %v", err)
			}
			if row.Revision != before.Revision || !bytes.Equal(row.Head, before.Head) || !bytes.Equal(row.Body, before.Body) {
				t.Error("it was written back")
			}
		})
	}
}

// TestDamagedRecordIsAnError: a damaged record must cause an error. Its thread must not be treated
// as one without a question.
func TestDamagedRecordIsAnError(t *testing.T) {
	for name, change := range map[string]func(r *mapRow){
		"no JSON":              func(r *mapRow) { r.Head = []byte(`{"version":1`) },
		"something behind it":  func(r *mapRow) { r.Head = append(bytes.Clone(r.Head), '1') },
		"no body":              func(r *mapRow) { r.Body = nil },
		"the body of another":  func(r *mapRow) { r.Body = []byte(`{}`) },
		"a head from a backup": func(r *mapRow) { r.Head = []byte(`{"version":1,"body":1}`) },
	} {
		u := newUnder(t, Options{})
		u.must(t, storetest.Do(t.Context(), u, "k", store.Ask{Pause: asking("p")}))
		change(u.table.rows["k"])
		if rec, err := u.Load(t.Context(), "k", ""); err == nil {
			t.Errorf("%s: read as %s", name, asJSON(t, rec))
		}
	}
}

// TestKeysAreRotated: a new key is put first in the ring. Old records can then be read with the old
// key, and are encrypted with the new key when they change. After that, the old key can be removed.
func TestKeysAreRotated(t *testing.T) {
	ctx := t.Context()
	k1, k2 := "k1:"+testKey(1), "k2:"+testKey(2)
	u := newUnder(t, Options{})
	with := func(keys string) *Store { return New(u.table, Options{Keys: ringOf(t, keys), Sweep: -1}) }
	u.must(t, storetest.Do(ctx, with(k1), "k", store.Ask{Pause: asking("p")}))
	if _, err := with(k2).Do(ctx, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}); err == nil || !strings.Contains(err.Error(), `"k1"`) {
		t.Fatalf("without its key: %v", err)
	}
	both := with(k2 + "," + k1)
	u.must(t, storetest.Do(ctx, both, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	u.must(t, storetest.Do(ctx, both, "k", store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished, Messages: json.RawMessage(`[]`)}}))
	rec, err := storetest.Whole(ctx, with(k2), "k")
	if err != nil || len(rec.Results) != 1 || string(rec.Results[0].Messages) != `[]` {
		t.Errorf("with the new one alone: %v, %s", err, asJSON(t, rec))
	}
}

// TestLoadSealsWithTheNewestKey: each load of a record must encrypt it with the newest key. Then
// the operator can remove an old key after the retention, even if a thread is in use for longer.
func TestLoadSealsWithTheNewestKey(t *testing.T) {
	k1, k2 := "k1:"+testKey(1), "k2:"+testKey(2)
	for name, tt := range map[string]struct{ before, both string }{
		"another key":   {k1, k2 + "," + k1},
		"the first key": {"", k2 + ",plain"},
	} {
		for _, state := range []store.State{store.None, store.Open} {
			t.Run(name+", "+string(state), func(t *testing.T) {
				ctx := t.Context()
				u := newUnder(t, Options{})
				with := func(keys string) *Store { return New(u.table, Options{Keys: ringOf(t, keys), Sweep: -1}) }
				before, both, after := with(tt.before), with(tt.both), with(k2)
				u.must(t, storetest.Do(ctx, before, "k", store.Ask{Owner: "alice", Pause: asking("p")}))
				if state == store.None {
					u.must(t, storetest.Do(ctx, before, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
					u.must(t, storetest.Do(ctx, before, "k", store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished}}))
				}
				want, err := both.Load(ctx, "k", "alice")
				u.must(t, err)
				got, err := after.Load(ctx, "k", "alice")
				u.must(t, err)
				if asJSON(t, got) != asJSON(t, want) || got.State != state {
					t.Errorf("%s\nwant\n%s", asJSON(t, got), asJSON(t, want))
				}
				row := u.table.rows["k"]
				heads, bodies := row.headWrites, row.bodies
				if _, err := both.Load(ctx, "k", "alice"); err != nil || row.headWrites != heads || row.bodies != bodies {
					t.Errorf("it was sealed once more (%v)", err)
				}
			})
		}
	}
}

// TestUnguardedChanges: if the replicas of the table do not confirm a change, the step must fail
// with ErrNotGuarded. If the step was a Claim, its answers were not sent, so the client can give
// them again.
func TestUnguardedChanges(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{})
	u.table.guards, u.table.unguarded = true, true
	for range 2 {
		if _, err := u.Do(ctx, "k", store.Ask{Pause: asking("p")}); !errors.Is(err, ErrNotGuarded) {
			t.Fatalf("Open: %v", err)
		}
	}
	u.table.unguarded = false
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Pause: asking("p")}))
	u.must(t, storetest.Do(ctx, u, "k", store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}}))
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Pause: asking("q")}))
	u.table.unguarded = true
	unsafe := store.Claim{PauseID: "q", Token: "t", Digest: "d", Lease: time.Minute, Notices: []store.Notice{{ID: "claimed"}}}
	if _, err := u.Do(ctx, "k", unsafe); !errors.Is(err, ErrNotGuarded) {
		t.Fatalf("Claim: %v", err)
	}
	if rec, err := u.Load(ctx, "k", ""); err != nil || rec.State != store.Open || rec.Outbox != nil {
		t.Errorf("after Claim: %v, %s", err, asJSON(t, rec))
	}
	// A repeated Finish must also fail, although the first try has written it.
	u.table.unguarded = false
	u.must(t, storetest.Do(ctx, u, "k", store.Claim{PauseID: "q", Token: "t", Digest: "d", Lease: time.Minute}))
	next := asking("r")
	end := store.Result{EndKind: store.Finished}
	u.table.unguarded = true
	for range 2 {
		if _, err := u.Do(ctx, "k", store.Finish{Token: "t", Result: end, Next: &next}); !errors.Is(err, ErrNotGuarded) {
			t.Errorf("Finish: %v", err)
		}
	}
	u.table.unguarded = false
	u.must(t, storetest.Do(ctx, u, "k", store.Finish{Token: "t", Result: end, Next: &next}))
	if rec, err := u.Load(ctx, "k", ""); err != nil || rec.State != store.Open || rec.Pause.ID != "r" {
		t.Errorf("after Finish: %v, %s", err, asJSON(t, rec))
	}
}

// TestQuestionIsSafeBeforeItIsTold: a question that a client got must be answerable even after a
// failover. So no client may get a question before the replicas have it, whichever step wrote the
// question.
func TestQuestionIsSafeBeforeItIsTold(t *testing.T) {
	finished := store.Result{EndKind: store.Finished}
	for name, ask := range map[string]func(u *under, s *Store, p string) error{
		"Open": func(u *under, s *Store, p string) error {
			return storetest.Do(t.Context(), s, "k", store.Ask{Pause: asking(p)})
		},
		"Finish": func(u *under, s *Store, p string) error {
			u.table.unguarded = false
			u.must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: asking("first")}))
			u.must(t, storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "first", Token: "t", Digest: "d", Lease: time.Minute}))
			u.table.unguarded = true
			next := asking(p)
			return storetest.Do(t.Context(), s, "k", store.Finish{Token: "t", Result: finished, Next: &next})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			u := newUnder(t, Options{})
			other := New(u.table, Options{Sweep: -1})
			u.table.guards, u.table.unguarded = true, true
			if err := ask(u, u.Store, "p"); !errors.Is(err, ErrNotGuarded) {
				t.Fatal(err)
			}
			for _, s := range []*Store{u.Store, other} {
				if rec, err := s.Load(ctx, "k", ""); !errors.Is(err, ErrNotGuarded) {
					t.Errorf("told before the replicas have it: %v, %s", err, asJSON(t, rec))
				}
				if done, err := s.Do(ctx, "k", store.Ask{Pause: asking("later")}); !errors.Is(err, ErrNotGuarded) || done.Standing != nil {
					t.Errorf("told to another question before the replicas have it: %v, %s", err, asJSON(t, done))
				}
			}
			u.table.unguarded = false
			for _, s := range []*Store{u.Store, other} {
				rec, err := s.Load(ctx, "k", "")
				if err != nil || rec.State != store.Open || rec.Pause.ID != "p" {
					t.Errorf("with the replicas: %v, %s", err, asJSON(t, rec))
				}
				writes := u.table.rows["k"].headWrites
				if done, err := s.Do(ctx, "k", store.Ask{Pause: asking("later")}); !errors.Is(err, store.ErrExists) || asJSON(t, done.Standing) != asJSON(t, rec) {
					t.Errorf("another question finds %v, %s", err, asJSON(t, done))
				}
				if _, err := s.Load(ctx, "k", ""); err != nil || u.table.rows["k"].headWrites != writes {
					t.Errorf("it was made safe once more (%v)", err)
				}
			}
			// A pause that the replicas have can be read even while they are away.
			u.table.unguarded = true
			if rec, err := other.Load(ctx, "k", ""); err != nil || rec.State != store.Open {
				t.Errorf("without the replicas: %v, %s", err, asJSON(t, rec))
			}
			// On a table that does not guard, Load writes nothing.
			u.table.guards = false
			writes := u.table.rows["k"].headWrites
			if _, err := New(u.table, Options{Sweep: -1}).Load(ctx, "k", ""); err != nil || u.table.rows["k"].headWrites != writes {
				t.Errorf("a table that does not guard is written to (%v)", err)
			}
		})
	}
}

// TestLeaseIsRenewedInTheHeadAlone: a lease is renewed often. So a renewal must write only the head
// of the record, not the pause and the snapshots.
func TestLeaseIsRenewedInTheHeadAlone(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{})
	p := asking("p")
	p.Messages = json.RawMessage(`["` + strings.Repeat("x", 500<<10) + `"]`)
	u.must(t, storetest.Do(ctx, u, "k", store.Ask{Pause: p}))
	u.must(t, storetest.Do(ctx, u, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	row := u.table.rows["k"]
	bodies, heads, due := row.bodies, row.headWrites, row.due
	for range 5 {
		u.now = u.now.Add(10 * time.Second)
		u.must(t, storetest.Do(ctx, u, "k", store.Renew{Token: "t", Lease: time.Minute}))
	}
	if row.bodies != bodies || row.headWrites != heads+5 || len(row.Head) > 1000 {
		t.Errorf("%d bodies and %d heads were written, the head has %d bytes", row.bodies-bodies, row.headWrites-heads, len(row.Head))
	}
	if !row.due.Equal(due) {
		t.Error("the place in the list moved with each renewal")
	}
	u.now = u.now.Add(20 * time.Second) // the due time in the list has passed
	u.must(t, storetest.Do(ctx, u, "k", store.Renew{Token: "t", Lease: time.Minute}))
	if !row.due.Equal(u.now.Add(time.Minute)) {
		t.Errorf("due %v, want a minute after %v", row.due, u.now)
	}
	bodies, heads = row.bodies, row.headWrites
	if _, err := u.Load(ctx, "k", ""); err != nil || row.headWrites != heads || row.bodies != bodies {
		t.Errorf("Load wrote something (%v)", err)
	}
}

// TestSweep: a thread is open and nobody uses it. A sweep must end its pause, and a later sweep
// must forget the thread.
func TestSweep(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{PauseRetention: 30 * time.Hour, ReplayTTL: time.Hour})
	u.must(t, storetest.Do(ctx, u, "retired", store.Ask{Pause: asking("p")}))
	u.must(t, storetest.Do(ctx, u, "lapsed", store.Ask{Pause: asking("p")}))
	u.must(t, storetest.Do(ctx, u, "lapsed", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	if _, err := u.Load(ctx, "owned", "alice"); err != nil {
		t.Fatal(err)
	}
	count := func(want int) {
		t.Helper()
		if n := len(u.table.rows); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
	}
	// Sweep uses the machine's clock to find the rows that are due.
	u.now = time.Now().Add(-time.Hour)
	u.Sweep(ctx)
	count(2)
	if _, ok := u.table.rows["owned"]; ok {
		t.Error("an owner that nobody asked for is still there")
	}
	for _, key := range []store.Key{"retired", "lapsed"} {
		if row := u.table.rows[key]; row == nil || !row.opened.IsZero() {
			t.Errorf("%s still waits", key)
		}
	}
	u.now = u.now.Add(31 * time.Hour)
	u.Sweep(ctx)
	count(0)
}

// TestSweepPassesWhatCannotBeRead: a sweep must not change records that it cannot read. They must
// not prevent the sweep from ending or forgetting other records, including those that follow in the
// list.
func TestSweepPassesWhatCannotBeRead(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{PauseRetention: 30 * time.Hour, ReplayTTL: time.Hour})
	for n := range store.MaxPage + 1 { // more than one sweep reads, and due before the others
		key := store.Key(fmt.Sprintf("newer-%d", n))
		u.must(t, storetest.Do(ctx, u, key, store.Ask{Pause: asking("p")}))
		row := u.table.rows[key]
		row.Head = bytes.Replace(row.Head, version, []byte(`"version":99`), 1)
	}
	u.now = u.now.Add(time.Minute)
	u.must(t, storetest.Do(ctx, u, "retired", store.Ask{Pause: asking("p")}))
	if _, err := u.Load(ctx, "owned", "alice"); err != nil {
		t.Fatal(err)
	}
	// Sweep uses the machine's clock to find the rows that are due.
	u.now = time.Now().Add(-time.Hour)
	u.Sweep(ctx)
	u.Sweep(ctx)
	if row := u.table.rows["retired"]; row == nil || !row.opened.IsZero() {
		t.Error("a question behind those that cannot be read still waits")
	}
	if _, ok := u.table.rows["owned"]; ok {
		t.Error("nothing is forgotten any more")
	}
	if n := len(u.table.rows); n != store.MaxPage+2 {
		t.Errorf("%d rows, want those that cannot be read and the retired one", n)
	}
}

// TestThreadInUseStays: a thread that is loaded again and again must not be forgotten, although
// nothing in it changes.
func TestThreadInUseStays(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{PauseRetention: 30 * time.Hour, ReplayTTL: time.Hour})
	for range 10 {
		if rec, err := u.Load(ctx, "k", "alice"); err != nil || rec.Owner != "alice" {
			t.Fatalf("%v, %s", err, asJSON(t, rec))
		}
		u.now = u.now.Add(20 * time.Hour)
		if _, err := u.table.Forget(ctx); err != nil {
			t.Fatal(err)
		}
		if rec, err := u.Load(ctx, "k", "bob"); err != nil || rec.Owner != "alice" {
			t.Fatalf("the owner was forgotten: %v, %s", err, asJSON(t, rec))
		}
	}
}

// TestFull: the limit on open threads applies to the open threads of all replicas together. The
// count may only lack threads that another replica opened within the last seconds.
func TestFull(t *testing.T) {
	ctx := t.Context()
	u := newUnder(t, Options{Entries: 3})
	other := New(u.table, Options{Entries: 3, Sweep: -1})
	for _, key := range []store.Key{"a", "b", "c"} {
		u.must(t, storetest.Do(ctx, u, key, store.Ask{Pause: asking("p")}))
	}
	for _, s := range []*Store{u.Store, other} {
		if _, err := s.Do(ctx, "d", store.Ask{Pause: asking("p")}); !errors.Is(err, store.ErrFull) {
			t.Errorf("a fourth: %v", err)
		}
		// the same question again is not a fourth thread
		u.must(t, storetest.Do(ctx, s, "a", store.Ask{Pause: asking("p")}))
	}
	u.must(t, storetest.Do(ctx, u, "b", store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}}))
	u.must(t, storetest.Do(ctx, other, "d", store.Ask{Pause: asking("p")}))
}

// TestBrokenTable: if the table fails, the caller must get an error. The thread must not be treated
// as one without a question.
func TestBrokenTable(t *testing.T) {
	u := newUnder(t, Options{})
	u.table.broken = errors.New("no route")
	if _, err := u.Load(t.Context(), "k", ""); err == nil {
		t.Error("Load: no error")
	}
	if _, err := u.Do(t.Context(), "k", store.Ask{Pause: asking("p")}); err == nil || errors.Is(err, store.ErrFull) {
		t.Errorf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u.table.broken = nil
	if _, err := u.Do(ctx, "k", store.Ask{Pause: asking("p")}); err == nil || len(u.table.rows) != 0 {
		t.Errorf("Open with a context that is done: %v", err)
	}
}

// TestClockThatGoesBack: a failover leads to a server whose clock is behind. If the process that
// holds a claim has died, the claim's lease must still lapse in time. If the process lives, it must
// be able to renew the lease.
func TestClockThatGoesBack(t *testing.T) {
	const lease = 30 * time.Second
	for _, dead := range []bool{true, false} {
		ctx := t.Context()
		u := newUnder(t, Options{LongestLease: lease})
		u.must(t, storetest.Do(ctx, u, "claimed", store.Ask{Pause: asking("p")}))
		u.must(t, storetest.Do(ctx, u, "claimed", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: lease}))
		u.must(t, storetest.Do(ctx, u, "busy", store.Occupy{Token: "run", Lease: lease}))
		u.now = u.now.Add(-time.Hour)
		want := func(state store.State, busy int) {
			t.Helper()
			rec, err := u.Load(ctx, "claimed", "")
			u.must(t, err)
			if rec.State != state {
				t.Errorf("dead: %v; the claim reads %q, want %q", dead, rec.State, state)
			}
			rec, err = u.Load(ctx, "busy", "")
			u.must(t, err)
			if len(rec.Occupants) != busy {
				t.Errorf("dead: %v; %d runs go on, want %d", dead, len(rec.Occupants), busy)
			}
		}
		want(store.Claimed, 1)
		u.now = u.now.Add(lease - 1)
		want(store.Claimed, 1)
		if !dead {
			u.must(t, storetest.Do(ctx, u, "claimed", store.Renew{Token: "t", Lease: lease}))
			u.must(t, storetest.Do(ctx, u, "busy", store.Occupy{Token: "run", Lease: lease}))
			u.now = u.now.Add(lease - 1)
			want(store.Claimed, 1)
		}
		u.now = u.now.Add(1)
		want(store.InDoubt, 0)
	}
}

// TestRecordThatCouldNotBeRead: encoding/json writes more nested values than it reads. A step that
// would write such a record must fail, because otherwise no later step could read the record.
func TestRecordThatCouldNotBeRead(t *testing.T) {
	// a payload is four levels deep in the body of a record: body, pause, list of decisions, decision
	for levels, fits := range map[int]bool{maxDepth - 4: true, maxDepth - 3: false} {
		u := newUnder(t, Options{})
		u.must(t, storetest.Do(t.Context(), u, "k", store.Ask{Pause: asking("p")}))
		payload := json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
		err := storetest.Do(t.Context(), u, "k", store.Decide{PauseID: "p", Decisions: []agui.Decision{{Question: "p~1", Payload: payload, Digest: "d"}}})
		if (err == nil) != fits || store.IsAnswer(err) {
			t.Errorf("%d levels: %v", levels, err)
		}
		if rec, err := u.Load(t.Context(), "k", ""); err != nil || rec.State != store.Open || (len(rec.Pause.Decisions) == 1) != fits {
			t.Errorf("%d levels: the record is %q, %v", levels, rec.State, err)
		}
	}
}

// TestExpiryOutsideOfJSON: the backend's expiresAt has an offset of 24 hours, which the JSON of a
// time cannot have. The end of the question must be saved nevertheless.
func TestExpiryOutsideOfJSON(t *testing.T) {
	u := newUnder(t, Options{ReplayTTL: time.Minute, PauseRetention: 24 * time.Hour})
	p := asking("p")
	at := start.Add(54*time.Hour).Format("2006-01-02T15:04:05") + "+24:00" // later than the record is kept otherwise
	p.Interrupts[0].Object = agui.SetString(p.Interrupts[0].Object, "expiresAt", at)
	u.must(t, storetest.Do(t.Context(), u, "k", store.Ask{Pause: p}))
	u.must(t, storetest.Do(t.Context(), u, "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	u.must(t, storetest.Do(t.Context(), u, "k", store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished}}))
}
