package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// twoReplicas returns two Handlers on one store. Their backend asks in the first run. In each later
// run it sends hello, calls the function end, and then ends the run.
func twoReplicas(t *testing.T, end func(ctx context.Context), change ...func(*Options)) (b *bubble, first, second *mortal) {
	t.Helper()
	var o Options
	b = newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
		io.WriteString(w, streamOf(started, hello))
		end(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		io.WriteString(w, streamOf(finished))
		return nil
	}), append(change, func(made *Options) { o = *made })...)
	o.Store = b.store
	for _, m := range []**mortal{&first, &second} {
		var err error
		if *m, err = newMortal(o); err != nil {
			t.Fatal(err)
		}
	}
	return b, first, second
}

// postTo sends a run to the replica h and returns the whole response.
func postTo(ctx context.Context, h http.Handler, body string) string {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(ctx))
	return w.text()
}

// TestTheSameAnswersAtAnotherReplica: the first replica sends answers to the backend, and the
// resumed run continues. Meanwhile a client sends the same answers to the second replica. This
// request must wait, and get the end of the resumed run with the ids of its own run. The backend
// must get the answers only once.
func TestTheSameAnswersAtAnotherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, first, second := twoReplicas(t, func(context.Context) { time.Sleep(5 * time.Minute) }, func(o *Options) { o.Heartbeat = 15 * time.Second })
		postTo(t.Context(), first, input("t", "r1", ""))
		var wg sync.WaitGroup
		wg.Go(func() {
			wantTypes(t, postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		})
		time.Sleep(time.Second)
		wg.Go(func() {
			got := postTo(t.Context(), second, input("t", "r3", resumeWith(yes("n1~x"))))
			wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
			if n := strings.Count(got, ": holdpoint\n\n"); n < 18 || n > 20 {
				t.Errorf("%d heartbeats in five minutes: %s", n, got)
			}
			if strings.Contains(got, `"r2"`) || strings.Count(got, `"runId":"r3"`) != 2 {
				t.Errorf("not told with the ids of its own run: %s", got)
			}
		})
		time.Sleep(time.Minute)
		wantTypes(t, postTo(t.Context(), second, input("t", "r4", resumeWith(no("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
		wantTypes(t, postTo(t.Context(), second, input("t", "r5", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_PROGRESS")
		wg.Wait()
		got := postTo(t.Context(), second, input("t", "r6", resumeWith(yes("n1~x"))))
		wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
		if strings.Count(got, `"runId":"r6"`) != 2 || b.n != 2 {
			t.Errorf("after %d calls: %s", b.n, got)
		}
	})
}

// TestWaitEndsWithTheLeaseOfADeadReplica: two requests wait for the run of a replica that dies.
// When the lease of the dead replica has lapsed, both must get RESUME_IN_DOUBT, because the outcome
// at the backend is unknown.
func TestWaitEndsWithTheLeaseOfADeadReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var goes atomic.Bool
		b, first, second := twoReplicas(t, func(ctx context.Context) {
			if !goes.Load() {
				<-ctx.Done()
			}
		})
		postTo(t.Context(), first, input("t", "r1", ""))
		go postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x"))))
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				wantTypes(t, postTo(t.Context(), second, input("t", "r3", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
			})
		}
		time.Sleep(time.Second)
		first.kill()
		killed := time.Now()
		wg.Wait()
		if took := time.Since(killed); took > LeaseTime+2*laterLooks {
			t.Errorf("told after %v", took)
		}
		goes.Store(true) // the doubt was reported, so the thread continues
		wantTypes(t, postTo(t.Context(), second, input("t", "r4", "")), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		if b.n != 3 {
			t.Errorf("%d calls", b.n)
		}
	})
}

// TestWaitOutlastsABlipOfTheStore: a request has the same answers as a run that continues, and
// waits for it. If the store fails for a short time, the request must continue to wait. If the
// store stays away, the request must end with STORE_UNAVAILABLE.
func TestWaitOutlastsABlipOfTheStore(t *testing.T) {
	for away, want := range map[time.Duration]string{
		5 * time.Second: "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED",
		time.Minute:     "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, first, second := twoReplicas(t, func(context.Context) { time.Sleep(2 * time.Minute) })
			postTo(t.Context(), first, input("t", "r1", ""))
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x")))) })
			time.Sleep(time.Second)
			wg.Go(func() {
				time.Sleep(10 * time.Second)
				second.dead.Store(true)
				time.Sleep(away)
				second.dead.Store(false)
			})
			wantTypes(t, postTo(t.Context(), second, input("t", "r3", resumeWith(yes("n1~x")))), want)
		})
	}
}

// TestWaitEndsWithClientAndDrain: a request has the same answers as a run that continues, and waits
// for it. The wait ends when the request's client leaves, or when its replica drains. In both
// cases, the other run must continue unchanged.
func TestWaitEndsWithClientAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, first, second := twoReplicas(t, func(context.Context) { time.Sleep(5 * time.Minute) })
		postTo(t.Context(), first, input("t", "r1", ""))
		go postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x"))))
		time.Sleep(time.Second)
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		began := time.Now()
		postTo(ctx, second, input("t", "r3", resumeWith(yes("n1~x"))))
		if took := time.Since(began); took != time.Minute {
			t.Errorf("ended after %v", took)
		}
		synctest.Wait() // until its log line is written
		if !isClosed(second.runs.streamsEnded()) {
			t.Error("the run of a client that has left is in the books")
		}
		told := make(chan string, 1)
		go func() { told <- postTo(t.Context(), second, input("t", "r4", resumeWith(yes("n1~x")))) }()
		time.Sleep(time.Second)
		if isClosed(second.runs.streamsEnded()) {
			t.Error("a request that waits is not in the books")
		}
		second.runs.drain()
		wantTypes(t, <-told, "RUN_STARTED RUN_FINISHED RUN_ERROR:PROXY_DRAINING")
		time.Sleep(5 * time.Minute)
		rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
		if rec.State != store.None || b.n != 2 {
			t.Errorf("state %q after %d calls", rec.State, b.n)
		}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestWaitingRequestHoldsItsBodyOnly: a request that waits for a run with the same answers may keep
// only its own body in memory, because many clients may wait for a long time.
func TestWaitingRequestHoldsItsBodyOnly(t *testing.T) {
	b := newBubble(t, endsAtOnce)
	in, _, err := agui.ParseInput([]byte(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	r := loneRun(t.Context(), b.h, "/", &in)
	r.judge.request.http = httptest.NewRequest(http.MethodPost, "/", nil)
	r.client.transcript = transcript.New(1<<20, nil, nil)
	r.judge.record.State = store.Claimed
	r.exchange.Out.Body = []byte("{}")
	r.exchange.Run = &fakeRun{}
	gone, leave := context.WithCancelCause(t.Context())
	leave(errDraining)
	r.life.ctx = gone
	if err := newWaiter().waitAgain(r, stream.NewWriter(httptest.NewRecorder(), 0, stream.Limits{})); !errors.Is(err, errDraining) {
		t.Errorf("%v", err)
	}
	if r.client.transcript != nil || r.judge.record.State != store.None || r.exchange.Run != nil || r.exchange.Out.Body != nil {
		t.Errorf("it holds %+v, %+v", r.judge.attempt, r.exchange.Exchange)
	}
}

// TestRequestThatIsAlwaysTooLate: a store refuses each claim although the record allows it. The
// request must wait longer after each try, so that it does not keep a processor busy.
func TestRequestThatIsAlwaysTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims := 0
		b := newBubble(t, asksFirst(endsAtOnce), func(o *Options) {
			o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
				if step != "Claim" {
					return do()
				}
				claims++
				return store.ErrConflict
			}}
		})
		b.post(input("t", "r1", ""))
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		postTo(ctx, b.h, input("t", "r2", resumeWith(yes("n1~x"))))
		if claims < 10 || claims > 200 {
			t.Errorf("%d claims in a minute", claims)
		}
	})
}

// TestDoubtIsToldThoughItsCloseHasNoReply: answers are in doubt, and the store does not reply to
// the step Close of their pause. The client must get RESUME_IN_DOUBT, even if the next request gets
// RESUME_IN_DOUBT again.
func TestDoubtIsToldThoughItsCloseHasNoReply(t *testing.T) {
	const inDoubt, goesOn = "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT", "RUN_STARTED RUN_FINISHED"
	for name, test := range map[string]struct {
		fails int  // how many calls of Close get no reply
		done  bool // these steps are done nevertheless
		next  string
	}{
		"one reply is lost":   {1, true, goesOn},
		"both replies":        {2, true, goesOn},
		"one step is lost":    {1, false, goesOn},
		"it cannot be closed": {2, false, inDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := test.fails
				b := newBubble(t, asksFirst(endsAtOnce), func(o *Options) {
					o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
						if left == 0 || step != "Close" {
							return do()
						}
						if left--; test.done {
							_ = do()
						}
						return errDown
					}}
				})
				b.post(input("t", "r1", ""))
				rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
				if _, err := b.store.Do(t.Context(), recordKey("/", "t"), store.Claim{PauseID: rec.Pause.ID, Token: "token", Digest: "digest", Lease: time.Second}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				wantTypes(t, b.post(input("t", "r2", "")), inDoubt)
				wantTypes(t, b.post(input("t", "r3", "")), test.next)
			})
		})
	}
}
