//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// These tests use LangGraph's own server as an AG-UI agent, without an adapter between the server
// and Holdpoint. There are two such servers: langgraph-api 0.16.7 for Python, with its in-memory
// runtime that needs no license, and @langchain/langgraph-api 1.5.1 for JavaScript. Both have the
// same graphs, which record what they do.

var langGraphServers = map[string]stack{
	"python": {"langgraph-server-py", "0.16.7"}, "javascript": {"langgraph-server", "1.5.1"},
}

// ofServer starts a Holdpoint in front of one graph of the server.
func ofServer(t *testing.T, s *server, graph string, more map[string]string) *holdpoint {
	t.Helper()
	env := map[string]string{"HOLDPOINT_DIALECT": "langgraph-server", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": graph}
	for key, value := range more {
		env[key] = value
	}
	return ownHoldpoint(t, s.base(), env)
}

// eachLangGraphServer runs test with both servers, and with both clients that read the interrupt
// outcome.
func eachLangGraphServer(t *testing.T, graph string, test func(t *testing.T, w world)) {
	t.Helper()
	t.Parallel()
	eachLangGraphServerNow(t, graph, test)
}

// eachLangGraphServerNow does the same as eachLangGraphServer, in a test that is already parallel.
func eachLangGraphServerNow(t *testing.T, graph string, test func(t *testing.T, w world)) {
	t.Helper()
	together(t, langGraphServers, func(t *testing.T, s stack) {
		one := need(t, s.framework, s.version)
		h := ofServer(t, one, graph, nil)
		together(t, map[string]string{"client-" + newest: newest, "client-" + pinned: pinned}, func(t *testing.T, version string) {
			test(t, world{b: &backend{name: s.framework, server: one}, h: h, version: version})
		})
	})
}

var (
	yesToServer = gives(map[string]any{"approved": true})
	noToServer  = gives(map[string]any{"approved": false})
)

// TestLangGraphServerApprovals: an approved action must run once with the approved arguments, and
// nothing else may run.
func TestLangGraphServerApprovals(t *testing.T) {
	type scene struct {
		order  string
		rounds [][]answer
		want   []string
	}
	edited := gives(map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	yes, no := yesToServer, noToServer
	const both, then = "delete a.txt, delete b.txt", "delete a.txt then delete b.txt"
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		together(t, map[string]scene{
			"approved":         {"delete a.txt", [][]answer{{yes}}, []string{deleteA}},
			"denied":           {"delete a.txt", [][]answer{{no}}, nil},
			"cancelled":        {"delete a.txt", [][]answer{{cancelled}}, nil},
			"edited":           {"delete a.txt", [][]answer{{edited}}, []string{deleteC}},
			"yes, yes":         {both, [][]answer{{yes, yes}}, []string{deleteA, deleteB}},
			"yes, no":          {both, [][]answer{{yes, no}}, []string{deleteA}},
			"no, yes":          {both, [][]answer{{no, yes}}, []string{deleteB}},
			"no, no":           {both, [][]answer{{no, no}}, nil},
			"cancelled, yes":   {both, [][]answer{{cancelled, yes}}, []string{deleteB}},
			"cancelled, both":  {both, [][]answer{{cancelled, cancelled}}, nil},
			"edited beside no": {both, [][]answer{{edited, no}}, []string{deleteC}},
			"yes then yes":     {then, [][]answer{{yes}, {yes}}, []string{deleteA, deleteB}},
			"yes then no":      {then, [][]answer{{yes}, {no}}, []string{deleteA}},
			"no then edited":   {then, [][]answer{{no}, {edited}}, []string{deleteC}},
		}, func(t *testing.T, c scene) {
			cl := w.client(t, "")
			s := step{say: c.order}
			for _, answers := range c.rounds {
				cl.asksAbout(t, s, len(answers))
				s = cl.each(t, answers...)
			}
			cl.finish(t, s)
			w.ran(t, cl, c.want...)
			complete(t, cl.messages, nil)
			cl.goesOn(t, nil)
			w.ran(t, cl, c.want...)
		})
	})
}

// TestLangGraphServerFreeQuestion: the graph makes a tool call, and also asks a question in a form
// that Holdpoint does not know. A cancel must end the task, and the model of the next run must get
// a result for the call. The payload false is an answer, not a cancel, so it must be sent to the
// graph.
func TestLangGraphServerFreeQuestion(t *testing.T) {
	eachLangGraphServer(t, "free", func(t *testing.T, w world) {
		w.oneAnswer(t, map[string]oneAnswer{
			"yes": {gives("yes"), []string{deleteA}}, "no": {gives("no"), nil}, "false": {gives(false), nil}, "cancelled": {cancelled, nil},
		})
	})
}

func TestLangGraphServerBreakpoint(t *testing.T) {
	eachLangGraphServer(t, "stop", func(t *testing.T, w world) {
		w.oneAnswer(t, map[string]oneAnswer{
			"yes": {yesToServer, []string{deleteA}}, "no": {noToServer, nil}, "cancelled": {cancelled, nil},
		})
	})
}

// A oneAnswer is an answer to one question, and the calls that must run after it.
type oneAnswer struct {
	answer answer
	want   []string
}

func (w world) oneAnswer(t *testing.T, cases map[string]oneAnswer) {
	together(t, cases, func(t *testing.T, c oneAnswer) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete a.txt"}, 1)
		cl.finish(t, cl.each(t, c.answer))
		w.ran(t, cl, c.want...)
		complete(t, cl.messages, nil)
		cl.goesOn(t, nil)
		w.ran(t, cl, c.want...)
	})
}

// told sends a GET request to a path that the server has only for these tests.
func told(t *testing.T, w world, path string) {
	t.Helper()
	res, err := http.Get(w.b.server.base() + path)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, res.StatusCode)
	}
}
