//go:build e2e

package e2e

import "testing"

type answer = func(id string) entry

// TestAgentsApprovals plays approvals of every kind. After each, the client sends an ordinary
// message. An approved call must run once with the arguments that were shown, and no other call may
// run.
func TestAgentsApprovals(t *testing.T) {
	t.Parallel()
	round := func(answers ...answer) []answer { return answers }
	for _, test := range []struct {
		name, agent string
		rounds      [][]answer // for each pause, its answers
		want        []string
	}{
		{"approved", "approve", [][]answer{round(accept)}, []string{deleteA}},
		{"accepted", "approve", [][]answer{round(accepted)}, []string{deleteA}},
		{"denied", "approve", [][]answer{round(reject)}, nil},
		{"cancelled", "approve", [][]answer{round(cancelled)}, nil},
		{"two arguments", "email", [][]answer{round(accept)}, []string{mail}},
		{"text before the call", "spoken", [][]answer{round(accept)}, []string{deleteA}},
		{"text before the call, denied", "spoken", [][]answer{round(reject)}, nil},
		{"a tool that fails", "boom-tool", [][]answer{round(accept)}, []string{explode}},
		{"a search before", "before", [][]answer{round(accept)}, []string{search, deleteA}},
		{"a search before, denied", "before", [][]answer{round(reject)}, []string{search}},

		{"both", "parallel", [][]answer{round(accept, accept)}, []string{deleteA, deleteB}},
		{"the first of two", "parallel", [][]answer{round(accept, reject)}, []string{deleteA}},
		{"the second of two", "parallel", [][]answer{round(reject, accept)}, []string{deleteB}},
		{"neither", "parallel", [][]answer{round(reject, reject)}, nil},
		{"both cancelled", "parallel", [][]answer{round(cancelled, cancelled)}, nil},
		{"the first, the second cancelled", "parallel", [][]answer{round(accept, cancelled)}, []string{deleteA}},
		{"the second, the first cancelled", "parallel", [][]answer{round(cancelled, accept)}, []string{deleteB}},
		{"one denied, one cancelled", "parallel", [][]answer{round(reject, cancelled)}, nil},
		{"two tools", "pair", [][]answer{round(accept, accept)}, []string{deleteA, mail}},
		{"the first of two tools", "pair", [][]answer{round(accept, reject)}, []string{deleteA}},
		{"the second of two tools", "pair", [][]answer{round(reject, accept)}, []string{mail}},
		{"three", "triple", [][]answer{round(accept, accept, accept)}, []string{deleteA, deleteB, deleteC}},
		{"the outer of three", "triple", [][]answer{round(accept, reject, accept)}, []string{deleteA, deleteC}},
		{"the inner of three", "triple", [][]answer{round(reject, accept, reject)}, []string{deleteB}},
		{"none of three", "triple", [][]answer{round(reject, cancelled, reject)}, nil},

		{"again", "again", [][]answer{round(accept), round(accept)}, []string{deleteA, mail}},
		{"again, then denied", "again", [][]answer{round(accept), round(reject)}, []string{deleteA}},
		{"denied, then again", "again", [][]answer{round(reject), round(accept)}, []string{mail}},
		{"denied twice", "again", [][]answer{round(reject), round(cancelled)}, nil},

		// In these cases the backend uses another thread id than the client, and keeps the pause
		// only under the backend's thread id.
		{"another thread id", "drift", [][]answer{round(accept), round(accept)}, []string{deleteA, mail}},
		{"another thread id, denied", "drift", [][]answer{round(reject), round(accept)}, []string{mail}},
		{"another thread id each time", "drift-each", [][]answer{round(accept), round(accept)}, []string{deleteA, mail}},
		{"another thread id each time, denied", "drift-each", [][]answer{round(accept), round(reject)}, []string{deleteA}},
		{"another run id", "drift-run", [][]answer{round(accept)}, []string{deleteA}},

		// In these cases the model is as strict as that of a real provider: it returns status 400
		// if the history has a call without a result, even in the middle of a run.
		{"strict", "strict", [][]answer{round(accept)}, []string{deleteA}},
		{"strict, denied", "strict", [][]answer{round(reject)}, nil},
		{"strict, cancelled", "strict", [][]answer{round(cancelled)}, nil},
		{"strict, both", "strict-parallel", [][]answer{round(accept, accept)}, []string{deleteA, deleteB}},
		{"strict, the first of two", "strict-parallel", [][]answer{round(accept, reject)}, []string{deleteA}},
		{"strict, the second of two", "strict-parallel", [][]answer{round(reject, accept)}, []string{deleteB}},
		{"strict, neither", "strict-parallel", [][]answer{round(reject, cancelled)}, nil},

		// In these cases the state already shows what the tool would write (a prediction), and the
		// tool also asks for an approval.
		{"a prediction and an approval", "predictive-ask", [][]answer{round(accept)}, []string{write}},
		{"a prediction and a denial", "predictive-ask", [][]answer{round(reject)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachMode(t, []string{"default", "unconfirmed"}, func(t *testing.T, w world) {
				c := w.client(t, test.agent)
				s := step{say: "go"}
				for n, answers := range test.rounds {
					c.asks(t, s, len(answers))
					if n == 0 && test.agent != "before" {
						w.ran(t, c)
					}
					s = c.each(t, answers...)
				}
				c.plain(t, c.finish(t, s))
				if w.since("1.7.0") && test.agent == "predictive-ask" {
					// On every resume with a state, this backend itself puts a message "Application
					// state" between a call and its result. So the history would not pass the check
					// in the method proven.
					w.ran(t, c, test.want...)
					return
				}
				w.proven(t, c, test.want...)
			})
		})
	}
}

// TestAgentsAskInTheOutcome: each question must be about a call of the client's history, and
// describe the call in its message and its metadata. An answer that fits the question's schema must
// work.
func TestAgentsAskInTheOutcome(t *testing.T) {
	t.Parallel()
	eachMode(t, []string{"default", "unconfirmed"}, func(t *testing.T, w world) {
		c := w.client(t, "pair")
		c.asks(t, step{say: "go"}, 2)
		for n, name := range []string{"delete_file", "send_email"} {
			i := c.pending[n]
			if i.str("reason") != "tool_call" || i.str("message") != "Approve running "+name+"?" || i.str("toolCallId") != calls(c.messages)[n] {
				t.Errorf("interrupt %v", i)
			}
			if call, _ := i["metadata"].(map[string]any)["agent_framework"].(map[string]any)["function_call"].(map[string]any); call["name"] != name {
				t.Errorf("metadata %v", i["metadata"])
			}
			if schema := text(i["responseSchema"]); !contains(schema, `"type":"object"`, `"type":"boolean"`) {
				t.Errorf("schema %s", schema)
			}
		}
		c.finish(t, c.each(t, reject, reject))
		w.proven(t, c)
	})
}

// TestAgentsCallBesideOneThatNeedsNoApproval: the model makes two calls, and only one of them needs
// an approval. Since 1.0.0rc8 the other call runs, even if the person denies the first one. Before
// 1.0.0rc8 the other call never runs, and the model must learn that.
func TestAgentsCallBesideOneThatNeedsNoApproval(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"mixed", "strict-mixed"} {
		t.Run(agent, func(t *testing.T) {
			for _, test := range []struct {
				name   string
				answer answer
				want   []string
			}{{"approved", accept, []string{deleteA}}, {"denied", reject, nil}, {"cancelled", cancelled, nil}} {
				t.Run(test.name, func(t *testing.T) {
					eachAgent(t, func(t *testing.T, w world) {
						c := w.client(t, agent)
						a := c.run(t, step{say: "go"}).answer(t)
						if len(a.outcome()) != 1 {
							t.Fatalf("asked for %d things, want 1: %s", len(a.outcome()), terminal(a))
						}
						if asked := calls(c.messages); len(asked) != 2 || c.pending[0].str("toolCallId") != asked[1] {
							t.Errorf("asked for %v of %v", c.pending[0]["toolCallId"], asked)
						}
						c.finish(t, c.each(t, test.answer))
						want := test.want
						if w.since("1.0.0rc8") {
							want = append([]string{search}, want...)
						}
						w.proven(t, c, want...)
					})
				})
			}
		})
	}
}

// TestAgentsWithASnapshotStore: a backend with a snapshot store keeps the messages of a thread, and
// merges them with the messages of the request. An approved call must run, no other call may run,
// and the thread must continue.
func TestAgentsWithASnapshotStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		want   []string
	}{{"approved", accept, []string{deleteA}}, {"denied", reject, nil}, {"cancelled", cancelled, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachMode(t, []string{"stored"}, func(t *testing.T, w world) {
				c := w.client(t, "approve")
				c.asks(t, step{say: "go"}, 1)
				c.finish(t, c.each(t, test.answer))
				w.ran(t, c, test.want...)
				c.goesOn(t, nil)
				w.ran(t, c, test.want...)
			})
		})
	}
}
