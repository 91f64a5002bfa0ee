package proxy

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
)

// A silentStore stops replying at a step. This step and all later ones wait until their context
// ends.
type silentStore struct {
	store.Store
	steps atomic.Int64
	first atomic.Int64  // number of the first step that hangs; 0 for none
	hung  chan struct{} // closed when the first step hangs
}

// hangs makes the store hang from step number first on. It starts to count the steps anew, from 1.
func (h *silentStore) hangs(first int64) {
	h.hung = make(chan struct{})
	h.steps.Store(0)
	h.first.Store(first)
}

func (h *silentStore) step(ctx context.Context) error {
	n, first := h.steps.Add(1), h.first.Load()
	if first == 0 || n < first {
		return nil
	}
	if n == first {
		close(h.hung)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (h *silentStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if err := h.step(ctx); err != nil {
		return store.Record{}, err
	}
	return h.Store.Load(ctx, key, owner)
}

func (h *silentStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if err := h.step(ctx); err != nil {
		return store.StepResult{}, err
	}
	return h.Store.Do(ctx, key, step)
}

func (h *silentStore) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (store.Snapshots, error) {
	if err := h.step(ctx); err != nil {
		return store.Snapshots{}, err
	}
	return h.Store.Snapshots(ctx, key, pauseID, at)
}

// A lastRun is a case of TestDrainWhileTheStoreHangs. It is a run that has not ended when Holdpoint
// ends all streams. Meanwhile the store hangs.
type lastRun struct {
	asked   bool                                           // a question is open on thread t
	decided bool                                           // the same, and the desk has approved it
	serve   func(ctx context.Context, w io.Writer) error   // plays the backend of the run
	before  func(b *bubble, question string) (told string) // starts an earlier run, which continues
	// starts the run; told is its stream, or "" if the run has no client
	run    func(b *bubble, question string) (told string)
	change func(*Options)
}

// TestDrainWhileTheStoreHangs: Holdpoint ends all streams while the store hangs. Each run must end
// within ledger.LastTime, and its client must get an end. This must hold for each step at which the
// store may begin to hang. It must also hold whether the store begins to hang before or after
// Holdpoint ends the streams.
func TestDrainWhileTheStoreHangs(t *testing.T) {
	silent := func(ctx context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, streamOf(started))
		<-ctx.Done()
		return ctx.Err()
	}
	says := func(events ...string) func(ctx context.Context, w io.Writer) error {
		return func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, streamOf(events...))
			return err
		}
	}
	asksLate := func(ctx context.Context, w io.Writer) error {
		time.Sleep(2 * time.Second)
		return says(started, asks)(ctx, w)
	}
	failed := `{"type":"RUN_ERROR","message":"no"}`
	callStarts, callEnds := `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"show"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
	plain := func(string) string { return input("t", "r2", "") }
	withYes := func(question string) string { return input("t", "r2", resumeWith(yes(question))) }
	elsewhere := func(question string) string { return input("t2", "r2", resumeWith(yes(question))) }
	type run = func(b *bubble, question string) string
	posts := func(body func(question string) string) run {
		return func(b *bubble, question string) string { return b.post(body(question)) }
	}
	leaves := func(body func(question string) string) run { // the client leaves after a second
		return func(b *bubble, question string) string {
			ctx, leave := context.WithTimeout(b.t.Context(), time.Second)
			defer leave()
			postTo(ctx, b.h, body(question))
			return ""
		}
	}
	carries := func(b *bubble, _ string) string {
		_ = b.h.Carry(b.t.Context(), recordKey("/", "t"))
		return ""
	}
	finish := func(o *Options) { o.OnDisconnect = DisconnectFinish }
	for name, c := range map[string]lastRun{
		"an ordinary run":                         {serve: silent, run: posts(plain)},
		"an ordinary run that ends":               {serve: says(started, finished), run: posts(plain)},
		"an ordinary run that leaves a call":      {serve: says(started, callStarts, callEnds, finished), run: posts(plain)},
		"an ordinary run that asks":               {serve: says(started, asks), run: posts(plain)},
		"an ordinary run before a question":       {asked: true, serve: silent, run: posts(func(string) string { return strings.Replace(plain(""), oldUser, noWords, 1) })},
		"an unknown question is answered":         {asked: true, serve: silent, run: posts(func(string) string { return withYes(mintedID("n1", 7)) })},
		"a resume":                                {asked: true, serve: silent, run: posts(withYes)},
		"a resume that ends":                      {asked: true, serve: says(started, finished), run: posts(withYes)},
		"a resume that ends with an error":        {asked: true, serve: says(started, failed), run: posts(withYes)},
		"a resume that asks":                      {asked: true, serve: says(started, asks), run: posts(withYes)},
		"a resume by a cancel":                    {asked: true, serve: silent, run: posts(func(question string) string { return input("t", "r2", resumeWith(no(question))) })},
		"a resume of a silent backend":            {asked: true, serve: silent, run: posts(withYes), change: func(o *Options) { o.IdleTimeout, o.ResumeIdleGrace = time.Second, time.Second }},
		"the same answers again, which wait":      {asked: true, serve: silent, before: posts(withYes), run: posts(withYes)},
		"a resume on another thread":              {asked: true, serve: silent, run: posts(elsewhere)},
		"a resume on another thread that ends":    {asked: true, serve: says(started, finished), run: posts(elsewhere)},
		"a resume on another thread that asks":    {asked: true, serve: says(started, asks), run: posts(elsewhere)},
		"the client of a resume has left":         {asked: true, serve: silent, run: leaves(withYes)},
		"the client of a run has left":            {serve: silent, run: leaves(plain)},
		"a run goes on without its client":        {serve: silent, run: leaves(plain), change: finish},
		"a run without its client asks":           {serve: asksLate, run: leaves(plain), change: finish},
		"what was decided at the desk is carried": {decided: true, serve: silent, run: carries},
		"what was decided at the desk, and asks":  {decided: true, serve: says(started, asks), run: carries},
	} {
		for _, later := range []time.Duration{0, 300 * time.Millisecond, 3 * time.Second} {
			t.Run(fmt.Sprintf("%s, %v later", name, later), func(t *testing.T) {
				for first, more := int64(1), true; more; first++ {
					synctest.Test(t, func(t *testing.T) { more = c.plays(t, first, later) })
				}
			})
		}
	}
}

// plays starts the run and makes the store hang from the run's step number first on. When the time
// "later" has passed after that, it ends all streams. It returns false if the run has fewer steps.
func (c *lastRun) plays(t *testing.T, first int64, later time.Duration) (hangs bool) {
	s := &silentStore{}
	b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
		if n == 1 && (c.asked || c.decided) {
			_, err := io.WriteString(w, streamOf(started, asks))
			return err
		}
		return c.serve(ctx, w)
	}, func(o *Options) {
		if o.NewID = nil; c.change != nil { // nil for real ids, which the index can find
			c.change(o)
		}
		s.Store = o.Store
		o.Store = s
	})
	var all sync.WaitGroup
	question := ""
	if c.asked || c.decided {
		question = c.asks(t, b)
	}
	if c.before != nil {
		all.Go(func() { c.before(b, question) })
		synctest.Wait()
	}
	s.hangs(first)
	told, over := "", make(chan struct{})
	all.Go(func() {
		defer close(over)
		told = c.run(b, question)
	})
	select {
	case <-s.hung:
		hangs = true
		time.Sleep(later)
	case <-time.After(5 * time.Second):
		s.hangs(1)
	}
	waits := !isClosed(over)
	began := time.Now()
	b.h.runs.drain()
	all.Wait()
	<-b.h.runs.streamsEnded()
	if took := time.Since(began); took > ledger.LastTime {
		t.Errorf("the store hangs from step %d on: the run ended %v after its stream was to end", first, took)
	}
	if last := types(told); waits && told != "" && !strings.Contains(last, "RUN_ERROR") && !strings.Contains(last, "RUN_FINISHED") {
		t.Errorf("the store hangs from step %d on: the client is told %q", first, last)
	}
	time.Sleep(time.Hour) // runs without a client may end later
	return hangs
}

// asks opens a question on thread t, and makes the desk approve it if c.decided is set. It returns
// the published id of the question.
func (c *lastRun) asks(t *testing.T, b *bubble) string {
	b.post(input("t", "r1", ""))
	key := recordKey("/", "t")
	rec, err := b.store.Load(t.Context(), key, "")
	if err != nil || rec.Pause == nil {
		t.Fatalf("nothing is asked: %v", err)
	}
	question := rec.Pause.Interrupts[0].ID
	if c.decided {
		w := door.Decision{Question: question, Status: agui.Resolved, Payload: []byte("true")}
		if _, err := b.h.Decide(t.Context(), key, rec.Pause.ID, door.Decider{Door: "desk"}, []door.Decision{w}); err != nil {
			t.Fatal(err)
		}
	}
	return question
}
