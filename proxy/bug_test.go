package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// buggy returns a function that makes one method of a dialect fail. If panics is true, the method
// panics. Otherwise it returns an error that is not an *agui.RunError.
func buggy(method string, panics bool) func(string) error {
	return func(at string) error {
		switch {
		case at != method:
			return nil
		case panics:
			panic("a bug")
		}
		return errors.New("a bug")
	}
}

// TestBugOfADialectIsToldAsOne: a dialect has a bug. The client must be told that Holdpoint failed,
// the log must name the method, and the backend must get nothing.
func TestBugOfADialectIsToldAsOne(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		panics bool
		line   string // text that the log must contain
	}{
		"Answers fails":  {"Answers", false, `in=Answers err="a bug"`},
		"Answers panics": {"Answers", true, `in=Answers err="panic: a bug" stack=`},
		"Begin fails":    {"Begin", false, `in=Begin err="a bug"`},
		"Begin panics":   {"Begin", true, `in=Begin err="panic: a bug" stack=`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, asksOnce)
			g.dialect.bug = buggy(c.method, c.panics)
			wantTypes(t, g.do(input("t", "r0", "")), "RUN_STARTED RUN_ERROR:INTERNAL_ERROR")
			g.settled()
			wantLine(t, g.logs, `level=ERROR msg="the dialect failed" thread_id=t run_id=r0 `, c.line)
			wantLine(t, g.logs, `msg="run ended" thread_id=t run_id=r0 outcome=refused `, "code=INTERNAL_ERROR")
			if c.method == "Begin" {
				wantLine(t, g.logs, `msg="run ended" thread_id=t run_id=r0 outcome=refused `, "dialect=fake")
			}

			g.dialect.bug = nil
			g.do(input("t", "r1", ""))
			g.dialect.bug = buggy(c.method, c.panics)
			got := g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:INTERNAL_ERROR")
			if g.called() != 1 {
				t.Errorf("%d calls", g.called())
			}
			if strings.Contains(g.logs.String(), "the store cannot be asked") {
				t.Error("the store was blamed")
			}

			g.dialect.bug = nil
			wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		})
	}
}

// TestBugInBeginLocksNoChat: because of a bug in Begin, Holdpoint cannot send the answer to a
// question. If the client then cancels the question, the question must end.
func TestBugInBeginLocksNoChat(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.bug = buggy("Begin", true)
	g.do(input("t", "r2", resumeWith(no("n1~id1"))))
	if rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.None {
		t.Errorf("state %q", rec.State)
	}
}

// TestPanicBehindTheClaim: a panic happens after the claim, outside of the translation of a stream.
// So only the run itself can recover it. If the answers were sent to the backend before the panic,
// the pause is in doubt and must not be reopened. If they were not sent, the pause must be open
// again.
func TestPanicBehindTheClaim(t *testing.T) {
	panics := func(*http.Request) (*url.URL, error) { panic("a bug") }
	for name, c := range map[string]struct {
		single func(own http.RoundTripper) http.RoundTripper // nil if the dialect has the bug
		open   string                                        // "+interrupt" if the client must be told that the pause is open
		then   string                                        // events that the same answers must then get
	}{
		"answers sent": {nil, "", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		"nothing sent": {
			func(http.RoundTripper) http.RoundTripper { return &http.Transport{Proxy: panics} },
			"+interrupt", "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED",
		},
		"answers sent, by a transport of the caller's": {
			func(own http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					if res, err := own.RoundTrip(req); err == nil {
						res.Body.Close()
					}
					panic("a bug")
				})
			},
			"", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 2 && c.single == nil {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				asksOnce(w, r, n)
			})
			g.do(input("t", "r1", ""))
			single := g.h.transports.single
			if c.single == nil {
				g.dialect.bug = buggy("End", true)
			} else {
				g.h.transports.single = c.single(single)
			}
			wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED"+c.open+" RUN_ERROR:INTERNAL_ERROR")
			g.settled()
			wantLine(t, g.logs, `level=ERROR msg="the run panicked" thread_id=t run_id=r2 panic="a bug" stack=`)
			wantLine(t, g.logs, `msg="run ended" thread_id=t run_id=r2 outcome=error `, "code=INTERNAL_ERROR")
			g.dialect.bug, g.h.transports.single = nil, single
			wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), c.then)
			if g.called() != 2 {
				t.Errorf("%d calls", g.called())
			}
		})
	}
}

// TestPanicWhileTheRunWaits: a run panics after Holdpoint has sent the header of the response. The
// client must get INTERNAL_ERROR.
func TestPanicWhileTheRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialect{}
		b := newBubble(t, asksFirst(func(_ context.Context, _ int, w io.Writer) error {
			time.Sleep(time.Minute)
			_, err := io.WriteString(w, streamOf(started, finished))
			return err
		}), func(o *Options) { o.Dialect = d; o.Store = &panickingStore{Store: o.Store, loads: 4} })
		b.post(input("t", "r1", ""))
		go b.post(input("t", "r2", resumeWith(yes("n1~x"))))
		synctest.Wait()
		wantTypes(t, b.post(input("t", "r3", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:INTERNAL_ERROR")
		time.Sleep(time.Hour)
	})
}

// A panickingStore panics in one call of Load. loads counts down to this call: with 1, the next
// call panics.
type panickingStore struct {
	store.Store
	loads int
}

func (s *panickingStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if s.loads--; s.loads == 0 {
		panic("a bug")
	}
	return s.Store.Load(ctx, key, owner)
}

// TestAbortedHandlerIsNoBug: net/http ends a connection by a panic with http.ErrAbortHandler. This
// must not be reported as a bug.
func TestAbortedHandlerIsNoBug(t *testing.T) {
	g := newRig(t, func(http.ResponseWriter, *http.Request, int) {}, func(o *Options) {
		o.Transport = roundTripper(func(*http.Request) (*http.Response, error) { panic(http.ErrAbortHandler) })
	})
	if _, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r", ""))); err == nil {
		t.Error("an answer")
	}
	if logs := g.logs.String(); strings.Contains(logs, "panicked") {
		t.Error(logs)
	}
}

// TestRunRefusedWhileDrainingHasItsLine: Holdpoint refuses a run during a drain. This run must have
// its log line too, because operators count runs by these lines.
func TestRunRefusedWhileDrainingHasItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &lockedBuffer{}
		b := newBubble(t, func(ctx context.Context, _ int, w io.Writer) error {
			<-ctx.Done()
			return ctx.Err()
		}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(logs, nil)) })
		go b.post(input("t", "r1", ""))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.h.Drain(ctx); err != nil {
			t.Error(err)
		}
		wantTypes(t, b.post(input("t", "r2", "")), "RUN_STARTED RUN_ERROR:PROXY_DRAINING")
		synctest.Wait()
		wantLine(t, logs, `msg="run ended" thread_id=t run_id=r2 outcome=refused `, "code=PROXY_DRAINING")
	})
}

// settled waits until all runs have ended, so that each has its log line.
func (g *rig) settled() {
	g.t.Helper()
	if err := g.h.Drain(g.t.Context()); err != nil {
		g.t.Error(err)
	}
}

// wantLine waits until the log has a line that contains all of parts.
func wantLine(t *testing.T, logs *lockedBuffer, parts ...string) {
	t.Helper()
	logs.wait(t, fmt.Sprintf("no line with %q", parts), func(text string) bool {
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return true
			}
		}
		return false
	})
}
