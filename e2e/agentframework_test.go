//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The tests in this file and its neighbors run Microsoft Agent Framework: every version of
// agent-framework-ag-ui, behind one Holdpoint without settings for them. The versions pause and
// accept answers in different ways, and each test runs for all of them.

// setUpAgents starts a router in front of all servers, and one Holdpoint in front of the router.
// The first segment of a path is the version of the backend.
func setUpAgents(servers []*server) error {
	router := http.NewServeMux()
	for _, s := range servers {
		target, err := url.Parse(s.base())
		if err != nil {
			return err
		}
		proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		router.Handle("/"+s.version+"/", http.StripPrefix("/"+s.version, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Without full duplex, a ReverseProxy cuts off some fast streams of a POST
			// (golang/go#40747).
			http.NewResponseController(w).EnableFullDuplex()
			proxy.ServeHTTP(w, r)
		})))
		switch {
		case s.framework != "agentframework":
			continue
		case s.stack == tooOld:
			shared.tooOld = &backend{name: s.version, mode: "default", server: s}
			continue
		}
		for _, mode := range s.modes {
			name := s.version
			if mode != "default" {
				name += "-" + mode
			}
			shared.agents = append(shared.agents, &backend{name: name, mode: mode, server: s})
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	front := &http.Server{Handler: router}
	go front.Serve(l)
	atEnd(func() { front.Close() })
	shared.auto, err = startHoldpoint("auto", "http://"+l.Addr().String(), nil)
	return err
}

// agentWorld returns a world for the backend b and the client's version. Its Holdpoint is the one
// that all versions share.
func agentWorld(b *backend, version string) world {
	h := *shared.auto
	h.address += "/" + b.server.version + "/" + b.mode
	return world{b: b, h: &h, version: version}
}

// eachAgent runs test for every version of the backend in its default mode, with each client that
// reads the interrupt outcome.
func eachAgent(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	eachMode(t, []string{"default"}, test)
}

// eachMode runs test like eachAgent, but in the given modes instead of the default one. It leaves
// out a version that has none of them.
func eachMode(t *testing.T, modes []string, test func(t *testing.T, w world)) {
	t.Helper()
	cells(t, func(w world) bool { return slices.Contains(modes, w.b.mode) }, test)
}

// eachVersion runs test with the newest client, for each version of the backend in its default
// mode. The version that is too old is among them.
func eachVersion(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	cells(t, func(w world) bool { return w.b.mode == "default" && w.version == newest }, test)
	if shared.tooOld != nil {
		t.Run(shared.tooOld.name+"/client-"+newest, func(t *testing.T) {
			t.Parallel()
			test(t, agentWorld(shared.tooOld, newest))
		})
	}
}

func cells(t *testing.T, in func(w world) bool, test func(t *testing.T, w world)) {
	t.Helper()
	for _, b := range shared.agents {
		for _, version := range []string{newest, pinned} {
			if w := agentWorld(b, version); in(w) {
				t.Run(b.name+"/client-"+version, func(t *testing.T) {
					t.Parallel()
					test(t, w)
				})
			}
		}
	}
}

// since reports whether the backend's version is the given one or a later one.
func (w world) since(version string) bool {
	place := func(version string) int {
		return slices.IndexFunc(stacks, func(s stack) bool { return s.framework == "agentframework" && s.version == version })
	}
	return place(w.b.server.version) >= place(version)
}

// These are the calls that the agents make if they are allowed to: the name of the tool and its
// exact arguments.
const (
	deleteA = `delete_file {"path":"a.txt"}`
	deleteB = `delete_file {"path":"b.txt"}`
	deleteC = `delete_file {"path":"c.txt"}`
	mail    = `send_email {"count":2,"to":"bob@example.org"}`
	search  = `search {"query":"x"}`
	explode = `explode {"what":"all"}`
	write   = `write_document {"document":"Once upon a time"}`
)

// called checks how many runs of the client's thread reached the backend.
func (w world) called(t *testing.T, c *client, times int) {
	t.Helper()
	if runs := len(w.b.ledger(t, c.thread).Runs); runs != times {
		t.Errorf("the backend was asked to run %d times, want %d", runs, times)
	}
}

// ran checks that on the client's thread exactly the calls in want ran, each as often as want has
// it, in any order.
func (w world) ran(t *testing.T, c *client, want ...string) {
	t.Helper()
	got := []string{}
	for _, e := range w.b.ledger(t, c.thread).Effects {
		got = append(got, e.Name+" "+text(e.Args))
	}
	want = append([]string{}, want...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("what ran: %q, want %q", got, want)
	}
}

// unblamed checks the requests that the model got, without the first ones. The parameter first is
// the number of requests to leave out. A real provider would have accepted each checked request.
func (w world) unblamed(t *testing.T, c *client, first int) {
	t.Helper()
	for n, seen := range w.b.ledger(t, c.thread).Seen {
		if n >= first && len(seen.Complaints) > 0 {
			t.Errorf("the model was asked for the %d. time with what a provider refuses: %q", n+1, seen.Complaints)
		}
	}
}

// sane checks that a real provider would have accepted everything that the model got, and that the
// client's history is complete.
func (w world) sane(t *testing.T, c *client) {
	t.Helper()
	w.unblamed(t, c, 0)
	complete(t, c.messages, nil)
}

// proven checks that exactly the calls in want ran. Then the client sends another message with its
// history, and proven checks that nothing else has run.
func (w world) proven(t *testing.T, c *client, want ...string) {
	t.Helper()
	w.ran(t, c, want...)
	w.sane(t, c)
	c.goesOn(t, nil)
	w.ran(t, c, want...)
	w.sane(t, c)
}

// complete checks the messages of a client. Directly after the message with a call there must be
// one result for the call, unless the parameter waiting has the call. No id may be there twice. No
// message may show a question or an answer in the backend's own format.
func complete(t *testing.T, messages []event, waiting []string) {
	t.Helper()
	problem := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\nmessages: %s", append(args, indented(messages))...)
	}
	known, open := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		if id := m.str("id"); id == "" || known["message "+id] {
			problem("message id %q is missing or there twice", id)
		}
		known["message "+m.str("id")] = true
		if m.str("role") == "tool" {
			id := m.str("toolCallId")
			if !open[id] {
				problem("a result for %q, which no call before it waits for", id)
			}
			delete(open, id)
			var answer map[string]any
			if json.Unmarshal([]byte(m.str("content")), &answer) == nil && (answer["accepted"] != nil || answer["approved"] != nil || answer["status"] != nil) {
				problem("an answer as the result of %q: %s", id, m.str("content"))
			}
			continue
		}
		if len(open) > 0 {
			problem("no result for %v before the next message", slices.Collect(maps.Keys(open)))
			open = map[string]bool{}
		}
		if m["function_approvals"] != nil || m.str("role") == "user" && m.str("content") == "" {
			problem("a message that only answers: %v", m)
		}
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			call := event(one.(map[string]any))
			function := event(call["function"].(map[string]any))
			if known["call "+call.str("id")] {
				problem("call %q is there twice", call.str("id"))
			}
			known["call "+call.str("id")] = true
			if slices.Contains([]string{"confirm_changes", "request_info", "request_approval", ""}, function.str("name")) {
				problem("call %q of %q, which is no tool", call.str("id"), function.str("name"))
			}
			if !json.Valid([]byte(function.str("arguments"))) {
				problem("call %q has the arguments %q", call.str("id"), function.str("arguments"))
			}
			if !slices.Contains(waiting, call.str("id")) {
				open[call.str("id")] = true
			}
		}
	}
	if len(open) > 0 {
		problem("no result for %v", slices.Collect(maps.Keys(open)))
	}
}

// asks runs the step s, and expects n questions. Each call that a question names must be in the
// client's messages.
func (c *client) asks(t *testing.T, s step, n int) wire {
	t.Helper()
	a := c.run(t, s).answer(t)
	if len(a.outcome()) != n || a.code() != "" {
		t.Fatalf("asked for %d things (code %q), want %d: %v\n%s", len(a.outcome()), a.code(), n, a.kinds(), terminal(a))
	}
	var waiting []string
	for _, i := range c.pending {
		if call, has := i["toolCallId"]; has {
			waiting = append(waiting, fmt.Sprint(call))
			if !slices.Contains(calls(c.messages), fmt.Sprint(call)) {
				t.Errorf("asked for call %v, which the client does not have: %v", call, calls(c.messages))
			}
		}
		if i.str("message") == "" {
			t.Errorf("an interrupt without a word to show: %v", i)
		}
	}
	complete(t, c.messages, waiting)
	c.plain(t, a)
	return a
}

// asksOnce makes the agent ask about one call, and returns the id of the call. If the version is
// too old, Holdpoint refuses the question, and the client gets the call with a result.
func (c *client) asksOnce(t *testing.T, w world) (call string) {
	t.Helper()
	if w.b != shared.tooOld {
		c.asks(t, step{say: "go"}, 1)
		return c.pending[0].str("toolCallId")
	}
	c.refused(t, step{say: "go"}, "AGENT_FRAMEWORK_TOO_OLD", false)
	complete(t, c.messages, nil)
	return calls(c.messages)[0]
}

// ends sends the answer to the agent's question. If the version is too old, there is no question,
// and ends sends a message instead.
func (c *client) ends(t *testing.T, w world, answer answer) {
	t.Helper()
	if w.b != shared.tooOld {
		c.finish(t, c.each(t, answer))
	} else {
		c.goesOn(t, nil)
	}
}

// plain checks that the stream shows no question in the backend's own format. The newest client
// must not get the CUSTOM event of a question either.
func (c *client) plain(t *testing.T, a wire) {
	t.Helper()
	for _, e := range a.Events {
		if e.kind() == "TOOL_CALL_START" && slices.Contains([]string{"confirm_changes", "request_info"}, e.str("toolCallName")) {
			t.Errorf("the client is shown a call that is none: %v", e)
		}
		if _, has := e["interrupt"]; e.kind() == "RUN_FINISHED" && has {
			t.Errorf("RUN_FINISHED has interrupt: %v", e)
		}
		if c.version == newest && e.kind() == "CUSTOM" && slices.Contains([]string{"function_approval_request", "request_info", "WorkflowInterruptEvent"}, e.str("name")) {
			t.Errorf("CUSTOM %s for a client that reads the outcome", e.str("name"))
		}
	}
}

// each returns a step that answers each open question. The answers are in reverse order, which the
// contract allows.
func (c *client) each(t *testing.T, answers ...func(id string) entry) step {
	t.Helper()
	if len(answers) != len(c.pending) {
		t.Fatalf("%d answers for %d interrupts", len(answers), len(c.pending))
	}
	var s step
	for n, answer := range slices.Backward(answers) {
		s.resume = append(s.resume, answer(c.pending[n].str("id")))
	}
	return s
}

// accepted returns an approval in the format of older versions.
func accepted(id string) entry { return resolved(id, map[string]any{"accepted": true}) }

func contains(s string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(s, part) })
}
