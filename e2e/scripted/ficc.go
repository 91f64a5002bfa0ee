package scripted

import (
	"slices"
	"strings"
)

// A tool that the server runs. One that is gated is an ApprovalRequiredAIFunction.
type tool struct {
	gated bool
	run   func(thread string, call *functionCall) (any, error)
}

// A pipeline is FunctionInvokingChatClient before a model: it runs the tools that the model calls,
// and makes requests for an approval of all calls of a batch if one of them needs it. It keeps
// nothing: what was asked and what was answered is read out of the history, every time
// (dotnet/extensions
// src/Libraries/Microsoft.Extensions.AI/ChatCompletion/FunctionInvokingChatClient.cs).
type pipeline struct {
	tools    map[string]tool
	model    *model
	prefix   string // of a request's id before the call's: "" up to MEAI 10.3, "ficc_" from 10.4
	asked    string // what exceptions call a request, and an answer
	answered string
}

// run is GetStreamingResponseAsync. declared are the client's tools, which nobody here can run.
func (p *pipeline) run(thread string, messages []*chatMessage, declared []string, yield func(*update)) error {
	messages = clone(messages)
	toolMessage := guid()
	if err := p.decided(thread, &messages, toolMessage, yield); err != nil {
		return err
	}
	for {
		reply, err := p.model.respond(thread, messages, declared)
		for _, u := range reply {
			p.gate(u)
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

// gate makes requests of all calls of an update if one of them needs an approval. (A batch is one
// update here.)
func (p *pipeline) gate(u *update) {
	needs := func(c content) bool {
		call, ok := c.(*functionCall)
		return ok && p.tools[call.name].gated
	}
	if !slices.ContainsFunc(u.contents, needs) {
		return
	}
	for n, c := range u.contents {
		if call, ok := c.(*functionCall); ok {
			u.contents[n] = &toolApprovalRequest{p.prefix + call.id, call}
		}
	}
}

// open are the calls to be run now; stop says that the client has the next word: it was asked for
// an approval, or is to run a tool of its own.
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

// A decision is an ApprovalResultWithRequestMessage.
type decision struct {
	answer  *toolApprovalResponse
	request *chatMessage // nil if the history does not have it
}

// decided does what the history's approvals and rejections say: ProcessFunctionApprovalResponses,
// and InvokeApprovedFunctionApprovalResponsesAsync after it.
func (p *pipeline) decided(thread string, messages *[]*chatMessage, toolMessage string, yield func(*update)) error {
	if !slices.ContainsFunc(*messages, func(m *chatMessage) bool { return slices.ContainsFunc(*m.contents, isApproval) }) {
		return nil
	}
	approved, rejected, err := p.extract(messages)
	if err != nil {
		return err
	}
	// At the end, whatever came after the approval; MEAI 10.8.3 and later insert it where the
	// approval was.
	add := func(m *chatMessage) {
		*messages = append(*messages, m)
		yield(asUpdate(m))
	}
	for _, m := range callMessages(append(slices.Clone(rejected), approved...), guid()) {
		for _, c := range m.calls() {
			c.informational = true
		}
		add(m)
	}
	if len(rejected) > 0 {
		results := newMessage("tool", of(toolMessage))
		for _, d := range rejected {
			*results.contents = append(*results.contents, functionResult{d.answer.call.id, "Tool call invocation rejected."})
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

// extract is ExtractAndRemoveApprovalRequestsAndResponses.
func (p *pipeline) extract(messages *[]*chatMessage) (approved, rejected []decision, err error) {
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
					return nil, nil, throw("ArgumentException", "An item with the same key has already been added. Key: %s", c.id)
				}
				requests[c.id] = m
				continue
			case *toolApprovalResponse:
				unanswered = slices.DeleteFunc(unanswered, func(id string) bool { return id == c.call.id })
				answers = append(answers, c)
				continue
			case functionResult:
				executed[c.callID] = true
			}
			rest = append(rest, c)
		}
		if len(rest) == len(*m.contents) {
			kept = append(kept, m)
		} else if len(rest) > 0 {
			kept = append(kept, newMessage(m.role, m.id, rest...))
		}
	}
	*messages = kept
	if len(unanswered) > 0 {
		return nil, nil, throw("InvalidOperationException", "%s found with FunctionCall.CallId(s) '%s' that have no matching %s.",
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
	return approved, rejected, nil
}

// callMessages is ConvertToFunctionCallContentMessages: one message for each message that asked.
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

func asUpdate(m *chatMessage) *update {
	return &update{role: m.role, contents: *m.contents, responseID: m.id, message: m.id}
}
