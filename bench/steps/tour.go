package steps

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Tour executes every step of a store. The store has been filled with threads before.
type Tour struct {
	side         *Side
	endedThreads int // number of threads without an open question
	begunRounds  int
}

// tourThreads is the number of threads that a Tour changes. It is the same in a large and in a
// small store. So the data that a tour leaves in a thread affects both in the same way.
const tourThreads = 500

// Tour returns a Tour of a store that has been filled with ended threads without an open question.
func (s *Side) Tour(ended int) *Tour { return &Tour{s, ended, 0} }

// A visit is the state of one round of a tour.
type visit struct {
	key     store.Key
	readKey store.Key // a thread that is only read
	pause   agui.Pause
	token   string
}

// stages are the steps of a tour, in order. A stage without a name is not measured.
var stages = []struct {
	name string
	do   func(ctx context.Context, s *Side, v *visit) error
}{
	{"Load", func(ctx context.Context, s *Side, v *visit) error {
		rec, err := s.Store.Load(ctx, v.readKey, "")
		if err == nil && len(rec.Results) == 0 {
			err = fmt.Errorf("%s: a thread is not there", s.Name)
		}
		return err
	}},
	{"Load, a new thread", func(ctx context.Context, s *Side, _ *visit) error {
		_, err := s.Store.Load(ctx, KeyOf("new", rand.Int()), "")
		return err
	}},
	{"Open", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Ask{Pause: v.pause})
	}},
	{"Snapshots", func(ctx context.Context, s *Side, v *visit) error {
		_, err := s.Store.Snapshots(ctx, v.key, v.pause.ID, store.AtPause)
		return err
	}},
	{"Claim", claim},
	{"Renew", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Renew{Token: v.token, Lease: lease})
	}},
	{"Release", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Release{Token: v.token})
	}},
	{"", claim},
	{"Finish", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Finish{Token: v.token, Result: result(filledSnapshotBytes)})
	}},
	{"", func(ctx context.Context, s *Side, v *visit) error {
		v.pause = pause(filledSnapshotBytes)
		return do(ctx, s.Store, v.key, store.Ask{Pause: v.pause})
	}},
	{"Close", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Close{PauseID: v.pause.ID, Result: store.Result{EndKind: store.Withdrawn}})
	}},
	{"Occupy", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Occupy{Token: v.token, Lease: lease})
	}},
	{"", func(ctx context.Context, s *Side, v *visit) error {
		return do(ctx, s.Store, v.key, store.Occupy{Token: v.token})
	}},
	{"Waiting", func(ctx context.Context, s *Side, _ *visit) error {
		return requireFull(s.Store.List(ctx, store.Query{}))
	}},
	{"Waiting, by due", func(ctx context.Context, s *Side, _ *visit) error {
		return requireFull(s.Store.List(ctx, store.Query{Due: time.Now().Add(10 * store.DefaultPauseRetention)}))
	}},
	{"the sweep", func(ctx context.Context, s *Side, _ *visit) error { s.Store.Sweep(ctx); return ctx.Err() }},
}

func claim(ctx context.Context, s *Side, v *visit) error {
	v.token = token()
	return do(ctx, s.Store, v.key, store.Claim{PauseID: v.pause.ID, Token: v.token, Digest: digest, Lease: lease})
}

func requireFull(page store.Page, err error) error {
	if err == nil && len(page.Rows) != (store.Query{}).Size() {
		err = fmt.Errorf("a page of %d rows", len(page.Rows))
	}
	return err
}

// TourSteps returns the names of the steps that a tour measures.
func TourSteps() []string {
	var list []string
	for _, s := range stages {
		if s.name != "" {
			list = append(list, s.name)
		}
	}
	return list
}

// RunOnce executes each step of the tour once. It returns the time of each step in TourSteps.
func (t *Tour) RunOnce(ctx context.Context) ([]time.Duration, error) {
	n := t.begunRounds % tourThreads
	t.begunRounds++
	v := &visit{
		// The threads that the tour changes are spread over the whole store. Their order differs
		// from the order in which they were made.
		key: KeyOf("ended", n*(t.endedThreads/tourThreads)), readKey: KeyOf("ended", rand.IntN(t.endedThreads)), pause: pause(filledSnapshotBytes),
	}
	var list []time.Duration
	for _, s := range stages {
		took, err := timeOf(func() error { return s.do(ctx, t.side, v) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if s.name != "" {
			list = append(list, took)
		}
	}
	return list, nil
}
