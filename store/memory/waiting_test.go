package memory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestPagesOfMany: the pages are much shorter than the list. Together they must contain each thread
// once, in order, including threads that were opened at the same time.
func TestPagesOfMany(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return at }})
	var want []string
	for n := range 500 {
		key := fmt.Sprintf("%03d", n)
		p := agui.Pause{ID: "p" + key, Interrupts: []agui.Interrupt{{ID: "i" + key, Object: []byte(`{"id":"i"}`)}}}
		if _, err := s.Do(t.Context(), store.Key(key), store.Ask{Pause: p}); err != nil {
			t.Fatal(err)
		}
		want = append(want, key)
		if n%9 == 8 {
			at = at.Add(300 * time.Nanosecond)
		}
	}
	for _, limit := range []int{1, 7, 100, 1000} {
		for _, due := range []time.Time{{}, at.Add(10000 * time.Hour)} {
			var got []string
			for q := (store.Query{Limit: limit, Due: due}); ; {
				p, err := s.List(t.Context(), q)
				if err != nil || len(p.Rows) > limit {
					t.Fatalf("%d rows, %v", len(p.Rows), err)
				}
				for _, row := range p.Rows {
					got = append(got, string(row.Key))
				}
				if q.After = p.Next; p.Next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d, due %v: %q", limit, due, got)
			}
		}
	}
}
