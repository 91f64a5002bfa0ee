package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A heldRun is a run that is held open, and where answers come to it.
type heldRun struct {
	*bubble
	begun  []translate.Request
	pauses []*agui.Pause
	votes  chan []agui.ResumeEntry
}

// newDoor is a bubble that holds each run open which asks.
func newDoor(t *testing.T, serve func(ctx context.Context, n int, w io.Writer) error) *heldRun {
	d := &heldRun{votes: make(chan []agui.ResumeEntry)}
	ids := 0
	d.bubble = newBubble(t, serve, func(o *Options) {
		o.NewID = func() string { ids++; return fmt.Sprint("x", ids) }
		o.Dialect = &fakeDialect{begin: func(r *translate.Request) (translate.Out, error) {
			d.begun = append(d.begun, *r)
			return translate.Out{}, nil
		}}
	})
	d.h.holds = func(p *agui.Pause) <-chan []agui.ResumeEntry {
		d.pauses = append(d.pauses, p)
		return d.votes
	}
	return d
}

// open posts a run and returns when it is held.
func (d *heldRun) open(ctx context.Context, run string) *recorder {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	go d.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", run, ""))).WithContext(ctx))
	synctest.Wait()
	return w
}

func (d *heldRun) vote(payload string) {
	d.votes <- []agui.ResumeEntry{{InterruptID: d.pauses[len(d.pauses)-1].Interrupts[0].ID, Status: agui.Resolved, Payload: []byte(payload)}}
	synctest.Wait()
}

func (d *heldRun) record() store.Record {
	rec, err := d.store.Load(d.t.Context(), recordKey("/", "t"), "")
	if err != nil {
		d.t.Fatal(err)
	}
	return rec
}

// textOf is a message with one piece of text, begun and not ended.
func textOf(id string) string {
	return streamOf(`{"type":"TEXT_MESSAGE_START","messageId":"`+id+`","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"`+id+`","delta":"hello"}`)
}

// TestRunThatIsHeldOpen: it saves its pause, closes what is open, and waits. With the answers it
// goes on in the same stream, on the way of any resume; without them its question is told.
func TestRunThatIsHeldOpen(t *testing.T) {
	asksFirst := func(then string, err error) func(context.Context, int, io.Writer) error {
		return func(_ context.Context, n int, w io.Writer) error {
			if n == 1 {
				_, err := io.WriteString(w, streamOf(started)+textOf("m1")+streamOf(asks))
				return err
			}
			io.WriteString(w, then)
			return err
		}
	}
	const until = "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END"
	goesOn := asksFirst(streamOf(started, hello, finished), nil)
	for name, c := range map[string]struct {
		serve func(context.Context, int, io.Writer) error
		then  func(d *heldRun, leave func())
		want  string // behind until
		calls int
		state store.State
		how   store.How // of the first pause
	}{
		"the answers come": {
			goesOn, func(d *heldRun, _ func()) { d.vote(`true`) },
			" TEXT_MESSAGE_CHUNK RUN_FINISHED", 2, store.None, store.Finished,
		},
		"they come much later": {
			goesOn, func(d *heldRun, _ func()) { time.Sleep(20 * time.Hour); d.vote(`true`) },
			" TEXT_MESSAGE_CHUNK RUN_FINISHED", 2, store.None, store.Finished,
		},
		"it asks again, and is held again": {
			func(_ context.Context, n int, w io.Writer) error {
				io.WriteString(w, streamOf(started, strings.ReplaceAll(hello, "m1", fmt.Sprint("m", n)), strings.ReplaceAll(asks, "n1", fmt.Sprint("n", n))))
				return nil
			},
			func(d *heldRun, _ func()) { d.vote(`true`); d.vote(`true`); d.votes <- nil },
			"", 3, store.Open, store.Finished,
		},
		"nobody answers": {
			goesOn, func(d *heldRun, _ func()) { d.votes <- nil },
			" MESSAGES_SNAPSHOT RUN_FINISHED+interrupt", 1, store.Open, "",
		},
		"the proxy drains": {
			goesOn, func(d *heldRun, _ func()) { d.h.lives.drain() },
			" MESSAGES_SNAPSHOT RUN_FINISHED+interrupt", 1, store.Open, "",
		},
		"the client leaves": {
			goesOn, func(_ *heldRun, leave func()) { leave() }, "", 1, store.Open, "",
		},
		"an answer to nothing": {
			goesOn, func(d *heldRun, _ func()) { d.votes <- []agui.ResumeEntry{{InterruptID: "y", Status: agui.Cancelled}} },
			" MESSAGES_SNAPSHOT RUN_FINISHED+interrupt", 1, store.Open, "",
		},
		"not the right ones": {
			goesOn, func(d *heldRun, _ func()) {
				d.votes <- []agui.ResumeEntry{{InterruptID: "n1~x1", Status: agui.Cancelled}, {InterruptID: "y", Status: agui.Cancelled}}
			},
			" RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID", 1, store.Open, "",
		},
		"the chat was quicker": {
			goesOn, func(d *heldRun, _ func()) {
				wantTypes(d.t, d.post(input("t", "r2", resumeWith(yes("n1~x1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
				d.vote(`true`)
			},
			" RUN_FINISHED", 2, store.None, store.Finished,
		},
		"the backend breaks off behind the answers": {
			asksFirst(streamOf(started), errors.New("cut")), func(d *heldRun, _ func()) { d.vote(`true`) },
			" RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", 2, store.None, store.Doubtful,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDoor(t, c.serve)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				w := d.open(ctx, "r1")
				if rec := d.record(); rec.State != store.Open {
					t.Fatalf("not saved: %+v", rec)
				}
				if got := types(w.text()); c.want != "" && got != until {
					t.Errorf("before the wait: %s", got)
				}
				c.then(d, leave)
				synctest.Wait()
				if got := types(w.text()); c.want != "" && got != until+c.want {
					t.Errorf("got  %s\nwant %s", got, until+c.want)
				}
				rec := d.record()
				if rec.State != c.state || d.n != c.calls || c.how != "" && rec.Results[len(rec.Results)-1].How != c.how {
					t.Errorf("%d calls, record %+v", d.n, rec)
				}
				if strings.Count(w.text(), "RUN_STARTED") != 1 {
					t.Errorf("it begins more than once: %s", types(w.text()))
				}
				for n, r := range d.begun[1:] {
					if len(r.Answers) != 1 || r.Pause.ID == "" || len(r.Came) != 1 {
						t.Errorf("attempt %d: %+v", n+2, r)
					}
				}
				leave()
				if err := d.h.Drain(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestHeldRunGivesItsAnswersBack: what another exchange of the run carried before is no evidence of
// what became of these answers.
func TestHeldRunGivesItsAnswersBack(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 3 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sendStream(w, streamOf(started, strings.ReplaceAll(asks, "n1", fmt.Sprint("n", n))))
	})
	votes := make(chan []agui.ResumeEntry, 2)
	g.h.holds = func(p *agui.Pause) <-chan []agui.ResumeEntry {
		votes <- []agui.ResumeEntry{{InterruptID: p.Interrupts[0].ID, Status: agui.Resolved}}
		return votes
	}
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS")
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if g.called() != 3 || rec.State != store.Open || rec.Pause.Interrupts[0].Native != "n2" {
		t.Errorf("%d calls, record %+v", g.called(), rec)
	}
}

// TestDoubtThatNobodyReads: a request of Holdpoint's own breaks off. The chat is told at its next
// request.
func TestDoubtThatNobodyReads(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 2 {
			sendStream(w, streamOf(started))
			return
		}
		sendStream(w, streamOf(started, asks))
	})
	g.do(input("t", "r1", ""))
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	in, _, err := agui.ParseInput([]byte(input("t", "r9", resumeWith(yes("n1~id1")))))
	if err != nil {
		t.Fatal(err)
	}
	g.h.carry(t.Context(), &url.URL{Path: "/"}, in, rec.Pause.ID)
	wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
	wantTypes(t, g.do(input("t", "r3", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

// TestRequestOfHoldpointsOwn: it carries its pause, once, and is served to nobody. However many
// there are and whatever has become of the pause, none is ever an ordinary run.
func TestRequestOfHoldpointsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		before func(g *rig) // what happens between the question and the requests
		id     string       // that they answer
		calls  int
		state  store.State
	}{
		"the question is open":           {func(*rig) {}, "n1~id1", 2, store.None},
		"the chat has answered it":       {func(g *rig) { g.do(input("t", "r2", resumeWith(yes("n1~id1")))) }, "n1~id1", 2, store.None},
		"the chat has denied it":         {func(g *rig) { g.do(input("t", "r2", resumeWith(no("n1~id1")))) }, "n1~id1", 2, store.None},
		"it answers another":             {func(*rig) {}, "n9", 1, store.Open},
		"another question is asked then": {func(g *rig) { g.do(input("t", "r2", resumeWith(yes("n1~id1")))); g.do(input("t", "r3", "")) }, "n1~id1", 3, store.Open},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 2 {
					sendStream(w, streamOf(started, hello, finished))
					return
				}
				sendStream(w, streamOf(started, asks))
			})
			g.do(input("t", "r1", ""))
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			p := rec.Pause
			c.before(g)
			in, _, err := agui.ParseInput([]byte(input("t", "r9", resumeWith(yes(c.id)))))
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() { g.h.carry(t.Context(), &url.URL{Path: "/"}, in, p.ID) })
			}
			all.Wait()
			if rec, _ = g.store.Load(t.Context(), recordKey("/", "t"), ""); g.called() != c.calls || rec.State != c.state {
				t.Errorf("%d calls, state %q, want %d, %q", g.called(), rec.State, c.calls, c.state)
			}
			if c.state == store.None && name == "the question is open" {
				if !strings.Contains(string(g.calls[1]), `"payload":true`) || g.heads[1].Get("X-Forwarded-For") != "" {
					t.Errorf("call %s, %v", g.calls[1], g.heads[1])
				}
				// The chat learns of it by the same answers, or at its next message.
				wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
			}
		})
	}
}
