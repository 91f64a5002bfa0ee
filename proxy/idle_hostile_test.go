package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestRefusalThatHangs: a backend reports a refusal in RUN_FINISHED and then sends nothing more.
// After the idle timeout, the run must end with this refusal.
func TestRefusalThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started, strings.TrimSuffix(asks, "}")+`,"metadata":{"holdpoint":{"refusal":{"code":"X"}}}}`))
			<-ctx.Done()
			return nil
		}), func(o *Options) { o.IdleTimeout = time.Hour })
		b.post(input("t", "r1", ""))
		begin := time.Now()
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:X")
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("took %v", took)
		}
	})
}

// A breath is a stream of the backend. It is silent until the idle timeout, and at that moment it
// breaks off.
type breath struct {
	begun io.Reader
	body  *body
}

func (b *breath) Read(p []byte) (int, error) {
	if n, err := b.begun.Read(p); err == nil {
		return n, nil
	}
	b.body.endIdle()
	return 0, errors.New("reset")
}

func (*breath) Close() error { return nil }

type breaths struct{ n int }

func (b *breaths) RoundTrip(req *http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(streamOf(started, asks)))
	if b.n++; b.n > 1 {
		body = &breath{strings.NewReader(streamOf(started)), bodyOf(req.Context())}
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// TestEndAtTheMomentOfSilence: the backend's stream breaks off at the moment of the idle timeout.
// If the client got only the timeout, the record must keep the doubt, so that the next request can
// report the doubt.
func TestEndAtTheMomentOfSilence(t *testing.T) {
	for n := range 300 {
		b := newBubble(t, endsAtOnce, func(o *Options) { o.Transport = &breaths{} })
		post := func(body string) string {
			w := &recorder{ResponseRecorder: httptest.NewRecorder()}
			b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
			return types(w.text())
		}
		post(input("t", "r1", ""))
		answer := post(input("t", "r2", resumeWith(yes("n1~x"))))
		if !strings.Contains(answer, "UPSTREAM_IDLE") {
			continue
		}
		<-b.h.runs.streamsEnded()
		if rec, err := b.store.Load(t.Context(), recordKey("/", "t"), ""); err != nil || rec.Pause == nil {
			t.Fatalf("%d: told %s, and the doubt is closed: %v", n, answer, err)
		}
	}
}

// A goneOn is a store. At the end of a run, it opens another question and reports that the run has
// lost its claim.
type goneOn struct{ store.Store }

func (g goneOn) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	finish, is := step.(store.Finish)
	if !is {
		return g.Store.Do(ctx, key, step)
	}
	other := agui.Pause{ID: "other", Dialect: "fake", Digest: "d", Finish: []byte(finished)}
	other.Interrupts = []agui.Interrupt{{ID: "o1", Native: "o1", Object: []byte(`{"id":"o1","reason":"confirmation"}`)}}
	finish.Result, finish.Next = store.Result{EndKind: store.Finished, Finish: []byte(finished)}, &other
	done, err := g.Store.Do(ctx, key, finish)
	if err != nil {
		return done, fmt.Errorf("in the test: %w", err)
	}
	return done, store.ErrStale
}

// TestQuestionThatStandsAlreadyIsTold: a run asks a question, but meanwhile another question of the
// thread was opened. The client must get the question that was opened.
func TestQuestionThatStandsAlreadyIsTold(t *testing.T) {
	g := newRig(t, asksOnceMore, func(o *Options) { o.Store = goneOn{o.Store} })
	g.do(input("t", "r1", ""))
	got := g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:THREAD_BUSY")
	if id := finishOf(t, got).Get("outcome.interrupts.0.id").Str; id != "o1" {
		t.Errorf("told %q", id)
	}
}

func asksOnceMore(w http.ResponseWriter, _ *http.Request, _ int) {
	sendStream(w, streamOf(started, asks))
}
