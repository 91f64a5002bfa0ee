// Package aguiserver translates the .NET host of Microsoft Agent Framework: AGUI.Server of the
// AG-UI SDK (0.0.2 of 2026-07 and later), alone or under Microsoft's Hosting.AGUI.AspNetCore from
// dotnet-1.14.0 on. The host keeps no state between two runs, sends the interrupt outcome, and
// trusts what a client sends:
//
//	TOOL_CALL_START  {"toolCallId":"call_1","toolCallName":"delete_file","rawEvent":{"contents":[{"$type":"toolApprovalRequest",
//	                  "toolCall":{"$type":"functionCall","name":"delete_file","arguments":{..},"callId":"call_1"},
//	                  "requestId":"ficc_call_1","requiresConfirmation":true}],..}}         and ARGS and END, with the same rawEvent
//	RUN_FINISHED     {"outcome":{"type":"interrupt","interrupts":[{"id":"ficc_call_1","reason":"tool_call","toolCallId":"call_1",
//	                  "message":"Approval required for tool call: delete_file","responseSchema":{approved}}]}}
//	resume           [{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":true,"toolCall":{"callId","name","arguments"}}}]
//
// requiresConfirmation exists since Microsoft.Extensions.AI 10.8. A run that asks ends with the
// outcome success if its request declares tools, unless the run continues a call of such a tool.
// Then only rawEvent has the question.
//
// Source: ag-ui sdks/dotnet/src/AGUI.Server (RunAgentInputExtensions,
// ChatResponseUpdateAGUIExtensions) of 2026-08-22, and its verified baselines Step09, Step10 and
// MixedToolInvocation; ag-ui issues 2393, 2815 and 2820.
//
// The host has no dialect name of its own, although its stream differs from Python's. Records and
// HOLDPOINT_DIALECT name it agent-framework, because a stream shows only at its end which of the
// two hosts sent it.
package aguiserver

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

const (
	requestType = "toolApprovalRequest"
	// an approval's id is this and the call's id (made by Microsoft.Extensions.AI's
	// FunctionInvokingChatClient)
	idPrefix = "ficc_"
)

// An askedCall is a tool call in the format in which the host expects it in an answer.
type askedCall struct {
	ID   string `json:"callId"`
	Name string `json:"name"`
	// a JSON object, or nil if the call has no arguments
	Args json.RawMessage `json:"arguments,omitempty"`
}

// An approvalRequest is the host's request to approve a call.
type approvalRequest struct {
	ID   string    `json:"requestId"`
	Call askedCall `json:"toolCall"`
	// free is true if requiresConfirmation is false: this call needs no approval. The host asks
	// only because another call of its batch needs one.
	free bool
}

// requestIn returns the approval request in an event of a tool call. It returns false if the event
// has none. It is called for every event of a call, so it must be fast for events without a
// request.
func requestIn(ev agui.Event) (approvalRequest, bool) {
	if !bytes.Contains(ev.JSON, []byte(requestType)) || !ev.Valid() {
		return approvalRequest{}, false
	}
	id := ev.Get("toolCallId")
	for _, c := range ev.Get("rawEvent.contents").Array() {
		call, request := c.Get("toolCall"), c.Get("requestId")
		name, args := call.Get("name"), call.Get("arguments")
		switch {
		case c.Get("$type").Str != requestType, call.Get("$type").Str != "functionCall":
		case request.Type != gjson.String, request.Str == "", name.Type != gjson.String, id.Type != gjson.String, call.Get("callId").Str != id.Str:
		case args.Exists() && args.Type != gjson.Null && !args.IsObject():
		default:
			asked := askedCall{ID: id.Str, Name: name.Str, Args: kit.Payload(args)}
			return approvalRequest{ID: request.Str, Call: asked, free: c.Get("requiresConfirmation").Type == gjson.False}, true
		}
	}
	return approvalRequest{}, false
}

// Signs reports whether the event itself shows that the .NET host sent it: the event carries an
// approval request, or ends the run with an interrupt for an approval. Other interrupts of the host
// (InterruptRequestContent) look like those of any backend.
func Signs(ev agui.Event) bool {
	switch ev.Type {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		_, ok := requestIn(ev)
		return ok
	case agui.RunFinished:
		for i := range kit.Interrupts(ev) {
			if looksLikeOurs(i) {
				return true
			}
		}
	}
	return false
}

// IsHostText reports whether the host sent the TEXT_MESSAGE_START. The rawEvent of such an event is
// a ChatResponseUpdate, whose contents have a $type.
func IsHostText(ev agui.Event) bool {
	return agui.View(ev.JSON).Get("rawEvent.contents.0.$type").Type == gjson.String
}

// isAround reports whether id is a workflow's question that wraps the question inner of an agent in
// the workflow. The host sends both questions about the same call (RAN head): ficc_call_1, and
// 48:inner_UserInput:ficc_call_1. It runs the call if only the second question is answered. If both
// are answered it runs nothing. So Holdpoint asks the client only the second.
func isAround(id, inner string) bool { return inner != "" && strings.HasSuffix(id, ":"+inner) }

// ofWorkflow reports whether a workflow asked the question with this id.
func ofWorkflow(id string) bool {
	at := strings.LastIndexByte(id, ':')
	return at >= 0 && strings.HasPrefix(id[at+1:], idPrefix)
}

// looksLikeOurs reports whether the interrupt is an approval of the host. It compares the members
// that are the same in all of the host's approvals. It does not read rawEvent, because a proxy
// between the host and Holdpoint may have removed it.
func looksLikeOurs(i gjson.Result) bool {
	call := i.Get("toolCallId").Str
	id := i.Get("id").Str
	return call != "" && (id == idPrefix+call || isAround(id, idPrefix+call)) && i.Get("reason").Str == "tool_call" &&
		strings.HasPrefix(i.Get("message").Str, messageStart) &&
		bytes.Equal(agui.Canonical([]byte(i.Get("responseSchema").Raw)), agui.Canonical([]byte(kit.ApprovalSchema)))
}
