package proxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
)

// A hearer is an event.Sink that keeps all events.
type hearer struct {
	mu    sync.Mutex
	list  []event.Event
	fails atomic.Bool // if set, it cannot keep an event
}

func (h *hearer) Take(e *event.Event) error {
	if h.fails.Load() {
		return errDead
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, *e)
	return nil
}

// heard returns the events so far, each as a text of its kind, its code, and its questions with
// their answers.
func (h *hearer) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []string{}
	for _, e := range h.list {
		s := string(e.Kind)
		if e.Code != "" {
			s += ":" + e.Code
		}
		for _, i := range e.Interrupts {
			s += " " + i.ID
			if i.Status != "" {
				s += "=" + i.Status
			}
			if i.Verdict != "" {
				s += "," + i.Verdict
			}
		}
		list = append(list, s)
	}
	return list
}

// TestEvents checks the exact events for each thing that can happen to a question.
func TestEvents(t *testing.T) {
	const expiring = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation","expiresAt":"2020-01-01T00:00:00Z"}]}}`
	const approval = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}]}}`
	entry := func(payload string) string {
		return resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":` + payload + `}`)
	}
	failed := `{"type":"RUN_ERROR","message":"kaput","code":"KAPUT"}`
	for _, c := range []struct {
		name    string
		streams []string // one for each request; "" breaks off, "4xx" is a status 422
		change  func(*Options)
		dialect func(*fakeDialect)
		bodies  []string
		want    []string
	}{
		{"a run that asks nothing", []string{streamOf(started, finished)}, nil, nil, []string{input("t", "r1", "")}, []string{}},
		{
			"a question that is approved", []string{streamOf(started, approval), streamOf(started, finished)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", entry(`{"approved":true}`))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "interrupt.resolved n1~id1=resolved,approved"},
		},
		{
			"a question that is denied", []string{streamOf(started, approval), streamOf(started, finished)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", entry(`{"approved":false}`))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,denied", "interrupt.resolved n1~id1=resolved,denied"},
		},
		{
			"one of two is cancelled", []string{streamOf(started, asksTwo), streamOf(started, finished)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1"), no("n2~id2")))},
			[]string{
				"interrupt.raised n1~id1 n2~id2", "resume.claimed n1~id1=resolved,approved n2~id2=cancelled",
				"interrupt.resolved n1~id1=resolved,approved", "interrupt.cancelled n2~id2=cancelled",
			},
		},
		{
			"the run asks again", []string{streamOf(started, asks), streamOf(started, asks)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "interrupt.resolved n1~id1=resolved,approved", "interrupt.raised n1~id2"},
		},
		{
			"the answered run fails", []string{streamOf(started, asks), streamOf(started, failed)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "resume.in_doubt:KAPUT n1~id1=resolved,approved"},
		},
		{
			"the same answers again", []string{streamOf(started, asks), streamOf(started, finished)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1"))), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "interrupt.resolved n1~id1=resolved,approved", "resume.replayed n1~id1=resolved,approved"},
		},
		{
			"refusals", []string{streamOf(started, asks)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n9"))), strings.Replace(input("t", "r3", ""), oldUser, oldUser+","+newUser, 1)},
			[]string{"interrupt.raised n1~id1", "resume.refused:UNKNOWN_INTERRUPT_ID n9=resolved", "run.refused:PENDING_INTERRUPTS"},
		},
		{
			"an expired question", []string{streamOf(started, expiring), streamOf(started, finished)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1"))), input("t", "r3", resumeWith(no("n1~id1")))},
			[]string{
				"interrupt.raised n1~id1", "resume.refused:INTERRUPT_EXPIRED n1~id1=resolved,approved",
				"resume.claimed n1~id1=cancelled", "interrupt.expired n1~id1=cancelled",
			},
		},
		{
			"the backend breaks off", []string{streamOf(started, asks), streamOf(started)}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1"))), input("t", "r3", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "resume.in_doubt:UPSTREAM_EOF n1~id1=resolved,approved", "resume.refused:RESUME_IN_DOUBT n1~id1=resolved"},
		},
		{
			"the backend turns the answer down", []string{streamOf(started, asks), "4xx"}, nil, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "resume.released n1~id1=resolved,approved"},
		},
		{
			"the backend does not know the question", []string{streamOf(started, asks), streamOf(started, finished)}, nil,
			func(d *fakeDialect) {
				runs := 0
				d.end = func(int, translate.End) (translate.Result, error) {
					if runs++; runs == 2 {
						return translate.Result{Fate: translate.Lost}, nil
					}
					return translate.Result{}, nil
				}
			},
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claimed n1~id1=resolved,approved", "interrupt.lost:BACKEND_LOST_INTERRUPT n1~id1=resolved,approved"},
		},
		{
			"the backend goes on without an answer", []string{streamOf(started, asks, started, finished)}, nil, nil,
			[]string{input("t", "r1", "")},
			[]string{"interrupt.raised n1~id1", "interrupt.withdrawn n1~id1"},
		},
		{
			"the audit is required", []string{streamOf(started, asks), streamOf(started, finished)}, func(o *Options) { o.EventsRequired = true }, nil,
			[]string{input("t", "r1", ""), input("t", "r2", resumeWith(yes("n1~id1")))},
			[]string{"interrupt.raised n1~id1", "resume.claiming n1~id1=resolved,approved", "resume.claimed n1~id1=resolved,approved", "interrupt.resolved n1~id1=resolved,approved"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &hearer{}
			var key store.Key
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n > len(c.streams) {
					t.Errorf("call %d of the backend", n)
					return
				}
				if s := c.streams[n-1]; s == "4xx" {
					w.WriteHeader(http.StatusUnprocessableEntity)
				} else {
					sendStream(w, s)
				}
			}, func(o *Options) {
				o.Events, o.Agent = h, "billing"
				o.OnNotices = func(k store.Key) { key = k }
				o.Notices = func(e *event.Event) (store.Notice, bool) {
					one := &hearer{list: []event.Event{*e}}
					return store.Notice{ID: fmt.Sprint(e.Kind, e.Interrupts), Body: agui.MustMarshal(one.heard()[0])}, true
				}
				if c.dialect != nil {
					c.dialect(o.Dialect.(*fakeDialect))
				}
				if c.change != nil {
					c.change(o)
				}
			})
			for _, body := range c.bodies {
				g.answer(body)
			}
			if got := h.heard(); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			wantSent(t, g.store, key, c.want)
			for _, e := range h.list {
				if e.Agent != "billing" || e.Thread != "t" || e.Run == "" || e.Time.IsZero() || e.Door != event.Chat {
					t.Errorf("an event without its place: %+v", e)
				}
			}
		})
	}
}

// wantSent checks the outbox of the record. told are all events of the test. The outbox must have
// exactly those that a step of the store caused.
func wantSent(t *testing.T, s store.Store, key store.Key, told []string) {
	t.Helper()
	var want, got []string
	for _, line := range told {
		kind, _, _ := strings.Cut(strings.SplitN(line, " ", 2)[0], ":")
		switch event.Kind(kind) {
		// these events change no record
		case event.Claiming, event.Replayed, event.Refused, event.RunRefused:
		default:
			want = append(want, line)
		}
	}
	rec, err := s.Load(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Outbox != nil {
		for _, n := range rec.Outbox.Notices {
			got = append(got, gjson.ParseBytes(n.Body).Str)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("to be sent are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnswerThatCannotBeWrittenDown: the audit is required, and Holdpoint cannot write it.
// Holdpoint must refuse an answer and must not call the backend. The question must stay open. When
// the audit can be written again, the question must accept an answer.
func TestAnswerThatCannotBeWrittenDown(t *testing.T) {
	for _, when := range []string{"before the claim", "behind the claim"} {
		t.Run(when, func(t *testing.T) {
			h := &hearer{}
			var sink event.Sink = h
			if when == "behind the claim" {
				sink = taker(func(e *event.Event) error {
					if e.Kind == event.Claimed && h.fails.Load() {
						return errDead
					}
					return nil
				})
			}
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				sendStream(w, streamOf(started, []string{asks, finished}[min(n, 2)-1]))
			}, func(o *Options) { o.Events, o.EventsRequired = sink, true })
			g.do(input("t", "r1", ""))
			h.fails.Store(true)
			wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:AUDIT_UNAVAILABLE")
			if g.called() != 1 {
				t.Errorf("the backend was called %d times, want once", g.called())
			}
			if rec, err := g.store.Load(t.Context(), recordKey("/", "t"), ""); err != nil || rec.State != store.Open {
				t.Errorf("the question is %q, %v", rec.State, err)
			}
			h.fails.Store(false)
			wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED")
		})
	}
}

type taker func(*event.Event) error

func (f taker) Take(e *event.Event) error { return f(e) }

// TestAuditThatIsNotRequired: the audit is not required, and Holdpoint cannot write it. The runs
// must continue.
func TestAuditThatIsNotRequired(t *testing.T) {
	h := &hearer{}
	h.fails.Store(true)
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, []string{asks, finished}[min(n, 2)-1]))
	}, func(o *Options) { o.Events = h })
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED")
}

// TestPauseThatOnlyTimeHasEnded: nobody answered a question in time, and the store reports its end.
// The event of this end must name the thread of the question.
func TestPauseThatOnlyTimeHasEnded(t *testing.T) {
	h := &hearer{}
	now := testNow
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, []string{asks, finished}[min(n, 2)-1]))
	}, func(o *Options) {
		o.Events, o.Agent = h, "billing"
		o.Store = memory.New(memory.Options{PauseRetention: time.Hour, Now: func() time.Time { return now }, OnEnded: func(_ store.Key, r *store.Result) {
			_ = h.Take(EndedByTime("", r))
		}})
	})
	g.do(input("t", "r1", ""))
	now = now.Add(time.Hour)
	g.do(strings.Replace(input("t", "r2", ""), oldUser, oldUser+","+newUser, 1))
	if got, want := h.heard(), []string{"interrupt.raised n1~id1", "interrupt.retired n1~id1"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if e := h.list[1]; e.Thread != "t" || e.Run != "r1" || e.Door != event.Retention || e.Agent != "billing" || e.Pause != h.list[0].Pause {
		t.Errorf("%+v", e)
	}
	before := &store.Result{EndKind: store.Retired, Pause: &agui.Pause{ID: "p", Finish: []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}`)}}
	if e := EndedByTime("", before); e.Thread != "t" || e.Run != "r1" || e.Agent != "" {
		t.Errorf("of a record without an origin: %+v", e)
	}
}

// TestDigestsOfEvents: the digests in events must cover what docs/audit.md says. Then anybody who
// has audit lines with a payload can compute the digests again.
func TestDigestsOfEvents(t *testing.T) {
	h := &hearer{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, []string{asks, finished}[min(n, 2)-1]))
	}, func(o *Options) { o.Events, o.Agent = h, "billing" })
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	asked, claimed := h.list[0].Interrupts[0], h.list[1].Interrupts[0]
	// wantAsked was computed by this command, in one line without the line break:
	//
	//	printf '{"agent":"billing","calls":[],"interrupt":{"id":"n1~id1","reason":"confirmation"},
	//	"tenant":"","thread":"t"}' | sha256sum
	const wantAsked = "sha256:258ac739aa8a3f59db0997f312fa1375c42b16ce4aeac592878aa85923b78585"
	if asked.QuestionDigest != wantAsked {
		t.Errorf("asked %s, want %s", asked.QuestionDigest, wantAsked)
	}
	// want was computed by: printf '{"payload":true,"status":"resolved"}' | sha256sum
	const want = "sha256:0e114f9d0ae4529df4876dca3e713f0ab2d3f09e9c83114674ffecc9fc77aadb"
	if claimed.AnswerDigest != want {
		t.Errorf("answered %s, want %s", claimed.AnswerDigest, want)
	}
	if string(claimed.Payload) != "true" || string(asked.Object) != `{"id":"n1~id1","reason":"confirmation"}` {
		t.Errorf("asked %s, answered %s", asked.Object, claimed.Payload)
	}
}

// A tally counts the steps that a store has done, and the events about these steps. The keys of
// steps and of events have the same form: a kind and the id of a pause, such as "claimed p1".
type tally struct {
	mu     sync.Mutex
	steps  map[string]int
	events map[string]int
	claims map[string]bool // ids of the questions for which a claim was reported
	once   map[string]bool
	faulty bool
}

func newTally() *tally {
	return &tally{steps: map[string]int{}, events: map[string]int{}, claims: map[string]bool{}, once: map[string]bool{}}
}

// did counts a step that the store has done. If a caller repeats a step under the same name, did
// does not count it again.
func (c *tally) did(what, pause, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := what + " " + pause + " " + name; !c.once[key] {
		c.once[key] = true
		c.steps[what+" "+pause]++
	}
}

func (c *tally) Take(e *event.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := ""
	switch e.Kind {
	case event.Raised:
		what = "opened"
	case event.Claimed:
		what = "claimed"
		for _, i := range e.Interrupts {
			c.claims[i.ID] = true
		}
	case event.Released:
		what = "released"
	case event.InDoubt:
		what = "doubt"
	case event.Lost:
		what = "lost"
	case event.Resolved, event.Cancelled, event.Expired, event.Withdrawn:
		// each question ends once, together with the others of its pause
		for _, i := range e.Interrupts {
			c.events["ended "+e.Pause+" "+i.ID]++
		}
		return nil
	default:
		return nil
	}
	c.events[what+" "+e.Pause]++
	return nil
}

// lost records that a step, or the reply to a step, was lost.
func (c *tally) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faulty = true
}

func (c *tally) knowsClaim(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims[id]
}

// wrong compares the events with the steps. It returns the first difference, or "". If a step or
// the reply to a step was lost, an event may be missing, and a doubt may be reported without need.
// No other event may exist without its step.
func (c *tally) wrong() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, n := range c.events {
		if c.steps[what] < n && !(c.faulty && strings.HasPrefix(what, "doubt ")) {
			return fmt.Sprintf("%s: %d events, %d steps", what, n, c.steps[what])
		}
	}
	for what, n := range c.steps {
		if c.events[what] != n && !c.faulty {
			return fmt.Sprintf("%s: %d steps, %d events", what, n, c.events[what])
		}
	}
	return ""
}

// ended counts an end for each question of the pause p. token distinguishes the steps that cause
// the end.
func (c *tally) ended(p *agui.Pause, token string) {
	for _, i := range p.Interrupts {
		c.did("ended", p.ID+" "+i.ID, token)
	}
}

// finished counts what a step Finish does to the pause p, and the next pause if the step opens one.
func (c *tally) finished(step store.Finish, p *agui.Pause) {
	switch step.Result.EndKind {
	case store.Doubtful:
		c.did("doubt", p.ID, "")
	case store.Lost:
		c.did("lost", p.ID, "")
	default:
		c.ended(p, step.Token)
	}
	if step.Next != nil {
		c.did("opened", step.Next.ID, "")
	}
}

// A countedStore counts its steps in its tally.
type countedStore struct {
	store.Store
	tally *tally
}

func (s countedStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	var before store.Record
	switch step.(type) {
	case store.Finish, store.Close:
		before = s.load(ctx, key)
	}
	done, err := s.Store.Do(ctx, key, step)
	if err != nil {
		return done, err
	}
	switch step := step.(type) {
	case store.Ask:
		s.tally.did("opened", step.Pause.ID, "")
	case store.Claim:
		s.tally.did("claimed", step.PauseID, step.Token)
	case store.Release:
		if rec := s.load(ctx, key); rec.Pause != nil {
			s.tally.did("released", rec.Pause.ID, step.Token)
		}
	case store.Finish:
		// a repeated Finish was counted before
		if before.Pause != nil && before.Token == step.Token {
			s.tally.finished(step, before.Pause)
		}
	case store.Close:
		if step.Result.EndKind == store.Doubtful {
			// Close counts the doubt once, even if a Finish has reported it before.
			s.tally.did("doubt", step.PauseID, "")
		} else {
			s.tally.ended(before.Pause, "closed")
		}
	}
	return done, nil
}

func (s countedStore) load(ctx context.Context, key store.Key) store.Record {
	rec, _ := s.Load(ctx, key, "")
	return rec
}
