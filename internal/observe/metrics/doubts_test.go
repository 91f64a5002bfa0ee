package metrics

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// counted is a store that notes the keys of all Loads. While err is not nil, Load returns it.
type counted struct {
	store.Store
	loads []string
	err   error
}

func (c *counted) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if c.err != nil {
		return store.Record{}, c.err
	}
	c.loads = append(c.loads, string(key))
	return c.Store.Load(ctx, key, owner)
}

// TestDoubts: some threads only wait, and the others are in doubt or have another state. The gauge
// must have the number of doubts, whether a run reported the doubt or the lease lapsed because its
// process was killed. A record whose state cannot have changed must not be loaded a second time.
func TestDoubts(t *testing.T) {
	now := time.Now()
	s := &counted{Store: memory.New(memory.Options{PauseRetention: time.Hour, Now: func() time.Time { return now }})}
	m := New(Options{Retention: time.Hour})
	count := func(step string, doubts int, loads ...string) {
		t.Helper()
		s.loads = nil
		m.countWaiting(t.Context(), s)
		if want := fmt.Sprintf("\nholdpoint_pauses_in_doubt %d\n", doubts); !strings.Contains(text(t, m), want) {
			t.Errorf("%s: want%s", step, want)
		}
		if fmt.Sprint(s.loads) != fmt.Sprint(loads) {
			t.Errorf("%s: loaded %v, want %v", step, s.loads, loads)
		}
	}
	ask := func(key store.Key) {
		t.Helper()
		storetest.Do(t.Context(), s, key, store.Ask{Pause: agui.Pause{ID: "p", Interrupts: []agui.Interrupt{{ID: "i"}}}})
		now = now.Add(time.Second)
	}
	claim := func(key store.Key) {
		t.Helper()
		if err := storetest.Do(t.Context(), s, key, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: 30 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []store.Key{"1 waits", "2 decided", "3 claimed", "4 released", "5 doubt"} {
		ask(key)
	}
	count("all wait", 0)
	for _, key := range []store.Key{"3 claimed", "4 released", "5 doubt"} {
		claim(key)
	}
	storetest.Do(t.Context(), s, "2 decided", store.Decide{PauseID: "p", Decisions: []agui.Decision{{Question: "i", Digest: "d"}}})
	storetest.Do(t.Context(), s, "4 released", store.Release{Token: "t"})
	storetest.Do(t.Context(), s, "5 doubt", store.Finish{Token: "t", Result: store.Result{EndKind: store.Doubtful}})
	count("a run reported a doubt", 1, "2 decided", "3 claimed", "5 doubt")
	count("nothing changed", 1, "3 claimed")
	now = now.Add(31 * time.Second) // the process with the claim was killed
	count("the lease has lapsed", 2, "3 claimed")
	count("it stays", 2)
	storetest.Do(t.Context(), s, "5 doubt", store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}})
	count("a client was told", 1)
	claim("4 released")
	s.err = context.DeadlineExceeded
	count("the store fails", 1)
	s.err = nil
	count("the store is back", 1, "4 released")
	s.err = store.ErrUnread
	ask("6 unread")
	claim("6 unread")
	count("a record cannot be read", 1)
}

// TestManyDoubts: one count loads a limited number of records. The next count must load the others.
func TestManyDoubts(t *testing.T) {
	s := &counted{Store: memory.New(memory.Options{})}
	for n := range maxLoads + 10 {
		storetest.Do(t.Context(), s, store.Key(fmt.Sprint(n)), store.Ask{Pause: agui.Pause{ID: "p"}})
	}
	m := New(Options{Retention: time.Hour}) // not that of the store
	for _, want := range []int{maxLoads, 10, 0} {
		s.loads = nil
		if m.countWaiting(t.Context(), s); len(s.loads) != want {
			t.Errorf("%d records were loaded, want %d", len(s.loads), want)
		}
	}
}
