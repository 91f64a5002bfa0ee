package proxy

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/carry"
	"holdpoint/internal/event/door"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// A refusing is a backend that asks in its first run. It responds to the first requests with
// answers as does says, and accepts later ones.
type refusing struct {
	does  func(req *http.Request) (*http.Response, error)
	heals int // number of answers to which it responds with does

	mu    sync.Mutex
	tries int // number of attempts to send it an answer
	took  int // number of answers that it carried out
	other int // number of runs without answers
}

func (b *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	events := []string{started, finished}
	switch {
	case strings.Contains(string(body), `"answers"`):
		if b.tries++; b.tries <= b.heals {
			return b.does(req)
		}
		b.took++
	case b.other == 0:
		events[1] = asks
		fallthrough
	default:
		b.other++
	}
	return statusOf(req, http.StatusOK, streamOf(events...)), nil
}

func statusOf(req *http.Request, status int, body string) *http.Response {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: req, ProtoMajor: 1, ProtoMinor: 1}
}

// TestBackendThatDoesNotTakeIt: Holdpoint's own request with a decision fails at the backend. If
// the backend did nothing, the decision must stay, Holdpoint must limit the number of its attempts,
// and the chat's next request must send the decision. If the backend may have acted, nothing may be
// sent again, and the chat must be told this once.
func TestBackendThatDoesNotTakeIt(t *testing.T) {
	status := func(code int) func(req *http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) { return statusOf(req, code, ""), nil }
	}
	refusal := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errUnreachable}
	}
	const all = 6
	for name, c := range map[string]struct {
		does  func(req *http.Request) (*http.Response, error)
		heals int
		tries int // attempts by Holdpoint itself within an hour
		state store.State
		chat  string // events that the chat's next request must get
		took  int    // how often the answer must then have been carried out
	}{
		"401":                      {status(401), all, all, store.Open, "RUN_STARTED RUN_FINISHED", 1},
		"403":                      {status(403), all, all, store.Open, "RUN_STARTED RUN_FINISHED", 1},
		"404":                      {status(404), all, all, store.Open, "RUN_STARTED RUN_FINISHED", 1},
		"429":                      {status(429), all, all, store.Open, "RUN_STARTED RUN_FINISHED", 1},
		"no connection":            {refusal, all, all, store.Open, "RUN_STARTED RUN_FINISHED", 1},
		"401, and then it does":    {status(401), 2, 3, store.None, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED", 1},
		"away, and then it is not": {refusal, 5, all, store.None, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED", 1},
		"500":                      {status(500), 1, 1, store.None, inDoubt, 0},
		"502":                      {status(502), 1, 1, store.None, inDoubt, 0},
		"503":                      {status(503), 1, 1, store.None, inDoubt, 0},
		"it breaks off": {func(req *http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		}, 1, 1, store.None, inDoubt, 0},
		"no end": {func(req *http.Request) (*http.Response, error) {
			return statusOf(req, 200, streamOf(started)), nil
		}, 1, 1, store.None, inDoubt, 0},
		"no word at all": {func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, 1, 1, store.None, inDoubt, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &refusing{does: c.does, heals: c.heals}
				kept := storetest.Sealed(t, memory.New(memory.Options{Entries: 10, ReplayTTL: 24 * time.Hour, PauseRetention: 240 * time.Hour}))
				up, _ := url.Parse("http://backend/agent")
				h, err := New(Options{
					Upstream: up, Dialect: &fakeDialect{}, Store: kept, Client: ClientOutcome, Transport: b, NewID: func() string { return "x" },
					IdleTimeout: 5 * time.Minute, OtherDoors: &OtherDoors{KeepsInput: true},
				})
				if err != nil {
					t.Fatal(err)
				}
				key := recordKey("/", "t")
				postTo(t.Context(), h, input("t", "r1", ""))
				rec, err := kept.Load(t.Context(), key, "")
				if err != nil {
					t.Fatal(err)
				}
				word := door.Decision{Question: rec.Pause.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte("true")}
				if _, err := h.Decide(t.Context(), key, rec.Pause.ID, maria, []door.Decision{word}); err != nil {
					t.Fatal(err)
				}

				ctx, cancel := context.WithCancel(t.Context())
				carrier := carry.New(carry.Options{Store: kept, Agents: map[string]carry.Agent{"": h}, Log: slog.New(slog.DiscardHandler)})
				var done sync.WaitGroup
				done.Go(func() { carrier.Run(ctx) })
				time.Sleep(55 * time.Minute)
				cancel()
				done.Wait()
				if b.tries != c.tries {
					t.Errorf("%d tries, want %d", b.tries, c.tries)
				}
				if rec, err = kept.Load(t.Context(), key, ""); err != nil || c.state == store.Open && (rec.State != store.Open || !rec.Pause.Decided()) {
					t.Errorf("%v, the record is %q", err, rec.State)
				}
				wantTypes(t, postTo(t.Context(), h, input("t", "r2", "")), c.chat)
				if b.took != c.took {
					t.Errorf("it was done %d times, want %d", b.took, c.took)
				}
				// Holdpoint reports a doubt only once, but it repeats a result to every request.
				// Nothing may be sent again.
				before, again := b.other, c.took == 1 && c.state == store.None
				got := postTo(t.Context(), h, input("t", "r3", ""))
				if again {
					wantTypes(t, got, c.chat)
				} else {
					wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
				}
				if b.took != c.took || again == (b.other != before) {
					t.Errorf("done %d times, want %d; %d runs, and %d before", b.took, c.took, b.other, before)
				}
			})
		})
	}
}
