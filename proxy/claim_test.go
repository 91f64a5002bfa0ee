package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestLostReplyOfFinishIsAskedForAgain: the store loses one reply at the end of a run. This must
// not put the pause in doubt.
func TestLostReplyOfFinishIsAskedForAgain(t *testing.T) {
	s := &scriptedStore{}
	g := newRig(t, asksOnce, func(o *Options) { s.Store = o.Store; o.Store = s })
	g.do(input("t", "r1", ""))
	lost := 1
	s.finish = func() error {
		if lost--; lost >= 0 {
			return errDown
		}
		return nil
	}
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestClientThatLeavesBetweenClaimAndSend: the client leaves after the claim, before the answers
// are sent. The answers must not be sent, and the pause must be open again.
func TestClientThatLeavesBetweenClaimAndSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		s := &scriptedStore{claim: func(err error) error {
			leave()
			synctest.Wait() // lets the code that watches the request notice this
			return err
		}}
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started, asks))
			return nil
		}, func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))).WithContext(ctx))
		wantTypes(t, w.text(), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:CLIENT_LEFT")
		rec, err := b.store.Load(t.Context(), recordKey("/", "t"), "")
		if err != nil || rec.State != store.Open || b.n != 1 {
			t.Errorf("state %q after %d calls (%v)", rec.State, b.n, err)
		}
	})
}

// TestClientThatShutsItsSendingSide: a client sends an answer and closes its sending side, but
// still reads. To a server, it looks like a client that has left. It must be told that its answer
// was not sent, and must get the question again. The same answer must then be accepted.
func TestClientThatShutsItsSendingSide(t *testing.T) {
	shut := make(chan struct{}) // closed when the server has noticed that
	s := &scriptedStore{claim: func(err error) error {
		<-shut
		return err
	}}
	g := newRig(t, asksOnce, func(o *Options) { s.Store = o.Store; o.Store = s })
	g.do(input("t", "r1", ""))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(shut) })
		g.h.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := input("t", "r2", resumeWith(yes("n1~id1")))
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	said, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(said.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantTypes(t, string(body), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:CLIENT_LEFT")
	if got := string(body); !strings.Contains(got, "Nothing was done.") || !strings.Contains(got, "n1~id1") || strings.Contains(got, "mayHaveRun") {
		t.Errorf("told %s", got)
	}
	if g.called() != 1 {
		t.Errorf("the backend was called %d times, want 1", g.called())
	}
	s.claim = nil
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestNextRunOfAStreamWithdrawsItsOwnPauseOnly: runs r1 and r2 of a thread report the same
// question, and the pause was recorded by r2. After the question, the stream of r1 contains a
// further run. This further run must not withdraw the pause of r2.
func TestNextRunOfAStreamWithdrawsItsOwnPauseOnly(t *testing.T) {
	var g *rig
	g = newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 { // meanwhile another run of the thread asks the same question
			g.do(input("t", "r2", ""))
			sendStream(w, streamOf(started, asks, `{"type":"RUN_STARTED","threadId":"t","runId":"later"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"later"}`))
			return
		}
		sendStream(w, streamOf(started, asks))
	})
	got := g.do(input("t", "r1", ""))
	if !strings.Contains(got, "n1~id1") {
		t.Errorf("the standing question was not told: %s", got)
	}
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if rec.State != store.Open || len(rec.Results) != 0 {
		t.Errorf("state %q, results %+v", rec.State, rec.Results)
	}
}

// TestDialectThatPanicsOnAClaimedRunEndsThatRunOnly: a claimed run is translated in a goroutine of
// its own, where net/http does not recover a panic. A panic of the dialect must end only this run,
// and not the process.
func TestDialectThatPanicsOnAClaimedRunEndsThatRunOnly(t *testing.T) {
	if !child(t) {
		return
	}
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.event = func(agui.Event, func(agui.Event)) error { panic("a bug") }
	post(t, g.front.URL, "application/json", input("t", "r2", resumeWith(yes("n1~id1"))))
	g.dialect.event = nil
	_, got := post(t, g.front.URL, "application/json", input("t", "r3", resumeWith(yes("n1~id1"))))
	wantTypes(t, got, "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT") // the answers were sent
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

// TestNothingFollowsTheEndThatASilentClaimedRunWasTold: the backend of a claimed run is silent, so
// Holdpoint sends the client a RUN_ERROR. The client reads it slowly, and meanwhile the backend
// sends more events. None of them may follow the RUN_ERROR.
func TestNothingFollowsTheEndThatASilentClaimedRunWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			time.Sleep(time.Hour + 5*time.Second)
			io.WriteString(w, streamOf(hello))
			time.Sleep(time.Minute)
			io.WriteString(w, streamOf(finished))
			return nil
		}), func(o *Options) { o.IdleTimeout = time.Hour })
		b.post(input("t", "r1", ""))
		w := &slowRecorder{recorder{ResponseRecorder: httptest.NewRecorder()}}
		b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))))
		time.Sleep(2 * time.Hour)
		wantTypes(t, w.text(), "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_IDLE")
	})
}

// A slowRecorder needs ten seconds to write bytes that contain a RUN_ERROR.
type slowRecorder struct{ recorder }

func (s *slowRecorder) Write(p []byte) (int, error) {
	n, err := s.recorder.Write(p)
	if bytes.Contains(p, []byte("RUN_ERROR")) {
		time.Sleep(10 * time.Second)
	}
	return n, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A hanging is a response body that sends nothing and ends only when the context of its request
// ends.
type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) { <-h.ctx.Done(); return 0, h.ctx.Err() }

func (h hanging) Close() error { return nil }

// TestClaimedRunIsGivenUpWhereverTheBackendHangs: the client of a claimed run has left, and the
// backend hangs. The run must end after some time. Otherwise the claim would be renewed forever,
// and the thread would stay locked.
func TestClaimedRunIsGivenUpWhereverTheBackendHangs(t *testing.T) {
	for name, answer := range map[string]roundTripper{
		"before the header": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
		"in the body of a status": func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 500, Header: http.Header{}, Body: hanging{req.Context()}, Request: req}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *bubble
				b = newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
					io.WriteString(w, streamOf(started, asks))
					return nil
				}, func(o *Options) {
					o.IdleTimeout = time.Hour
					inner := o.Transport
					o.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
						if b.n == 0 {
							return inner.RoundTrip(req)
						}
						return answer(req)
					})
				})
				b.post(input("t", "r1", ""))
				ctx, leave := context.WithCancel(t.Context())
				go func() {
					defer func() { recover() }()
					gone := &recorder{ResponseRecorder: httptest.NewRecorder(), fail: true}
					b.h.ServeHTTP(gone, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))).WithContext(ctx))
				}()
				time.Sleep(time.Second)
				leave()
				time.Sleep(detachTimeout + 2*time.Hour)
				if rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.InDoubt {
					t.Errorf("three hours after the client has left the pause is %q", rec.State)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				b.h.Drain(ctx)
			})
		})
	}
}

// A scriptedStore calls a function of the test at a step of the store, if the test has set the
// function of that step. So the test can delay the step or let it fail.
type scriptedStore struct {
	store.Store
	claim   func(err error) error // called after the step, with its error
	release func() error          // called instead of the step
	renew   func(ctx context.Context) error
	finish  func() error
}

func (s *scriptedStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	var instead error
	switch step.(type) {
	case store.Claim:
		done, err := s.Store.Do(ctx, key, step)
		if s.claim != nil {
			err = s.claim(err)
		}
		return done, err
	case store.Release:
		if s.release != nil {
			return store.StepResult{}, s.release()
		}
	case store.Renew:
		if s.renew != nil {
			instead = s.renew(ctx)
		}
	case store.Finish:
		if s.finish != nil {
			instead = s.finish()
		}
	}
	if instead != nil {
		return store.StepResult{}, instead
	}
	return s.Store.Do(ctx, key, step)
}

// TestClaimIsNotRenewedAfterItsRun: the store hangs while a run ends, so the step Renew is still
// waiting. When the store replies again, Holdpoint must not renew the claim any more. Otherwise the
// thread would stay claimed forever.
func TestClaimIsNotRenewedAfterItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		s := &scriptedStore{}
		s.renew = func(ctx context.Context) error {
			if down.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		s.finish = func() error {
			if down.Load() {
				return errDown
			}
			return nil
		}
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			time.Sleep(12 * time.Second)
			io.WriteString(w, streamOf(finished))
			return nil
		}), func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		down.Store(true)
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE")
		time.Sleep(13 * time.Second)
		down.Store(false)
		time.Sleep(time.Hour)
		if rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.InDoubt {
			t.Errorf("an hour after its run the pause is %q", rec.State)
		}
		s.renew = func(context.Context) error { return store.ErrStale }
		time.Sleep(time.Minute)
	})
}

// TestClaimWithALostReplyIsGivenBack: the store has made the claim, but its reply is lost. The
// answers were not sent, so the question must be open again, and not in doubt.
func TestClaimWithALostReplyIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{}
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started, finished))
			return nil
		}), func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		lost := 1
		s.claim = func(err error) error {
			if lost--; lost >= 0 {
				return errDown
			}
			return err
		}
		// The client gets STORE_UNAVAILABLE, or Holdpoint repeats the claim.
		b.post(input("t", "r2", resumeWith(yes("n1~x"))))
		time.Sleep(LeaseTime + time.Second)
		if got := b.post(input("t", "r3", resumeWith(yes("n1~x")))); strings.Contains(got, "RESUME_IN_DOUBT") {
			t.Errorf("%s, but the backend was called %d times", types(got), b.n)
		}
	})
}

// TestReleaseThatTheStoreDidNotTakeIsToldSo: the store fails to release a claim, so the thread
// stays claimed until the lease ends, and is in doubt after that. The client must get
// STORE_UNAVAILABLE.
func TestReleaseThatTheStoreDidNotTakeIsToldSo(t *testing.T) {
	s := &scriptedStore{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
	}, func(o *Options) { s.Store = o.Store; o.Store = s })
	g.do(input("t", "r1", ""))
	s.release = func() error { return errDown }
	if _, got := post(t, g.front.URL, "application/json", input("t", "r2", resumeWith(yes("n1~id1")))); !strings.Contains(got, "STORE_UNAVAILABLE") {
		t.Errorf("a status: %q", got)
	}
	g = newRig(t, asksOnce, func(o *Options) { s = &scriptedStore{Store: o.Store}; o.Store = s })
	g.do(input("t", "r1", ""))
	s.release = func() error { return errDown }
	g.h.opts.Upstream.Host = "127.0.0.1:1"
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE")
}

// A prepDialect sends a preparatory request before the request with the answers.
type prepDialect struct{ *fakeDialect }

func (d prepDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return d.fakeDialect.Begin(r)
	}
	return translate.Out{Path: "/prepare", Header: http.Header{"X-Step": {"prepare"}}, Body: []byte(`{"prepare":true}`)}, prepRun{d}, nil
}

type prepRun struct{ d prepDialect }

func (prepRun) Event(agui.Event, func(agui.Event)) error { return nil }

func (r prepRun) End(e translate.End) (translate.Result, error) {
	if e.Event.Type != agui.RunFinished {
		return translate.Result{}, nil
	}
	return translate.Result{Next: &translate.Exchange{Out: translate.Out{Resumes: true}, Run: &fakeRun{d: r.d.fakeDialect, n: 2}}}, nil
}

// TestPreparatoryCallThatFailsLeavesThePauseOpen: the preparatory request fails, so the answers are
// not sent. The pause must stay open.
func TestPreparatoryCallThatFailsLeavesThePauseOpen(t *testing.T) {
	for name, fail := range map[string]func(w http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(503) },
		"cut":    func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"error":  func(w http.ResponseWriter) { sendStream(w, streamOf(started)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, streamOf(started, asks))
				case 2:
					fail(w)
				default:
					sendStream(w, streamOf(started, finished))
				}
			}, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
			g.do(input("t", "r1", ""))
			g.answer(input("t", "r2", resumeWith(yes("n1~id1"))))
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if rec.State != store.Open {
				t.Errorf("the pause is %q; the answers were never sent", rec.State)
			}
		})
	}
}

// TestAnswersThatWereSentAreNeverGivenBack: the first request of a run sent the answers, and its
// response ended well. A later request of the same run fails. In whatever way it fails, the pause
// must not be reopened.
func TestAnswersThatWereSentAreNeverGivenBack(t *testing.T) {
	for name, second := range map[string]translate.Out{
		"nothing was done, says the second":                 {TakesNew: true},
		"the second carries answers too and is not reached": {Resumes: true, Path: "/x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, streamOf(started, asks))
				case 2:
					sendStream(w, streamOf(started, finished))
				default:
					sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"busy","code":"THREAD_BUSY"}`))
				}
			})
			g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
				switch {
				case n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists():
					if second.Resumes {
						g.h.opts.Upstream.Host = "127.0.0.1:1"
					}
					return translate.Result{Next: &translate.Exchange{Out: second}}, nil
				case n == 2 && e.Event.Type == agui.RunErrored:
					return translate.Result{Fate: translate.Untouched, Finish: e.Event}, nil
				}
				return translate.Result{}, nil
			}
			g.do(input("t", "r1", ""))
			g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if rec.State == store.Open {
				t.Error("the pause is open again: its answers would run twice")
			}
		})
	}
}

// A racing is a store that sends another request of the thread just before the first claim.
type racing struct {
	store.Store
	first func()
}

func (s *racing) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if _, claims := step.(store.Claim); claims && s.first != nil {
		do := s.first
		s.first = nil
		do()
	}
	return s.Store.Do(ctx, key, step)
}

// TestRunThatLostTheClaimIsJudgedAfresh: run r3 has an answer and a new message. Just before it
// claims the pause, run r2 claims it. r3 must become an ordinary run with the new message, and
// nothing of its first attempt, the resume, may affect it.
func TestRunThatLostTheClaimIsJudgedAfresh(t *testing.T) {
	s := &racing{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, streamOf(started, finished))
		default:
			sendStream(w, streamOf(started, strings.ReplaceAll(asks, "n1", "n2")))
		}
	}, func(o *Options) { s.Store = o.Store; o.Store = s })
	g.do(input("t", "r1", ""))
	s.first = func() { g.do(input("t", "r2", resumeWith(yes("n1~id1")))) }
	got := g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]` + resumeWith(yes("n1~id1")) + `}`)
	if g.called() != 3 || !strings.Contains(string(g.calls[2]), "u2") {
		t.Fatalf("%d calls, %s", g.called(), types(got))
	}
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if strings.Contains(got, "MESSAGES_NOT_TAKEN") {
		t.Error("the message went to the backend, and the client is told that it did not")
	}
	if seen := string(agui.MustMarshal(rec.Pause.SeenMessages)); !strings.Contains(seen, "u2") {
		t.Errorf("the message is forgotten, and would be sent once more with the next answers: %s", seen)
	}
}

// TestAnswersTurnedDownAfterAPreparatoryCallLeaveThePauseOpen: the preparatory request succeeds,
// and the backend responds to the answers with HTTP 422. This status means that the backend has not
// accepted the answers, so the pause must stay open.
func TestAnswersTurnedDownAfterAPreparatoryCallLeaveThePauseOpen(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, streamOf(started, finished))
		default:
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
	g.do(input("t", "r1", ""))
	g.answer(input("t", "r2", resumeWith(yes("n1~id1"))))
	if rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.Open {
		t.Errorf("the pause is %q", rec.State)
	}
}
