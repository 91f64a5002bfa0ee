//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// TestDotNetHistories: between a call and its result, the client's history has messages of
// reasoning, messages of activities, or texts that were written while the question was open. .NET's
// hosts and their provider refuse each of these, except reasoning in the versions 0603 and 0707.
// With Holdpoint the chat must continue. This must hold even after a restart, if HOLDPOINT_DIALECT
// or the id of the lost question tells Holdpoint which host it is.
func TestDotNetHistories(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	for _, dialect := range []string{"auto", "agent-framework", "request-approval"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"HOLDPOINT_DIALECT": dialect}
			before, after := ownHoldpoint(t, backends.URL, env), ownHoldpoint(t, backends.URL, env)
			for _, host := range askingHosts() {
				if dialect != "auto" && dialect != host.dialect() {
					continue
				}
				for _, situation := range []string{"the record is there", "restarted"} {
					if situation == "restarted" && dialect == "auto" {
						continue // Holdpoint does not know the dialect of the path
					}
					for _, between := range []string{"words", "reasoning", "an activity", "reasoning, an activity and words"} {
						t.Run(fmt.Sprint(host, "/", situation, "/", between), func(t *testing.T) {
							ledger := scripted.NewLedger()
							path := backends.add(host, ledger)
							c := &handChat{t: t, address: before.address + path, thread: fresh("thread")}
							if _, told := c.says("delete a.txt", onlyTools); len(c.asked) != 1 || len(c.messages) != 2 {
								t.Fatalf("it asks otherwise: %s", told)
							}
							asked := c.asked
							if _, told := c.run(entries(asked, yesEntry)); len(c.messages) != 4 || !strings.Contains(c.messages[2], `"role":"tool"`) {
								t.Fatalf("the yes is not followed by one result and a text: %s", told)
							}
							var list []string
							for word, message := range map[string]string{
								"words":     `{"id":%q,"role":"user","content":"Quickly."}`,
								"reasoning": `{"id":%q,"role":"reasoning","content":"Hm."}`,
								"activity":  `{"id":%q,"role":"activity","activityType":"x","content":{}}`,
							} {
								if strings.Contains(between, word) {
									list = append(list, fmt.Sprintf(message, fresh("between")))
								}
							}
							c.messages = slices.Insert(c.messages, 2, list...) // between the call and its result
							if situation == "restarted" {
								c.address = after.address + path
								if host.wrapping == scripted.Plain {
									if _, told := c.post(entries(asked, cancelEntry)); !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
										t.Errorf("a cancel of what nobody knows is told as %s", told)
									}
								}
							}
							status, told := c.says("plain and later", onlyTools)
							if status != http.StatusOK || !strings.Contains(told, "and later") || strings.Contains(told, `"RUN_ERROR"`) {
								t.Errorf("the chat does not go on: %d %s\n%s", status, told, strings.Join(c.messages, "\n"))
							}
							if total := ledger.Total(); len(total) != 1 {
								t.Errorf("it ran: %v", total)
							}
						})
					}
				}
			}
		})
	}
}

// TestOwnResultsAfterARestart: the agent sent no result for a call, so Holdpoint wrote one into the
// chat. Since then Holdpoint has lost the record of the question. The next message must be
// answered, by the strict providers of .NET's hosts and by Python's agents. For this, Holdpoint
// must remove the result and its call from the request.
func TestOwnResultsAfterARestart(t *testing.T) {
	t.Parallel()
	const own = "Holdpoint: this was not approved. The agent told no result of it."
	history := func(c *handChat) {
		call := fresh("call")
		c.messages = append(c.messages,
			fmt.Sprintf(`{"id":%q,"role":"user","content":"delete a.txt"}`, fresh("u")),
			fmt.Sprintf(`{"id":%q,"role":"assistant","content":"","toolCalls":[{"id":%q,"type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"a.txt\"}"}}]}`, fresh("a"), call),
			fmt.Sprintf(`{"id":"result-%s","role":"tool","toolCallId":%q,"content":%q}`, call, call, own))
	}
	goesOn := func(t *testing.T, c *handChat) {
		t.Helper()
		history(c)
		status, told := c.says("plain and later", `"tools":[],"context":[],"state":{},"forwardedProps":{}`)
		if status != http.StatusOK || !strings.Contains(told, "and later") || strings.Contains(told, `"RUN_ERROR"`) || strings.Contains(told, "Holdpoint:") {
			t.Errorf("the chat does not go on: %d %s", status, told)
		}
	}
	backends := newManyBackends(t)
	h := ownHoldpoint(t, backends.URL, nil)
	for _, host := range askingHosts() {
		t.Run(host.String(), func(t *testing.T) {
			ledger := scripted.NewLedger()
			goesOn(t, &handChat{t: t, address: h.address + backends.add(host, ledger), thread: fresh("thread")})
			if total := ledger.Total(); len(total) > 0 {
				t.Errorf("it ran: %v", total)
			}
		})
	}
	for name, c := range map[string]struct {
		b     *backend
		agent string
	}{
		"pydantic-ai": {&backend{name: "pydantic-ai", mode: "stateless", server: need(t, "pydanticai", "2.68.0")}, "agent"},
		"LangGraph":   {&backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}, "approve"},
	} {
		t.Run(name, func(t *testing.T) {
			h := ownHoldpoint(t, c.b.url(), nil)
			thread := fresh("thread")
			goesOn(t, &handChat{t: t, address: h.address + "/" + c.agent, thread: thread})
			if l := c.b.ledger(t, thread); len(l.Effects) > 0 {
				t.Errorf("it ran: %v", l.Effects)
			}
		})
	}
}

// TestOwnResultsOfAKnownQuestion: the chat has a result that Holdpoint wrote, and Holdpoint still
// has the record of the question. Some backends read the conversation from the request and give
// each call to their model, whose provider refuses a call without a result. So Holdpoint must
// remove both its result and the call, and the next messages must be answered.
func TestOwnResultsOfAKnownQuestion(t *testing.T) {
	t.Parallel()
	const own = `"content":"Holdpoint: this was not approved. The agent told no result of it."`
	type place struct {
		b          *backend
		agent, say string
	}
	places := []place{
		{&backend{name: "pydantic-ai", mode: "stateless", server: need(t, "pydanticai", "2.68.0")}, "agent", "delete a.txt"},
		{&backend{name: "AG2", mode: "held", server: need(t, "ag2", "1.2.1")}, "agent", "delete a.txt"},
	}
	for _, b := range shared.agents {
		if b.mode == "default" {
			places = append(places, place{b, "strict", "go"})
		}
	}
	const rest = `"tools":[],"context":[],"state":{},"forwardedProps":{}`
	for _, p := range places {
		t.Run(p.b.name, func(t *testing.T) {
			t.Parallel()
			c := &handChat{t: t, address: ownHoldpoint(t, p.b.url(), nil).address + "/" + p.agent, thread: fresh("thread")}
			_, told := c.says(p.say, rest)
			if len(c.asked) != 1 {
				t.Fatalf("it asks nothing: %s", told)
			}
			call, name, args, message := "", "", "", ""
			for _, line := range strings.Split(told, "\n") {
				var ev struct{ Type, ToolCallID, ToolCallName, ParentMessageID, Delta string }
				if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &ev) != nil {
					continue
				}
				switch {
				case ev.Type == "TOOL_CALL_START" && call == "":
					call, name, message = ev.ToolCallID, ev.ToolCallName, cmp.Or(ev.ParentMessageID, fresh("a"))
				case ev.Type == "TOOL_CALL_ARGS" && ev.ToolCallID == call:
					args += ev.Delta
				}
			}
			conversation := append(c.messages[:1:1], fmt.Sprintf(`{"id":%q,"role":"assistant","content":"","toolCalls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, message, call, name, quoted(args)))
			c.messages = conversation
			payload := noEntry
			if p.b.name == "AG2" {
				payload = `"status":"resolved","payload":false`
			}
			if _, told = c.run(rest + "," + entries(c.asked, payload)); strings.Contains(told, `"RUN_ERROR"`) && !strings.Contains(told, `"UPSTREAM_EOF"`) {
				t.Fatalf("the answer is not taken: %s", told)
			}
			// Here the test replaces the messages that the client got. The client then has
			// Holdpoint's result for the call, as after a response that was cut off (1.0.0b251223
			// with a strict model).
			c.messages = append(conversation, fmt.Sprintf(`{"id":"result-%s","role":"tool","toolCallId":%q,%s}`, call, call, own))
			for _, words := range []string{"plain and later", "plain and again"} {
				status, told := c.says(words, rest)
				if status != http.StatusOK || !strings.Contains(told, words[6:]) || strings.Contains(told, `"RUN_ERROR"`) || strings.Contains(told, "Holdpoint:") {
					t.Errorf("the chat does not go on: %d %s\n%s", status, told, strings.Join(c.messages, "\n"))
				}
			}
			if l := p.b.ledger(t, c.thread); len(l.Effects) > 0 {
				t.Errorf("it ran: %v", l.Effects)
			}
		})
	}
}
