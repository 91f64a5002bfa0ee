//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
)

// valueRule is the value of HOLDPOINT_ANSWERS in these tests. It has the forms of an approval and
// of a denial. The agents ask by interrupt(), and act only if the answer has the agent's own form.
const valueRule = `delete_* {"go":true,"args":"$arguments"} {"go":false,"why":"$reason"}`

// eachOfValues runs test with each way to connect to a LangGraph graph that requires values of its
// own form. audit is the path of the audit file.
func eachOfValues(t *testing.T, test func(t *testing.T, w world, audit string)) {
	t.Helper()
	t.Parallel()
	env := func(t *testing.T) (map[string]string, string) {
		audit := filepath.Join(t.TempDir(), "audit.jsonl")
		return map[string]string{"HOLDPOINT_ANSWERS": valueRule, "HOLDPOINT_AUDIT": "file://" + audit}, audit
	}
	for n, mode := range []string{"default", "outcome"} {
		t.Run("adapter "+mode, func(t *testing.T) {
			t.Parallel()
			s := need(t, "langgraph", newestLangGraph)
			settings, audit := env(t)
			h := ownHoldpoint(t, s.base()+"/"+mode+"/values", settings)
			test(t, world{b: &backend{name: newestLangGraph + " " + mode, mode: mode, server: s}, h: h, version: []string{pinned, newest}[n]}, audit)
		})
	}
	together(t, langGraphServers, func(t *testing.T, stack stack) {
		s := need(t, stack.framework, stack.version)
		settings, audit := env(t)
		settings["HOLDPOINT_DIALECT"], settings["HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT"] = "langgraph-server", "values"
		test(t, world{b: &backend{name: stack.framework, server: s}, h: ownHoldpoint(t, s.base(), settings), version: newest}, audit)
	})
	t.Run("typescript adapter", func(t *testing.T) {
		t.Parallel()
		need(t, "langgraph-server", "1.5.1") // installs the packages, which contain the adapter
		s := need(t, "langgraph-server-py", "0.16.7")
		settings, audit := env(t)
		test(t, world{b: &backend{name: "langgraph-server-py", server: s}, h: ownHoldpoint(t, s.base()+"/adapter/values", settings), version: pinned}, audit)
	})
}

// TestYesNoOfValues: an agent acts only on an answer of its own form. An approved action must run
// once, with the approved arguments. A denied, cancelled or unclear answer must run nothing, and
// the chat must continue. The audit must have the decision of each answer.
func TestYesNoOfValues(t *testing.T) {
	type scene struct {
		order   string
		unclear answer // an answer that must be refused; sent before the others
		answers []answer
		want    []string
		says    string
	}
	yes, no := yesToServer, noToServer
	edited := gives(map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	because := gives(map[string]any{"approved": false, "reason": "too late"})
	more := gives(map[string]any{"approved": true, "path": "c.txt"})
	own := gives(map[string]any{"go": true, "args": map[string]any{"path": "a.txt"}})
	const both = "delete a.txt, delete b.txt"
	eachOfValues(t, func(t *testing.T, w world, audit string) {
		together(t, map[string]scene{
			"approved":           {"delete a.txt", nil, []answer{yes}, []string{deleteA}, "approved"},
			"denied":             {"delete a.txt", nil, []answer{because}, nil, "denied"},
			"cancelled":          {"delete a.txt", nil, []answer{cancelled}, nil, "cancelled"},
			"edited":             {"delete a.txt", nil, []answer{edited}, []string{deleteC}, "approved,edited"},
			"in the agent's own": {"delete a.txt", nil, []answer{own}, []string{deleteA}, "approved"},
			"a word":             {"delete a.txt", gives("yes"), []answer{no}, nil, "denied"},
			"another value":      {"delete a.txt", gives(map[string]any{"go": true}), []answer{no}, nil, "denied"},
			"more than a yes":    {"delete a.txt", more, []answer{yes}, []string{deleteA}, "approved"},
			"both approved":      {both, nil, []answer{yes, yes}, []string{deleteA, deleteB}, "approved approved"},
			"one denied":         {both, nil, []answer{no, yes}, []string{deleteB}, "denied approved"},
			"one cancelled":      {both, nil, []answer{yes, cancelled}, []string{deleteA}, "approved cancelled"},
			"both cancelled":     {both, nil, []answer{cancelled, cancelled}, nil, "cancelled cancelled"},
			"edited beside a no": {both, nil, []answer{edited, no}, []string{deleteC}, "approved,edited denied"},
		}, func(t *testing.T, c scene) {
			// The TypeScript adapter accepts only UUIDs as thread ids.
			cl := newClient(t, shared.through, w.version, w.h.address+"/", uuid(), nil)
			cl.asksAbout(t, step{say: c.order}, len(c.answers))
			if message := cl.pending[0].str("message"); message != "The agent asks to call the tool delete_file." {
				t.Errorf("it asks %q", message)
			}
			if c.unclear != nil {
				cl.refused(t, cl.each(t, c.unclear), "INVALID_PAYLOAD", true)
				w.ran(t, cl)
			}
			cl.finish(t, cl.each(t, c.answers...))
			w.ran(t, cl, c.want...)
			if got := auditSays(t, audit, cl.thread); got != c.says {
				t.Errorf("the audit says %q, want %q", got, c.says)
			}
			cl.goesOn(t, nil)
			w.ran(t, cl, c.want...)
		})
	})
}
