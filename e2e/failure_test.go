//go:build e2e

package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A front is a proxy between Holdpoint and a backend. It can behave like a backend that fails.
type front struct {
	address string
	server  *http.Server
	ends    func(w http.ResponseWriter, r *http.Request) // serves POSTs in place of the backend while it fails
	fails   atomic.Bool
	proxy   *httputil.ReverseProxy
}

func newFront(t *testing.T, b *backend, ends func(w http.ResponseWriter, r *http.Request)) *front {
	t.Helper()
	target, err := url.Parse(b.url())
	if err != nil {
		t.Fatal(err)
	}
	f := &front{ends: ends, proxy: &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}}
	f.listen(t, "127.0.0.1:0")
	t.Cleanup(func() { f.server.Close() })
	return f
}

func (f *front) listen(t *testing.T, address string) {
	t.Helper()
	var l net.Listener
	var err error
	if !eventually(func() bool { l, err = net.Listen("tcp", address); return err == nil }) {
		t.Fatal(err)
	}
	f.address = l.Addr().String()
	f.server = &http.Server{Handler: f}
	go f.server.Serve(l)
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.fails.Load() {
		// Without full duplex, a ReverseProxy cuts off some fast streams of a POST
		// (golang/go#40747).
		http.NewResponseController(w).EnableFullDuplex()
		f.proxy.ServeHTTP(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	f.ends(w, r)
}

// off makes the front fail. If ends is nil, it closes the front's listener.
func (f *front) off(t *testing.T) {
	if f.ends == nil {
		f.server.Close()
		return
	}
	f.fails.Store(true)
}

func (f *front) on(t *testing.T) {
	if f.ends == nil {
		f.listen(t, f.address)
		return
	}
	f.fails.Store(false)
}

// forgets waits until Holdpoint has dropped its idle connections to a stopped backend. If Holdpoint
// sent a run on an idle connection, the run would be cut off and not refused. forgets sends GET
// requests until Holdpoint needs a new connection for one, and responds with 502.
func (h *holdpoint) forgets(t *testing.T) {
	t.Helper()
	if !eventually(func() bool {
		res, err := http.Get(h.address + "/")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusBadGateway
	}) {
		t.Fatal("the backend is reached though it went away")
	}
}

func sendStream(w http.ResponseWriter, frames string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, frames)
	w.(http.Flusher).Flush()
}

const started = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n"

var (
	answersJSON = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true}`)
	}
	endsEarly = func(w http.ResponseWriter, r *http.Request) { sendStream(w, started) }
	breaksOff = func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, started+"data: {\"ty")
		panic(http.ErrAbortHandler)
	}
	sendsTooMuch = func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, started+`data: {"type":"CUSTOM","name":"x","value":"`+strings.Repeat("x", 2<<20)+"\"}\n\n")
	}
	// smallFrames lowers the limit of a frame, because a frame over the default limit would take a
	// second.
	smallFrames = map[string]string{"HOLDPOINT_MAX_FRAME_BYTES": "1MiB"}
	compresses  = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "zstd")
		sendStream(w, "????")
	}
	hangsUp     = func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }
	unavailable = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not now", http.StatusServiceUnavailable) }
	notFound    = func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
)

// failing runs test for two versions of the adapter and every client. Each version has its own
// front and its own Holdpoint. The function ends is the way in which the front fails.
func failing(t *testing.T, ends func(w http.ResponseWriter, r *http.Request), test func(t *testing.T, w world, f *front)) {
	t.Helper()
	for _, b := range shared.backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, b, ends)
			h := ownHoldpoint(t, "http://"+f.address, smallFrames)
			for _, version := range []string{newest, pinned, oldest} {
				t.Run("client-"+version, func(t *testing.T) {
					test(t, world{b: b, h: h, version: version}, f)
				})
			}
		})
	}
}

// both runs test twice. The first time, next returns the client itself, which saw the failure. The
// second time, next returns a new client of the same thread.
func both(t *testing.T, test func(t *testing.T, next func(*client) *client)) {
	t.Helper()
	t.Run("the same client", func(t *testing.T) { test(t, func(c *client) *client { return c }) })
	t.Run("a fresh client", func(t *testing.T) { test(t, func(c *client) *client { return c.another(t) }) })
}

// TestTheBackendFailsAnOrdinaryRun: the backend does not end an ordinary run properly. The client
// must get one RUN_ERROR. As soon as the backend works again, the thread must work too.
func TestTheBackendFailsAnOrdinaryRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ends func(w http.ResponseWriter, r *http.Request)
		code string // "": the client gets the backend's status
	}{
		{"unreachable", nil, "UPSTREAM_UNREACHABLE"},
		{"answers JSON", answersJSON, "UPSTREAM_STATUS"},
		{"ends early", endsEarly, "UPSTREAM_EOF"},
		{"breaks off", breaksOff, "UPSTREAM_EOF"},
		{"sends a frame over the limit", sendsTooMuch, "FRAME_TOO_LARGE"},
		{"compresses in a way that is not read", compresses, "UNSUPPORTED_ENCODING"},
		{"unavailable", unavailable, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			failing(t, test.ends, func(t *testing.T, w world, f *front) {
				both(t, func(t *testing.T, next func(*client) *client) {
					c := w.client(t, "chat")
					f.off(t)
					if test.ends == nil {
						w.h.forgets(t)
					}
					if test.code != "" {
						c.refused(t, step{say: "plain and unheard"}, test.code, false)
					} else if a := c.run(t, step{say: "plain and unheard", loose: true}).answer(t); a.Status != http.StatusServiceUnavailable || a.Text != "not now\n" {
						t.Errorf("answer %d %q, want the backend's own", a.Status, a.Text)
					}
					f.on(t)
					w.did(t, c, 0, nil)
					next(c).goesOn(t, nil)
				})
			})
		})
	}
}

// TestTheBackendTurnsAResumeAway: the backend did not get a resume, or refused it. The question
// must stay open, and the same answer must be accepted when the backend is back.
func TestTheBackendTurnsAResumeAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ends func(w http.ResponseWriter, r *http.Request)
		code string
	}{
		{"unreachable", nil, "UPSTREAM_UNREACHABLE"},
		{"not found", notFound, "UPSTREAM_STATUS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			failing(t, test.ends, func(t *testing.T, w world, f *front) {
				both(t, func(t *testing.T, next func(*client) *client) {
					c := w.paused(t, "approve", 1)
					s := c.answer(c.answers(accept), yes)
					f.off(t)
					a := c.run(t, step{resume: s.resume, command: s.command}).answer(t)
					if a.code() != test.code || len(a.outcome()) != 1 {
						t.Errorf("answer: %s", terminal(a))
					}
					f.on(t)
					w.did(t, c, 1, nil)
					c = next(c)
					c.finish(t, s)
					w.did(t, c, 2, map[string]int{"delete": 1})
					c.goesOn(t, nil)
				})
			})
		})
	}
}

// TestAResumeInDoubtIsNotSentAgain: the connection of an answer fails, and nobody knows whether the
// backend has acted. The client must learn this once, and Holdpoint must never send the answer
// again by itself. In this test the backend did not act: it asks its question again, and an answer
// to the new question must be accepted.
func TestAResumeInDoubtIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ends func(w http.ResponseWriter, r *http.Request)
		code string
	}{
		{"hangs up", hangsUp, "UPSTREAM_EOF"},
		{"breaks off", breaksOff, "UPSTREAM_EOF"},
		{"ends early", endsEarly, "UPSTREAM_EOF"},
		{"answers JSON", answersJSON, "UPSTREAM_STATUS"},
		{"unavailable", unavailable, "UPSTREAM_STATUS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			failing(t, test.ends, func(t *testing.T, w world, f *front) {
				both(t, func(t *testing.T, next func(*client) *client) {
					c := w.paused(t, "truthy", 1)
					s := c.answer(c.answers(func(id string) entry { return resolved(id, true) }), true)
					f.off(t)
					a := c.run(t, step{resume: s.resume, command: s.command}).answer(t)
					if a.code() != test.code || !a.mayHaveRun() {
						t.Errorf("answer: %s", terminal(a))
					}
					f.on(t)
					c = next(c)
					s.empty = true
					c.refused(t, s, "RESUME_IN_DOUBT", false)
					w.did(t, c, 1, nil)
					// The backend still waits, and asks again. Holdpoint cannot know that the first
					// answer never reached the backend. If the answer had reached it, the backend
					// would carry out that answer, whatever answer comes next. So Holdpoint must
					// accept only the first answer again.
					a = c.run(t, c.denying(step{say: "plain and patient"}, nil)).answer(t)
					if len(c.pending) != 1 {
						t.Fatalf("not asked again: %s", terminal(a))
					}
					c.refused(t, c.answer(c.answers(func(id string) entry { return resolved(id, false) }), false), "RESUME_CONFLICT", true)
					w.effects(t, c, nil)
					c.finish(t, c.answer(c.answers(func(id string) entry { return resolved(id, true) }), true))
					w.effects(t, c, map[string]int{"delete": 1})
					c.goesOn(t, nil)
				})
			})
		})
	}
}

// recovers checks that an ordinary message is answered, like goesOn. But the backend may first ask
// its open question again. Then recovers denies that question.
func (c *client) recovers(t *testing.T, deny any) {
	t.Helper()
	const most = 4
	for range most {
		said := "plain and patient " + fresh("n")
		c.run(t, c.denying(step{say: said}, deny))
		if c.echoed(said) {
			return
		}
	}
	t.Fatalf("an ordinary message was not answered within %d requests", most)
}

// TestAnErrorInTheGraph: an exception in the graph cuts off the adapter's stream. The client must
// get one RUN_ERROR and a proper end of the stream, and the thread must continue.
func TestAnErrorInTheGraph(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		both(t, func(t *testing.T, next func(*client) *client) {
			c := w.client(t, "boom")
			a := c.run(t, step{say: "go"}).answer(t)
			if a.code() != "UPSTREAM_EOF" || len(a.of("RUN_ERROR")) != 1 || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
			next(c).goesOn(t, nil)
		})
	})
}

// TestADenialAfterAFailedApproval: an approved node acts and then fails. LangGraph keeps the first
// answer and asks again. At any next answer, LangGraph runs the node with the first answer, so
// Holdpoint must not send a denial.
func TestADenialAfterAFailedApproval(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		both(t, func(t *testing.T, next func(*client) *client) {
			c := w.paused(t, "approve", 1)
			fails := map[string]any{"approved": true, "boom": true}
			a := c.run(t, c.answer(c.answers(func(id string) entry { return resolved(id, fails) }), fails)).answer(t)
			if a.code() != "UPSTREAM_EOF" || a.outcome() != nil {
				t.Fatalf("answer: %s", terminal(a))
			}
			w.did(t, c, 2, map[string]int{"delete": 1})
			c = next(c)
			for range 4 {
				s := c.denying(step{say: "plain and worried"}, no)
				for n := range s.resume { // denies in place of a cancel
					s.resume[n] = reject(s.resume[n].ID)
				}
				c.run(t, s)
				w.effects(t, c, map[string]int{"delete": 1})
				if t.Failed() {
					return
				}
			}
		})
	})
}

// The backend dies in the tests below.

// mortal returns a world with a backend and a Holdpoint of its own. The test may kill the backend.
// The backend's ledger is in a file, which remains.
func mortal(t *testing.T, version string) world {
	t.Helper()
	s, err := startServer(stack{"langgraph", version}, filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	b := &backend{name: version + "-mortal", mode: "default", server: s}
	return world{b: b, h: ownHoldpoint(t, b.url(), nil)}
}

// dying runs test for two versions of the adapter, each with a backend that the test may kill.
func dying(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	for _, version := range []string{"0.0.42", "0.0.43"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, mortal(t, version))
		})
	}
}

// crew returns six clients, each on a thread of its own. There are two of each version: one for the
// whole test, and one that the test replaces by a new client.
func crew(t *testing.T, w world, arrange func(w world) *client) []*client {
	t.Helper()
	var all []*client
	for _, version := range []string{newest, newest, pinned, pinned, oldest, oldest} {
		w.version = version
		all = append(all, arrange(w))
	}
	return all
}

// TestTheBackendForgetsThePause: the backend is restarted between the question and its answer, and
// its checkpoints were in memory. It does not know the thread of the answer, and starts the graph
// without input. Whatever that run does, Holdpoint must not report it as a success of the approved
// action.
func TestTheBackendForgetsThePause(t *testing.T) {
	t.Parallel()
	dying(t, func(t *testing.T, w world) {
		for _, test := range []struct {
			graph  string
			open   int
			answer any
			deny   any
		}{
			// Without input, this graph ends normally. Only the missing history shows that the
			// question is lost.
			{"hitl", 2, map[string]any{"decisions": []any{map[string]any{"type": "approve"}, map[string]any{"type": "approve"}}},
				map[string]any{"decisions": []any{map[string]any{"type": "reject"}, map[string]any{"type": "reject"}}}},
			// Without input, this graph asks the same question again.
			{"approve", 1, yes, no},
		} {
			t.Run(test.graph, func(t *testing.T) {
				clients := crew(t, w, func(w world) *client { return w.paused(t, test.graph, test.open) })
				w.b.server.crash()
				w.b.server.back(t)
				for n, c := range clients {
					before := ids(c.pending)
					a := c.run(t, c.answer(c.answers(accept), test.answer)).answer(t)
					if a.code() != "BACKEND_LOST_INTERRUPT" {
						t.Errorf("client %s: the answer to a lost pause was met with %s", c.version, terminal(a))
					}
					if ids(a.outcome()) == before {
						t.Errorf("client %s: the lost pause is told as if it were open", c.version)
					}
					w.effects(t, c, nil)
					if n%2 == 1 {
						c = c.another(t)
					}
					c.recovers(t, test.deny)
					w.effects(t, c, nil)
				}
			})
		}
	})
}

// TestTheBackendDiesInMidResume: the backend dies while an approved action runs, so nobody knows
// whether the action has finished. The client must learn this once, the answer must not be sent
// again, and the thread must continue.
func TestTheBackendDiesInMidResume(t *testing.T) {
	t.Parallel()
	dying(t, func(t *testing.T, w world) {
		gate := fresh("gate")
		held := map[string]any{"approved": true, "hold": gate}
		clients := crew(t, w, func(w world) *client { return w.paused(t, "approve", 1) })
		steps := make([]step, len(clients))
		ends := make([]<-chan report, len(clients))
		for n, c := range clients {
			steps[n] = c.answer(c.answers(func(id string) entry { return resolved(id, held) }), held)
			ends[n] = c.start(t, steps[n])
		}
		for _, c := range clients {
			if !eventually(func() bool { return w.b.ledger(t, c.thread).Counts["delete"] == 1 }) {
				t.Fatal("an approved node did not begin")
			}
		}
		w.b.server.crash()
		for _, end := range ends {
			if a := (<-end).answer(t); a.code() != "UPSTREAM_EOF" || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
		}
		w.b.server.back(t)
		for n, c := range clients {
			if n%2 == 1 {
				c = c.another(t)
			}
			s := steps[n]
			s.empty = true
			c.refused(t, s, "RESUME_IN_DOUBT", false)
			w.did(t, c, 2, map[string]int{"delete": 1})
			c.goesOn(t, nil)
			w.did(t, c, 3, map[string]int{"delete": 1})
		}
	})
}

// TestHoldpointForgetsThePause: Holdpoint is restarted with its store in memory, while the backend
// still waits. An answer must be refused, because Holdpoint does not know its question. At an
// ordinary message the backend must ask again.
func TestHoldpointForgetsThePause(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			before, after := ownHoldpoint(t, b.url(), nil), ownHoldpoint(t, b.url(), nil)
			for _, version := range []string{newest, pinned, oldest} {
				all.Go(func() {
					w := world{b: b, h: before, version: version}
					c := w.client(t, "truthy")
					if a := c.run(t, step{say: "go"}); len(a.Wire) != 1 || len(a.Wire[0].outcome()) != 1 {
						t.Errorf("no pause: %v", summary(a))
						return
					}
					c.d.call(t, "new", map[string]any{"client": c.name, "version": version, "url": after.address + "/truthy", "threadId": c.thread, "messages": c.messages}, &struct{}{})
					s := c.answer(c.answers(func(id string) entry { return resolved(id, true) }), true)
					if a := c.run(t, s); len(a.Wire) != 1 || a.Wire[0].code() != "UNKNOWN_INTERRUPT_ID" {
						t.Errorf("an answer that nobody can place: %v", summary(a))
					}
					if a := c.run(t, step{empty: true}); len(a.Wire) != 1 || len(a.Wire[0].outcome()) != 1 {
						t.Errorf("the question does not come back: %v", summary(a))
						return
					}
					w.effects(t, c, nil)
					s = c.answer(c.answers(func(id string) entry { return resolved(id, true) }), true)
					if a := c.run(t, s); len(a.Wire) != 1 || a.Wire[0].code() != "" {
						t.Errorf("the answer to the question that came back: %v", summary(a))
					}
					w.effects(t, c, map[string]int{"delete": 1})
				})
			}
			all.Wait()
		})
	}
}
