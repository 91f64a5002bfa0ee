//go:build kube && linux

package kube

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A run is a run of AG-UI as its client sees it: the thread and the events that the client
// received.
type run struct {
	thread     string
	events     []event
	cut        string // why the stream was cut off, or ""
	began, end time.Time
	done       chan struct{}
	mu         sync.Mutex // protects events while they arrive
}

type event struct {
	Type, Delta, Code, Message string
	Outcome                    struct{ Interrupts []struct{ ID string } }
}

// clients is the HTTP client of all runs. It uses a new connection for each run.
var clients = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, DisableCompression: true,
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // some scenes have a certificate of their own

// say starts a run with a user message.
func say(url, thread, text string) *run {
	return send(url, thread, map[string]any{"messages": []any{map[string]any{"id": "m1", "role": "user", "content": text}}}, 3*time.Minute)
}

// reply sends an answer that approves the question with the id, and returns the run that the answer
// starts.
func reply(url, thread, id string) *run {
	return send(url, thread, map[string]any{"messages": []any{}, "resume": []any{
		map[string]any{"interruptId": id, "status": "resolved", "payload": map[string]any{"approved": true}},
	}}, 3*time.Minute)
}

// count is the number of runs that were sent. Each run gets the next number as part of its run id.
var count atomic.Int64

func send(url, thread string, body map[string]any, limit time.Duration) *run {
	r := &run{thread: thread, began: time.Now(), done: make(chan struct{})}
	for k, v := range map[string]any{"protocolVersion": "1.0", "threadId": thread, "runId": fmt.Sprintf("run-%d", count.Add(1)), "tools": []any{}, "context": []any{}, "state": map[string]any{}, "forwardedProps": map[string]any{}} {
		body[k] = v
	}
	b, _ := json.Marshal(body)
	go func() {
		defer close(r.done)
		r.cut = r.talk(url, b, limit)
		r.end = time.Now()
	}()
	return r
}

// talk sends the run and keeps the events of its stream. It returns why the stream was cut off, or
// "" if the stream has a proper end.
func (r *run) talk(url string, body []byte, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := clients.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Sprintf("HTTP %d %s", resp.StatusCode, text)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return err.Error()
		}
		if len(e.Delta) > 1000 {
			e.Delta = ""
		}
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
	}
	if err := lines.Err(); err != nil {
		return err.Error()
	}
	if last := r.last().Type; last != "RUN_FINISHED" && last != "RUN_ERROR" {
		return "the stream ended after " + last
	}
	return ""
}

// wait waits for the end of the run.
func (r *run) wait() *run {
	<-r.done
	return r
}

func (r *run) last() event {
	if len(r.events) == 0 {
		return event{}
	}
	return r.events[len(r.events)-1]
}

// result waits for the end of the run. It returns "" if the run finished, else the code of its
// RUN_ERROR, or "cut: " and why the stream was cut off.
func (r *run) result() string {
	<-r.done
	switch {
	case r.cut != "":
		return "cut: " + r.cut
	case r.last().Type == "RUN_ERROR":
		return r.last().Code
	}
	return ""
}

// text returns the text that the agent sent in the run.
func (r *run) text() string {
	var b strings.Builder
	for _, e := range r.events {
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			b.WriteString(e.Delta)
		}
	}
	return b.String()
}

// question sends a message that makes the agent ask a question, and returns the question's id.
func question(t *testing.T, url, thread, text string) string {
	t.Helper()
	r := say(url, thread, text).wait()
	if r.result() != "" || len(r.last().Outcome.Interrupts) == 0 {
		t.Fatalf("no question in %s: %s %s %s", thread, r.result(), r.last().Type, r.last().Message)
	}
	return r.last().Outcome.Interrupts[0].ID
}

// yes approves the question, and checks that the agent says that it has done the action.
func yes(t *testing.T, url, thread, id string) {
	t.Helper()
	r := reply(url, thread, id).wait()
	if r.result() != "" || !strings.Contains(r.text(), "Did ") {
		t.Errorf("the answer in %s: %s %s, %q", thread, r.result(), r.last().Message, r.text())
	}
}
