package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// minted is an id with the form of Holdpoint's published ids.
const minted = "native~AAAAAAAAAAAA"

// asking returns a pause with one question about calls.
func asking(id string, calls ...agui.AskedCall) *agui.Pause {
	p := pause("p")
	p.Interrupts[0].ID, p.Interrupts[0].Calls = id, calls
	return p
}

// editable returns the same pause as asking, but its question offers edits.
func editable(id string, calls ...agui.AskedCall) *agui.Pause {
	p := asking(id, calls...)
	p.Interrupts[0].Object = []byte(`{"id":"x","responseSchema":{"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}}}`)
	return p
}

// TestIndexKeys checks under which keys of the index each kind of question is entered.
func TestIndexKeys(t *testing.T) {
	x := Index{"tenant", "agent", "/path"}
	call := agui.AskedCall{ID: "c", Name: "mail", Args: `{"b":1,"a":2}`}
	parts := agui.Call{ID: "c", Name: "mail", Args: `{"a":2,"b":1}`}.Parts()
	by := func(w string) store.Key { return x.Key(ByCall, append(slices.Clone(parts), w)...) }
	edited := func(w string) store.Key { return x.Key(ByEditedCall, "c", "mail", w) }
	both := SearchKeys{Witnesses: []string{"first", "last"}}
	for situation, c := range map[string]struct {
		pause *agui.Pause
		trail SearchKeys
		want  []store.Key
	}{
		"an id of Holdpoint's":                         {asking(minted), both, []store.Key{x.Key(ByQuestion, minted)}},
		"an id of the backend's":                       {asking("native"), both, nil},
		"a call, with two witnesses":                   {asking("native", call), both, []store.Key{by("first"), by("last")}},
		"a call, without a witness":                    {asking("native", call), SearchKeys{}, nil},
		"a call that leads by itself":                  {asking("native", call), SearchKeys{Alone: true}, []store.Key{x.Key(ByCallAlone, parts...)}},
		"the same call twice":                          {asking("native", call, call), SearchKeys{Witnesses: []string{"w"}}, []store.Key{by("w")}},
		"a call whose arguments are unknown":           {asking("native", agui.AskedCall{ID: "c", Name: "mail", ArgumentsUnknown: true}), both, nil},
		"a call without an id":                         {asking("native", agui.AskedCall{Name: "mail"}), both, nil},
		"a call without a tool":                        {asking("native", agui.AskedCall{ID: "c"}), both, nil},
		"edits, and the backend reads a whole call":    {editable("native", call), SearchKeys{Witnesses: []string{"w"}, Edits: true}, []store.Key{by("w"), edited("w")}},
		"edits, and the backend keeps its own call":    {editable("native", call), SearchKeys{Witnesses: []string{"w"}}, []store.Key{by("w")}},
		"no edits, and the backend reads a whole call": {asking("native", call), SearchKeys{Witnesses: []string{"w"}, Edits: true}, []store.Key{by("w")}},
	} {
		t.Run(situation, func(t *testing.T) {
			if got := x.Keys(c.pause, c.trail); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, other := range []Index{{"other", "agent", "/path"}, {"tenant", "other", "/path"}, {"tenant", "agent", "/other"}} {
		if other.Key(ByQuestion, minted) == x.Key(ByQuestion, minted) {
			t.Errorf("%+v has the entries of %+v", other, x)
		}
	}
}

// TestIndexIsBounded: a pause has very many questions and calls. The index must get only a bounded
// number of entries for it.
func TestIndexIsBounded(t *testing.T) {
	p := &agui.Pause{ID: "p"}
	for n := range 10 * maxIndexed {
		i := asking(fmt.Sprintf("n%d~AAAAAAAAAAAA", n), agui.AskedCall{ID: fmt.Sprint("c", n), Name: "mail"}).Interrupts[0]
		p.Interrupts = append(p.Interrupts, i)
	}
	if keys := (Index{}).Keys(p, SearchKeys{Witnesses: []string{"w"}}); len(keys) != 2*maxIndexed {
		t.Errorf("%d entries, want %d", len(keys), 2*maxIndexed)
	}
}

// owner returns the principal "ann" as an owner of records. key is the character of which the keys
// of the ring consist.
func owner(t *testing.T, key string) principal.Owner {
	t.Helper()
	peers, err := principal.ParsePeers("192.0.2.0/24") // the address range of httptest
	if err != nil {
		t.Fatal(err)
	}
	ring, err := principal.ParseRing(strings.Repeat(key, 32))
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/agent", nil)
	req.Header.Set("X-User", "ann")
	who, refused := principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", Keys: ring}).Identify(req, false)
	if refused != nil {
		t.Fatal(refused.Reason)
	}
	return who.Owner()
}

// TestFind checks to which records an entry of the index leads, and which of these records the
// request may read.
func TestFind(t *testing.T) {
	ann, nobody := owner(t, "k"), principal.Owner{}
	enter := func(t *testing.T, f *faults, thread store.Key, p *agui.Pause, who string) {
		l := New(f, thread, EventReporter{}, nil)
		l.Owner = who
		if err := errors.Join(l.Enter([]store.Key{"entry"}, p, agui.SeenMessage{}, 1), l.Open(p)); err != nil {
			t.Fatal(err)
		}
	}
	for situation, c := range map[string]struct {
		before func(t *testing.T, f *faults)
		who    principal.Owner
		places []Place
		seen   []string // the pauses of the records that may be read
		err    error
	}{
		"nothing was entered": {before: func(*testing.T, *faults) {}},
		"a question waits on another thread": {
			before: func(t *testing.T, f *faults) { enter(t, f, "a", pause("p"), "") },
			places: []Place{{Key: "a", Pause: "p"}}, seen: []string{"p"},
		},
		"two questions wait, the newest comes first": {
			before: func(t *testing.T, f *faults) {
				enter(t, f, "a", pause("p"), "")
				enter(t, f, "b", pause("q"), "")
			},
			places: []Place{{Key: "b", Pause: "q"}, {Key: "a", Pause: "p"}}, seen: []string{"q", "p"},
		},
		"the question has ended": {
			before: func(t *testing.T, f *faults) {
				enter(t, f, "a", pause("p"), "")
				if err := New(f, "a", EventReporter{}, nil).Close("p", store.Result{EndKind: store.Withdrawn}); err != nil {
					t.Fatal(err)
				}
			},
			places: []Place{{Key: "a", Pause: "p"}}, seen: []string{"p"},
		},
		"the entry has no question: its pause was not kept": {
			before: func(t *testing.T, f *faults) {
				if err := New(f, "a", EventReporter{}, nil).Enter([]store.Key{"entry"}, pause("p"), agui.SeenMessage{}, 1); err != nil {
					t.Fatal(err)
				}
			},
			places: []Place{{Key: "a", Pause: "p"}},
		},
		"the question is another principal's": {
			before: func(t *testing.T, f *faults) { enter(t, f, "a", pause("p"), "another") },
			who:    ann, places: []Place{{Key: "a", Pause: "p"}},
		},
		"the question is the principal's": {
			before: func(t *testing.T, f *faults) { enter(t, f, "a", pause("p"), ann.ID()) },
			who:    ann, places: []Place{{Key: "a", Pause: "p"}}, seen: []string{"p"},
		},
		"the question is a principal's, and the request has none": {
			before: func(t *testing.T, f *faults) { enter(t, f, "a", pause("p"), ann.ID()) },
			who:    nobody, places: []Place{{Key: "a", Pause: "p"}},
		},
		"the note is something else": {before: func(t *testing.T, f *faults) {
			if err := New(f, "a", EventReporter{}, nil).RememberAt("entry", store.Note{ID: "n", Text: []byte(`{"key":"a","pause":"other"}`)}, 1); err != nil {
				t.Fatal(err)
			}
		}},
		"the store is away": {before: func(_ *testing.T, f *faults) { f.refuses("Load") }, err: errDown},
	} {
		t.Run(situation, func(t *testing.T) {
			f := newFaults()
			c.before(t, f)
			l := New(f, "t", EventReporter{}, nil)
			places, err := l.Find("entry", "entry")
			if !slices.Equal(places, c.places) || err != c.err {
				t.Fatalf("places %+v (%v), want %+v (%v)", places, err, c.places, c.err)
			}
			var seen []string
			for _, at := range places {
				rec, err := l.RecordAt(at, c.who)
				if err != nil {
					t.Fatal(err)
				}
				if rec != nil {
					seen = append(seen, at.Pause)
				}
			}
			if !slices.Equal(seen, c.seen) {
				t.Errorf("may be looked at: %q, want %q", seen, c.seen)
			}
			if rec := f.record(t, "t"); rec.Owner != "" || rec.State != store.None {
				t.Errorf("the request's own thread was changed: %+v", rec)
			}
		})
	}
}

// A silentIndex is a store that hangs: Do returns only when its context ends.
type silentIndex struct {
	store.Store
	asked atomic.Int32
}

func (h *silentIndex) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	h.asked.Add(1)
	<-ctx.Done()
	return store.StepResult{}, ctx.Err()
}

// TestIndexThatFails: the store hangs while a question is entered into the index under many keys.
// The question must not wait longer than one step of the store may take. The first failure must end
// the remaining steps.
func TestIndexThatFails(t *testing.T) {
	var keys []store.Key
	for n := range 256 {
		keys = append(keys, store.Key(fmt.Sprint(n)))
	}
	synctest.Test(t, func(t *testing.T) {
		h := &silentIndex{}
		l := New(h, "t", EventReporter{}, nil)
		begun := time.Now()
		err := l.rememberUnder(keys, store.Note{ID: "p"}, 8, 4)
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != StepTimeout || h.asked.Load() != 4 {
			t.Errorf("a store that hangs: %v after %v and %d steps", err, took, h.asked.Load())
		}

		l.Ending = NewEnding()
		l.Ending.Begin()
		begun = time.Now()
		if err := l.rememberUnder(keys, store.Note{ID: "p"}, 8, 4); err == nil || time.Since(begun) != lastStepTimeout {
			t.Errorf("while Holdpoint ends: %v after %v", err, time.Since(begun))
		}
	})

	var steps atomic.Int32
	down := &storetest.Faults{At: func(string, func() error) error { steps.Add(1); return errDown }}
	if err := New(down, "t", EventReporter{}, nil).rememberUnder(keys, store.Note{ID: "p"}, 8, 4); !errors.Is(err, errDown) || steps.Load() > 8 {
		t.Errorf("a store that is away: %v after %d steps", err, steps.Load())
	}

	steps.Store(0)
	lost := &storetest.Faults{At: func(string, func() error) error {
		if steps.Add(1) == 1 {
			return errDown // as if only the reply was lost
		}
		return nil
	}}
	if err := New(lost, "t", EventReporter{}, nil).rememberUnder(keys, store.Note{ID: "p"}, 8, 4); err != nil || steps.Load() != 257 {
		t.Errorf("a reply that was lost: %v after %d steps", err, steps.Load())
	}
}
