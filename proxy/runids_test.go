package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// suspends sends the terminal event by which Mastra asks. The question's id begins with the run id
// that the backend got.
func suspends(w http.ResponseWriter, r *http.Request, call string) {
	run := runIDIn(r)
	sendStream(w, streamOf(`{"type":"RUN_STARTED","threadId":"t","runId":"`+run+`"}`,
		fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":%q,"outcome":{"type":"interrupt","interrupts":[{"id":"%s::%s","reason":"mastra:tool_suspend","toolCallId":%[3]q}]}}`, run, run, call)))
}

// requestIn returns the run that the backend got.
func requestIn(r *http.Request) gjson.Result {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return gjson.ParseBytes(body)
}

func runIDIn(r *http.Request) string { return requestIn(r).Get("runId").Str }

// TestRunIDsTowardsMastra: Mastra finds suspended calls only by their run id. So if two threads use
// the same run id, Holdpoint must send Mastra different run ids.
func TestRunIDsTowardsMastra(t *testing.T) {
	g := realRig(t, "auto", func(w http.ResponseWriter, r *http.Request, n int) {
		if requestIn(r).Get("resume").Exists() {
			sendStream(w, streamOf(`{"type":"RUN_STARTED","threadId":"x","runId":"`+runIDIn(r)+`"}`, `{"type":"RUN_FINISHED","threadId":"x","runId":"`+runIDIn(r)+`"}`))
			return
		}
		suspends(w, r, fmt.Sprintf("c%d", n))
	})
	first := g.do(input("a", "same", ""))
	second := g.do(input("b", "same", ""))
	if one, two := g.sentRunID(0), g.sentRunID(1); one != "same" || two == "same" {
		t.Errorf("the backend was told %q, then %q", one, two)
	}
	for thread, told := range map[string]string{"a": first, "b": second} {
		if !strings.Contains(told, `"runId":"same"`) || strings.Contains(told, `"runId":"id`) {
			t.Errorf("thread %s was told\n%s", thread, told)
		}
	}
	// Each answer has the run id of the run that asked the question.
	for n, c := range []struct{ thread, told, waits string }{{"b", second, g.sentRunID(1)}, {"a", first, "same"}} {
		_, id, _ := strings.Cut(c.told, `"interrupts":[{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		g.do(input(c.thread, "same", resumeWith(fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":true}`, id))))
		body := g.sent(2 + n)
		if got := body.Get("resume.0.interruptId").Str; !strings.HasPrefix(got, c.waits+"::") || body.Get("runId").Str == "same" {
			t.Errorf("thread %s answers %s", c.thread, body.Raw)
		}
	}
	seen := map[string]bool{}
	for n := 1; n < g.called(); n++ {
		if id := g.sentRunID(n); seen[id] {
			t.Errorf("the backend was told the run id %q twice", id)
		} else {
			seen[id] = true
		}
	}
}

// TestRunsOfOneIDAtOnce: Holdpoint has not recognized Mastra yet, and runs of two threads have the
// same run id. If the runs overlap, Holdpoint must send the backend another run id for the second
// run.
func TestRunsOfOneIDAtOnce(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	g := realRig(t, "auto", func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			begun <- struct{}{}
			<-goOn
		}
		echo(w, r, n)
	})
	done := make(chan string, 1)
	go func() { done <- g.do(input("a", "same", "")) }()
	<-begun
	g.do(input("b", "other", ""))
	g.do(input("b", "same", ""))
	g.do(input("a", "same", "")) // the same thread keeps its run id
	close(goOn)
	<-done
	g.do(input("b", "same", ""))
	for n, want := range []string{"same", "other", "id1", "same", "same"} {
		if got := g.sentRunID(n); got != want {
			t.Errorf("run %d went under %q, want %q", n+1, got, want)
		}
	}
	if n := len(g.h.memory.runIDs.of); n != 0 {
		t.Errorf("%d run ids are left", n)
	}
}

func (g *rig) sent(n int) gjson.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	return gjson.ParseBytes(g.calls[n])
}

func (g *rig) sentRunID(n int) string { return g.sent(n).Get("runId").Str }

// runIDsLeft waits until all runs have ended, and returns the number of run ids that the Handler
// still holds.
func (g *rig) runIDsLeft() int {
	g.t.Helper()
	select {
	case <-g.h.runs.streamsEnded():
	case <-time.After(time.Minute):
		g.t.Fatal("a run has not ended")
	}
	g.h.memory.runIDs.mu.Lock()
	defer g.h.memory.runIDs.mu.Unlock()
	return len(g.h.memory.runIDs.of)
}

// TestDecisionsLeaveNoRunID: if the operator names the dialect, a run may reserve its run id. A
// decision at the desk sends nothing to the backend, so it must leave no reservation, whatever its
// outcome.
func TestDecisionsLeaveNoRunID(t *testing.T) {
	bugs := func(method string) func(d *deskRig) {
		return func(d *deskRig) { d.dialect.bug = buggy(method, true) }
	}
	for name, c := range map[string]struct {
		breaks  func(d *deskRig)
		refused bool
	}{
		"it stands":                {func(*deskRig) {}, false},
		"the dialect refuses it":   {func(d *deskRig) { d.dialect.begin = refusesAnswers }, true},
		"the dialect panics":       {bugs("Begin"), true},
		"the answers are not read": {bugs("Answers"), true},
		"the store is down": {func(d *deskRig) {
			d.h.opts.Store.(*storetest.Faults).At = func(step string, do func() error) error {
				if step == "Decide" {
					return errDown
				}
				return do()
			}
		}, true},
		"the store panics": {func(d *deskRig) {
			d.h.opts.Store.(*storetest.Faults).At = func(step string, do func() error) error {
				if step == "Decide" {
					panic("a bug")
				}
				return do()
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeskRig(t, nil)
			d.h.opts.Store = &storetest.Faults{Store: d.h.opts.Store}
			for range 3 { // a decision that was refused may be sent again
				c.breaks(d)
				if err := d.decidesOrPanics(); (err != nil) != c.refused {
					t.Fatalf("the decision: %v", err)
				}
			}
			if n := d.runIDsLeft(); n != 0 {
				t.Errorf("%d run ids are left of decisions", n)
			}
			d.dialect.bug, d.dialect.begin, d.h.opts.Store.(*storetest.Faults).At = nil, nil, nil
			d.decide(d.says("x", saysYes), d.says("y", ""))
			d.carry()
			if n := d.runIDsLeft(); n != 0 || d.called() != 2 {
				t.Errorf("%d run ids are left of the run that carried, %d calls", n, d.called())
			}
		})
	}
}

func (d *deskRig) decidesOrPanics() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return d.decides(d.says("x", saysYes), d.says("y", ""))
}

func refusesAnswers(r *translate.Request) (translate.Out, error) {
	if r.Pause.ID == "" {
		return translate.Out{}, nil
	}
	return translate.Out{}, agui.Errorf(agui.InvalidPayload, "no")
}

// TestDecisionsOfEachDialectLeaveNoRunID: decisions at the desk leave no reserved run id with any
// of these dialects, even if the desk decides many questions in turn.
func TestDecisionsOfEachDialectLeaveNoRunID(t *testing.T) {
	for _, dialect := range []string{"agui", "mastra", "auto"} {
		t.Run(dialect, func(t *testing.T) {
			g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
				sendStream(w, streamOf(started, strings.ReplaceAll(asks, "n1", fmt.Sprint("n", n))))
			}, func(o *Options) { o.OtherDoors = &OtherDoors{KeepsInput: true} })
			for n := range 5 {
				thread := fmt.Sprint("t", n)
				g.do(input(thread, "r1", ""))
				key := recordKey("/", thread)
				rec, err := g.store.Load(t.Context(), key, "")
				if err != nil || rec.Pause == nil {
					t.Fatalf("no question: %+v, %v", rec, err)
				}
				word := door.Decision{Question: rec.Pause.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte(`true`)}
				if _, err := g.h.Decide(t.Context(), key, rec.Pause.ID, maria, []door.Decision{word}); err != nil {
					t.Fatal(err)
				}
			}
			if n := g.runIDsLeft(); n != 0 {
				t.Errorf("%d run ids are left", n)
			}
		})
	}
}

// TestPanicInAPanicLeavesNoRunID: a run panics, and releasing its claim panics too. The connection
// breaks, and the run id must not stay reserved.
func TestPanicInAPanicLeavesNoRunID(t *testing.T) {
	g := newRig(t, asksOnce, func(o *Options) {
		o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
			if step == "Release" {
				panic("another bug")
			}
			return do()
		}}
	})
	g.do(input("t", "r1", ""))
	g.h.transports.single = &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { panic("a bug") }}
	if _, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r2", resumeWith(yes("n1~id1"))))); err == nil {
		t.Error("an answer")
	}
	if n := g.runIDsLeft(); n != 0 {
		t.Errorf("%d run ids are left", n)
	}
}

// A suspended is Mastra's memory of the waiting calls. It finds them only by run id. If an answer
// names a run, @mastra/ag-ui 1.0.3 resumes the waiting call of that run, even if the answer names
// another call.
type suspended struct {
	mu    sync.Mutex
	waits map[string]string
	ran   []string // which thread's answer ran which call
}

func (s *suspended) serve(w http.ResponseWriter, r *http.Request) {
	body := requestIn(r)
	thread, run := body.Get("threadId").Str, body.Get("runId").Str
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered, _, is := strings.Cut(body.Get("resume.0.interruptId").Str, "::"); is {
		s.ran = append(s.ran, thread+" ran "+s.waits[answered])
		delete(s.waits, answered)
		sendStream(w, streamOf(`{"type":"RUN_STARTED","threadId":"t","runId":"`+run+`"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"`+run+`"}`))
		return
	}
	s.waits[run] = "the call of " + thread
	suspends(w, r, "call-"+thread)
}

// TestRunsOfOneIDAtTwoReplicas: two threads ask under the same run id. Each asks at a replica that
// has not recognized Mastra. With the dialect auto, the answers must run the same calls as without
// Holdpoint. If the operator names the dialect, each answer must run the call of its own thread.
func TestRunsOfOneIDAtTwoReplicas(t *testing.T) {
	meets := []string{"a ran the call of b", "b ran "}
	apart := []string{"a ran the call of a", "b ran the call of b"}
	for name, c := range map[string]struct {
		dialect string // "": without Holdpoint
		want    []string
	}{
		"direct": {"", meets},
		"auto":   {"auto", meets},
		"mastra": {"mastra", apart},
	} {
		t.Run(name, func(t *testing.T) {
			backend := &suspended{waits: map[string]string{}}
			do := map[string]func(body string) string{}
			if c.dialect == "" {
				direct := httptest.NewServer(http.HandlerFunc(backend.serve))
				defer direct.Close()
				for _, thread := range []string{"a", "b"} {
					do[thread] = func(body string) string {
						res, err := http.Post(direct.URL, "application/json", strings.NewReader(body))
						if err != nil {
							t.Fatal(err)
						}
						defer res.Body.Close()
						told, _ := io.ReadAll(res.Body)
						return string(told)
					}
				}
			} else {
				serve := func(w http.ResponseWriter, r *http.Request, _ int) { backend.serve(w, r) }
				one := realRig(t, c.dialect, serve)
				random := ids.Random72 // so that the replicas make different ids
				two := realRig(t, c.dialect, serve, func(o *Options) { o.Store, o.NewID = one.store, random })
				do["a"], do["b"] = one.do, two.do
			}
			asked := map[string]string{}
			for _, thread := range []string{"a", "b"} {
				told := do[thread](input(thread, "same", ""))
				_, id, _ := strings.Cut(told, `"interrupts":[{"id":"`)
				asked[thread], _, _ = strings.Cut(id, `"`)
			}
			for _, thread := range []string{"a", "b"} {
				do[thread](input(thread, "next-"+thread, resumeWith(yes(asked[thread]))))
			}
			if !slices.Equal(backend.ran, c.want) {
				t.Errorf("%q, want %q", backend.ran, c.want)
			}
		})
	}
}
