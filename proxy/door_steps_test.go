package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
	"holdpoint/store/storetest"
	"holdpoint/translate"
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

// TestDecidedWhileTheChatGivesUp: the chat cancels a question, and the backend has no way to take a
// cancel, so the question is given up. Between the load of the record and this step the desk
// approves. The desk was told that its decision counts, so it must stay.
func TestDecidedWhileTheChatGivesUp(t *testing.T) {
	refusing := &fakeDialect{begin: func(r *translate.Request) (translate.Out, error) {
		if len(r.Answers) > 0 && r.Answers[0].Status == agui.Cancelled {
			return translate.Out{}, agui.Errorf(agui.InvalidPayload, "it has no cancel")
		}
		return translate.Out{}, nil
	}}
	faults := &storetest.Faults{}
	d := newDeskRig(t, nil, func(o *Options) { o.Dialect, faults.Store, o.Store = refusing, o.Store, faults })
	approves := []door.Decision{d.says("x", saysYes), d.says("y", "1")}
	faults.At = func(step string, proceed func() error) error {
		if step == "Close" {
			faults.At = nil
			d.decide(approves...)
		}
		return proceed()
	}
	cancels := resumeWith(no(d.id("x")), no(d.id("y")))
	wantTypes(t, d.do(input("t", "r2", cancels)), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
	if rec := d.record(); rec.State != store.Open || !rec.Pause.Decided() || d.called() != 1 {
		t.Fatalf("%d calls, the record is %q", d.called(), rec.State)
	}
	d.carry()
	if got := d.delivered(2); got != `x resolved {"approved":true}, y resolved 1` {
		t.Errorf("the backend got %s", got)
	}
}
