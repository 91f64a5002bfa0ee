package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
)

// A LangGraph is a port of ag-ui's TypeScript adapter for LangGraph (@ag-ui/langgraph 0.0.43). Its
// graph consists of a model, the same as that of the other backends, and a tool node that asks. The
// CUSTOM event on_interrupt announces a question, and the question is stored. resume or
// forwardedProps.command.resume answers it, and the run continues in the tool node. The adapter
// sends no RAW events.
type LangGraph struct {
	// Whole: true means that the adapter also sends steps, and snapshots of the state and of the
	// messages. If it is false, only the form of the pause differs from the stream of a backend
	// without storage.
	Whole bool
}

// A checkpoint is the state of a thread that the graph stores.
type checkpoint struct {
	messages []object
	state    sharedState
	history  []*chatMessage
	open     *functionCall
	asked    string // id of the open interrupt
}

// New returns a server that runs the graph.
func (g LangGraph) New(l *Ledger) *Server {
	var mu sync.Mutex
	threads := map[string]*checkpoint{}
	tools, m := l.tools(), &model{Ledger: l}
	return newServer(l, func(w http.ResponseWriter, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		var in struct {
			ThreadID, RunID string
			Messages        []inputMessage
			State           json.RawMessage
			Resume          []struct {
				Status  string
				Payload json.RawMessage
			}
			ForwardedProps struct {
				Command struct {
					Resume json.RawMessage
				}
			}
		}
		if json.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c := threads[in.ThreadID]
		if c == nil {
			c = &checkpoint{state: sharedState{Results: []string{}}}
			threads[in.ThreadID] = c
		}
		r := &graphRun{LangGraph: g, c: c, s: &stream{w: w, encode: text}, shares: stateOf(in.State) != nil}
		r.s.send(obj("type", "RUN_STARTED", "threadId", in.ThreadID, "runId", in.RunID))
		var err error
		answer := in.ForwardedProps.Command.Resume
		// resume has precedence; no graph understands what the adapter makes of a cancel or of
		// several entries
		if len(in.Resume) > 0 {
			answer = json.RawMessage(`{"__agui_cancelled__":true}`)
			if len(in.Resume) == 1 && in.Resume[0].Status == "resolved" && c.open != nil {
				answer = text(obj(c.asked, in.Resume[0].Payload))
				// The payload may already be LangGraph's map from interrupt id to answer.
				if gjson.GetBytes(in.Resume[0].Payload, c.asked).Exists() {
					answer = in.Resume[0].Payload
				}
			}
		}
		switch {
		case len(answer) > 0 && !isNull(answer):
			err = r.resume(in.ThreadID, tools, m, answer)
		case c.open != nil: // a question is open: ask it again
			r.ask()
		default:
			r.take(in.Messages)
			err = r.model(in.ThreadID, m)
		}
		if err != nil {
			l.complain(in.ThreadID, err.Error())
			r.s.send(obj("type", "RUN_ERROR", "message", err.Error()))
			return
		}
		r.s.send(obj("type", "RUN_FINISHED", "threadId", in.ThreadID, "runId", guid()))
	})
}

type graphRun struct {
	LangGraph
	c      *checkpoint
	s      *stream
	shares bool
}

// take adds those user messages of the request whose ids the thread does not have, as the adapter
// does.
func (r *graphRun) take(messages []inputMessage) {
	for _, m := range messages {
		if m.Role != "user" || m.ID == nil || slices.ContainsFunc(r.c.messages, func(o object) bool { return o[0].Value == *m.ID }) {
			continue
		}
		r.c.messages = append(r.c.messages, obj("id", *m.ID, "role", "user", "content", m.text()))
		r.c.history = append(r.c.history, newMessage("user", m.ID, textContent{m.text()}))
	}
}

// step runs a node, and sends the events of its step if Whole is set.
func (r *graphRun) step(name string, node func() error) error {
	if r.Whole {
		r.s.send(obj("type", "STEP_STARTED", "stepName", name))
		r.s.send(obj("type", "STATE_SNAPSHOT", "snapshot", r.values()))
	}
	err := node()
	if r.Whole && err == nil {
		r.s.send(obj("type", "STATE_SNAPSHOT", "snapshot", r.values()))
		r.s.send(obj("type", "STEP_FINISHED", "stepName", name))
	}
	return err
}

func (r *graphRun) values() object {
	o := obj()
	if r.Whole {
		o = o.With("messages", r.c.messages)
	}
	if r.shares {
		o = o.With("results", r.c.state.Results)
	}
	return o
}

// model runs the model node and the nodes that follow it.
func (r *graphRun) model(thread string, m *model) error {
	err := r.step("model", func() error {
		reply, err := m.respond(thread, r.c.history, nil)
		id, said := "ai-"+guid()[:12], ""
		var calls []*functionCall
		for _, u := range reply {
			for _, c := range u.contents {
				switch c := c.(type) {
				case textContent:
					if said == "" && c.text == "" {
						r.s.send(obj("type", "TEXT_MESSAGE_START", "messageId", id, "role", "assistant"))
						continue
					}
					said += c.text
					r.s.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", id, "delta", c.text))
				case *functionCall:
					calls = append(calls, c)
				}
			}
		}
		if err != nil {
			return err
		}
		if said != "" {
			r.s.send(obj("type", "TEXT_MESSAGE_END", "messageId", id))
		}
		message := obj("id", id, "role", "assistant", "content", said)
		history := newMessage("assistant", &id, textContent{said})
		var listed []object
		for _, c := range calls {
			r.call(c, id)
			listed = append(listed, obj("id", c.id, "type", "function", "function", obj("name", c.name, "arguments", string(c.args))))
			*history.contents = append(*history.contents, c)
			r.c.open = c
		}
		if listed != nil {
			message = message.With("toolCalls", listed)
		}
		r.c.messages, r.c.history = append(r.c.messages, message), append(r.c.history, history)
		return nil
	})
	if err == nil && r.c.open != nil {
		r.c.asked = guid()
		err = r.step("tools", func() error { return nil })
	}
	if err != nil {
		return err
	}
	r.snapshots()
	if r.c.open != nil {
		r.ask()
	}
	return nil
}

func (r *graphRun) call(c *functionCall, message string) {
	r.s.send(obj("type", "TOOL_CALL_START", "toolCallId", c.id, "toolCallName", c.name, "parentMessageId", message))
	r.s.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", c.id, "delta", string(c.args)))
	r.s.send(obj("type", "TOOL_CALL_END", "toolCallId", c.id))
}

func (r *graphRun) snapshots() {
	if r.Whole {
		r.s.send(obj("type", "STATE_SNAPSHOT", "snapshot", r.values()))
		r.s.send(obj("type", "MESSAGES_SNAPSHOT", "messages", r.c.messages))
	}
}

// ask announces the interrupt of the call that waits, in the form of LangChain's
// HumanInTheLoopMiddleware.
func (r *graphRun) ask() {
	c := r.c.open
	value := obj("actionRequests", []object{obj("name", c.name, "args", c.args, "description", "Approve execution of '"+c.name+"'?")},
		"reviewConfigs", []object{obj("actionName", c.name, "allowedDecisions", []string{"approve", "reject"})})
	r.s.send(obj("type", "CUSTOM", "name", "on_interrupt", "value", string(text(value)), "rawEvent", obj("id", r.c.asked, "value", value)))
}

// resume handles an answer in the form of LangGraph's map from interrupt id to answer, such as
// {"<id>":{"decisions":[{"type":"approve"}]}}. The tool node runs from its beginning, so it sends
// the call again.
func (r *graphRun) resume(thread string, tools map[string]tool, m *model, answer json.RawMessage) error {
	type decided struct {
		Decisions []struct{ Type string }
	}
	var byID map[string]decided
	c := r.c.open
	if err := json.Unmarshal(answer, &byID); err != nil || c == nil || len(byID[r.c.asked].Decisions) != 1 {
		return fmt.Errorf("the answer is for another interrupt")
	}
	err := r.step("tools", func() error {
		result := functionResult{c.id, "Tool call invocation rejected."}
		if byID[r.c.asked].Decisions[0].Type == "approve" {
			value, err := tools[c.name].run(thread, c)
			if err != nil {
				return err
			}
			result.value = value
		}
		id := "tool-" + guid()[:12]
		r.call(c, "")
		r.s.send(obj("type", "TOOL_CALL_RESULT", "messageId", id, "toolCallId", c.id, "content", result.serialized(), "role", "tool"))
		r.c.messages = append(r.c.messages, obj("id", id, "role", "tool", "content", result.serialized(), "toolCallId", c.id))
		r.c.history = append(r.c.history, newMessage("tool", &id, result))
		if r.c.state.add([]content{result}) && r.shares && !r.Whole {
			r.s.send(obj("type", "STATE_SNAPSHOT", "snapshot", r.values()))
		}
		return nil
	})
	r.c.open, r.c.asked = nil, ""
	if err != nil {
		return err
	}
	return r.model(thread, m)
}
