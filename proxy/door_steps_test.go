package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"holdpoint/store"
)

// A stepped is a store that records the names of the steps that change a record.
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

func (c *stepped) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	c.did(store.NameOf(step))
	return c.Store.Do(ctx, key, step)
}

// TestStepsOfADecision: if the chat itself answers, a desk must not add a step of the store to the
// run. Each decision of the desk must cost one step.
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
					o.OtherDoors = nil
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

// resumeBoth returns the member resume with answers to both questions.
func (d *deskRig) resumeBoth() string {
	return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s},{"interruptId":%q,"status":"resolved","payload":%s}]`, d.id("x"), saysYes, d.id("y"), saysNo)
}
