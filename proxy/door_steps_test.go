package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A stepped store has the names of the steps that change a record.
type stepped struct {
	store.Store
	mu    sync.Mutex
	steps []string
}

func (c *stepped) did(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, name)
}

func (c *stepped) Open(ctx context.Context, k store.Key, owner string, p agui.Pause) error {
	c.did("open")
	return c.Store.Open(ctx, k, owner, p)
}

func (c *stepped) Decide(ctx context.Context, k store.Key, pauseID string, list []agui.Decision) error {
	c.did("decide")
	return c.Store.Decide(ctx, k, pauseID, list)
}

func (c *stepped) Claim(ctx context.Context, k store.Key, pauseID, token, digest string, lease time.Duration) error {
	c.did("claim")
	return c.Store.Claim(ctx, k, pauseID, token, digest, lease)
}

func (c *stepped) Finish(ctx context.Context, k store.Key, token string, r store.Result, next *agui.Pause) error {
	c.did("finish")
	return c.Store.Finish(ctx, k, token, r, next)
}

func (c *stepped) Release(ctx context.Context, k store.Key, token string) error {
	c.did("release")
	return c.Store.Release(ctx, k, token)
}

func (c *stepped) Close(ctx context.Context, k store.Key, pauseID string, r store.Result) error {
	c.did("close")
	return c.Store.Close(ctx, k, pauseID, r)
}

func (c *stepped) Occupy(ctx context.Context, k store.Key, token string, lease time.Duration) error {
	c.did("occupy")
	return c.Store.Occupy(ctx, k, token, lease)
}

func (c *stepped) Remember(ctx context.Context, k store.Key, n store.Note, most int) error {
	c.did("remember")
	return c.Store.Remember(ctx, k, n, most)
}

// TestStepsOfADecision: a desk costs a run that its chat answers no step of the store, and one that
// is decided there a step for each decision.
func TestStepsOfADecision(t *testing.T) {
	for name, test := range map[string]struct {
		desk   bool
		answer func(d *deskRig)
		want   []string
	}{
		"without a desk": {false, func(d *deskRig) { d.do(input("t", "r2", d.resumeBoth())) }, []string{"open", "claim", "finish"}},
		"the chat":       {true, func(d *deskRig) { d.do(input("t", "r2", d.resumeBoth())) }, []string{"open", "claim", "finish"}},
		"the desk": {true, func(d *deskRig) {
			d.decide(d.says("x", saysYes))
			d.decide(d.says("y", saysNo))
			d.carry()
		}, []string{"open", "decide", "decide", "claim", "finish"}},
		"both at once": {true, func(d *deskRig) {
			d.decide(d.says("x", saysYes), d.says("y", saysNo))
			d.carry()
		}, []string{"open", "decide", "claim", "finish"}},
	} {
		t.Run(name, func(t *testing.T) {
			var c *stepped
			d := newDeskRig(t, nil, func(o *Options) {
				c = &stepped{Store: o.Store}
				o.Store = c
				if !test.desk {
					o.Elsewhere = nil
				}
			})
			test.answer(d)
			c.mu.Lock()
			defer c.mu.Unlock()
			if !slices.Equal(c.steps, test.want) {
				t.Errorf("%q, want %q", c.steps, test.want)
			}
		})
	}
}

// resumeBoth answers both questions as a chat does.
func (d *deskRig) resumeBoth() string {
	return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s},{"interruptId":%q,"status":"resolved","payload":%s}]`, d.id("x"), saysYes, d.id("y"), saysNo)
}
