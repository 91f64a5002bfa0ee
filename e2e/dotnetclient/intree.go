package dotnetclient

import (
	"encoding/json"
	"slices"

	"holdpoint/e2e/netjson"
)

// An InTreeClient is a port of AGUIChatClient in Agent Framework's repository before dotnet-1.14.0
// (Microsoft.Agents.AI.AGUI). That client does not know interrupts.
type InTreeClient struct {
	Connection
	Invoking
	Reasoning bool // from 1.5.0 on it reads REASONING_* and sends the model's reasoning back
}

// Stream sends the conversation, as the interface Client says.
func (c InTreeClient) Stream(messages []*Message, options *Options, yield func(Update)) error {
	return c.stream(messages, options, yield, func(messages []*Message, yield func(Update)) error {
		return c.run(messages, options, yield)
	})
}

// run sends one request. It uses the thread of the options, or else a new thread. If a tool of the
// client has run, the next request gets a new thread too, because the real client loses the thread
// that it has stored.
func (c InTreeClient) run(messages []*Message, options *Options, yield func(Update)) error {
	thread := "thread_" + guid()
	if options != nil && options.Thread != "" {
		thread = options.Thread
	}
	body := netjson.New("threadId", thread, "runId", "run_"+guid())
	messages, state := takeState(messages)
	if state != nil {
		body = body.With("state", state)
	}
	body = body.With("messages", c.messages(messages))
	if tools := options.declarations(); tools != nil {
		body = body.With("tools", tools)
	}
	body = body.With("context", []string{})
	reading := &inTreeReading{reasoning: c.Reasoning, yield: func(u Update) {
		for _, content := range u.Contents {
			if call, ok := content.(*Call); ok {
				call.Informational = options.tool(call.Name) == nil
			}
		}
		yield(u)
	}}
	return c.post(body, reading.event)
}

// takeState removes the state from the last message. It returns the messages and the state, which
// is nil if there is none.
func takeState(messages []*Message) ([]*Message, json.RawMessage) {
	if len(messages) == 0 {
		return messages, nil
	}
	last := messages[len(messages)-1]
	at := slices.IndexFunc(last.Contents, func(c Content) bool { _, ok := c.(State); return ok })
	if at < 0 {
		return messages, nil
	}
	messages = slices.Clone(messages[:len(messages)-1])
	if rest := slices.Delete(slices.Clone(last.Contents), at, at+1); len(rest) > 0 {
		messages = append(messages, &Message{Role: last.Role, ID: last.ID, Contents: rest})
	}
	return messages, last.Contents[at].(State).JSON
}

// messages returns the messages as a request has them. A message without an id gets an id here, and
// keeps it.
func (c InTreeClient) messages(messages []*Message) []netjson.Object {
	list := []netjson.Object{}
	for _, m := range messages {
		if m.ID == "" {
			m.ID = guid()
		}
		switch m.Role {
		case "user", "developer":
			list = append(list, netjson.New("name", nil, "id", m.ID, "role", m.Role, "content", joined(m)))
		case "assistant":
			list = append(list, c.assistant(m)...)
		case "tool":
			for _, content := range m.Contents {
				if r, ok := content.(Result); ok {
					list = append(list, netjson.New("toolCallId", r.CallID, "error", nil, "id", r.CallID, "role", "tool", "content", inTreeResult(r)))
				}
			}
		default:
			list = append(list, netjson.New("id", m.ID, "role", m.Role, "content", joined(m)))
		}
	}
	return list
}

// assistant returns an assistant's message in the format of a request. Its reasoning becomes a
// separate message. The assistant's message has the last text and the calls. If it has neither text
// nor calls, it is left out.
func (c InTreeClient) assistant(m *Message) []netjson.Object {
	var list []netjson.Object
	var calls []netjson.Object
	said, thought := "", ""
	for _, content := range m.Contents {
		switch content := content.(type) {
		case Text:
			said = content.Text
		case Reasoning:
			thought += content.Text
		case *Call:
			calls = append(calls, called(content, "{}"))
		}
	}
	if thought != "" && c.Reasoning {
		list = append(list, netjson.New("id", guid(), "role", "reasoning", "content", thought))
	}
	if said != "" || calls != nil {
		var toolCalls any
		if calls != nil {
			toolCalls = calls
		}
		list = append(list, netjson.New("name", nil, "toolCalls", toolCalls, "id", m.ID, "role", "assistant", "content", said))
	}
	return list
}

// inTreeResult returns the value of a tool result as JSON text. A string becomes a JSON string.
func inTreeResult(r Result) string {
	if r.Value == nil {
		return ""
	}
	return string(netjson.Escaped(r.Value))
}
