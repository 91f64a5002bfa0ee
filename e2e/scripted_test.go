//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdpoint/e2e/scripted"
)

// The tests in scripted_*_test.go use backends in this process (see package scripted), with the
// real clients and a real Holdpoint. One Holdpoint without a configured dialect serves all
// backends, each on a path of its own.

// An actor describes a scripted backend.
type actor struct {
	name   string
	make   func(*scripted.Ledger) *scripted.Server // returns a server of the backend
	two    bool                                    // can ask two questions at the same time, and matches each answer to its question
	calls  bool                                    // the client gets the call that a question is about
	strict bool                                    // refuses unknown keys, such as protocolVersion
	nulls  bool                                    // writes null for missing values
	fails  string                                  // complaint that is expected
}

func layouts() []actor {
	var list []actor
	for _, l := range scripted.Layouts {
		program := func(kept *scripted.Ledger) *scripted.Server { return scripted.RequestApproval(l, kept) }
		list = append(list, actor{name: "request-approval-" + string(l), make: program, calls: true, nulls: l == scripted.LayoutA1 || l == scripted.LayoutA2Old})
	}
	return list
}

// drafts returns an actor for each form that v1 and v1.5 of the draft allow.
func drafts() []actor {
	named := map[string]scripted.Draft{
		"draft-v1":                    {Payload: scripted.Proposal},
		"draft-v1-no-id":              {Payload: scripted.Proposal, NoID: true, NoReason: true},
		"draft-v1-no-outcome":         {Payload: scripted.Proposal, NoOutcome: true, NoSuccess: true},
		"draft-v1-function":           {Payload: scripted.Function, NoReason: true},
		"draft-v1-function-calls":     {Payload: scripted.Function, NoReason: true, NoSuccess: true, Calls: true},
		"draft-v1-strict":             {Payload: scripted.Proposal, Strict: true},
		"draft-v1.5":                  {List: true},
		"draft-v1.5-no-id":            {List: true, NoID: true, NoReason: true},
		"draft-v1.5-calls-no-outcome": {List: true, NoOutcome: true, NoSuccess: true, Calls: true},
		"draft-v1.5-strict":           {List: true, Strict: true},
	}
	var list []actor
	for _, name := range slices.Sorted(maps.Keys(named)) {
		d := named[name]
		list = append(list, actor{name: name, make: d.New, two: d.List && !d.NoID, calls: d.Calls, strict: d.Strict})
	}
	return list
}

// A playing is a running actor. Its server can be restarted. Its ledger survives the restart.
type playing struct {
	actor
	*scripted.Ledger
	program atomic.Pointer[scripted.Server]
	away    atomic.Bool // if set, a gateway in front of the server responds with 502
	mu      sync.Mutex
	sent    map[string]string // the last response on each thread, byte for byte, by thread
}

func (p *playing) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	var input struct{ ThreadID string }
	_ = json.Unmarshal(body, &input) // the program itself refuses invalid JSON
	tee := &recorder{ResponseWriter: w}
	defer func() {
		p.mu.Lock()
		p.sent[input.ThreadID] = tee.all.String()
		p.mu.Unlock()
	}()
	if p.away.Load() {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	p.program.Load().ServeHTTP(tee, req)
}

// last returns the last response that the server sent on a thread.
func (p *playing) last(thread string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[thread]
}

type recorder struct {
	http.ResponseWriter
	all bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) {
	r.all.Write(b)
	return r.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (r *recorder) Flush() { r.ResponseWriter.(http.Flusher).Flush() }

// restart replaces the server by a new one. The new server knows nothing of the old server's
// threads.
func (p *playing) restart() { p.program.Store(p.make(p.Ledger)) }

// A stage is an HTTP server that runs actors, each on its own path.
type stage struct {
	mux  *http.ServeMux
	url  string
	mu   sync.Mutex
	cast map[string]*playing
}

func newStage() *stage {
	s := &stage{mux: http.NewServeMux(), cast: map[string]*playing{}}
	server := httptest.NewServer(s.mux)
	atEnd(server.Close)
	s.url = server.URL
	return s
}

// play starts an actor on the stage, unless an actor with its name is running, and returns it.
func (s *stage) play(a actor) *playing {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.cast[a.name]
	if p == nil {
		p = &playing{actor: a, Ledger: scripted.NewLedger(), sent: map[string]string{}}
		p.restart()
		s.cast[a.name] = p
		s.mux.Handle("/"+a.name+"/", http.StripPrefix("/"+a.name, p))
	}
	return p
}

var theStage = sync.OnceValue(newStage)

// before returns the Holdpoint in front of theStage that the tests share. No dialect is configured
// in it.
var before = sync.OnceValues(func() (*holdpoint, error) { return startHoldpoint("scripted", theStage().url, nil) })

// A scene is a client on a thread of an actor, behind a Holdpoint.
type scene struct {
	*client
	p *playing
}

// scenes runs test for each actor and each client version that reads interrupts.
func scenes(t *testing.T, actors []actor, test func(t *testing.T, s scene)) {
	t.Helper()
	h := must(before())
	for _, a := range actors {
		p := theStage().play(a)
		for _, version := range []string{newest, pinned} {
			if a.strict && version == newest {
				// This client declares a protocol version in its first request. Holdpoint cannot
				// know before the first response that this backend refuses such a key.
				continue
			}
			t.Run(a.name+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, p, version, h)
				defer s.sound(t)
				test(t, s)
			})
		}
	}
}

// newScene returns a scene with a new client on a new thread of p, behind h.
func newScene(t *testing.T, p *playing, version string, h *holdpoint) scene {
	t.Helper()
	c := newClient(t, shared.through, version, h.address+"/"+p.name+"/", fresh("thread"), nil)
	c.nulls = p.nulls
	return scene{c, p}
}

// another returns a scene with a new client on the same thread.
func (s scene) another(t *testing.T) scene {
	t.Helper()
	c := s.client.another(t)
	c.nulls = s.nulls
	return scene{c, s.p}
}

// asks sends the message say, and expects one question for each argument in what.
func (s scene) asks(t *testing.T, say string, what ...string) {
	t.Helper()
	s.asked(t, s.run(t, step{say: say}).answer(t), what...)
}

// resumes answers all open questions, and expects one new question for each argument in what.
func (s scene) resumes(t *testing.T, answer func(id string) entry, what ...string) {
	t.Helper()
	s.asked(t, s.run(t, step{resume: s.answers(answer)}).answer(t), what...)
}

func (s scene) asked(t *testing.T, a wire, what ...string) {
	t.Helper()
	if got := a.outcome(); len(got) != len(what) || a.code() != "" {
		t.Fatalf("%d interrupts (code %q), want %v: %v\n%s", len(got), a.code(), what, a.kinds(), terminal(a))
	}
	for n, i := range s.pending {
		if !s.p.calls {
			continue
		}
		call := s.call(i.str("toolCallId"))
		if args, _ := call["arguments"].(string); i.str("reason") != "tool_call" && !strings.HasPrefix(s.p.name, "draft-v1.5") || !strings.Contains(args, `"`+what[n]+`"`) {
			t.Errorf("interrupt %d is %v for the call %v, want one for %s", n, i, call, what[n])
		}
	}
	s.sound(t)
}

// call returns the member "function" of the call with this id in the client's messages, or nil if
// the messages have no such call.
func (c *client) call(id string) map[string]any {
	for _, m := range c.messages {
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			if call := one.(map[string]any); call["id"] == id {
				return call["function"].(map[string]any)
			}
		}
	}
	return nil
}

// ends runs a step. The run must end without an error and without a question, and its last message
// must have the text said.
func (s scene) ends(t *testing.T, run step, said string) wire {
	t.Helper()
	a := s.finish(t, run)
	if last := s.messages[len(s.messages)-1]; last.str("content") != said || last.str("role") != "assistant" {
		t.Errorf("the last message is %v, want %q", last, said)
	}
	s.sound(t)
	return a
}

// executed checks that the backend ran exactly the actions in what on the thread, once each.
func (s scene) executed(t *testing.T, what ...string) {
	t.Helper()
	want := map[string]int{}
	for _, w := range what {
		want[w] = 1
	}
	if got := s.p.Executed(s.thread); !maps.Equal(got, want) {
		t.Errorf("executed %v, want %v", got, want)
	}
}

// runs checks that the backend got n run requests on the thread.
func (s scene) runs(t *testing.T, n int) {
	t.Helper()
	if got := len(s.p.Requests(s.thread)); got != n {
		t.Errorf("the backend was asked to run %d times, want %d", got, n)
	}
}

// sound checks that the backend and its provider accepted every request. It also checks that a
// provider would accept the client's history. In that history, a call with an open question may
// lack its result.
func (s scene) sound(t *testing.T) {
	t.Helper()
	for _, c := range s.p.Complaints(s.thread) {
		// Failures that the script itself causes do not count.
		if !strings.Contains(c, "ResponseEnded") && c != "kaput" && c != s.p.fails {
			t.Errorf("the backend complained: %s", c)
		}
	}
	s.soundHistory(t)
}

// soundHistory checks that a provider would accept the client's messages. Calls with an open
// question may lack a result.
func (c *client) soundHistory(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	waiting, ever := map[string]bool{}, map[string]bool{}
	open := map[string]bool{}
	for _, i := range c.pending {
		open[i.str("toolCallId")] = true
	}
	for n, m := range c.messages {
		if id := m.str("id"); seen[id] {
			t.Errorf("messages[%d]: a second message has the id %s: the next MESSAGES_SNAPSHOT makes one of both", n, id)
		} else {
			seen[id] = true
		}
		if m.str("role") == "tool" {
			if id := m.str("toolCallId"); !waiting[id] {
				t.Errorf("messages[%d] is a result for %s, which waits for none: %s", n, id, indented(c.messages))
			} else {
				delete(waiting, id)
			}
			continue
		}
		for id := range waiting {
			if !open[id] {
				t.Errorf("messages[%d]: the call %s before it has no result: %s", n, id, indented(c.messages))
			}
		}
		waiting = map[string]bool{}
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			call := one.(map[string]any)
			id, _ := call["id"].(string)
			function := call["function"].(map[string]any)
			args, _ := function["arguments"].(string)
			if ever[id] || !json.Valid([]byte(args)) || function["name"] == "request_approval" || function["name"] == "confirm_changes" {
				t.Errorf("messages[%d] has the call %v", n, call)
			}
			ever[id], waiting[id] = true, true
		}
	}
}

// told returns the client's messages as text, one line each. Ids of calls are replaced by numbers.
func (c *client) told() string {
	var lines []string
	number := map[string]int{}
	for _, m := range c.messages {
		line := m.str("role") + ":"
		if said := m.str("content"); said != "" {
			line += " " + said
		}
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			call := one.(map[string]any)
			number[call["id"].(string)] = len(number) + 1
			function := call["function"].(map[string]any)
			line += fmt.Sprintf(" %d=%s(%s)", len(number), function["name"], function["arguments"])
		}
		if id := m.str("toolCallId"); id != "" {
			line += fmt.Sprintf(" (for %d)", number[id])
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// says checks that the client's messages, in the form that told returns, are these lines.
func (c *client) says(t *testing.T, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n"); c.told() != want {
		t.Errorf("the client holds\n%s\nwant\n%s", c.told(), want)
	}
}
