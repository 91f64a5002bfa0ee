package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/store"
	"holdpoint/store/storetest"
)

// newOutageRig returns a rig and its store, which a test can make unavailable. During the outage,
// Holdpoint sends runs without answers to the backend. The backend asks in the first run.
func newOutageRig(t *testing.T) (g *rig, down *downStore) {
	t.Helper()
	down = &downStore{}
	g = newRig(t, asksOnce, func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, OutagePass })
	return g, down
}

// TestRunsWithoutAnswersPassAnOutage: the store is away, and the operator allows runs during an
// outage. Holdpoint must send runs without answers to the backend, and must not send runs with
// answers.
func TestRunsWithoutAnswersPassAnOutage(t *testing.T) {
	g, down := newOutageRig(t)
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	down.load = true
	calls := g.called()
	for name, more := range map[string]string{
		"an approval":                        resumeWith(yes("n1~id1")),
		"a cancel":                           resumeWith(no("n1~id1")),
		"an id that nobody knows":            resumeWith(yes("n1~nobody")),
		"a resume that is no array":          `,"resume":{"a":1}`,
		"an answer in the backend's own key": `,"forwardedProps":{"command":{"resume":true}}`,
	} {
		_, got := g.answer(input("t", "r", more))
		if !strings.Contains(got, "STORE_UNAVAILABLE") || g.called() != calls {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, messages := range map[string]string{
		"an approval in the last message": oldUser + "," + askCall + "," + askYes,
		"an approval in one message":      oldUser + "," + inOne,
	} {
		_, got := g.answer(strings.Replace(input("t", "r", ""), oldUser, messages, 1))
		if !strings.Contains(got, "STORE_UNAVAILABLE") || g.called() != calls {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, more := range map[string]string{"an ordinary run": "", "an array that answers nothing": `,"resume":[]`} {
		if got := g.do(input("t", "r2", more)); strings.Contains(got, "RUN_ERROR") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if g.called() != calls+2 {
		t.Errorf("%d runs have passed", g.called()-calls)
	}
	// If a client wrote an approval into the history, it does not count as an answer, whether or
	// not the store is away.
	g.do(strings.Replace(input("t", "r3", ""), oldUser, oldUser+","+askCall+","+askYes+","+askWords, 1))
	if last := string(g.calls[len(g.calls)-1]); g.called() != calls+3 || strings.Contains(last, "request_approval") {
		t.Errorf("the backend got %s", last)
	}
	down.load = false
	wantTypes(t, g.do(input("t", "r4", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestRunThatPausesInAnOutage: a run asks a question, but the store cannot save it. The client must
// not get the question.
func TestRunThatPausesInAnOutage(t *testing.T) {
	g, down := newOutageRig(t)
	down.load, down.open = true, true
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
	down.load, down.open = false, false
	wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestOutageIsLoggedAtItsBeginningAndItsEnd: the log must have one line at the beginning of an
// outage and one line at its end. The runs between must cause no further lines.
func TestOutageIsLoggedAtItsBeginningAndItsEnd(t *testing.T) {
	for _, way := range []Outage{OutageRefuse, OutagePass, ""} {
		down := &downStore{}
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) },
			func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, way })
		for range 2 {
			down.load = true
			for range 5 {
				got := g.do(input("t", "r", ""))
				if refused := strings.Contains(got, "STORE_UNAVAILABLE"); refused != (way != OutagePass) {
					t.Errorf("%q: %s", way, got)
				}
			}
			down.load = false
			g.do(input("t", "r", ""))
			g.do(input("t", "r", ""))
		}
		log := warnings(g.logs.String())
		if strings.Count(log, "the store cannot be asked: ") != 2 || strings.Count(log, "the store can be asked again") != 2 ||
			strings.Count(log, "asked_in_vain=5") != 2 || strings.Count(log, "\n") != 4 {
			t.Errorf("%q: the log says\n%s", way, log)
		}
	}
}

// warnings returns the lines of a log that are warnings or errors.
func warnings(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestFinishKeepsAQuestionThatNobodyWaitedFor: a client leaves during an ordinary run, and then the
// run asks a question. If OnDisconnect is "finish", the client must get this question with its next
// request. Otherwise Holdpoint must end the run when the client leaves.
func TestFinishKeepsAQuestionThatNobodyWaitedFor(t *testing.T) {
	for _, way := range []OnDisconnect{DisconnectFinish, DisconnectCancel, ""} {
		left, goOn, cut := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
		g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n > 1 {
				sendStream(w, streamOf(started, finished))
				return
			}
			sendStream(w, streamOf(started, hello))
			w.(http.Flusher).Flush()
			<-left
			select {
			case <-r.Context().Done():
				cut <- true
			case <-goOn:
				cut <- false
				io.WriteString(w, streamOf(asks))
			}
		}, func(o *Options) { o.OnDisconnect = way })
		ctx, leave := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.front.URL+"/", strings.NewReader(input("t", "r1", "")))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		res.Body.Close()
		close(left)
		if way != DisconnectFinish {
			if !<-cut {
				t.Errorf("%q: read on", way)
			}
			continue
		}
		until(t, "nobody noticed that the client has left", func() bool { return g.h.runs.busyAlone(recordKey("/", "t")) })
		wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED RUN_ERROR:THREAD_BUSY")
		wantTypes(t, g.do(input("other", "r3", "")), "RUN_STARTED RUN_FINISHED")
		close(goOn)
		<-cut
		until(t, "the run does not end", func() bool { return !g.h.runs.busyAlone(recordKey("/", "t")) })
		got := g.do(input("t", "r4", ""))
		wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
		if !strings.Contains(got, "hello") {
			t.Errorf("what the client has missed is not told: %s", got)
		}
		wantTypes(t, g.do(input("t", "r5", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED")
	}
}

// TestRecordThatCannotBeReadIsNoOutage: Holdpoint reaches the store, but cannot read the record. It
// must refuse the run even if the operator allows runs during an outage, because the thread may
// have an open question.
func TestRecordThatCannotBeReadIsNoOutage(t *testing.T) {
	g := newRig(t, asksOnce, func(o *Options) {
		o.StoreOutage = OutagePass
		o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
			if step == "Load" {
				return fmt.Errorf("%w: sealed with another key", store.ErrUnread)
			}
			return do()
		}}
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
	log := warnings(g.logs.String())
	if g.called() != 0 || strings.Count(log, "\n") != 1 || !strings.Contains(log, "sealed with another key") {
		t.Errorf("%d calls; the log says %s", g.called(), log)
	}
}

// TestStoreGoesAwayInAnOrdinaryRun: the store fails during a run that asks no question. The run
// must end as usual.
func TestStoreGoesAwayInAnOrdinaryRun(t *testing.T) {
	for _, way := range []OnDisconnect{DisconnectFinish, DisconnectCancel} {
		down := &downStore{}
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			down.load, down.open, down.finish = true, true, true
			sendStream(w, streamOf(started, hello, finished))
		}, func(o *Options) { down.Store, o.Store, o.OnDisconnect = o.Store, down, way })
		wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	}
}
