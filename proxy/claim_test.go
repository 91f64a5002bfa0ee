package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// TestLostReplyOfFinishIsAskedForAgain: one blip of the store must not make a finished action doubtful.
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

// TestClientThatLeavesBetweenClaimAndSend: nothing was sent, so the pause is open again.
func TestClientThatLeavesBetweenClaimAndSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		s := &scriptedStore{claim: func(err error) error {
			leave()
			synctest.Wait() // what follows the request has seen it
			return err
		}}
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, stream(started, asks))
			return nil
		}, func(o *Options) { s.Store = o.Store; o.Store = s })
		b.post(input("t", "r1", ""))
		w := &recorder{ResponseRecorder: httptest.NewRecorder()}
		b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))).WithContext(ctx))
		rec, err := b.store.Load(t.Context(), recordKey("/", "t"), "")
		if err != nil || rec.State != store.Open || b.n != 1 {
			t.Errorf("state %q after %d calls (%v)", rec.State, b.n, err)
		}
	})
}

// TestRenewalEndsWithItsRun: a step that was under way when it was stopped is the last one.
func TestRenewalEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r renewal
		steps := 0
		r.start(time.Second, func(ctx context.Context) bool {
			steps++
			if steps == 3 {
				<-ctx.Done() // stopped in the middle
			}
			return true
		})
		time.Sleep(3500 * time.Millisecond)
		r.stop()
		time.Sleep(time.Hour)
		r.start(time.Second, func(context.Context) bool { steps++; return true })
		time.Sleep(time.Hour)
		if steps != 3 {
			t.Errorf("%d steps", steps)
		}
	})
}

// TestNextRunOfAStreamWithdrawsItsOwnPauseOnly: the question that this stream told was another one's.
func TestNextRunOfAStreamWithdrawsItsOwnPauseOnly(t *testing.T) {
	var g *rig
	g = newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 { // while this run is under way another one of the thread asks the same
			g.do(input("t", "r2", ""))
			sendStream(w, stream(started, asks, `{"type":"RUN_STARTED","threadId":"t","runId":"later"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"later"}`))
			return
		}
		sendStream(w, stream(started, asks))
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
