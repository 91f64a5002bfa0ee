//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// A talker is a backend. In a thread whose id begins with "ask" it asks a question, and acts on
// each answer. In any other thread it streams many words.
type talker struct {
	mu  sync.Mutex
	did map[string]int // how many answers each thread got
}

// said is the number of words that a talker streams in one run.
const said = 300

func newTalker(t *testing.T) (*talker, *httptest.Server) {
	b := &talker{did: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server
}

func (b *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	thread := field(body, "threadId")
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":\"r\"}\n\n", thread)
	outcome := ""
	switch {
	case strings.Contains(string(body), `"resume":[`):
		b.mu.Lock()
		b.did[thread]++
		b.mu.Unlock()
	case strings.HasPrefix(thread, "ask"):
		outcome = `,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]}`
	default:
		io.WriteString(w, "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"role\":\"assistant\"}\n\n")
		for n := range said {
			fmt.Fprintf(w, "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"word %d \"}\n\n", n)
			if n%50 == 0 {
				http.NewResponseController(w).Flush()
			}
		}
		io.WriteString(w, "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n\n")
	}
	fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":\"r\"%s}\n\n", thread, outcome)
}

// approves returns the resume member of a request that approves the question in the stream, or ""
// if the stream has no question.
func approves(stream string) string {
	id := askedID.FindStringSubmatch(stream)
	if id == nil {
		return ""
	}
	return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, id[1])
}

// audited returns the events in the audit files: for each thread, the kinds of its events in order.
func audited(t *testing.T, files ...string) map[string][]string {
	t.Helper()
	events := map[string][]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			thread := gjson.Get(line, "thread").Str
			events[thread] = append(events[thread], gjson.Get(line, "event").Str)
		}
	}
	return events
}

// TestHangupUnderLoad: HUP arrives many times while runs begin and end. Before each HUP, the
// headers file becomes valid or invalid in turn, and the audit file is moved away. Every stream
// must be complete. Every event must be one line of the audit, and all lines must be one chain.
func TestHangupUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, hangups, each = 8, 20, 4
	b, backend := newTalker(t)
	dir := t.TempDir()
	headers, audit := filepath.Join(dir, "headers"), filepath.Join(dir, "audit.jsonl")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(headers, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("X-Key: 0")
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_UPSTREAM_HEADERS_FILE="+headers,
		"HOLDPOINT_STORE=bolt://"+filepath.Join(dir, "state.db"), "HOLDPOINT_AUDIT=file://"+audit, "HOLDPOINT_DRAIN_DELAY=0")
	var all sync.WaitGroup
	var over atomic.Bool
	asked, progress := make([]int, clients), make(chan struct{}, 10_000)
	for n := range clients {
		all.Go(func() {
			client := clientOf(addr)
			for ; !over.Load(); asked[n]++ {
				text, err := play(client, fmt.Sprint("talk", n), "")
				if err != nil || strings.Count(text, "TEXT_MESSAGE_CONTENT") != said || !strings.Contains(text, "RUN_FINISHED") {
					t.Errorf("a stream is not whole (%v):\n%s", err, text)
				}
				thread := fmt.Sprintf("ask%d-%d", n, asked[n])
				text, err = play(client, thread, "")
				if err == nil && approves(text) != "" {
					text, err = play(client, thread, approves(text))
				}
				if err != nil || !strings.Contains(text, "RUN_FINISHED") || strings.Contains(text, "interrupts") {
					t.Errorf("%s: its answer did not end it (%v):\n%s", thread, err, text)
				}
				progress <- struct{}{}
			}
		})
	}
	var files []string
	for n := range hangups {
		for range each {
			waitFor(t, progress)
		}
		put(map[bool]string{true: fmt.Sprint("X-Key: ", n), false: "no header"}[n%2 == 0])
		files = append(files, fmt.Sprint(audit, ".", n))
		if err := os.Rename(audit, files[n]); err != nil {
			t.Fatal(err)
		}
		p.Process.Signal(syscall.SIGHUP)
		if line := p.wait(t, "reloaded"); line["failed"] != float64(n%2) {
			t.Errorf("%v", line)
		}
	}
	over.Store(true)
	logged := make(chan int, 1)
	go func() { logged <- p.exit() }() // it reads the log, so that the process can continue to write it
	all.Wait()
	p.Process.Signal(syscall.SIGTERM)
	if code := <-logged; code != 0 {
		t.Errorf("exit %d", code)
	}
	files = append(files, audit)
	if stdout, stderr, code := holdpoint(t, nil, append([]string{"audit", "verify"}, files...)...); code != 0 || !strings.Contains(stdout, "whole") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	events, total := audited(t, files...), 0
	for n, count := range asked {
		for k := range count {
			thread := fmt.Sprintf("ask%d-%d", n, k)
			if want := []string{"interrupt.raised", "resume.claimed", "interrupt.resolved"}; !slices.Equal(events[thread], want) || b.did[thread] != 1 {
				t.Errorf("%s has the lines %q, want %q; its action ran %d times", thread, events[thread], want, b.did[thread])
			}
			delete(events, thread)
		}
		total += count
	}
	if delete(events, ""); len(events) > 0 { // the event chain.begun has no thread
		t.Errorf("lines of nobody: %v", events)
	}
	if total < hangups*each {
		t.Errorf("%d questions during %d hangups", total, hangups)
	}
}

// TestKillsLoseNothing: people ask and answer while Holdpoint is killed several times. The receiver
// of the webhook is away at first, and later fails at times. Each question that reached a client
// must have its line in the audit and its event at the receiver. The same holds for each answer, if
// the end of its run reached the client. No answer may reach the backend twice, or without its line
// in the audit. The chain of the audit must be valid.
func TestKillsLoseNothing(t *testing.T) {
	t.Parallel() // notices of a thread are not sent for some seconds after their sender was killed
	const clients = 6
	kills, each := 4, 20
	if testing.Short() {
		kills, each = 2, 10
	}
	b, backend := newTalker(t)
	r := newReceiver(t)
	r.down.Store(true)
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit.jsonl")
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_LISTEN=" + socket(t), "HOLDPOINT_LOG_LEVEL=error",
		"HOLDPOINT_STORE=bolt://" + filepath.Join(dir, "state.db"), "HOLDPOINT_AUDIT=file://" + audit, "HOLDPOINT_DRAIN_DELAY=0",
		"HOLDPOINT_WEBHOOK_URL=" + r.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_WEBHOOK_SECRET=" + hookSecret,
	}
	addr := strings.TrimPrefix(environ[2], "HOLDPOINT_LISTEN=")
	p := startAs(t, environ...)
	var mu sync.Mutex
	told, ended := map[string]bool{}, map[string]bool{}
	progress := make(chan struct{}, 10_000)
	var all sync.WaitGroup
	var over atomic.Bool
	for n := range clients {
		all.Go(func() {
			client := clientOf(addr)
			for k := 0; !over.Load(); k++ {
				thread := fmt.Sprintf("ask%d-%d", n, k)
				text, err := play(client, thread, "")
				yes := approves(text)
				if err != nil || yes == "" { // the process was killed, or has not started yet
					time.Sleep(5 * time.Millisecond)
					continue
				}
				mu.Lock()
				told[thread] = true
				mu.Unlock()
				progress <- struct{}{}
				text, err = play(client, thread, yes)
				if err == nil && strings.Contains(text, "RUN_FINISHED") && !strings.Contains(text, "interrupts") {
					mu.Lock()
					ended[thread] = true
					mu.Unlock()
				}
			}
		})
	}
	for n := range kills {
		for range each {
			waitFor(t, progress)
		}
		p.Process.Kill()
		p.Wait()
		if n == kills/2 {
			r.down.Store(false)
		}
		p = startAs(t, environ...)
	}
	for range each {
		waitFor(t, progress)
	}
	over.Store(true)
	all.Wait()

	missing := func() (list []string) {
		r.mu.Lock()
		got := map[string]int{}
		for _, event := range r.events {
			got[event]++
		}
		r.mu.Unlock()
		for kind, threads := range map[string]map[string]bool{"interrupt.raised": told, "interrupt.resolved": ended} {
			for thread := range threads {
				if n := got[kind+" "+thread]; n != 1 { // events with different ids
					list = append(list, fmt.Sprint(kind, " ", thread, ": ", n))
				}
			}
		}
		return list
	}
	for deadline := time.Now().Add(time.Minute); len(missing()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("events that the receiver has not got once: %q", missing())
			break
		}
	}
	if r.wrong != nil {
		t.Error(r.wrong)
	}
	p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if stdout, stderr, code := holdpoint(t, nil, "audit", "verify", audit); code != 0 {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	events := audited(t, audit)
	for thread := range told {
		if !slices.Contains(events[thread], "interrupt.raised") {
			t.Errorf("somebody was told of %s, and its lines are %q", thread, events[thread])
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for thread, times := range b.did {
		if times != 1 || !slices.Contains(events[thread], "resume.claimed") {
			t.Errorf("the answer of %s got to the backend %d times, and its lines are %q", thread, times, events[thread])
		}
	}
	for thread := range ended {
		if !slices.Contains(events[thread], "interrupt.resolved") {
			t.Errorf("the answer of %s was told its end, and its lines are %q", thread, events[thread])
		}
	}
}
