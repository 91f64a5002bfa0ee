package dotnetclient

import (
	"encoding/json"
	"slices"

	"holdpoint/e2e/netjson"
)

// An AGUIClient is a port of AGUIChatClient in the AG-UI SDK for .NET (AGUI.Client).
type AGUIClient struct {
	Connection
	Invoking
	ThrowsRunError bool // whether a RUN_ERROR throws, as in 0.0.3
}

// Stream sends the conversation. If the last message has answers of one kind (to requests for
// approval or for input), they become entries of the request's resume. Then every message that has
// a request or an answer of this kind is left out.
func (c AGUIClient) Stream(messages []*Message, options *Options, yield func(Update)) error {
	var resume []netjson.Object
	messages = slices.Clone(messages)
	if len(messages) > 0 {
		approvals, inputs := answers(messages[len(messages)-1])
		if approvals != nil {
			messages = slices.DeleteFunc(messages, func(m *Message) bool { return has[*ApprovalRequest](m) || has[*ApprovalAnswer](m) })
		}
		if inputs != nil {
			messages = slices.DeleteFunc(messages, func(m *Message) bool { return has[*InputRequest](m) || has[*InputAnswer](m) })
		}
		resume = append(approvals, inputs...)
	}
	return c.stream(messages, options, yield, func(messages []*Message, yield func(Update)) error {
		return c.run(messages, options, resume, yield)
	})
}

// answers returns the entries of resume that belong to the answers in a message.
func answers(m *Message) (approvals, inputs []netjson.Object) {
	for _, content := range m.Contents {
		switch a := content.(type) {
		case *ApprovalAnswer:
			call := netjson.New("callId", a.Call.ID, "name", a.Call.Name)
			if a.Call.Arguments != nil {
				call = call.With("arguments", a.Call.Arguments)
			}
			payload := netjson.New("approved", a.Approved, "toolCall", call)
			if a.Result != "" {
				payload = payload.With("result", a.Result)
			}
			approvals = append(approvals, netjson.New("interruptId", a.ID, "status", "resolved", "payload", payload))
		case *InputAnswer:
			inputs = append(inputs, netjson.New("interruptId", a.ID, "status", "resolved", "payload", a.Payload))
		}
	}
	return approvals, inputs
}

func has[T any](m *Message) bool {
	return slices.ContainsFunc(m.Contents, func(c Content) bool { _, ok := c.(T); return ok })
}

// run sends one request, and yields the updates of its response.
func (c AGUIClient) run(messages []*Message, options *Options, resume []netjson.Object, yield func(Update)) error {
	thread := c.thread(messages, options)
	body := netjson.New("threadId", thread, "runId", "run_"+shortID(), "messages", sdkMessages(messages))
	if tools := options.declarations(); tools != nil {
		body = body.With("tools", tools)
	}
	if resume != nil {
		body = body.With("resume", resume)
	}
	reading := &sdkReading{throwsRunError: c.ThrowsRunError, yield: func(u Update) {
		if u.event == "RUN_STARTED" && options != nil && options.Thread == "" && options.noted == "" {
			options.noted = u.thread
		}
		for _, content := range u.Contents {
			if call, ok := content.(*Call); ok {
				if call.Informational = options.tool(call.Name) == nil; !call.Informational {
					call.thread = u.thread
				}
			}
		}
		yield(u)
	}}
	return c.post(body, reading.event)
}

// thread returns the thread of a request. If the last message has the result of a client's call,
// that is the thread of the call. Otherwise it is the thread of the options, or a new one.
func (c AGUIClient) thread(messages []*Message, options *Options) string {
	if n := len(messages) - 2; n >= 0 && len(messages[n].Contents) > 0 {
		if call, ok := messages[n].Contents[0].(*Call); ok && call.thread != "" {
			thread := call.thread
			call.thread = ""
			return thread
		}
	}
	if options != nil && options.Thread != "" {
		return options.Thread
	}
	if options != nil && options.noted != "" {
		return options.noted
	}
	return "thread_" + shortID()
}

// sdkMessages returns the messages as a request of AGUI.Client has them.
func sdkMessages(messages []*Message) []netjson.Object {
	list := []netjson.Object{}
	for _, m := range messages {
		switch m.Role {
		case "user":
			list = append(list, withID(netjson.New("role", "user", "content", sdkContent(m)), m))
		case "assistant":
			list = append(list, withID(sdkAssistant(m), m))
		case "tool":
			for _, c := range m.Contents {
				if r, ok := c.(Result); ok {
					list = append(list, netjson.New("role", "tool", "content", sdkResult(r), "toolCallId", r.CallID, "id", r.CallID))
				}
			}
		default:
			list = append(list, withID(netjson.New("role", m.Role, "content", joined(m)), m))
		}
	}
	return list
}

func withID(o netjson.Object, m *Message) netjson.Object {
	if m.ID == "" {
		return o
	}
	return o.With("id", m.ID)
}

// sdkContent returns the content of a user message: a string, or a list if the message has several
// parts. For an answer that does not become part of resume, the real client sends the name of its
// .NET type.
func sdkContent(m *Message) any {
	var texts []string
	for _, c := range m.Contents {
		switch c := c.(type) {
		case Text:
			texts = append(texts, c.Text)
		case *InputAnswer:
			texts = append(texts, "AGUI.Abstractions.InterruptResponseContent")
		case *ApprovalAnswer:
			texts = append(texts, "Microsoft.Extensions.AI.ToolApprovalResponseContent")
		}
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return texts[0]
	}
	var parts []netjson.Object
	for _, text := range texts {
		parts = append(parts, netjson.New("type", "text", "text", text))
	}
	return parts
}

func sdkAssistant(m *Message) netjson.Object {
	o := netjson.New("role", "assistant")
	if said := joined(m); said != "" {
		o = o.With("content", said)
	}
	var calls []netjson.Object
	for _, c := range m.Contents {
		if call, ok := c.(*Call); ok {
			calls = append(calls, called(call, ""))
		}
	}
	if calls != nil {
		o = o.With("toolCalls", calls)
	}
	return o
}

func joined(m *Message) string {
	var all string
	for _, c := range m.Contents {
		if said, ok := c.(Text); ok {
			all += said.Text
		}
	}
	return all
}

// sdkResult returns the content of a tool result: a string as it is, anything else as JSON text.
func sdkResult(r Result) string {
	if s, ok := r.Value.(string); ok {
		return s
	}
	return string(netjson.Escaped(r.Value.(json.RawMessage)))
}
