package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
	outcome "holdpoint/translate/agui"
)

// child runs the calling test in a process of its own, for what would end this one. It returns true in the child.
func child(t *testing.T) bool {
	t.Helper()
	const mark = "HOLDPOINT_TEST_CHILD"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the process did not survive: %v\n%.900s", err, out)
	}
	return false
}

func post(t *testing.T, url, contentType, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(got)
}

// TestDeeplyNestedBodyDoesNotEndTheProcess: a stack overflow cannot be recovered, and every stream would end with it.
func TestDeeplyNestedBodyDoesNotEndTheProcess(t *testing.T) {
	if !child(t) {
		return
	}
	g := newRig(t, echo)
	status, _ := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r","state":`+strings.Repeat("[", 16_000_000))
	if status != http.StatusBadRequest {
		t.Error(status)
	}
}

// TestDeepStateDoesNotPanicAtAPause: encoding/json refuses what is nested deeper than 10,000, gjson does not. On a claimed
// run the panic would end the process.
func TestDeepStateDoesNotPanicAtAPause(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, stream(started, asks)) })
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for name, more := range map[string]string{
		"state":   input("t1", "r", `,"state":{"x":`+deep+`}`),
		"message": `{"threadId":"t2","runId":"r","messages":[{"id":"u","role":"user","content":` + deep + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if status, got := post(t, g.front.URL, "application/json", more); status == 200 && !strings.HasSuffix(types(got), "RUN_FINISHED+interrupt") {
				t.Errorf("%d %s", status, types(got))
			}
		})
	}
}

// TestDialectThatPanicsOnAClaimedRunEndsThatRunOnly: such a run is translated in a goroutine of its own, where net/http
// does not recover.
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
	wantTypes(t, got, "RUN_STARTED RUN_ERROR:RESUME_IN_DOUBT") // the answers went out
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

// TestNothingFollowsTheEndThatASilentClaimedRunWasTold: the client reads its RUN_ERROR slowly, and the upstream wakes up.
func TestNothingFollowsTheEndThatASilentClaimedRunWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			if n == 1 {
				io.WriteString(w, stream(started, asks))
				return nil
			}
			io.WriteString(w, stream(started))
			time.Sleep(time.Hour + 5*time.Second)
			io.WriteString(w, stream(hello))
			time.Sleep(time.Minute)
			io.WriteString(w, stream(finished))
			return nil
		}, func(o *Options) { o.IdleTimeout = time.Hour })
		b.post(input("t", "r1", ""))
		w := &slowRecorder{recorder{ResponseRecorder: httptest.NewRecorder()}}
		b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))))
		time.Sleep(2 * time.Hour)
		wantTypes(t, w.text(), "RUN_STARTED RUN_ERROR:UPSTREAM_IDLE")
	})
}

// A slowRecorder takes ten seconds for what holds an error.
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

// hanging is a body that ends with its request only.
type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) { <-h.ctx.Done(); return 0, h.ctx.Err() }
func (h hanging) Close() error             { return nil }

// TestClaimedRunIsGivenUpWhereverTheBackendHangs: without a bound the claim is renewed for ever, and the thread can never
// go on.
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
					io.WriteString(w, stream(started, asks))
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

// TestExchangeAfterNoneIsSent: a dialect that sends nothing for a cancelled answer sends the new messages then.
func TestExchangeAfterNoneIsSent(t *testing.T) {
	if !child(t) {
		return
	}
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.begin = func(translate.Request) (translate.Out, error) { return translate.Out{None: true}, nil }
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if e.None {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	_, got := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r2","messages":[`+oldUser+`,`+newUser+`]`+resumeWith(no("n1~id1"))+`}`)
	wantTypes(t, got, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestSecondExchangeAfterAnEndWithoutItsBlankLine: the first stream's last frame lacks the blank line.
func TestSecondExchangeAfterAnEndWithoutItsBlankLine(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, stream(started, asks))
		case 2:
			sendStream(w, strings.TrimRight(stream(started, finished), "\n"))
		default:
			sendStream(w, stream(started, hello, finished))
		}
	})
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// A scriptedStore lets a test stand in the way of single steps.
type scriptedStore struct {
	store.Store
	claim   func(err error) error // after the step
	release func() error          // instead of it
	renew   func(ctx context.Context) error
	finish  func() error
}

func (s *scriptedStore) Claim(ctx context.Context, key store.Key, pauseID, token, digest string, lease time.Duration) error {
	err := s.Store.Claim(ctx, key, pauseID, token, digest, lease)
	if s.claim != nil {
		return s.claim(err)
	}
	return err
}

func (s *scriptedStore) Release(ctx context.Context, key store.Key, token string) error {
	if s.release != nil {
		return s.release()
	}
	return s.Store.Release(ctx, key, token)
}

func (s *scriptedStore) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	if s.renew != nil {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	return s.Store.Renew(ctx, key, token, lease)
}

func (s *scriptedStore) Finish(ctx context.Context, key store.Key, token string, r store.Result, next *agui.Pause) error {
	if s.finish != nil {
		if err := s.finish(); err != nil {
			return err
		}
	}
	return s.Store.Finish(ctx, key, token, r, next)
}

// TestClaimIsNotRenewedAfterItsRun: the store hangs while the run ends, so a Renew is under way; it must not begin the
// renewals anew, or the thread is claimed for ever.
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
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			if n == 1 {
				io.WriteString(w, stream(started, asks))
				return nil
			}
			io.WriteString(w, stream(started))
			time.Sleep(12 * time.Second)
			io.WriteString(w, stream(finished))
			return nil
		}, func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		down.Store(true)
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
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

// TestClaimWithALostReplyIsGivenBack: nothing was sent, so nothing is in doubt and the question is not lost.
func TestClaimWithALostReplyIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{}
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			if n == 1 {
				io.WriteString(w, stream(started, asks))
				return nil
			}
			io.WriteString(w, stream(started, finished))
			return nil
		}, func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		lost := 1
		s.claim = func(err error) error {
			if lost--; lost >= 0 {
				return errDown
			}
			return err
		}
		b.post(input("t", "r2", resumeWith(yes("n1~x")))) // either tells STORE_UNAVAILABLE or tries the same claim again
		time.Sleep(leaseTime + time.Second)
		if got := b.post(input("t", "r3", resumeWith(yes("n1~x")))); strings.Contains(got, "RESUME_IN_DOUBT") {
			t.Errorf("%s, but the backend was called %d times", types(got), b.n)
		}
	})
}

// TestReleaseThatTheStoreDidNotTakeIsToldSo: the thread is claimed until the lease ends, and in doubt then.
func TestReleaseThatTheStoreDidNotTakeIsToldSo(t *testing.T) {
	s := &scriptedStore{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, stream(started, asks))
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
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
}

// A prepDialect makes a preparatory call before the one that carries the answers.
type prepDialect struct{ *fakeDialect }

func (d prepDialect) Begin(r translate.Request) (translate.Out, translate.Run, error) {
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

// TestPreparatoryCallThatFailsLeavesThePauseOpen: no byte of the answers was written.
func TestPreparatoryCallThatFailsLeavesThePauseOpen(t *testing.T) {
	for name, fail := range map[string]func(w http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(503) },
		"cut":    func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"error":  func(w http.ResponseWriter) { sendStream(w, stream(started)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, stream(started, asks))
				case 2:
					fail(w)
				default:
					sendStream(w, stream(started, finished))
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

// TestSecondExchangeGoesToTheClientsPath: an Out without a Path or a Header takes none from the exchange before it.
func TestSecondExchangeGoesToTheClientsPath(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, stream(started, asks))
			return
		}
		sendStream(w, stream(started, finished))
	}, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
	post(t, g.front.URL+"/?q=1", "application/json", input("t", "r1", ""))
	post(t, g.front.URL+"/?q=1", "application/json", input("t", "r2", resumeWith(yes("n1~id1"))))
	if g.called() != 3 || g.paths[1] != "/agent/prepare?q=1" || g.paths[2] != "/agent?q=1" || g.heads[2].Get("X-Step") != "" {
		t.Errorf("%q, X-Step %q", g.paths, g.heads[len(g.heads)-1].Get("X-Step"))
	}
}

// TestAnswersThatWereSentAreNeverGivenBack: whatever a later exchange of the same run says or however it fails, the
// first one carried the answers and ended well.
func TestAnswersThatWereSentAreNeverGivenBack(t *testing.T) {
	for name, second := range map[string]translate.Out{
		"nothing was done, says the second":                 {TakesNew: true},
		"the second carries answers too and is not reached": {Resumes: true, Path: "/x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, stream(started, asks))
				case 2:
					sendStream(w, stream(started, finished))
				default:
					sendStream(w, stream(started, `{"type":"RUN_ERROR","message":"busy","code":"THREAD_BUSY"}`))
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
					return translate.Result{Nothing: true, Finish: e.Event}, nil
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

// sticky makes the fake a backend that keeps its first answer.
func sticky(n int, e translate.End) (translate.Result, error) {
	res, err := (&fakeRun{d: &fakeDialect{}, n: n}).End(e)
	res.Pause.Sticky = len(res.Pause.Interrupts) > 0
	return res, err
}

// TestDenialIsNotSentWhereTheBackendKeepsAnApproval: the approval failed, the question came back, and the answer now is
// no. The backend would carry out the approval. Neither an expiresAt that Holdpoint gave nor time changes that.
func TestDenialIsNotSentWhereTheBackendKeepsAnApproval(t *testing.T) {
	for _, tt := range []struct {
		name string
		ttl  time.Duration
		wait time.Duration
	}{{"at once", 0, 0}, {"with expiresAt of our own", 24 * time.Hour, 0}, {"after the replay time", 0, 2 * time.Hour}} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1, 3:
					sendStream(w, stream(started, asks))
				default:
					sendStream(w, stream(started, `{"type":"RUN_ERROR","message":"kaput"}`))
				}
			}, func(o *Options) {
				o.Now = func() time.Time { return now }
				o.InterruptTTL = tt.ttl
				o.Store = memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: o.Now})
			})
			g.dialect.end = sticky
			g.do(input("t", "r1", ""))
			now = now.Add(time.Minute)
			g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
			now = now.Add(time.Minute)
			g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]}`)
			now = now.Add(tt.wait)
			got := g.do(input("t", "r4", resumeWith(no("n1~id2"))))
			if g.called() != 3 {
				t.Errorf("the denial was sent, and the backend carries out the approval it keeps: %s", types(got))
			}
		})
	}
}

// TestExpiredQuestionWithAKeptAnswerHasAWayOn: it takes only "cancelled", and a kept approval only "resolved".
func TestExpiredQuestionWithAKeptAnswerHasAWayOn(t *testing.T) {
	past := testNow.Add(-time.Minute).Format(time.RFC3339)
	rec := comesBack(store.Finished, endedBadly)
	old, again := interrupt("x", `,"expiresAt":"`+past+`"`), interrupt("x", `,"expiresAt":"`+past+`"`)
	again.ID, again.Object = "x2", withID(again.Object, "x2")
	rec.Results[0].Pause = testPause(old)
	rec.Pause.Interrupts = []agui.Interrupt{again}
	for _, q := range []question{
		{answers: []agui.Answer{resolved("x2", "true")}},
		{answers: []agui.Answer{cancelled("x2")}},
		{in: agui.RunInput{Messages: messages(oldUser, newUser)}},
		{},
	} {
		q.record, q.valid = rec, validate
		q.in.HasResume = q.answers != nil
		if d := admit(q); d.do == actResume || d.do == actPass || d.do == actQuiet {
			return
		}
	}
	t.Error("no request at all is let through: the thread waits until the retention ends")
}

// TestWhatWasHeldBackIsInTheTranscript: a call that the dialect held to the end is closed and in the snapshot, which
// would delete it from the client else.
func TestWhatWasHeldBackIsInTheTranscript(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, stream(started, asks)) })
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		res, err := (&fakeRun{d: &fakeDialect{}, n: n}).End(e)
		res.Before = []agui.Event{agui.NewEvent([]byte(`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm"}`))}
		return res, err
	}
	got := g.do(input("t", "r1", ""))
	wantTypes(t, got, "RUN_STARTED TOOL_CALL_START TOOL_CALL_END MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if !strings.Contains(got, `"toolCalls":[{"id":"c1"`) {
		t.Errorf("the snapshot lacks the call: %s", got)
	}
}

// TestEndIsCalledOnce: also when the client is gone between the terminal event and the end of the upstream's stream.
func TestEndIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := 0
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, stream(started, finished))
			<-ctx.Done()
			return ctx.Err()
		}, func(o *Options) {
			o.Dialect = &fakeDialect{end: func(int, translate.End) (translate.Result, error) { ends++; return translate.Result{}, nil }}
		})
		gone := &recorder{ResponseRecorder: httptest.NewRecorder(), fail: true}
		b.h.ServeHTTP(gone, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", ""))))
		if ends != 1 {
			t.Errorf("End was called %d times", ends)
		}
	})
}

// TestNextRunOfAStreamWithdrawsThePause: the backend went on without an answer, so nothing is open and old answers are
// told so.
func TestNextRunOfAStreamWithdrawsThePause(t *testing.T) {
	next := `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, stream(started, asks, next, hello, strings.ReplaceAll(asks, "n1", "n2")))
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt RUN_STARTED TEXT_MESSAGE_CHUNK MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if rec.State != store.Open || rec.Pause.Interrupts[0].Native != "n2" || len(rec.Results) != 1 || rec.Results[0].How != store.Withdrawn {
		t.Errorf("record %+v", rec)
	}
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
}

// TestTrailersOfWhatIsNoRunPass: with its status, its query, its compression and its headers.
func TestTrailersOfWhatIsNoRunPass(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Content-Encoding", "br")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "\x0b\x02")
		w.Header().Set("X-Sum", "7")
	})
	req, _ := http.NewRequest(http.MethodGet, g.front.URL+"/files/a?b=1;2&c=%zz", nil)
	req.Header.Set("Range", "bytes=0-1")
	req.Header.Set("Accept-Encoding", "br")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusPartialContent || string(got) != "\x0b\x02" || res.Header.Get("Content-Encoding") != "br" || res.Trailer.Get("X-Sum") != "7" {
		t.Errorf("%d %q %v %v", res.StatusCode, got, res.Header, res.Trailer)
	}
	if g.paths[0] != "/agent/files/a?b=1;2&c=%zz" || g.heads[0].Get("Accept-Encoding") != "br" || g.heads[0].Get("Accept") != "" || g.heads[0].Get("Range") == "" {
		t.Errorf("%s %v", g.paths[0], g.heads[0])
	}
}

// TestBackendThatBreaksOffAnOrdinaryRunWasReached: the message must not say that nothing happened.
func TestBackendThatBreaksOffAnOrdinaryRunWasReached(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { panic(http.ErrAbortHandler) })
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_ERROR:UPSTREAM_EOF")
}

// TestRunsInADisguiseDoNotPass: each is a run for some backend, so it must not pass as something else.
func TestRunsInADisguiseDoNotPass(t *testing.T) {
	const entry = `[{"interruptId":"n1","status":"resolved"}]`
	for _, tt := range []struct{ name, contentType, body string }{
		// express.json() takes any charset that begins with "utf-", and iconv-lite knows UTF-7.
		{"UTF-7 for express", "application/json; charset=utf-7", `+AHs-"threadId":"t","runId":"r","messages":[],"resume":` + entry + `}`},
		{"UTF-7 in the keys", "application/json; charset=utf-7", `{"+AHQ-hreadId":"t","runId":"r","messages":[],"resume":` + entry + `}`},
		// Spring's Jackson converter reads what charset names; Java has EBCDIC.
		{"EBCDIC for Spring", "application/json; charset=IBM037", "\xc0\x7f\xa3\x88\x99\x85\x81\x84\xc9\x84\x7f\x7a\x7f\xa3\x7f\xd0"},
		// encoding/json matches keys by Unicode's simple folding: U+017F is an s.
		{"a long s for Go", "application/json", `{"threadId":"t","runId":"r","messages":[` + oldUser + `,` + newUser + `],"re` + "\u017f" + `ume":` + entry + `}`},
		// json.Decoder.Decode reads one value and leaves the rest.
		{"one value and more for Go", "text/plain", `{"threadId":"t","runId":"r","messages":[],"resume":` + entry + `} x`},
		// A backend that does not insist on every key.
		{"answers without a runId", "application/json", `{"threadId":"t","resume":` + entry + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, echo)
			if status, _ := post(t, g.front.URL, tt.contentType, tt.body); g.called() != 0 {
				t.Errorf("it reached the backend (%d)", status)
			}
		})
	}
}

// TestPathParametersDoNotHideARecord: servlet containers route /chat;x as /chat.
func TestPathParametersDoNotHideARecord(t *testing.T) {
	g := newRig(t, asksOnce)
	post(t, g.front.URL+"/chat", "application/json", input("t", "r1", ""))
	post(t, g.front.URL+"/chat;x=1", "application/json", `{"threadId":"t","runId":"r2","messages":[`+oldUser+`,`+newUser+`]}`)
	if g.called() != 1 {
		t.Error("new input reached the backend while a question is open")
	}
}

// TestNoTunnelToTheBackend: behind an upgrade to HTTP/2 a client would talk to the backend itself.
func TestNoTunnelToTheBackend(t *testing.T) {
	g := newRig(t, echo)
	req, _ := http.NewRequest(http.MethodGet, g.front.URL+"/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "h2c")
	req.Header.Set("HTTP2-Settings", "AAMAAABkAAQAAP__")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := g.heads[0].Get("Upgrade"); got != "" {
		t.Errorf("the backend was asked to upgrade to %q", got)
	}
}

// TestLogsHoldNoQuery: addresses carry keys, the client's and the operator's.
func TestLogsHoldNoQuery(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { w.WriteHeader(404) })
	g.h.opts.Upstream.RawQuery = "key=hunter2"
	post(t, g.front.URL+"/?token=hunter3", "application/json", input("t", "r", ""))
	if strings.Contains(g.logs.String(), "hunter") {
		t.Errorf("a secret is in the log: %s", g.logs)
	}
}

// TestDataWithoutASpaceGetsOneWhateverItSays: 0.0.42 and the Go SDK skip such a line.
func TestDataWithoutASpaceGetsOneWhateverItSays(t *testing.T) {
	const says = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"data: 42"}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, strings.ReplaceAll(stream(started, says, finished), "data: {", "data:{"))
	})
	if got := g.do(input("t", "r", "")); got != stream(started, says, finished) {
		t.Errorf("got %q", got)
	}
}

// TestSloppyMediaTypeIsAStream: every client reads it, and a claimed run would be in doubt for a semicolon.
func TestSloppyMediaTypeIsAStream(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Content-Type", "text/event-stream; charset")
		io.WriteString(w, stream(started, finished))
	})
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
}

// TestEmptyResumeLosesItsKeyOnly: Mastra's own answer beside it is none of Holdpoint's business.
func TestEmptyResumeLosesItsKeyOnly(t *testing.T) {
	g := newRig(t, echo, func(o *Options) { o.Dialect = outcome.New() })
	const props = `"forwardedProps":{"command":{"resume":{"approved":true},"interruptEvent":"{\"type\":\"mastra_suspend\",\"runId\":\"m\"}"}}`
	g.do(input("t", "r", `,"resume":[],`+props))
	if got := string(g.calls[0]); !strings.Contains(got, props) || strings.Contains(got, `"resume":[]`) {
		t.Errorf("the backend got %s", got)
	}
}

// TestLargeFrameIsNotKept: a stream that lives for an hour must not hold the largest frame that it ever had.
func TestLargeFrameIsNotKept(t *testing.T) {
	g := newRig(t, echo)
	r := &run{h: g.h, log: g.h.log, attempt: attempt{transcript: newTranscript(1<<10, nil, nil)}}
	_, translation, _ := g.dialect.Begin(translate.Request{})
	r.exchange = translate.Exchange{Run: translation}
	var frames strings.Builder
	frames.WriteString(stream(fmt.Sprintf(`{"type":"RAW","event":"%s"}`, strings.Repeat("x", 4<<20))))
	for range 5000 {
		frames.WriteString(stream(hello))
	}
	b := newBody(r, io.NopCloser(strings.NewReader(frames.String())))
	b.started = true
	p := make([]byte, 32<<10)
	for n := 0; n < 4<<20+200<<10; {
		got, err := b.Read(p)
		if err != nil {
			t.Fatal(err)
		}
		n += got
	}
	if cap(b.out) > 4*readAhead {
		t.Errorf("%d bytes are kept", cap(b.out))
	}
}

// TestClientThatLeftIsNotLoggedAsAnErrorOfTheBackend: the one line of a run is what an operator counts.
func TestClientThatLeftIsNotLoggedAsAnErrorOfTheBackend(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, stream(started))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(res.Body, make([]byte, 10))
	res.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := g.h.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if logs := g.logs.String(); strings.Contains(logs, "UPSTREAM_EOF") || !strings.Contains(logs, `outcome="client left"`) {
		t.Errorf("logs: %s", logs)
	}
}
