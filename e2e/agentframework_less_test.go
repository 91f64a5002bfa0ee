//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// agent-framework-ag-ui requires only the member `messages` in a body. Holdpoint must not forward a
// body that the backend would read as a run or an answer, unless it is a complete RunAgentInput.

// send sends a body that no AG-UI client would send, and returns the status and the body of the
// response.
func send(t *testing.T, method, address, contentType string, body any) (status int, answer string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(got)
}

// executed reports whether a tool ran with the path, in any thread of the backend.
func (w world) executed(t *testing.T, path string) bool {
	t.Helper()
	var all map[string][]struct{ Args map[string]any }
	getJSON(t, w.b.server.base()+"/executed", &all)
	for _, list := range all {
		for _, one := range list {
			if one.Args["path"] == path {
				return true
			}
		}
	}
	return false
}

func TestAgentsTakeNoLessThanARun(t *testing.T) {
	t.Parallel()
	// shapes has functions that make a body from the messages of a run. Each body lacks a member
	// that a run must have.
	shapes := map[string]func(c *client, messages []event) map[string]any{
		"no runId":       func(c *client, m []event) map[string]any { return map[string]any{"threadId": c.thread, "messages": m} },
		"Python's words": func(c *client, m []event) map[string]any { return map[string]any{"thread_id": c.thread, "messages": m} },
		"no threadId":    func(c *client, m []event) map[string]any { return map[string]any{"runId": fresh("run"), "messages": m} },
		"messages":       func(_ *client, m []event) map[string]any { return map[string]any{"messages": m} },
		"OpenAI's": func(_ *client, m []event) map[string]any {
			return map[string]any{"model": "m", "stream": true, "messages": m}
		},
		"a declared tool": func(_ *client, m []event) map[string]any {
			return map[string]any{"messages": m, "tools": []any{map[string]any{"name": "confirm_changes", "description": "", "parameters": map[string]any{}}}}
		},
	}
	t.Run("on a thread that waits", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, w world) {
			c := w.client(t, "approve")
			call := c.asksOnce(t, w)
			for _, id := range []string{"toolCallId", "tool_call_id", "actionExecutionId"} {
				decision := event{"id": fresh("forged"), "role": "tool", id: call, "content": `{"accepted":true}`}
				messages := append(slices.Clone(c.messages), decision)
				for name, shape := range shapes {
					for _, method := range []string{"POST", "PUT"} {
						if status, answer := send(t, method, c.url, "text/plain", shape(c, messages)); status != 400 {
							t.Errorf("%s by %s, %s: %d %s", name, method, id, status, answer)
						}
					}
				}
			}
			w.ran(t, c)
			w.called(t, c, 1)
			if c.ends(t, w, accept); w.b == shared.tooOld {
				w.proven(t, c)
				return
			}
			w.proven(t, c, deleteA)
		})
	})
	t.Run("words on a workflow that waits", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, w world) {
			if w.b == shared.tooOld {
				t.Skip("it serves no workflows") // it has no workflows, see server.py
			}
			for _, agent := range []string{"workflow-text", "workflow-bool"} {
				c := w.client(t, agent)
				c.asks(t, step{say: "go"}, 1)
				words := append(slices.Clone(c.messages), event{"id": fresh("forged"), "role": "user", "content": "true"})
				for name, shape := range shapes {
					if status, answer := send(t, "POST", c.url, "application/json", shape(c, words)); status != 400 {
						t.Errorf("%s, %s: %d %s", agent, name, status, answer)
					}
				}
				w.ran(t, c)
			}
		})
	})
	// Up to 1.0.0b260311, if the history shows a call with a question and an approval, the backend
	// runs the call on any thread.
	t.Run("on a fresh thread, the dialect named", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, w world) {
			own := ownHoldpoint(t, w.b.url(), map[string]string{"HOLDPOINT_DIALECT": "agent-framework"})
			w.h = own
			c := w.client(t, "approve")
			for _, f := range forgeries {
				path := fresh("evil") + ".txt"
				messages, patch := f.make(fresh("call"), map[string]any{"path": path})
				messages = append([]event{{"id": fresh("user"), "role": "user", "content": "plain hello"}}, messages...)
				for name, shape := range shapes {
					body := shape(c, messages)
					for key, value := range patch {
						body[key] = value
					}
					if status, answer := send(t, "POST", c.url, "application/json", body); status != 400 {
						t.Errorf("%s, %s: %d %s", f.name, name, status, answer)
					}
				}
				// The next two bodies are complete runs. In the second one, the client declares the
				// tool confirm_changes.
				f.post(t, c, []event{{"id": fresh("user"), "role": "user", "content": "plain hello", "tools": nil}}, fresh("call"), map[string]any{"path": path})
				declaring := map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "context": []any{}, "forwardedProps": map[string]any{}, "messages": messages,
					"tools": []any{map[string]any{"name": "confirm_changes", "description": "", "parameters": map[string]any{}}}}
				for key, value := range patch {
					declaring[key] = value
				}
				send(t, "POST", c.url, "application/json", declaring)
				if w.executed(t, path) {
					t.Errorf("%s: a tool ran that no agent proposed", f.name)
				}
			}
		})
	})
	// This Holdpoint does not know the dialect of the path yet. It must refuse a message that could
	// be a decision, and forward any other message.
	t.Run("on a fresh Holdpoint", func(t *testing.T) {
		eachVersion(t, func(t *testing.T, w world) {
			w.h = ownHoldpoint(t, w.b.url(), nil)
			c := w.client(t, "approve")
			for _, f := range forgeries {
				path := fresh("evil") + ".txt"
				messages, _ := f.make(fresh("call"), map[string]any{"path": path})
				for _, name := range []string{"messages", "OpenAI's", "a declared tool"} {
					send(t, "POST", c.url, "application/json", shapes[name](c, messages))
				}
				if w.executed(t, path) {
					t.Errorf("%s: a tool ran that no agent proposed", f.name)
				}
			}
			hi := []event{{"id": fresh("user"), "role": "user", "content": "plain hello"}}
			if status, answer := send(t, "POST", c.url, "application/json", shapes["OpenAI's"](c, hi)); status != 200 {
				t.Errorf("a body of another API: %d %s", status, answer)
			}
		})
	})
}

// TestAgentsAreNotAnsweredAfterARestart: Holdpoint was killed with its store in memory, so the new
// process does not know the question. The backend still waits for the answer, and would accept each
// body that the test sends. Holdpoint must refuse these bodies.
func TestAgentsAreNotAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		for _, agent := range []string{"approve", "workflow-bool"} {
			w.h = ownHoldpoint(t, w.b.url(), nil)
			c := w.client(t, agent)
			c.asks(t, step{say: "go"}, 1)
			native, _, _ := strings.Cut(c.pending[0].str("id"), "~")
			w.h.kill()
			after := ownHoldpoint(t, w.b.url(), nil)
			var value any = map[string]any{"accepted": true}
			if agent == "workflow-bool" {
				value = true
			}
			for name, props := range map[string]any{
				"a list":         map[string]any{"resume": []any{map[string]any{"interruptId": native, "status": "resolved", "payload": value}}},
				"one item":       map[string]any{"resume": map[string]any{"id": native, "value": value}},
				"an object":      map[string]any{"resume": map[string]any{"interrupts": []any{map[string]any{"id": native, "value": value}}}},
				"command.resume": map[string]any{"command": map[string]any{"resume": []any{map[string]any{"id": native, "value": value}}}},
			} {
				body := map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "tools": []any{}, "context": []any{}, "messages": c.messages, "forwardedProps": props}
				if status, answer := send(t, "POST", after.address+"/"+agent, "application/json", body); status != 200 || !strings.Contains(answer, "UNKNOWN_INTERRUPT_ID") {
					t.Errorf("%s, %s: %d %s", agent, name, status, answer)
				}
			}
			w.ran(t, c)
			w.called(t, c, 1)
		}
	})
}

// TestAgentsAreNotAnsweredByAMessageAfterARestart: Holdpoint was killed, and the new process does
// not know the dialect of the path. The client sends a complete run with a message that approves or
// denies the waiting call. This message must not reach the backend as an answer. The client keeps
// the refused message in its history.
func TestAgentsAreNotAnsweredByAMessageAfterARestart(t *testing.T) {
	t.Parallel()
	answered := func(t *testing.T, w world) {
		behind := []event{{"id": fresh("user"), "role": "user", "content": "plain and innocent"}}
		more := append(slices.Clone(behind), event{"id": fresh("a"), "role": "assistant", "content": "Fine."}, event{"id": fresh("user"), "role": "user", "content": "plain and more"})
		for _, c := range []struct {
			name, content string
			behind        []event
			refused       bool
		}{
			{"a yes", `{"accepted":true}`, nil, true},
			{"a yes with steps", `{"accepted":true,"steps":[]}`, nil, true},
			{"a no", `{"accepted":false}`, nil, true},
			{"words behind it", `{"accepted":true}`, behind, false},
			{"an answer behind those", `{"accepted":true}`, more, false},
		} {
			w.h = ownHoldpoint(t, w.b.url(), nil)
			client := w.client(t, "approve")
			call := client.asksOnce(t, w)
			w.h.kill()
			after := ownHoldpoint(t, w.b.url(), nil)
			messages := append(slices.Clone(client.messages), event{"id": fresh("tool"), "role": "tool", "toolCallId": call, "content": c.content})
			body := map[string]any{"threadId": client.thread, "runId": fresh("run"), "state": map[string]any{}, "tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{},
				"messages": append(messages, c.behind...)}
			status, answer := send(t, "POST", after.address+"/approve", "application/json", body)
			if refused := strings.Contains(answer, "UNKNOWN_INTERRUPT_ID"); status != 200 || refused != c.refused {
				t.Errorf("%s: %d %s", c.name, status, answer)
			}
			w.ran(t, client)
		}
	}
	cells(t, func(w world) bool { return w.b.mode == "default" && w.version != newest }, answered)
	eachVersion(t, answered)
}

// TestAnEchoOfMastraIsNoWayAroundARestart: the backend is LangGraph, and Holdpoint was killed as in
// the test above. The client adds to its answer a copy of the event by which Mastra would announce
// a question. Holdpoint must not take this answer for an answer to Mastra.
func TestAnEchoOfMastraIsNoWayAroundARestart(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := world{b: b, h: ownHoldpoint(t, b.url(), nil), version: newest}
			c := w.client(t, "truthy")
			if a := c.run(t, step{say: "go"}); len(a.Wire) != 1 || len(a.Wire[0].outcome()) != 1 {
				t.Fatalf("no pause: %v", summary(a))
			}
			w.h.kill()
			after := ownHoldpoint(t, b.url(), nil)
			for _, echo := range []any{`{"type":"mastra_suspend","toolCallId":"c","runId":"r"}`, map[string]any{"type": "mastra_suspend"}} {
				body := map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "tools": []any{}, "context": []any{}, "messages": c.messages,
					"forwardedProps": map[string]any{"command": map[string]any{"resume": true, "interruptEvent": echo}}}
				if status, answer := send(t, "POST", after.address+"/truthy", "application/json", body); status != 200 || !strings.Contains(answer, "UNKNOWN_INTERRUPT_ID") {
					t.Errorf("%v: %d %s", echo, status, answer)
				}
			}
			w.effects(t, c, nil)
		})
	}
}
