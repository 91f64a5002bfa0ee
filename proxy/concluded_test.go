package proxy

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// TestMessageBesideAPanic: a request has answers and a new message, and its run panics before the
// message was sent. If the next request contains the same message, it must count as new.
func TestMessageBesideAPanic(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.event = func(agui.Event, func(agui.Event)) error { panic("a bug") }
	messages := `"messages":[` + oldUser + `,` + newUser + `]`
	again := func(run string) string {
		return g.do(`{"threadId":"t","runId":"` + run + `",` + messages + resumeWith(yes("n1~id1")) + `}`)
	}
	again("r2")
	g.settled()
	g.dialect.event = nil
	if got := types(again("r3")); !strings.HasSuffix(got, "RUN_ERROR:RESUME_IN_DOUBT") {
		t.Fatal(got)
	}
	before := g.called()
	if got := types(again("r4")); g.called() != before+1 {
		t.Errorf("the message is lost: %s", got)
	}
}

// TestEndlessExchanges: because of a bug, a dialect always wants to send another request to the
// backend. The run must end, and the log must report the bug.
func TestEndlessExchanges(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.end = func(n int, _ translate.End) (translate.Result, error) {
		return translate.Result{Next: &translate.Exchange{Out: translate.Out{None: true}, Run: &fakeRun{d: g.dialect, n: n + 1}}}, nil
	}
	if got := types(g.do(input("t", "r2", resumeWith(yes("n1~id1"))))); !strings.HasSuffix(got, "RUN_ERROR:UPSTREAM_STATUS") {
		t.Error(got)
	}
	g.settled()
	if !strings.Contains(g.logs.String(), "the run wants one exchange after the other") {
		t.Error("the log says nothing of it")
	}
}

// TestCodeOfAnEarlierRun: a stream contains two runs, and the first ends with an error code. Both
// runs share one log line, which must have this code.
func TestCodeOfAnEarlierRun(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"x","code":"OWN"}`, started, finished))
	})
	g.do(input("t", "r1", ""))
	g.settled()
	if !slices.ContainsFunc(strings.Split(g.logs.String(), "\n"), func(line string) bool {
		return strings.Contains(line, "run ended") && strings.Contains(line, "code=OWN")
	}) {
		t.Errorf("the line has no code: %s", g.logs)
	}
}

// A watcher is a store. When a note about a reused call is saved, the watcher looks at the runs
// that are running.
type watcher struct {
	store.Store
	lives func() *runRegistry
	plain []bool // for each run: whether it may still ask a question
}

func (w *watcher) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if remember, is := step.(store.Remember); is && strings.HasPrefix(remember.Note.ID, "reused ") {
		b := w.lives()
		b.mu.Lock()
		for l := range b.running {
			w.plain = append(w.plain, l.mayAsk.Load())
		}
		b.mu.Unlock()
	}
	return w.Store.Do(ctx, key, step)
}

// TestRunThatHasEndedComesToNoQuestion: saving the notes of a run that has ended may take long.
// Meanwhile the run must not count as a run that may still ask, which would make an answer on its
// thread ambiguous.
func TestRunThatHasEndedComesToNoQuestion(t *testing.T) {
	var g *rig
	w := &watcher{lives: func() *runRegistry { return &g.h.runs }}
	g = newRig(t, func(rw http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 1:
			sendStream(rw, streamOf(started, asks))
		case 2:
			sendStream(rw, streamOf(started, hello, finished))
		default:
			sendStream(rw, streamOf(started, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"x"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, finished))
		}
	}, func(o *Options) { w.Store, o.Store = o.Store, w })
	g.dialect.keys = []string{"c1"}
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	g.do(input("t", "r3", `,"tools":[{"name":"x","description":"","parameters":{}}]`))
	g.settled()
	if !slices.Equal(w.plain, []bool{false}) {
		t.Errorf("may it still come to a question? %v", w.plain)
	}
}

// TestReplayIsHeardBeforeItIsTold: Holdpoint must publish the event of a replay before it loads the
// client's snapshots from the store.
func TestReplayIsHeardBeforeItIsTold(t *testing.T) {
	h := &hearer{}
	var heard []bool // at each load of snapshots: whether the event was published
	g := newRig(t, asksOnce, func(o *Options) {
		o.Events = h
		o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
			if step == "Snapshots" {
				heard = append(heard, slices.ContainsFunc(h.heard(), func(e string) bool { return strings.HasPrefix(e, string(event.Replayed)) }))
			}
			return do()
		}}
	})
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	heard = nil
	g.do(input("t", "r3", resumeWith(yes("n1~id1"))))
	g.settled()
	if len(heard) == 0 || slices.Contains(heard, false) {
		t.Errorf("heard before the store was asked: %v", heard)
	}
}
