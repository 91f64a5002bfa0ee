package dotnetclient

import (
	"slices"
	"strings"
)

// An Invoking is a port of the FunctionInvokingChatClient inside a client, as one version of
// Microsoft.Extensions.AI has it.
type Invoking struct {
	Denial  string // result of a denied call, for the model
	InPlace bool   // the call and the result for an answer replace it in its place, and not at the end
}

// MEAI910, MEAI108 and MEAI1011 are versions of Microsoft.Extensions.AI. They differ in the text of
// a denial, and in where they put the call and the result that belong to an answer. Versions
// between them were not observed.
var (
	MEAI910  = Invoking{Denial: "Error: Tool call invocation was rejected by user."}
	MEAI108  = Invoking{Denial: "Tool call invocation rejected."}
	MEAI1011 = Invoking{Denial: "Tool call invocation was rejected by the approver and must not be retried.", InPlace: true}
)

// stream carries out the approvals in the conversation, and sends the conversation. While a
// response calls local tools, stream runs them and sends their results. It returns after a response
// that calls no local tool.
func (f Invoking) stream(messages []*Message, options *Options, yield func(Update), send func([]*Message, func(Update)) error) error {
	messages, err := f.decided(messages, options, yield)
	if err != nil {
		return err
	}
	for {
		var updates []Update
		err := send(messages, func(u Update) {
			updates = append(updates, u)
			yield(u)
		})
		if err != nil {
			return err
		}
		calls, runnable := openCalls(updates, options)
		if len(calls) == 0 || !runnable {
			return nil
		}
		results := &Message{Role: "tool", ID: guid()}
		for _, c := range calls {
			c.Informational = true
			results.Contents = append(results.Contents, Result{c.ID, options.tool(c.Name).Run(c.Arguments)})
		}
		messages = append(append(slices.Clone(messages), Messages(updates)...), results)
		yield(Update{Role: results.Role, MessageID: results.ID, Contents: results.Contents})
	}
}

// openCalls returns the calls in a response that have no result. runnable reports whether all of
// them can be run locally.
func openCalls(updates []Update, options *Options) (calls []*Call, runnable bool) {
	answered := map[string]bool{}
	for _, u := range updates {
		for _, c := range u.Contents {
			if r, ok := c.(Result); ok {
				answered[r.CallID] = true
			}
		}
	}
	runnable = true
	for _, u := range updates {
		for _, c := range u.Contents {
			if call, ok := c.(*Call); ok && !call.Informational && !answered[call.ID] {
				calls = append(calls, call)
				tool := options.tool(call.Name)
				runnable = runnable && tool != nil && tool.Run != nil
			}
		}
	}
	return calls, runnable
}

// A decision is an answer to a request for approval. request is the message that contains this
// request, or nil if the conversation does not have it.
type decision struct {
	answer  *ApprovalAnswer
	request *Message
}

// decided removes the requests for approval and the answers from a conversation. For each answer
// whose call has no result yet, it adds the call and a result. It marks each call that it has
// carried out, so that it ignores the request and the answer for this call in later runs.
func (f Invoking) decided(messages []*Message, options *Options, yield func(Update)) ([]*Message, error) {
	if !slices.ContainsFunc(messages, func(m *Message) bool { return slices.ContainsFunc(m.Contents, undecided) }) {
		return messages, nil
	}
	kept, at, approved, rejected, err := extract(messages)
	if err != nil {
		return nil, err
	}
	var made []*Message
	add := func(m *Message) {
		made = append(made, m)
		yield(Update{Role: m.Role, MessageID: m.ID, Contents: slices.Clone(m.Contents)})
	}
	for _, m := range callMessages(slices.Concat(rejected, approved)) {
		add(m)
	}
	id := guid()
	results := func(list []decision, value func(*Call) any) {
		if len(list) == 0 {
			return
		}
		m := &Message{Role: "tool", ID: id}
		for _, d := range list {
			d.answer.Call.Informational = true
			m.Contents = append(m.Contents, Result{d.answer.Call.ID, value(d.answer.Call)})
		}
		add(m)
	}
	results(rejected, func(*Call) any { return f.Denial })
	results(approved, func(c *Call) any {
		if tool := options.tool(c.Name); tool != nil && tool.Run != nil {
			return tool.Run(c.Arguments)
		}
		return `Error: Requested function "` + c.Name + `" not found.`
	})
	if !f.InPlace {
		at = len(kept)
	}
	return slices.Insert(kept, at, made...), nil
}

// undecided reports whether c is a request for approval or an answer to one, and its call has not
// been carried out yet.
func undecided(c Content) bool {
	switch c := c.(type) {
	case *ApprovalRequest:
		return !c.Call.Informational
	case *ApprovalAnswer:
		return !c.Call.Informational
	}
	return false
}

// extract removes the requests for approval and the answers from the messages. at is the index at
// which the first answer was. It drops messages that were empty, or that are empty after this.
func extract(messages []*Message) (kept []*Message, at int, approved, rejected []decision, err error) {
	requests := map[string]*Message{}
	executed := map[string]bool{}
	var unanswered []string
	var answers []*ApprovalAnswer
	for _, m := range messages {
		var rest []Content
		for _, c := range m.Contents {
			if r, ok := c.(Result); ok {
				executed[r.CallID] = true
			}
			if !undecided(c) {
				rest = append(rest, c)
				continue
			}
			switch c := c.(type) {
			case *ApprovalRequest:
				if requests[c.ID] != nil {
					return nil, 0, nil, nil, throw("ArgumentException", "An item with the same key has already been added. Key: "+c.ID)
				}
				requests[c.ID] = m
				unanswered = append(unanswered, c.Call.ID)
			case *ApprovalAnswer:
				if len(answers) == 0 {
					at = len(kept)
				}
				unanswered = without(unanswered, c.Call.ID)
				answers = append(answers, c)
			}
		}
		switch {
		case len(rest) == 0:
		case len(rest) == len(m.Contents):
			kept = append(kept, m)
		default:
			kept = append(kept, &Message{Role: m.Role, ID: m.ID, Contents: rest})
		}
	}
	if len(unanswered) > 0 {
		return nil, 0, nil, nil, throw("InvalidOperationException", "ToolApprovalRequestContent found with FunctionCall.CallId(s) '"+
			strings.Join(unanswered, ", ")+"' that have no matching ToolApprovalResponseContent.")
	}
	for _, a := range answers {
		switch {
		case executed[a.Call.ID]:
		case a.Approved:
			approved = append(approved, decision{a, requests[a.ID]})
		default:
			rejected = append(rejected, decision{a, requests[a.ID]})
		}
	}
	return kept, at, approved, rejected, nil
}

// callMessages returns messages with the decided calls. If the requests for several calls were in
// one message, these calls are in one message too.
func callMessages(list []decision) []*Message {
	var messages []*Message
	byID := map[string]*Message{}
	fallback := guid()
	for _, d := range list {
		id := fallback
		if d.request != nil && d.request.ID != "" {
			id = d.request.ID
		}
		if byID[id] == nil {
			byID[id] = &Message{Role: "assistant", ID: id}
			messages = append(messages, byID[id])
		}
		byID[id].Contents = append(byID[id].Contents, d.answer.Call)
	}
	return messages
}
