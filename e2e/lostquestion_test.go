//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// These tests are about a question that only the backend still knows. Either Holdpoint was
// restarted with its store in memory, or the connection of an answer broke. In every family of
// backends, nothing may run without an approval, nothing may run twice, and the chat must be able
// to continue. The exceptions are in the method locked, and in docs/support.md.

// A lossy is a proxy in front of a backend. It can break one connection, and records the requests
// that it gets.
type lossy struct {
	*httptest.Server
	next atomic.Int32
	mu   sync.Mutex
	sent []wireInput
}

// A wireInput has the members of a request to the backend that a test inspects.
type wireInput struct {
	ThreadID string
	Messages []event
}

// ofThread returns the requests of one thread.
func (l *lossy) ofThread(thread string) []wireInput {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []wireInput
	for _, in := range l.sent {
		if in.ThreadID == thread {
			list = append(list, in)
		}
	}
	return list
}

// keepsCalls checks the messages that reached the backend. If the client has a message with tool
// calls, and that message reached the backend, it must have arrived with the same calls. keepsCalls
// returns how many such messages arrived.
func (l *lossy) keepsCalls(t *testing.T, c *client) (reached int64) {
	t.Helper()
	has := map[string]string{}
	for _, m := range c.messages {
		if m["toolCalls"] != nil {
			has[m.str("id")] = text(m["toolCalls"])
		}
	}
	for _, in := range l.ofThread(c.thread) {
		for _, m := range in.Messages {
			want, is := has[m.str("id")]
			if !is || m.str("role") != "assistant" {
				continue
			}
			reached++
			if got := text(m["toolCalls"]); got != want {
				t.Errorf("a message reached the backend with the calls %s, and the client has %s", got, want)
			}
		}
	}
	return reached
}

const (
	passes      int32 = iota
	breaksEarly       // the backend gets no byte of the request
	breaksLate        // the backend has done its work, and no byte of its response is sent
)

func newLossy(t *testing.T, upstream string) *lossy {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.URL.RawQuery = r.In.URL.RawQuery }}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() // see golang/go#40747
		if req.Method != http.MethodPost {
			proxy.ServeHTTP(w, req)
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the client has disconnected
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		var in wireInput
		if json.Unmarshal(body, &in) == nil && in.ThreadID != "" {
			l.mu.Lock()
			l.sent = append(l.sent, in)
			l.mu.Unlock()
		}
		switch l.next.Swap(passes) {
		case breaksLate:
			proxy.ServeHTTP(httptest.NewRecorder(), req)
			fallthrough
		case breaksEarly:
			if connection, _, err := control.Hijack(); err == nil {
				connection.Close()
			}
		default:
			proxy.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// moved makes the client send its next requests to another Holdpoint: the one in the parameter to.
// The client keeps its list of open questions.
func (c *client) moved(t *testing.T, from, to *holdpoint) {
	t.Helper()
	pending := c.pending
	c.url = strings.Replace(c.url, from.address, to.address, 1)
	c.d.call(t, "new", map[string]any{"client": c.name, "version": c.version, "url": c.url, "threadId": c.thread, "messages": c.messages}, &struct{}{})
	c.pending = pending
}

// lostFamilies returns all families except "ag2 with a proof". In that family an answer must
// contain the proof from its question.
func lostFamilies(t *testing.T) []deskFamily {
	t.Helper()
	var list []deskFamily
	for _, f := range deskFamilies(t) {
		if f.name != "ag2 with a proof" {
			list = append(list, f)
		}
	}
	for _, f := range list {
		if f.name == "strands-ts agui/hook" { // without the setting Holdpoint does not know the dialect of the path after a restart
			f.name, f.env = "strands-ts agui/hook, named", map[string]string{"HOLDPOINT_DIALECT": "aws-strands"}
			list = append(list, f)
		}
	}
	for n, s := range shared.strandsPy {
		list = append(list, deskFamily{
			name: "ag_ui_strands " + s.version + " hook", version: []string{pinned, newest}[n%2], upstream: s.base() + "/agui",
			b:      &backend{name: s.version + " hook", mode: "agui/hook", server: s},
			client: func(t *testing.T, w world) *client { return w.adapted(t, "hook") }, says: (*client).wants,
			one: "delete a.txt", again: "each a.txt b.txt", yes: yes, no: no,
			ran: func(t *testing.T, w world, c *client, files ...string) { t.Helper(); w.gone(t, c, files...) },
		})
	}
	for n, b := range shared.backends {
		list = append(list, deskFamily{
			name: "langgraph " + b.name, version: []string{newest, pinned}[n%2], upstream: b.url(), b: b,
			client: agentClient("truthy"), says: plainly, one: "go", yes: true, no: false, ran: effectsOf,
		})
	}
	for n, b := range shared.agents {
		agents := []string{"approve"}
		if b.mode == "default" {
			agents = append(agents, "predictive")
		}
		if b.mode == "default" && (world{b: b}).since("1.0.0rc8") {
			agents = append(agents, "mixed", "workflow")
		}
		for _, agent := range agents {
			list = append(list, lostAgent(b, agent, []string{newest, pinned}[n%2]))
		}
	}
	return list
}

// effectsOf checks what a LangGraph agent has deleted on the thread. It must have deleted once if
// files has an entry, and nothing otherwise.
func effectsOf(t *testing.T, w world, c *client, files ...string) {
	t.Helper()
	want := map[string]int{}
	if len(files) > 0 {
		want["delete"] = 1
	}
	w.effects(t, c, want)
}

// lostAgent returns a family for an agent of one version of Agent Framework.
func lostAgent(b *backend, agent, version string) deskFamily {
	f := deskFamily{
		name: "agent-framework " + b.name + " " + agent, version: version, upstream: b.url(), b: b,
		client: agentClient(agent), says: plainly, one: "go", yes: map[string]any{"accepted": true}, no: map[string]any{"accepted": false}, ran: ranTools,
	}
	done := func(effects ...string) {
		f.ran = func(t *testing.T, w world, c *client, files ...string) {
			t.Helper()
			if len(files) == 0 {
				w.ran(t, c)
				return
			}
			w.ran(t, c, effects...)
		}
	}
	switch agent {
	case "mixed":
		done(deleteA, search)
	case "workflow":
		f.yes = map[string]any{"choice": "a"}
		done(`answered {"value":{"choice":"a"}}`)
	case "predictive":
		done()
	}
	return f
}

// A wayOn is what a client does after Holdpoint or the backend has lost the question.
type wayOn struct {
	name string
	// begin is the client's first act after the loss: it sends a request, or reloads the page. The
	// later requests of the test have a message, and cancel or deny the open questions.
	begin func(t *testing.T, c *client) *client
}

var waysOn = []wayOn{
	{"cancels", func(t *testing.T, c *client) *client {
		c.run(t, step{resume: c.answers(cancelled), loose: true})
		return c
	}},
	{"cancels beside a message", func(t *testing.T, c *client) *client {
		c.run(t, step{resume: c.answers(cancelled), say: "plain and beside it", loose: true})
		return c
	}},
	{"writes", func(t *testing.T, c *client) *client {
		c.run(t, step{say: "plain and early", empty: true, loose: true})
		return c
	}},
	{"approves once more", nil},
	{"reloads", func(t *testing.T, c *client) *client { return c.another(t) }},
}

// getsOn reports whether the chat continues: within three requests, an ordinary message is answered
// or starts a new flow.
func (f *deskFamily) getsOn(t *testing.T, c *client) (on bool) {
	t.Helper()
	var ends []string
	defer func() {
		if !on {
			t.Logf("the three requests ended so: %s", strings.Join(ends, "\n"))
		}
	}()
	said := "plain and simple " + fresh("n")
	for n := range 3 {
		s := step{loose: true}
		if n == 0 {
			s.say = said
		}
		a := c.run(t, c.denying(s, f.no)).answer(t)
		ends = append(ends, terminal(a))
		if c.answered(said) || f.anew && len(a.outcome()) > 0 && !strings.Contains(terminal(a), "holdpoint:lost_question") {
			return true
		}
	}
	return false
}

// answered reports whether the backend has answered the message said. It may have answered it
// together with an earlier message that it had not accepted before.
func (c *client) answered(said string) bool {
	return slices.ContainsFunc(c.messages, func(m event) bool {
		content := m.str("content")
		return m.str("role") == "assistant" && strings.HasPrefix(content, "echo: ") && strings.HasSuffix(content, said)
	})
}

// locked reports whether a chat of this family cannot continue. docs/support.md lists these cases.
func (f *deskFamily) locked(situation, way string) bool {
	if situation == "arrived, and asks again" {
		// No client has received the second question, so Holdpoint does not know its id. Only a
		// Python agent whose server reports errors names this id, when it refuses a run.
		return f.name == "ag2" || strings.Contains(f.name, "strands") && !strings.HasSuffix(f.name, " kept/docs")
	}
	if situation != "restarted" {
		return false
	}
	if f.name == "strands-ts agui/hook" {
		return true
	}
	if f.name == "strands-ts agui/hook, named" && way == "writes" {
		return true // the message is sent before any client has named the question
	}
	// These families continue only if a client names the question. After a reload of the page, the
	// client does not name it.
	named := f.name == "ag2" || strings.HasSuffix(f.name, " hook") || strings.HasSuffix(f.name, " workflow") || strings.HasSuffix(f.name, " fastapi/sse") || f.name == "strands-ts saved/hook" || f.name == "strands-ts agui/hook, named"
	return named && way == "reloads"
}

// repeats reports whether the backend stores answers, and Holdpoint cannot know whether it has
// stored the answer whose connection broke. Then the question accepts only the same answer again.
func (f *deskFamily) repeats(situation string) bool {
	return strings.HasPrefix(f.name, "langgraph 0") && situation == "unsent"
}

// situations returns the ways in which a question can get lost. "restarted": Holdpoint is restarted
// without its record. "unsent": the connection of the answer breaks before the backend gets it.
// "arrived": it breaks after the backend has acted. In "unsent, the second", the chat had an
// earlier question, which was answered. This is tested only with native Python agents of Strands:
// they get ids that fit both questions, and refuse all ids if one is wrong. In "arrived, and asks
// again", the answer has led to a second question, which no client has received.
func (f *deskFamily) situations() []string {
	list := []string{"restarted", "unsent", "arrived"}
	if strings.HasPrefix(f.name, "strands ") {
		list = append(list, "unsent, the second")
	}
	if f.again != "" {
		list = append(list, "arrived, and asks again")
	}
	return list
}

// looksUp reports whether Holdpoint asks the backend how the run has ended, when the connection of
// an answer broke.
func (f *deskFamily) looksUp(situation string) bool {
	return strings.HasPrefix(f.name, "langgraph-server") && strings.HasPrefix(situation, "arrived")
}

// denies reports whether Holdpoint itself denies the call of the lost question, because no client
// names the question first. As after any denial, the other call of the turn then runs, because it
// needs no approval.
func (f *deskFamily) denies(situation, way string) bool {
	return f.name == "agent-framework 1.7.0 mixed" && situation == "restarted" && (way == "writes" || way == "reloads")
}

// TestAQuestionThatOnlyTheBackendKnows: a question gets lost in one of the situations, and the
// client continues in one of the ways on. Every pair of them is tested. Nothing may run that was
// not approved, no approved action may run twice, and the chat must continue.
func TestAQuestionThatOnlyTheBackendKnows(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64 // messages with calls that reached a backend after a restart
	t.Cleanup(func() {
		if reached.Load() == 0 && !t.Failed() && !t.Skipped() {
			t.Error("no message with a call has reached a backend after a restart")
		}
	})
	for _, f := range lostFamilies(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			gate, witness := newLossy(t, f.upstream), newLossy(t, f.upstream)
			before, after := ownHoldpoint(t, f.upstream, f.env), ownHoldpoint(t, witness.URL, f.env)
			durable := maps.Clone(f.env)
			if durable == nil {
				durable = map[string]string{}
			}
			durable["HOLDPOINT_STORE"] = "bolt://" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db"))
			kept := ownHoldpoint(t, gate.URL, durable)
			ways := waysOn
			if strings.HasPrefix(f.name, "langgraph-server") {
				ways = waysOn[2:3] // a run of this family takes seconds
			}
			for _, way := range ways {
				for _, situation := range f.situations() {
					t.Run(situation+"/"+way.name, func(t *testing.T) {
						h, ran := before, []string(nil)
						if situation != "restarted" {
							h = kept
						}
						w := f.at(h)
						c := f.client(t, w)
						if situation == "unsent, the second" {
							c.asksAbout(t, f.says(c, f.one), 1)
							c.finish(t, c.denying(step{}, f.no))
						}
						order := f.one
						if situation == "arrived, and asks again" {
							order = f.again
						}
						c.asksAbout(t, f.says(c, order), 1)
						approve := step{resume: c.answers(gives(f.yes)), loose: true}
						switch situation {
						case "restarted":
							c.moved(t, before, after)
						case "unsent", "unsent, the second":
							gate.next.Store(breaksEarly)
						case "arrived", "arrived, and asks again":
							gate.next.Store(breaksLate)
							ran = []string{"a.txt"}
						}
						if situation != "restarted" {
							if a := c.run(t, approve).answer(t); (a.code() == "" && !a.mayHaveRun()) != f.looksUp(situation) {
								t.Errorf("the loss is told: %s", terminal(a))
							}
						}
						if way.name == "approves once more" {
							approve.empty = true
							if a := c.run(t, approve).answer(t); a.code() == "" && !f.looksUp(situation) {
								t.Errorf("an approval of what nobody knows is told as %s", terminal(a))
							}
						} else {
							c = way.begin(t, c)
						}
						f.ran(t, w, c, ran...)
						if situation == "restarted" {
							reached.Add(witness.keepsCalls(t, c)) // also if the client has named the lost question
						}
						if on, locked := f.getsOn(t, c), f.locked(situation, way.name) || f.repeats(situation); on == locked {
							t.Errorf("the chat goes on: %v", on)
						}
						if f.repeats(situation) {
							f.ran(t, w, c)
							c.refused(t, step{resume: c.answers(gives(f.no))}, "RESUME_CONFLICT", true)
							c.finish(t, step{resume: c.answers(gives(f.yes))})
							ran = []string{"a.txt"}
							f.ran(t, w, c, ran...)
							if !f.getsOn(t, c) {
								t.Error("the chat does not go on after the same answer")
							}
						}
						if situation == "restarted" {
							reached.Add(witness.keepsCalls(t, c))
						}
						if f.denies(situation, way.name) {
							w.ran(t, c, search)
						} else {
							f.ran(t, w, c, ran...)
						}
					})
				}
			}
		})
	}
}
