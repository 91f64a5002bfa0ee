package scripted

import (
	"slices"
	"strings"
	"time"
)

// A tool is a tool that the server runs. If gated is true, the tool is an
// ApprovalRequiredAIFunction, which may run only after an approval.
type tool struct {
	gated bool
	run   func(thread string, call *functionCall) (any, error)
}

// A pipeline is a port of FunctionInvokingChatClient, which calls a model and runs the tools that
// the model calls. If one call of a batch needs an approval, it asks for an approval of each call
// of the batch. It stores nothing: it reads the questions and the answers from the history of each
// request (dotnet/extensions
// src/Libraries/Microsoft.Extensions.AI/ChatCompletion/FunctionInvokingChatClient.cs).
type pipeline struct {
	meai
	tools  map[string]tool
	model  *model
	author *string // agent name, for Agent Framework on AGUI.Server
	bound  bool    // asks only about those calls of a batch that are gated or declared by the client
}

// A meai describes how a version of Microsoft.Extensions.AI behaves.
type meai struct {
	// prefix of a request's id, before the id of its call: "" up to 10.3, "ficc_" from 10.4
	prefix string
	// asked and answered name the types of a request and of an answer, in texts of exceptions
	asked    string
	answered string
	denial   string // the result that the model gets for a denied call
	// true: the call and the result of an answer replace the answer; false: they are appended at
	// the end
	inPlace bool
}

// The versions that were observed. inPlace differs between the last two.
var (
	meai910  = meai{"", "FunctionApprovalRequestContent", "FunctionApprovalResponseContent", "Error: Tool call invocation was rejected by user.", false}
	meai105  = meai{"ficc_", "ToolApprovalRequestContent", "ToolApprovalResponseContent", "Tool call invocation rejected.", false}
	meai1011 = meai{"ficc_", "ToolApprovalRequestContent", "ToolApprovalResponseContent", "Tool call invocation was rejected by the approver and must not be retried.", true}
)

// run is a port of GetStreamingResponseAsync. declared has the names of the client's tools, which
// the server cannot run.
func (p *pipeline) run(thread string, messages []*chatMessage, declared []string, yield func(*update)) error {
	messages = clone(messages)
	send := yield
	yield = func(u *update) {
		u.author = p.author
		send(u)
	}
	toolMessage := guid()
	if err := p.decided(thread, &messages, toolMessage, yield); err != nil {
		return err
	}
	for {
		reply, err := p.model.respond(thread, messages, declared)
		for _, u := range reply {
			p.gate(u, declared)
			yield(u)
		}
		if err != nil {
			return err
		}
		calls, stop := p.open(reply)
		if stop || len(calls) == 0 {
			return nil
		}
		said := newMessage("assistant", reply[0].message)
		for _, u := range reply {
			*said.contents = append(*said.contents, u.contents...)
		}
		results := newMessage("tool", of(toolMessage))
		for _, c := range calls {
			*results.contents = append(*results.contents, p.invoke(thread, c))
		}
		messages = append(messages, said, results)
		yield(asUpdate(results))
	}
}

// gate replaces all calls of an update by requests for approval, if one of them needs an approval.
// Here one update is one batch. With Agent Framework from dotnet-1.14.0 on, gate removes the calls
// that need no approval from the batch: that host keeps them in the agent's session, and loses them
// if there is no session.
func (p *pipeline) gate(u *update, declared []string) {
	needs := func(c content) bool {
		call, ok := c.(*functionCall)
		return ok && p.tools[call.name].gated
	}
	if !slices.ContainsFunc(u.contents, needs) {
		return
	}
	var kept []content
	for _, c := range u.contents {
		call, ok := c.(*functionCall)
		switch {
		case !ok:
			kept = append(kept, c)
		case !p.bound || needs(c) || slices.Contains(declared, call.name):
			kept = append(kept, &toolApprovalRequest{p.prefix + call.id, call, needs(c)})
		}
	}
	u.contents = kept
}

// open returns the calls of a reply that can run now. If stop is true, the client must act first:
// it must answer a request for approval, or run a tool of its own.
func (p *pipeline) open(reply []*update) (calls []*functionCall, stop bool) {
	for _, u := range reply {
		for _, c := range u.contents {
			switch c := c.(type) {
			case *toolApprovalRequest:
				stop = true
			case *functionCall:
				calls = append(calls, c)
				stop = stop || p.tools[c.name].run == nil
			}
		}
	}
	return calls, stop
}

func (p *pipeline) invoke(thread string, c *functionCall) functionResult {
	c.informational = true
	t := p.tools[c.name]
	if t.run == nil {
		return functionResult{c.id, `Error: Requested function "` + c.name + `" not found.`}
	}
	value, err := t.run(thread, c)
	if err != nil {
		return functionResult{c.id, "Error: Function failed."}
	}
	return functionResult{c.id, value}
}

// A decision is a port of ApprovalResultWithRequestMessage: an answer with the message that asked.
type decision struct {
	answer  *toolApprovalResponse
	request *chatMessage // nil if the history does not contain the request
}

// decided carries out the approvals and rejections that are in the history. It is a port of
// ProcessFunctionApprovalResponses, followed by InvokeApprovedFunctionApprovalResponsesAsync.
func (p *pipeline) decided(thread string, messages *[]*chatMessage, toolMessage string, yield func(*update)) error {
	if !slices.ContainsFunc(*messages, func(m *chatMessage) bool { return slices.ContainsFunc(*m.contents, isApproval) }) {
		return nil
	}
	approved, rejected, at, err := p.extract(messages)
	if err != nil {
		return err
	}
	if !p.inPlace {
		at = len(*messages)
	}
	add := func(m *chatMessage) {
		*messages = slices.Insert(*messages, at, m)
		at++
		yield(asUpdate(m))
	}
	for _, d := range rejected {
		d.answer.call.informational = true
	}
	for _, m := range callMessages(append(slices.Clone(rejected), approved...), guid()) {
		add(m)
	}
	if len(rejected) > 0 {
		results := newMessage("tool", of(toolMessage))
		for _, d := range rejected {
			*results.contents = append(*results.contents, functionResult{d.answer.call.id, p.denial})
		}
		add(results)
	}
	if len(approved) > 0 {
		results := newMessage("tool", of(toolMessage))
		for _, d := range approved {
			*results.contents = append(*results.contents, p.invoke(thread, d.answer.call))
		}
		add(results)
	}
	return nil
}

func isApproval(c content) bool {
	switch c.(type) {
	case *toolApprovalRequest, *toolApprovalResponse:
		return true
	}
	return false
}

// extract is a port of ExtractAndRemoveApprovalRequestsAndResponses. at is the index of the message
// with the first answer.
func (p *pipeline) extract(messages *[]*chatMessage) (approved, rejected []decision, at int, err error) {
	requests := map[string]*chatMessage{}
	var unanswered []string
	var answers []*toolApprovalResponse
	executed := map[string]bool{}
	var kept []*chatMessage
	for _, m := range *messages {
		var rest []content
		for _, c := range *m.contents {
			switch c := c.(type) {
			case *toolApprovalRequest:
				if !slices.Contains(unanswered, c.call.id) {
					unanswered = append(unanswered, c.call.id)
				}
				if requests[c.id] != nil {
					return nil, nil, 0, throw("ArgumentException", "An item with the same key has already been added. Key: %s", c.id)
				}
				requests[c.id] = m
				continue
			case *toolApprovalResponse:
				unanswered = slices.DeleteFunc(unanswered, func(id string) bool { return id == c.call.id })
				if answers = append(answers, c); len(answers) == 1 {
					at = len(kept)
				}
				continue
			case functionResult:
				executed[c.callID] = true
			}
			rest = append(rest, c)
		}
		if len(rest) > 0 && len(rest) == len(*m.contents) {
			kept = append(kept, m)
		} else if len(rest) > 0 {
			kept = append(kept, newMessage(m.role, m.id, rest...))
		}
	}
	*messages = kept
	if len(unanswered) > 0 {
		return nil, nil, 0, throw("InvalidOperationException", "%s found with FunctionCall.CallId(s) '%s' that have no matching %s.",
			p.asked, strings.Join(unanswered, ", "), p.answered)
	}
	for _, a := range answers {
		if executed[a.call.id] {
			continue
		}
		d := decision{a, requests[a.id]}
		if a.approved {
			approved = append(approved, d)
		} else {
			rejected = append(rejected, d)
		}
	}
	return approved, rejected, at, nil
}

// callMessages is a port of ConvertToFunctionCallContentMessages. It returns messages with the
// calls of the decisions. If the requests for several calls were in one message, their calls are in
// one message too. If the message of a request has no id, the new message gets the id fallback.
func callMessages(list []decision, fallback string) []*chatMessage {
	var messages []*chatMessage
	byKey := map[string]*chatMessage{}
	for _, d := range list {
		key, id := "", of(fallback)
		if d.request != nil && d.request.id != nil {
			key, id = *d.request.id, d.request.id
		}
		if m := byKey[key]; m != nil {
			*m.contents = append(*m.contents, d.answer.call)
			continue
		}
		m := newMessage("assistant", id, d.answer.call)
		byKey[key] = m
		messages = append(messages, m)
	}
	return messages
}

// asUpdate returns a message of the pipeline as an update with the current time.
func asUpdate(m *chatMessage) *update {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.9999999+00:00")
	return &update{role: m.role, created: &now, contents: *m.contents, responseID: m.id, message: m.id}
}
