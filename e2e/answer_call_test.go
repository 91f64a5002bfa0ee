//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"testing"
)

// callOf returns the call that the question is about, in the format in which a client of the AG-UI
// .NET SDK puts it into its answer. The call is read from the client's messages.
func (c *client) callOf(t *testing.T, question event) map[string]any {
	t.Helper()
	for _, m := range c.messages {
		made, _ := m["toolCalls"].([]any)
		for _, one := range made {
			call := event(one.(map[string]any))
			if call.str("id") != question.str("toolCallId") {
				continue
			}
			function := event(call["function"].(map[string]any))
			var arguments map[string]any
			if text := function.str("arguments"); text != "" {
				if err := json.Unmarshal([]byte(text), &arguments); err != nil {
					t.Fatal(err)
				}
			}
			return map[string]any{"callId": call.str("id"), "name": function.str("name"), "arguments": arguments}
		}
	}
	t.Fatalf("no message has the call of %v", question)
	return nil
}

// TestAnswersThatNameTheirCall: some clients put into their answer the call about which they were
// asked. In every framework that asks about a call, an answer with exactly this call must be
// carried out. An answer with another tool must be refused, even if it is a denial. An answer with
// other arguments is an edit: the call runs as edited, or the answer is refused.
func TestAnswersThatNameTheirCall(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, f := range lostFamilies(t) {
		if _, object := f.yes.(map[string]any); !object {
			continue // its questions are answered in words
		}
		t.Run(f.name, func(t *testing.T) {
			w := f.at(ownHoldpoint(t, f.upstream, f.env))
			c := f.client(t, w)
			c.asksAbout(t, f.says(c, f.one), 1)
			question := c.pending[0]
			if question.str("toolCallId") == "" {
				return // the question is not about a call of the client's history
			}
			asked[f.name] = true
			call := c.callOf(t, question)
			answers := func(says any, key string, value any) step {
				named := maps.Clone(call)
				named[key] = value
				payload := maps.Clone(says.(map[string]any))
				payload["toolCall"], payload["result"] = named, nil
				return step{resume: c.answers(gives(payload)), empty: true}
			}
			c.refused(t, answers(f.yes, "name", "wipe"), "INVALID_PAYLOAD", true)
			c.refused(t, answers(f.no, "callId", "other"), "INVALID_PAYLOAD", true)
			schema, _ := c.pending[0]["responseSchema"].(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			if _, offers := properties["editedArgs"]; !offers {
				c.refused(t, answers(f.yes, "arguments", map[string]any{"path": "evil.txt"}), "INVALID_PAYLOAD", true)
			}
			f.ran(t, w, c)
			c.finish(t, answers(f.yes, "name", call["name"]))
			f.ran(t, w, c, "a.txt")
			if !f.getsOn(t, c) {
				t.Error("the chat does not go on")
			}
			f.ran(t, w, c, "a.txt")
		})
	}
	if len(asked) < 8 {
		t.Errorf("only these ask about a call: %v", asked)
	}
}
