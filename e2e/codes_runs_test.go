//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"holdpoint/proxy"
)

var codeRuns = []codeRun{
	{code: "PENDING_INTERRUPTS", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go", 1)
		return c, c.run(t, step{say: "plain and early", empty: true})
	}},
	{code: "PARTIAL_RESUME", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go both", 2)
		return c, c.run(t, step{resume: c.answers(accept)[:1], empty: true})
	}},
	{code: "UNKNOWN_INTERRUPT_ID", name: "made up", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go", 1)
		return c, c.run(t, step{resume: []entry{accept("nobody~knowsthisid")}, empty: true})
	}},
	{code: "UNKNOWN_INTERRUPT_ID", name: "after a restart", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, nil)
		c := d.asked(t, version, "go", 1)
		d.h.kill()
		restart(t, d.h, d.up, nil)
		return c, c.run(t, step{resume: c.answers(accept)})
	}},
	{code: "RESUME_CONFLICT", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go", 1)
		stale := c.another(t)
		late := c.answers(reject)
		c.finish(t, step{resume: c.answers(accept)})
		return stale, stale.run(t, step{resume: late})
	}},
	{code: "RESUME_IN_PROGRESS", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, nil)
		c := d.asked(t, version, "go", 1)
		d.Spoil(func(w http.ResponseWriter, _ *http.Request, stream []byte) {
			d.Wait(c.thread)
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write(stream)
		})
		early := c.another(t)
		done := c.start(t, step{resume: c.answers(accept)})
		<-d.Arrived(c.thread)
		r := early.run(t, step{say: "plain and impatient"})
		d.Open(c.thread)
		if end := <-done; toldCode(end) != "" {
			t.Errorf("the resume itself: %s", strings.Join(summary(end), "\n"))
		}
		return early, r
	}},
	{code: "RESUME_IN_DOUBT", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, nil)
		d.Spoil(instead(breaksOff))
		c := d.asked(t, version, "go", 1)
		answers := c.answers(accept)
		c.run(t, step{resume: answers})
		d.Spoil(nil)
		return c, c.run(t, step{resume: answers, empty: true})
	}},
	{code: "INVALID_PAYLOAD", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go", 1)
		return c, c.run(t, step{resume: c.answers(func(id string) entry { return resolved(id, "yes") })})
	}},
	{code: "APPROVAL_UNCERTAIN", right: reject, play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go call", 1)
		return c, c.run(t, step{resume: c.answers(accept), patch: map[string]any{"messages": withCallTwice(t, c)}})
	}},
	{code: "APPROVAL_AMBIGUOUS", right: reject, play: func(t *testing.T, version string) (*client, report) {
		b := &backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}
		w := world{b: b, h: ownHoldpoint(t, b.url(), nil), version: version}
		c := w.paused(t, "atonce", 1)
		w.h.kill()
		restart(t, w.h, b.url(), nil)
		c = c.another(t)
		if r := c.run(t, step{empty: true}); len(r.Pending) != 1 {
			t.Fatalf("not asked again:\n%s", strings.Join(summary(r), "\n"))
		}
		return c, c.run(t, step{resume: c.answers(accept)})
	}},
	{code: "INTERRUPT_EXPIRED", right: cancelled, locked: pinned, play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, map[string]string{"HOLDPOINT_INTERRUPT_TTL": "1s"}).asked(t, version, "go", 1)
		body, err := json.Marshal(map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "messages": c.messages,
			"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{},
			"resume": c.answers(func(id string) entry { return resolved(id, "yes") })})
		if err != nil {
			t.Fatal(err)
		}
		// Until the question has expired, this answer is refused because its payload does not fit.
		// From then on it is refused because of the expiry.
		if !eventually(func() bool { return toldCode(report{Wire: []wire{c.post(t, body)}}) == "INTERRUPT_EXPIRED" }) {
			t.Fatal("the question did not expire")
		}
		return c, c.run(t, step{resume: c.answers(accept), empty: true})
	}},
	{code: "BACKEND_LOST_INTERRUPT", right: reject, waits: true, play: func(t *testing.T, version string) (*client, report) {
		w := mortal(t, "0.0.43")
		w.version = version
		c := w.paused(t, "approve", 1)
		w.b.server.crash()
		w.b.server.back(t)
		return c, c.run(t, step{resume: c.answers(accept)})
	}},
	{code: "THREAD_BUSY", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, nil)
		late := d.client(t, version)
		first := late.another(t)
		done := late.start(t, step{say: "go slow"})
		<-d.Arrived(late.thread)
		if r := first.run(t, step{say: "go"}); len(r.Pending) != 1 {
			t.Fatalf("no question:\n%s", strings.Join(summary(r), "\n"))
		}
		d.Open(late.thread)
		r := <-done
		first.finish(t, step{resume: first.answers(accept)})
		return late, r
	}},
	{code: "MESSAGES_NOT_TAKEN", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).asked(t, version, "go again", 1)
		return c, c.run(t, step{resume: c.answers(accept), say: "plain and beside it"})
	}},
	{code: "STORE_UNAVAILABLE", waits: true, play: faulty(func(o *proxy.Options, fails *atomic.Bool) {
		o.Store = faultyStore{o.Store, fails}
	})},
	{code: "AUDIT_UNAVAILABLE", waits: true, play: faulty(func(o *proxy.Options, fails *atomic.Bool) {
		o.Events, o.EventsRequired = faultySink{fails}, true
	})},
	{code: "INTERNAL_ERROR", play: faulty(func(o *proxy.Options, fails *atomic.Bool) {
		o.Dialect = faultyDialect{o.Dialect, fails}
	})},
	{code: "STORE_FULL", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, map[string]string{"HOLDPOINT_STORE_ENTRIES": "1"})
		d.asked(t, version, "go", 1)
		c := d.client(t, version)
		return c, c.run(t, step{say: "go"})
	}},
	{code: "PAUSE_TOO_LARGE", play: func(t *testing.T, version string) (*client, report) {
		c := newDesk(t, nil).client(t, version)
		return c, c.run(t, step{say: "go mad"})
	}},
	{code: "UPSTREAM_UNREACHABLE", play: func(t *testing.T, version string) (*client, report) {
		f, d := away(t, nil)
		c := d.asked(t, version, "go", 1)
		f.off(t)
		d.h.forgets(t)
		r := c.run(t, step{resume: c.answers(accept)})
		f.on(t)
		return c, r
	}},
	{code: "UPSTREAM_UNREACHABLE", name: "a plain run", play: func(t *testing.T, version string) (*client, report) {
		f, d := away(t, nil)
		c := d.client(t, version)
		f.off(t)
		d.h.forgets(t)
		r := c.run(t, step{say: "plain and unheard"})
		f.on(t)
		return c, r
	}},
	{code: "UPSTREAM_STATUS", name: "no stream", play: spoiled(instead(answersJSON))},
	{code: "UPSTREAM_STATUS", name: "5xx", play: spoiled(instead(unavailable))},
	{code: "UPSTREAM_STATUS", name: "4xx", play: func(t *testing.T, version string) (*client, report) {
		f, d := away(t, notFound)
		c := d.asked(t, version, "go", 1)
		f.off(t)
		r := c.run(t, step{resume: c.answers(accept)})
		f.on(t)
		return c, r
	}},
	{code: "UPSTREAM_EOF", name: "cut", play: spoiled(instead(breaksOff))},
	{code: "UPSTREAM_EOF", name: "ended early", play: spoiled(instead(endsEarly))},
	{code: "UPSTREAM_EOF", name: "hung up", play: spoiled(instead(hangsUp))},
	{code: "UPSTREAM_EOF", name: "a text and a step are open", play: spoiled(func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		sendStream(w, started+`data: {"type":"STEP_STARTED","stepName":"s"}`+"\n\n"+
			`data: {"type":"TOOL_CALL_START","toolCallId":"open","toolCallName":"x"}`+"\n\n"+
			`data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`+"\n\n")
		panic(http.ErrAbortHandler)
	})},
	{code: "UPSTREAM_IDLE", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, map[string]string{"HOLDPOINT_STREAM_IDLE_TIMEOUT": "1s"})
		c := d.asked(t, version, "go", 1)
		d.Spoil(func(w http.ResponseWriter, _ *http.Request, stream []byte) {
			sendStream(w, started)
			d.Wait(c.thread)
			w.Write(stream[strings.Index(string(stream), "\n\n")+2:])
		})
		same, answers := c.another(t), c.answers(accept)
		r := c.run(t, step{resume: answers})
		d.Open(c.thread)
		same.finish(t, step{resume: answers}) // waits until the run has ended
		return c, r
	}},
	{code: "FRAME_TOO_LARGE", play: spoiled(instead(sendsTooMuch))},
	{code: "UNSUPPORTED_ENCODING", play: spoiled(instead(compresses))},
	{code: "PROXY_DRAINING", play: func(t *testing.T, version string) (*client, report) {
		d := newDesk(t, nil)
		c := d.asked(t, version, "go", 1)
		d.Spoil(func(w http.ResponseWriter, r *http.Request, _ []byte) {
			sendStream(w, started)
			d.Wait(c.thread)
		})
		done := c.start(t, step{resume: c.answers(accept)})
		<-d.Arrived(c.thread)
		if err := syscall.Kill(-d.h.cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r := <-done
		d.Open(c.thread)
		<-d.h.gone
		restart(t, d.h, d.up, nil)
		return c, r
	}},
	{code: "AGENT_FRAMEWORK_TOO_OLD", play: func(t *testing.T, version string) (*client, report) {
		c := agentWorld(shared.tooOld, version).client(t, "approve")
		return c, c.run(t, step{say: "go"})
	}},
	{code: "STRANDS_ERROR", play: tellsStrands("text/event-stream",
		`data: {"error": "the model went away", "error_type": "ModelError", "message": "An error occurred during streaming"}`+"\n\n")},
	{code: "STRANDS_FORCE_STOP", play: tellsStrands("text/event-stream",
		`data: {"force_stop": true, "force_stop_reason": "a hook failed"}`+"\n\n",
		`data: {"error": "a hook failed", "error_type": "RuntimeError", "message": "An error occurred during streaming"}`+"\n\n")},
	{code: "STRANDS_INTERRUPT_LOST", play: tellsStrands("application/json",
		`{"response":{"type":"agentResult","stopReason":"interrupt","lastMessage":{"role":"user","content":[{"text":"del X"}]}}}`)},
	{code: "STRANDS_INTERRUPT_UNREADABLE", play: tellsStrands("text/event-stream",
		`data: {"result": {"stop_reason": "interrupt", "interrupts": []}}`+"\n\n")},
}

// withCallTwice returns the client's messages. In each of them, every tool call appears twice.
func withCallTwice(t *testing.T, c *client) []event {
	t.Helper()
	var messages []event
	b, err := json.Marshal(c.messages)
	if err == nil {
		err = json.Unmarshal(b, &messages)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if calls, ok := m["toolCalls"].([]any); ok {
			m["toolCalls"] = append(calls, calls...)
		}
	}
	return messages
}
