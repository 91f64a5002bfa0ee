package engine

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A mover is a table that records each step's requests to the table and the bytes that they write.
type mover struct {
	*mapTable
	moves []string
}

// revision matches the member of a head with the row's revision, which begins at a random number.
var revision = regexp.MustCompile(`"body":\d+`)

func (m *mover) Read(ctx context.Context, key store.Key, body bool) (Row, error) {
	m.moves = append(m.moves, map[bool]string{false: "read", true: "read all"}[body])
	return m.mapTable.Read(ctx, key, body)
}

func (m *mover) Write(ctx context.Context, key store.Key, c Change) (bool, error) {
	wrote := fmt.Sprint("write ", len(revision.ReplaceAll(c.Head, []byte(`"body":1`))))
	if c.Body != nil {
		wrote += fmt.Sprint("+", len(c.Body))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Put)) {
		wrote += fmt.Sprint(", put ", len(c.Put[name]))
	}
	for range c.Drop {
		wrote += ", drop"
	}
	if c.Notify != nil {
		wrote += ", notify"
	}
	if c.Guard {
		wrote += ", guard"
	}
	m.moves = append(m.moves, wrote)
	return m.mapTable.Write(ctx, key, c)
}

func (m *mover) Unlist(ctx context.Context, key store.Key) error {
	m.moves = append(m.moves, "unlist")
	return m.mapTable.Unlist(ctx, key)
}

// TestStepsMoveNoMore checks each step's requests to the table, and how many bytes of the head, the
// body and the snapshots the step writes. Over a network each request is a round trip.
func TestStepsMoveNoMore(t *testing.T) {
	ctx := t.Context()
	m := &mover{mapTable: newMapTable(func() time.Time { return start })}
	s := New(m, Options{Sweep: -1})
	defer s.Stop()
	next := asking("q")
	end := store.Result{EndKind: store.Finished, Messages: []byte(`[{"id":"m2"}]`)}
	decision := []agui.Decision{{Question: "q~1", Status: agui.Resolved, Digest: "d"}}
	notices := []store.Notice{{ID: "n", Body: []byte(`{}`)}}
	load := func(owner string) func() error {
		return func() error { _, err := s.Load(ctx, "k", owner); return err }
	}
	do := func(step store.Step) func() error {
		return func() error { _, err := s.Do(ctx, "k", step); return err }
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"Take of nothing", do(store.Take{Hold: time.Minute}), "read; unlist"},
		{"Load of nothing", load(""), "read all"},
		{"Load by an owner", load("alice"), "read all; write 68+2"},
		{"Load", load("alice"), "read all"},
		{"Ask", do(store.Ask{Owner: "alice", Pause: asking("p"), Notices: notices}), "read all; write 215+244, put 71, notify, guard"},
		{"Ask again", do(store.Ask{Owner: "alice", Pause: asking("p")}), "read all; write 215, guard"},
		{"Ask beside it", do(store.Ask{Owner: "alice", Pause: next}), "read all"},
		{"Ask by a stranger", do(store.Ask{Owner: "bob", Pause: next}), "read all"},
		{"Take", do(store.Take{Hold: time.Minute}), "read; write 215, notify"},
		{"Sent", do(store.Sent{IDs: []string{"n"}}), "read; write 114, notify"},
		{"Sent again", do(store.Sent{IDs: []string{"n"}}), "read"},
		{"Contest", do(store.Contest{PauseID: "p"}), "read all; write 114+261, guard"},
		{"Claim", do(store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}), "read all; write 173, guard"},
		{"Claim by another", do(store.Claim{PauseID: "p", Token: "u", Digest: "d", Lease: time.Minute}), "read all"},
		{"Renew", do(store.Renew{Token: "t", Lease: 2 * time.Minute}), "read; write 173"},
		{"Renew by another", do(store.Renew{Token: "u", Lease: 2 * time.Minute}), "read"},
		{"Release", do(store.Release{Token: "t"}), "read all; write 126"},
		{"Release again", do(store.Release{Token: "t"}), "read all"},
		{"Claim again", do(store.Claim{PauseID: "p", Token: "v", Digest: "d", Lease: time.Minute}), "read all; write 173, guard"},
		{"Finish", do(store.Finish{Token: "v", Result: end, Next: &next}), "read all; write 114+660, put 71, put 26, drop, guard"},
		{"Finish again", do(store.Finish{Token: "v", Result: end, Next: &next}), "read all; write 114, guard"},
		{"Decide", do(store.Decide{PauseID: "q", Decisions: decision}), "read all; write 114+754, guard"},
		{"Close", do(store.Close{PauseID: "q", Result: store.Result{EndKind: store.Withdrawn}}), "read all; write 68+803, drop"},
		{"Close again", do(store.Close{PauseID: "q", Result: store.Result{EndKind: store.Withdrawn}}), "read all"},
		{"See", do(store.See{PauseID: "q"}), "read all"},
		{"Occupy", do(store.Occupy{Token: "o", Lease: time.Minute}), "read; write 122"},
		{"Occupy no more", do(store.Occupy{Token: "o"}), "read; write 68"},
		{"Remember", do(store.Remember{Note: store.Note{ID: "n", Text: []byte(`{}`)}, Most: 1}), "read all; write 68+862, guard"},
	} {
		m.moves = nil
		err := step.do()
		got := strings.Join(m.moves, "; ")
		if known := []error{store.ErrExists, store.ErrOwner, store.ErrReplay, store.ErrStale, store.ErrNotFound}; err != nil {
			if !slices.ContainsFunc(known, func(k error) bool { return strings.HasPrefix(err.Error(), k.Error()) }) {
				t.Fatal(step.name, err)
			}
		}
		if got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}
