package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// TestFreeBesideAClaim: a pause is claimed and freed at the same moment. Exactly one of the two
// must succeed.
func TestFreeBesideAClaim(t *testing.T) {
	r := inMemory(t)
	const times = 300
	claimed := 0
	for n := range times {
		r.clock.advance(changeEvery)
		r.open(n, pause(n, "refund", `{}`))
		var err error
		status := 0
		var both sync.WaitGroup
		both.Go(func() {
			_, err = r.store.Do(t.Context(), keyOf(n), store.Claim{PauseID: pauseOf(n), Token: "token", Digest: "digest", Lease: time.Minute})
		})
		both.Go(func() { status = r.send("DELETE", "/v1/approvals/"+id(n)).StatusCode })
		both.Wait()
		switch {
		case err == nil && status == 409:
			claimed++
			r.must(storetest.Do(t.Context(), r.store, keyOf(n), store.Finish{Token: "token", Result: store.Result{EndKind: store.Finished}}))
		case err != nil && status == 200:
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("the claim of what was freed: %v", err)
			}
		default:
			t.Fatalf("claimed: %v, freed: status %d", err, status)
		}
	}
	if got := len(r.events.list); got != times-claimed {
		t.Errorf("%d events, want %d", got, times-claimed)
	}
}

// TestFreeIsPosted: the store step that frees a thread also writes the notice for the webhook. The
// record must have this notice once, even if the store's reply to this step is lost.
func TestFreeIsPosted(t *testing.T) {
	for name, lost := range map[string]bool{"as usual": false, "a lost reply": true} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			r := newRig(t, memory.New(memory.Options{Now: c.now}), c)
			if lost {
				times := 0
				r.desk.opts.Store = &broken{Store: r.store, close: func(do func() error) error {
					if err := do(); err != nil {
						return err
					}
					times++
					return errDown
				}}
			}
			var posted []store.Key
			r.desk.opts.OnNotices = func(key store.Key) { posted = append(posted, key) }
			made := 0
			r.desk.opts.Notices = func(e *event.Event) (store.Notice, bool) {
				made++
				body, _ := json.Marshal(e.Principal)
				return store.Notice{ID: fmt.Sprint(e.Kind), Body: body}, true
			}
			r.open(1, pause(1, "refund", `{}`))
			r.ask(200, "DELETE", "/v1/approvals/"+id(1))
			r.ask(409, "DELETE", "/v1/approvals/"+id(1))
			taken, err := r.store.Do(t.Context(), keyOf(1), store.Take{Hold: time.Minute})
			r.must(err)
			if len(taken.Notices) != 1 || taken.Notices[0].ID != "interrupt.withdrawn" || string(taken.Notices[0].Body) != `"operator"` {
				t.Errorf("to be sent: %+v", taken.Notices)
			}
			if made != 1 || !slices.Equal(posted, []store.Key{keyOf(1)}) {
				t.Errorf("made %d times, posted %q", made, posted)
			}
		})
	}
}

// TestFreeWhatCameToBeInDoubt: the desk reads an open pause. Before the desk frees it, somebody
// else claims the pause, and the pause falls into doubt. It must end as a doubt, and not as
// withdrawn.
func TestFreeWhatCameToBeInDoubt(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	answered := false
	r.desk.opts.Store = &broken{Store: r.store, close: func(do func() error) error {
		if !answered {
			answered = true
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "token", Digest: "digest", Lease: time.Minute}))
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Finish{Token: "token", Result: store.Result{EndKind: store.Doubtful}}))
		}
		return do()
	}}
	if how := r.ask(200, "DELETE", "/v1/approvals/"+id(1)).Get("end.how").Str; how != "in doubt" {
		t.Errorf("it ended as %q", how)
	}
	if len(r.events.list) != 1 || r.events.list[0].Kind != event.InDoubt {
		t.Errorf("events: %+v", r.events.list)
	}
}

// TestForgottenEndHasItsDoor: a pause was freed. As long as the record has the id of this pause, it
// must also say who freed the thread.
func TestForgottenEndHasItsDoor(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	r.clock.advance(2 * time.Hour)
	if e := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("end"); !e.Get("forgotten").Bool() || e.Get("door").Str != "desk" || e.Get("by").Str != "operator" {
		t.Errorf("the end is %s", e)
	}
}

// TestPagesWhileItMoves: between two pages of a list, some approvals end and others are opened.
// Each page must continue after the last approval of the page before, and the list must come to an
// end. It must contain every approval that was open all the time.
func TestPagesWhileItMoves(t *testing.T) {
	r := inMemory(t)
	const all = 300
	for n := range all {
		r.open(n, pause(n, "refund", `{}`))
		if n%7 == 6 {
			r.clock.advance(time.Microsecond)
		}
	}
	seen, next, opened := map[string]int{}, "", all
	for page := 0; ; page++ {
		l := r.ask(200, "GET", "/v1/approvals?limit=10"+next)
		got := ids(l)
		for _, one := range got {
			seen[one]++
		}
		if !l.Get("next").Exists() {
			break
		}
		next = "&cursor=" + l.Get("next").Str
		// Frees the last approval of this page, to which the cursor points, and one approval of a
		// later page.
		if page%2 == 0 {
			r.ask(200, "DELETE", "/v1/approvals/"+got[len(got)-1])
			if to := (page+1)*10 + 5; to < all {
				r.send("DELETE", "/v1/approvals/"+id(to))
			}
		}
		if opened < all+20 {
			r.open(opened, pause(opened, "refund", `{}`))
			opened++
		}
		if page > all {
			t.Fatal("the pages do not end")
		}
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", n, times)
		}
	}
	for _, one := range ids(r.ask(200, "GET", "/v1/approvals?limit=200")) {
		if seen[one] == 0 {
			t.Errorf("%s waits, and was in no page", one)
		}
	}
}

// TestSlowStore: if loading the records takes long, a page must be cut short, and the next page
// must continue.
func TestSlowStore(t *testing.T) {
	r := inMemory(t)
	for n := range 3 * concurrentLoads {
		p := pause(n, "refund", `{}`)
		p.Origin = &agui.Origin{Agent: []string{"a", "b"}[n/(2*concurrentLoads)], Thread: "t"}
		r.open(n, p)
	}
	var mu sync.Mutex // records are loaded concurrently
	now := r.clock.now()
	r.desk.opts.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(maxSearchTime / 2)
		return now
	}
	l := r.ask(200, "GET", "/v1/approvals?agent=b")
	pages := 1
	for ; len(ids(l)) == 0 && l.Get("next").Exists(); pages++ {
		l = r.ask(200, "GET", "/v1/approvals?agent=b&cursor="+l.Get("next").Str)
	}
	if pages < 3 || len(ids(l)) == 0 {
		t.Errorf("%d pages: %s", pages, l)
	}
}
