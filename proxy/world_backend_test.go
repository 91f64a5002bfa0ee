package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

var modes = []string{"finish", "finish", "ask", "ask two", "error", "cut", "500", "422", "unreachable", "json"}

// backend handles a request as the world's backend.
func (w *world) backend(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	w.mu.Lock()
	mode := w.mode
	if mode == "unreachable" {
		w.mu.Unlock()
		return nil, &net.OpError{Op: "dial", Err: errUnreachable}
	}
	w.called++
	rec := w.record()
	answers := gjson.GetBytes(body, "answers")
	if len(approvalsIn(kit.ReadObject(body))) > 0 {
		w.violates("an approval in the history reached the backend")
	}
	second := gjson.GetBytes(body, "second")
	if second.Exists() {
		w.plainRuns += int(second.Int())
		if rec.State != store.Claimed {
			w.violates("a second request of a resume reached the backend while the thread is %q", rec.State)
		}
	} else if !answers.Exists() {
		w.plainRuns++
		if rec.State != store.None && !elsewhere(string(body)) {
			w.violates("an ordinary run reached the backend while the thread is %s", rec.State)
		}
	}
	if answers.Exists() {
		w.took(answers.Array(), rec)
		// the new message reached the backend with the answers
		w.plainRuns += int(gjson.GetBytes(body, "new").Int())
	}
	alone, own := answers.Exists() && !w.inside && !w.own, answers.Exists() && w.own
	w.mu.Unlock()
	if alone {
		w.whileClaimed()
	}
	if own {
		w.whileCarried()
	}
	if alone && w.slow {
		w.takesLong()
	}
	if leave := w.leave; leave != nil && !w.inside {
		w.leave = nil
		leave()
		w.handOver()
		synctest.Wait() // Holdpoint has noticed that the client left
		w.handOver()
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		if !answers.Exists() && !second.Exists() {
			w.whileAlone()
		}
	}
	return w.says(req, mode), nil
}

// says returns the backend's response for the mode.
func (w *world) says(req *http.Request, mode string) *http.Response {
	header, status, out := http.Header{"Content-Type": {"text/event-stream"}}, 200, ""
	expiry := ""
	if w.expires {
		expiry = `,"expiresAt":"` + time.Now().Add(30*time.Minute).Format(time.RFC3339) + `"`
	}
	ask := func(id string) string { return `{"id":"` + id + `","reason":"confirmation"` + expiry + `}` }
	finish := `{"type":"RUN_FINISHED","threadId":"t","runId":"x"`
	switch mode {
	case "finish":
		out = streamOf(started, finish+"}")
	case "ask":
		out = streamOf(started, finish+`,"outcome":{"type":"interrupt","interrupts":[`+ask("n1")+`]}}`)
	case "ask two":
		out = streamOf(started, finish+`,"outcome":{"type":"interrupt","interrupts":[`+ask("n1")+`,`+ask("n1")+`]}}`)
	case "error":
		out = streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`)
	case "cut":
		out = streamOf(started)
	case "json":
		header, out = http.Header{"Content-Type": {"application/json"}}, "{}"
	default:
		fmt.Sscan(mode, &status)
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(out)), Request: req, ProtoMajor: 1, ProtoMinor: 1}
}

// took checks the answers that have reached the backend. Together they must answer all questions of
// the claimed pause, and each answer must be the one that the client or the desk gave.
func (w *world) took(answers []gjson.Result, rec store.Record) {
	if rec.State != store.Claimed || rec.Pause == nil || len(answers) != len(rec.Pause.Interrupts) {
		w.violates("answers reached the backend that are not a whole claimed pause")
		return
	}
	for _, a := range answers {
		id := a.Get("id").Str
		if !w.tally.knowsClaim(id) {
			w.violates("an answer reached the backend before its claim was told: %s", id)
		}
		if rec.Pause.Interrupt(id) == nil {
			w.violates("an answer reached a question that it was not for: %s", id)
		}
		if d := rec.Pause.Decision(id); d != nil && string(d.Status) != a.Get("status").Str {
			w.violates("%s was decided, and something else reached the backend", id)
		}
		if a.Get("status").Str == "resolved" && !w.approved[id] {
			w.violates("approved what nobody approved: %s", id)
		}
		if w.mode != "422" { // with 422, the backend says that it did nothing
			w.delivered[id]++
		}
		if w.delivered[id] > 1 {
			w.violates("answers were delivered twice: %s", id)
		}
	}
	w.noteCarried(rec)
	if w.sticky && w.mode != "422" {
		w.carryOut(answers[0].Get("status").Str)
	}
}

// carryOut acts as a backend that keeps the first answer to a question until a run with that answer
// succeeds.
func (w *world) carryOut(answer string) {
	if w.kept != "" && w.kept != answer {
		w.violates("the backend carried out %s, and the answer was %s", w.kept, answer)
	}
	w.kept = answer
	if w.mode == "finish" || w.mode == "ask" {
		w.kept = ""
	}
}

// takesLong lets the backend take longer than a lease that is not renewed. After the lease, it
// sends the other replica two ordinary runs. If the answers are in doubt, one of these runs must
// report it.
func (w *world) takesLong() {
	mode, last, pending, at, plan := w.mode, w.last, w.pending, w.at, w.plan
	w.sleep(LeaseTime + time.Second)
	if rec := w.record(); rec.State == store.Claimed && rec.Pause.Decided() {
		return // the requests would wait for this one
	}
	w.inside, w.at, w.plan = true, 1-at, nil
	for range 2 {
		w.send(w.body("", true), "finish")
	}
	w.inside, w.mode, w.last, w.pending, w.at, w.plan = false, mode, last, pending, at, plan
	w.sleep(LeaseTime)
}

// whileAlone sends a request to the other replica while a run continues without its client. The
// request must get THREAD_BUSY and not reach the backend.
func (w *world) whileAlone() {
	mode, called, at := w.mode, w.called, w.at
	w.inside, w.at = true, 1-at
	last, pending, plan := w.last, w.pending, w.plan
	w.plan = nil
	if got := w.send(w.body("", true), "finish"); plan == nil && !strings.Contains(got, string(agui.ThreadBusy)) {
		w.violates("a run beside one that goes on without its client got %s", got)
	}
	if plan == nil && w.called != called {
		w.violates("a run reached the backend beside one that goes on without its client")
	}
	w.inside, w.mode, w.last, w.pending, w.at, w.plan = false, mode, last, pending, at, plan
}

// whileClaimed sends requests while a resume is at the backend. These requests must not reach the
// backend. A request with the same answers at the other replica must wait for the end of the
// resume.
func (w *world) whileClaimed() {
	mode, last, pending, called, at, plan := w.mode, w.last, w.pending, w.called, w.at, w.plan
	w.inside, w.plan = true, nil
	other := w.replicas[1-at]
	again := func() {
		got, status := w.post(context.Background(), other, last)
		if status != http.StatusOK {
			w.violates("the same answers again got status %d: %s", status, got)
			return
		}
		w.checkStream(got)
		w.checkSuccess(last, got)
		if !strings.Contains(got, `"type":"RUN_FINISHED"`) {
			w.violates("the client of the same answers again keeps its list: %s", got)
		}
	}
	if answering(last) {
		w.second.Go(again)
	}
	w.handOver()
	synctest.Wait() // the same answers now wait for the end of this run
	w.handOver()
	bodies := []string{w.body(resumeWith(no("n1~nobody")), false)}
	now := w.record()
	if now.Pause == nil || !now.Pause.Decided() { // otherwise they would wait for this run
		bodies = append(bodies, w.body("", false), w.body("", true))
	}
	// a request to the thread of the question must be refused too, because that thread is busy
	if thread := w.thread; thread != "" && (now.Pause == nil || !now.Pause.Decided()) {
		w.thread = ""
		bodies = append(bodies, w.body("", false), w.body("", true))
		w.thread = thread
	}
	for n, body := range bodies {
		w.at = (at + n) % 2
		w.send(body, "finish")
	}
	if w.called != called {
		w.violates("a request reached the backend while a resume was there")
	}
	w.inside, w.mode, w.last, w.pending, w.at, w.plan = false, mode, last, pending, at, plan
}
