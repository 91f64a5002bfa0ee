package scripted

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

const requestApproval = "request_approval"

// wrapA is a port of ServerFunctionApprovalAgent.ProcessIncomingFunctionApprovals, with the effects
// that it has on messages with more than one content (agent-framework
// dotnet/samples/02-agents/AGUI/Step04_HumanInLoop/Server/ServerFunctionApprovalServerAgent.cs; all
// versions of that file agree).
func wrapA(messages []*chatMessage) ([]*chatMessage, error) {
	var result []*chatMessage
	changed := false
	tracked := map[string]*toolApprovalRequest{}
	for at, m := range messages {
		var contents *[]content // all messages that are made from m share this list
		begin := func(upTo int) {
			if !changed {
				changed = true
				result = clone(messages[:at])
			}
			if contents == nil {
				list := append([]content{}, (*m.contents)[:upTo]...)
				contents = &list
			}
		}
		for n, c := range *m.contents {
			if call, ok := c.(*functionCall); ok && call.name == requestApproval {
				begin(n)
				request, err := requestOfCall(call)
				if err != nil {
					return nil, err
				}
				*contents = append(*contents, request)
				tracked[call.id] = request
				result = append(result, &chatMessage{m.role, m.id, contents})
				continue
			}
			if r, ok := c.(functionResult); ok && tracked[r.callID] != nil {
				begin(n)
				answer, err := answerOf(r)
				if err != nil {
					return nil, err
				}
				if answer == nil {
					return nil, throw("InvalidOperationException", "Failed to deserialize approval response from tool result")
				}
				request := tracked[r.callID]
				*contents = append(*contents, &toolApprovalResponse{request.id, *answer.Approved, request.call})
				result = append(result, &chatMessage{m.role, m.id, contents})
				continue
			}
			if changed {
				result = append(result, m)
			}
		}
	}
	if !changed {
		return messages, nil
	}
	return result, nil
}

// requestOfCall is a port of ConvertToolCallToApprovalRequest.
func requestOfCall(call *functionCall) (*toolApprovalRequest, error) {
	if call.args == nil {
		return nil, throw("InvalidOperationException", "Invalid request_approval tool call")
	}
	payload, err := payloadOf(call)
	if err != nil {
		return nil, err
	}
	if payload == nil {
		return nil, throw("InvalidOperationException", "Failed to deserialize approval request from tool call")
	}
	return &toolApprovalRequest{id: *payload.ID, call: &functionCall{id: *payload.ID, name: *payload.Name, args: payload.Arguments}}, nil
}

// bound is a port of ApprovalResponseBindingChatClient as it is in agent-framework from
// dotnet-1.14.0 to Agents.AI 1.21. It returns the messages, but of the answers to each request in
// the history it keeps only the first. From Agents.AI 1.22.0 on, only requests in the agent's
// session count, so with this hosting no approval works any more.
func bound(messages []*chatMessage) []*chatMessage {
	known, used := map[string]bool{}, map[string]bool{}
	var list []*chatMessage
	for _, m := range messages {
		for _, c := range *m.contents {
			if request, ok := c.(*toolApprovalRequest); ok {
				known[request.id] = true
			}
		}
	}
	for _, m := range messages {
		var kept []content
		for _, c := range *m.contents {
			if answer, ok := c.(*toolApprovalResponse); ok {
				if used[answer.id] || !known[answer.id] {
					continue
				}
				used[answer.id] = true
			}
			kept = append(kept, c)
		}
		if len(kept) > 0 || len(*m.contents) == 0 {
			list = append(list, newMessage(m.role, m.id, kept...))
		}
	}
	return list
}

// wrapB is a port of ApprovalChatClient.RewriteIncomingApprovals (ag-ui
// sdks/dotnet/samples/GettingStarted/Step04_HumanInLoop/Step04_HumanInLoop.Server/ApprovalChatClient.cs).
func wrapB(messages []*chatMessage) ([]*chatMessage, error) {
	originals := map[string]*functionCall{}
	payloads := map[string]*requestPayload{}
	for _, m := range messages {
		for _, c := range *m.contents {
			call, ok := c.(*functionCall)
			if !ok || call.name != requestApproval {
				continue
			}
			payload, err := payloadOf(call)
			if err != nil {
				return nil, err
			}
			if payload != nil {
				originals[call.id] = &functionCall{id: call.id, name: *payload.Name, args: payload.Arguments}
				payloads[call.id] = payload
			}
		}
	}
	var result []*chatMessage
	for _, m := range messages {
		var contents []content
		changed := false
		for _, c := range *m.contents {
			if call, ok := c.(*functionCall); ok && call.name == requestApproval && originals[call.id] != nil {
				contents, changed = append(contents, &toolApprovalRequest{id: *payloads[call.id].ID, call: originals[call.id]}), true
				continue
			}
			if r, ok := c.(functionResult); ok && originals[r.callID] != nil {
				answer, err := answerOf(r)
				if err != nil {
					return nil, err
				}
				if answer != nil {
					contents, changed = append(contents, &toolApprovalResponse{*answer.ID, *answer.Approved, originals[r.callID]}), true
					continue
				}
			}
			contents = append(contents, c)
		}
		if changed {
			m = newMessage(m.role, m.id, contents...)
		}
		result = append(result, m)
	}
	return result, nil
}

// wrapOut replaces each approval request in an outgoing update by a call of request_approval, as
// both samples do. callID returns the id of that call: layout A uses the id of the request, and
// layout B the id of the original call. wrapOut reports whether it has replaced a request.
func wrapOut(u *update, callID func(*toolApprovalRequest) string) bool {
	found := false
	for n, c := range u.contents {
		request, ok := c.(*toolApprovalRequest)
		if !ok {
			continue
		}
		found = true
		payload := obj("approval_id", request.id, "function_name", request.call.name, "function_arguments", request.call.args,
			"message", "Approve execution of '"+request.call.name+"'?")
		u.contents[n] = &functionCall{id: callID(request), name: requestApproval, args: text(obj("request", payload))}
	}
	return found
}

// A requestPayload is the sample's type ApprovalRequest. approval_id and function_name are
// required, but may be null.
type requestPayload struct {
	ID        *string         `json:"approval_id"`
	Name      *string         `json:"function_name"`
	Arguments json.RawMessage `json:"function_arguments"`
	Message   *string         `json:"message"`
}

// payloadOf parses the arguments of a request_approval call. It returns nil if they contain no
// request.
func payloadOf(call *functionCall) (*requestPayload, error) {
	// The original reads the arguments into a dictionary, so the letter case of the keys matters.
	var args map[string]json.RawMessage
	if json.Unmarshal(call.args, &args) != nil || args["request"] == nil || isNull(args["request"]) {
		return nil, nil
	}
	var payload requestPayload
	if err := json.Unmarshal(args["request"], &payload); err != nil {
		return nil, throw("JsonException", "The JSON value could not be converted to ApprovalRequest. Path: $")
	}
	if payload.ID == nil {
		return nil, missing("ApprovalRequest", "approval_id")
	}
	if payload.Name == nil {
		return nil, missing("ApprovalRequest", "function_name")
	}
	if isNull(payload.Arguments) {
		payload.Arguments = nil
	}
	if payload.Arguments != nil && payload.Arguments[0] != '{' {
		return nil, throw("JsonException", "The JSON value could not be converted to System.Collections.Generic.IDictionary`2[System.String,System.Object]. Path: $.function_arguments")
	}
	return &payload, nil
}

// An answerPayload is ApprovalResponse. Both members are required.
type answerPayload struct {
	ID       *string `json:"approval_id"`
	Approved *bool   `json:"approved"`
}

// answerOf parses the answer in a tool message; nil if it is null.
func answerOf(r functionResult) (*answerPayload, error) {
	content := []byte(r.serialized())
	if isNull(content) {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil {
		return nil, throw("JsonException", "%q is an invalid start of a value, or could not be converted to ApprovalResponse. Path: $ | LineNumber: 0 | BytePositionInLine: 0.", string(content[:min(1, len(content))]))
	}
	for _, name := range []string{"approval_id", "approved"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(members)), func(key string) bool { return strings.EqualFold(key, name) }) {
			return nil, missing("ApprovalResponse", name)
		}
	}
	var answer answerPayload
	if json.Unmarshal(content, &answer) != nil || answer.Approved == nil {
		return nil, throw("JsonException", "The JSON value could not be converted to System.Boolean. Path: $.approved")
	}
	if answer.ID == nil {
		answer.ID = of("")
	}
	return &answer, nil
}

func missing(kind, name string) error {
	return throw("JsonException", "JSON deserialization for type '%s' was missing required properties including: '%s'.", kind, name)
}

func isNull(b []byte) bool { return bytes.Equal(bytes.TrimSpace(b), []byte("null")) }
