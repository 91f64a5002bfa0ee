//go:build e2e

package e2e

import (
	"testing"
)

// documented has the servers whose agent has the hook from Strands' documentation. This hook tests
// approval.lower() != "y".
var documented = []string{"agentcore/docs", "kept/docs", "entrypoint", "input", "fastapi/sse", "fastapi/ndjson"}

// TestStrandsPythonApprovals tests approvals of every kind, up to the next ordinary turn. An
// approved call must run once, and no other call may run.
func TestStrandsPythonApprovals(t *testing.T) {
	t.Parallel()
	round := func(answers ...answer) []answer { return answers }
	docs, trust := []string{"agentcore/docs"}, []string{"kept/trust"}
	for _, test := range []struct {
		name    string
		places  []string
		command string
		rounds  [][]answer // the answers to each pause, in order
		want    []string
	}{
		{"approved", documented, "delete a.txt", [][]answer{round(accept)}, []string{"a.txt"}},
		{"denied", docs, "delete a.txt", [][]answer{round(reject)}, nil},
		{"cancelled", documented, "delete a.txt", [][]answer{round(cancelled)}, nil},
		{"the word for yes", docs, "delete a.txt b.txt", [][]answer{round(gives("y"))}, []string{"a.txt", "b.txt"}},
		{"the word for no", docs, "delete a.txt", [][]answer{round(gives("n"))}, nil},
		{"reasoning before the call", docs, "think a.txt", [][]answer{round(accept)}, []string{"a.txt"}},

		{"both", docs, "pair a.txt b.txt", [][]answer{round(accept, accept)}, []string{"a.txt", "b.txt"}},
		{"the first of two", documented, "pair a.txt b.txt", [][]answer{round(accept, reject)}, []string{"a.txt"}},
		{"the second of two", docs, "pair a.txt b.txt", [][]answer{round(reject, accept)}, []string{"b.txt"}},
		{"the second, the first cancelled", docs, "pair a.txt b.txt", [][]answer{round(cancelled, accept)}, []string{"b.txt"}},
		{"neither", docs, "pair a.txt b.txt", [][]answer{round(reject, cancelled)}, nil},
		{"the outer of three", docs, "pair a.txt b.txt c.txt", [][]answer{round(accept, reject, accept)}, []string{"a.txt", "c.txt"}},

		{"again", []string{"kept/docs", "fastapi/sse"}, "each a.txt b.txt", [][]answer{round(accept), round(accept)}, []string{"a.txt", "b.txt"}},
		{"again, then denied", docs, "each a.txt b.txt", [][]answer{round(accept), round(cancelled)}, []string{"a.txt"}},
		{"denied, then again", docs, "each a.txt b.txt", [][]answer{round(reject), round(accept)}, []string{"b.txt"}},

		// One hook asks two questions about one call, one after the other.
		{"a chain", []string{"agentcore/chain", "kept/chain"}, "delete a.txt", [][]answer{round(accept), round(accept)}, []string{"a.txt"}},
		{"a chain, denied at first", []string{"agentcore/chain"}, "delete a.txt", [][]answer{round(reject)}, nil},
		{"a chain, denied at last", []string{"agentcore/chain"}, "delete a.txt", [][]answer{round(accept), round(cancelled)}, nil},

		// The session example of Strands' documentation: the answer "t" also approves all later
		// calls.
		{"trusted", []string{"agentcore/trust", "kept/trust"}, "each a.txt b.txt", [][]answer{round(gives("t"))}, []string{"a.txt", "b.txt"}},
		{"not trusted", trust, "each a.txt b.txt", [][]answer{round(gives("y")), round(gives("y"))}, []string{"a.txt", "b.txt"}},
		{"approved, then not", trust, "each a.txt b.txt", [][]answer{round(accept), round(gives("n"))}, []string{"a.txt"}},
		{"never", trust, "each a.txt b.txt", [][]answer{round(gives("n")), round(reject)}, nil},

		// The handler that Strands ships. The stream contains its question only as a Python repr.
		{"vended", []string{"agentcore/hitl"}, "each a.txt b.txt", [][]answer{round(accept), round(reject)}, []string{"a.txt"}},
		{"vended, trusted", []string{"kept/hitl"}, "each a.txt b.txt", [][]answer{round(gives("t"))}, []string{"a.txt", "b.txt"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachStrandsPython(t, test.places, func(t *testing.T, w world) {
				c := w.clerk(t)
				s := c.wants(test.command)
				for n, answers := range test.rounds {
					c.asks(t, s, len(answers))
					if n == 0 {
						w.gone(t, c)
					}
					s = c.each(t, answers...)
				}
				c.finish(t, s)
				w.done(t, c, test.want...)
			})
		})
	}
}

// TestStrandsPythonAskInTheOutcome: each question must be about a call, with a text and with the
// call's data. An answer that fits the question's schema must work.
func TestStrandsPythonAskInTheOutcome(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, documented, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.asks(t, c.wants("pair a.txt b.txt"), 2)
		for n, file := range []string{"a.txt", "b.txt"} {
			i := c.pending[n]
			if i.str("reason") != "tool_call" || i.str("message") != "Approve call to delete_files?" || i.str("toolCallId") != calls(c.messages)[n] {
				t.Errorf("interrupt %v", i)
			}
			about, _ := i["metadata"].(map[string]any)["strands"].(map[string]any)
			if about["name"] != "myapp-approval" || about["tool_name"] != "delete_files" || !contains(text(about["reason"]), file) {
				t.Errorf("metadata %v", i["metadata"])
			}
			if schema := text(i["responseSchema"]); !contains(schema, `"type":"object"`, `"type":"boolean"`) {
				t.Errorf("schema %s", schema)
			}
		}
		c.finish(t, c.each(t, reject, reject))
		w.done(t, c)
	})
}

// TestStrandsPythonCallBesideOneThatNeedsNoApproval: one of two calls needs no approval. It must
// run once, whatever the answer about the other call is.
func TestStrandsPythonCallBesideOneThatNeedsNoApproval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		want   []string
	}{{"approved", accept, []string{"a.txt"}}, {"cancelled", cancelled, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/ndjson"}, func(t *testing.T, w world) {
				c := w.clerk(t)
				a := c.run(t, c.wants("mix a.txt")).answer(t)
				if len(a.outcome()) != 1 {
					t.Fatalf("asked for %d things, want 1: %s", len(a.outcome()), terminal(a))
				}
				if asked := calls(c.messages); len(asked) != 2 || c.pending[0].str("toolCallId") != asked[1] {
					t.Errorf("asked for %v of %v", c.pending[0]["toolCallId"], asked)
				}
				c.finish(t, c.each(t, test.answer))
				if ran := w.b.ledger(t, c.thread).Counts["list_files"]; ran != 1 {
					t.Errorf("list_files ran %d times", ran)
				}
				w.done(t, c, test.want...)
			})
		})
	}
}

// TestStrandsPythonToolsAsk: a tool asks a question itself, and must get the answer unchanged.
func TestStrandsPythonToolsAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command string
		words   []string
		want    string
	}{
		{"ask", []string{"production"}, `ask_user {"answer":"production"}`},
		{"ask", []string{"no"}, `ask_user {"answer":"no"}`},
		{"twice", []string{"staging", "sure"}, `ask_twice {"first":"staging","second":"sure"}`},
	} {
		t.Run(test.want, func(t *testing.T) {
			eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/sse"}, func(t *testing.T, w world) {
				c := w.clerk(t)
				s := c.wants(test.command)
				for n, word := range test.words {
					c.asks(t, s, 1)
					i := c.pending[0]
					if n == 0 && (i.str("message") != "Which environment?" || i.str("toolCallId") != calls(c.messages)[0]) {
						t.Errorf("asked with %v", i)
					}
					if i["responseSchema"] != nil {
						t.Errorf("a question with a schema: %v", i)
					}
					s = c.each(t, gives(word))
				}
				c.finish(t, s)
				w.ran(t, c, test.want)
				c.goesOn(t, nil)
				w.ran(t, c, test.want)
			})
		})
	}
}

// TestStrandsPythonAnAgentAsATool: an agent uses another agent as a tool. If the inner agent asks,
// the client must get a question about the call that it sees, which is the outer agent's call.
func TestStrandsPythonAnAgentAsATool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		want   []string
	}{{"approved", accept, []string{"a.txt"}}, {"denied", reject, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrandsPython(t, []string{"agentcore/boss"}, func(t *testing.T, w world) {
				c := w.clerk(t)
				c.asks(t, c.wants("hand a.txt"), 1)
				if c.pending[0].str("toolCallId") != calls(c.messages)[0] {
					t.Errorf("asked for %v of %v", c.pending[0]["toolCallId"], calls(c.messages))
				}
				c.finish(t, c.each(t, test.answer))
				w.done(t, c, test.want...)
			})
		})
	}
}

// TestStrandsPythonABatch: a hook asks one question about all calls of a message.
func TestStrandsPythonABatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		want   []string
	}{{"approved", gives("y"), []string{"a.txt", "b.txt"}}, {"approved in the schema's way", accept, []string{"a.txt", "b.txt"}}, {"denied", reject, nil}, {"cancelled", cancelled, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrandsPython(t, []string{"agentcore/batch", "kept/batch"}, func(t *testing.T, w world) {
				c := w.clerk(t)
				a := c.run(t, c.wants("pair a.txt b.txt")).answer(t)
				if len(a.outcome()) != 1 || a.code() != "" {
					t.Fatalf("the batch asked with %s", terminal(a))
				}
				i := c.pending[0]
				about, _ := i["metadata"].(map[string]any)["strands"].(map[string]any)
				if i["toolCallId"] != nil || i.str("reason") != "strands:batch" || i.str("message") != `Run all of it, don't you "think"?` ||
					text(about["reason"]) != `{"message":"Run all of it, don't you \"think\"?","more":null,"tools":["delete_files","delete_files"]}` {
					t.Errorf("asked with %v", i)
				}
				c.finish(t, c.each(t, test.answer))
				w.done(t, c, test.want...)
			})
		})
	}
}

// TestStrandsPythonNodesAsk: a graph or a swarm asks before a node runs, or while it runs.
func TestStrandsPythonNodesAsk(t *testing.T) {
	t.Parallel()
	nodes := []string{"agentcore/graph", "kept/graph", "agentcore/swarm", "kept/swarm"}
	t.Run("approved", func(t *testing.T) {
		eachStrandsPython(t, nodes, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("delete a.txt"), 1)
			if i := c.pending[0]; i["toolCallId"] != nil || i.str("reason") != "strands:node-approval" {
				t.Errorf("asked with %v", i)
			}
			c.asks(t, c.each(t, accept), 1)
			if i := c.pending[0]; i.str("toolCallId") != calls(c.messages)[0] || i.str("reason") != "tool_call" {
				t.Errorf("asked with %v", i)
			}
			w.gone(t, c)
			c.finish(t, c.each(t, accept))
			w.gone(t, c, "a.txt")
			complete(t, c.messages, nil)
		})
	})
	t.Run("denied in the node", func(t *testing.T) {
		eachStrandsPython(t, nodes, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("delete a.txt"), 1)
			c.asks(t, c.each(t, accept), 1)
			c.finish(t, c.each(t, reject))
			w.gone(t, c)
			complete(t, c.messages, nil)
		})
	})
	// If an answer denies a node, the run fails, as it does in Strands itself.
	t.Run("the node denied", func(t *testing.T) {
		eachStrandsPython(t, nodes, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("delete a.txt"), 1)
			if a := c.run(t, c.each(t, cancelled)).answer(t); a.code() == "" || a.outcome() != nil {
				t.Errorf("a node that is denied ended with %s", terminal(a))
			}
			w.gone(t, c)
		})
	})
	t.Run("two at once", func(t *testing.T) {
		eachStrandsPython(t, []string{"agentcore/branches", "kept/branches"}, func(t *testing.T, w world) {
			c := w.clerk(t)
			c.asks(t, c.wants("delete a.txt"), 2)
			c.finish(t, c.each(t, accept, reject))
			w.gone(t, c, "a.txt")
			complete(t, c.messages, nil)
		})
	})
}
