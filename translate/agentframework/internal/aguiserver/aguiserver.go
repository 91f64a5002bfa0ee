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
// requiresConfirmation exists since Microsoft.Extensions.AI 10.8. If the request declares tools and
// the run does not continue a call of one of them, a run that asks ends with the outcome success.
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
	idPrefix    = "ficc_" // precedes the call's id; made by Microsoft.Extensions.AI's FunctionInvokingChatClient
)

// An askedCall is a tool call in the form that the host expects in an answer.
type askedCall struct {
	ID   string          `json:"callId"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments,omitempty"` // an object, or nil if there are none
}

// An approvalRequest is the host's request to approve a call.
type approvalRequest struct {
	ID   string    `json:"requestId"`
	Call askedCall `json:"toolCall"`
	free bool      // requiresConfirmation is false: the host asks only because another call of its batch needs an approval
}

// requestIn returns the approval request of an event's call, and false if the event has none. It
// must be fast for events without one, because it is called for every event of a call.
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

// Signs reports whether the event is the host's: it has an approval request, or it ends a run with
// such an interrupt. The host's other interrupts (InterruptRequestContent) have nothing of its own.
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

// IsHostText reports whether a TEXT_MESSAGE_START is the host's: its rawEvent is a
// ChatResponseUpdate, whose contents have a $type.
func IsHostText(ev agui.Event) bool {
	return agui.View(ev.JSON).Get("rawEvent.contents.0.$type").Type == gjson.String
}

// isAround reports whether id is the id of a workflow's question about the question inner of an
// agent in it. The host sends both questions, about the same call (RAN head): ficc_call_1, and
// 48:inner_UserInput:ficc_call_1. It runs the call if only the second is answered, and nothing if
// both are. So only the second is asked.
func isAround(id, inner string) bool { return inner != "" && strings.HasSuffix(id, ":"+inner) }

// ofWorkflow reports whether the id of a question is a workflow's.
func ofWorkflow(id string) bool {
	at := strings.LastIndexByte(id, ':')
	return at >= 0 && strings.HasPrefix(id[at+1:], idPrefix)
}

// looksLikeOurs reports whether an interrupt is an approval of the host, by the members that are
// the same in all of them. rawEvent is not used, because a proxy may have removed it.
func looksLikeOurs(i gjson.Result) bool {
	call := i.Get("toolCallId").Str
	id := i.Get("id").Str
	return call != "" && (id == idPrefix+call || isAround(id, idPrefix+call)) && i.Get("reason").Str == "tool_call" &&
		strings.HasPrefix(i.Get("message").Str, messageStart) &&
		bytes.Equal(agui.Canonical([]byte(i.Get("responseSchema").Raw)), agui.Canonical([]byte(kit.ApprovalSchema)))
}
