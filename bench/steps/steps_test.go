package steps

import (
	"fmt"
	"sort"
	"testing"
	"time"

	"holdpoint/internal/servers"
)

func TestProto(t *testing.T) {
	m := &Machine{t}
	servers.Need(t, servers.RedisServer, servers.PostgreSQL)
	ctx := t.Context()
	r, err := m.Redis(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	rd, err := m.Redis(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	db := m.Postgres()
	p, err := db.Side(ctx, "a", false)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := db.Side(ctx, "b", true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Bolt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Side{r, rd, p, pd, b} {
		l, c, err := s.Asking(ctx, "plain", 0, 320)
		if err != nil {
			t.Fatal(err)
		}
		l8, c8, err := s.Asking(ctx, "eight", 8, 128<<10)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range []Step{s.Ask, s.Keep, l, c, l8, c8} {
			if st.Do == nil {
				continue
			}
			var all []time.Duration
			for range 500 {
				d, err := st.Do(ctx)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, d)
			}
			sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
			fmt.Println(s.Name, st.Name, all[250], all[495])
		}
	}
}
