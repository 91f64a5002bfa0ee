package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/principal"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// A town is a Holdpoint with several users, and a backend that knows the owner of each thread.
type town struct {
	h      *Handler
	store  store.Store
	now    time.Time
	ids    int
	mode   string
	keys   []string            // the keys of the ring, newest first
	owners map[string]string   // maps each thread to the user who first named it
	ours   map[string][]string // maps each thread to the ids of the questions that it asked

	asker, wrong string
	called       int
}

func (w *town) restart(t *rapid.T) {
	peers, _ := principal.ParsePeers("192.0.2.1")
	ring, err := principal.ParseRing(strings.Join(w.keys, ";"))
	if err != nil {
		t.Fatal(err)
	}
	up, _ := url.Parse("http://backend/agent")
	w.h, err = New(Options{
		Upstream: up, Dialect: &fakeDialect{begin: takesNew}, Store: w.store, Client: ClientOutcome, Transport: w,
		Now: func() time.Time { return w.now }, NewID: func() string { w.ids++; return fmt.Sprint("id", w.ids) },
		Gate: principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", Keys: ring}),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// RoundTrip plays the backend. It checks that the user of each request owns the thread.
func (w *town) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	w.called++
	thread := bodyOf(req.Context()).judge.in.ThreadID
	if who := req.Header.Get("X-User"); who != w.asker || w.owners[thread] != who {
		w.wrong = fmt.Sprintf("%q called the backend on a thread of %q: %s", who, w.owners[thread], body)
	}
	end := `{"type":"RUN_FINISHED","threadId":"t","runId":"x"`
	switch w.mode {
	case "unreachable":
		return nil, &net.OpError{Op: "dial", Err: io.EOF}
	case "ask":
		end += `,"outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation"}]}`
	case "error":
		end = `{"type":"RUN_ERROR","message":"kaput"`
	case "cut":
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(streamOf(started))), Request: req}, nil
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(streamOf(started, hello, end+"}"))), Request: req}, nil
}

// TestOnlyTheOwnerReachesTheBackend drives random sequences of requests, restarts, key changes and
// passing hours. Only the owner of a thread may reach the backend on this thread. A stranger must
// learn nothing about the thread.
func TestOnlyTheOwnerReachesTheBackend(t *testing.T) {
	people, threads := []string{"alice", "bob", "eve"}, []string{"t", "u"}
	rapid.Check(t, func(t *rapid.T) {
		w := &town{now: testNow, keys: []string{ringOld}, owners: map[string]string{}, ours: map[string][]string{}}
		w.store = storetest.Sealed(t, memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: func() time.Time { return w.now }}))
		w.restart(t)
		t.Repeat(map[string]func(*rapid.T){
			"run": func(t *rapid.T) {
				who, thread := rapid.SampledFrom(people).Draw(t, "who"), rapid.SampledFrom(threads).Draw(t, "thread")
				w.mode = rapid.SampledFrom([]string{"ask", "ask", "finish", "error", "cut", "unreachable"}).Draw(t, "backend")
				var all []string
				for _, one := range threads {
					all = append(all, w.ours[one]...)
				}
				id := rapid.SampledFrom(append(all, "n1~nobody")).Draw(t, "id")
				messages := rapid.SampledFrom([]string{"", oldUser, newUser, oldUser + "," + fmt.Sprintf(`{"id":"u%d","role":"user","content":"x"}`, w.called+10)}).Draw(t, "messages")
				more := rapid.SampledFrom([]string{"", "", resumeWith(yes(id)), resumeWith(yes(id)), resumeWith(no(id)), `,"resume":[]`, resumeWith(yes(id), yes("n2~nobody"))}).Draw(t, "answers")
				if w.owners[thread] == "" {
					w.owners[thread] = who
				}
				stranger := w.owners[thread] != who
				before := w.called
				w.asker = who
				req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[%s]%s}`, thread, messages, more)))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-User", who)
				res := httptest.NewRecorder()
				w.h.ServeHTTP(res, req)
				got := res.Body.String()
				switch {
				case w.wrong != "":
					t.Fatal(w.wrong)
				case stranger && (w.called != before || !strings.Contains(got, "RUN_ERROR") || strings.Contains(got, "interrupts") || strings.Contains(got, "hello")):
					t.Fatalf("a stranger got\n%s", got)
				case !stranger && strings.Contains(got, "THREAD_FORBIDDEN"):
					t.Fatalf("the owner got\n%s", got)
				}
				for block := range strings.SplitSeq(got, "\n\n") {
					data, _ := strings.CutPrefix(block, "data: ")
					if id := gjson.Get(data, "outcome.interrupts.0.id").Str; id != "" {
						w.ours[thread] = append(w.ours[thread], id)
					}
				}
			},
			"new key": func(t *rapid.T) {
				if len(w.keys) == 3 {
					t.Skip("enough")
				}
				w.keys = append([]string{strings.Repeat(fmt.Sprint(len(w.keys)+1), 32)}, w.keys...)
				w.restart(t)
			},
			"restart": w.restart,
			"time goes": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			},
		})
	})
}
