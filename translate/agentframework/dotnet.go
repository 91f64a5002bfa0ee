package agentframework

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// The .NET host is AGUI.Server of the AG-UI SDK (0.0.2 of 2026-07 and later), alone or under Microsoft's
// Hosting.AGUI.AspNetCore from dotnet-1.14.0 on. It keeps nothing between two runs, speaks the outcome, and believes what
// it is told:
//
//	TOOL_CALL_START  {"toolCallId":"call_1","toolCallName":"delete_file","rawEvent":{"contents":[{"$type":"toolApprovalRequest",
//	                  "toolCall":{"$type":"functionCall","name":"delete_file","arguments":{..},"callId":"call_1"},
//	                  "requestId":"ficc_call_1","requiresConfirmation":true}],..}}         and ARGS and END, with the same rawEvent
//	RUN_FINISHED     {"outcome":{"type":"interrupt","interrupts":[{"id":"ficc_call_1","reason":"tool_call","toolCallId":"call_1",
//	                  "message":"Approval required for tool call: delete_file","responseSchema":{approved}}]}}
//	resume           [{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":true,"toolCall":{"callId","name","arguments"}}}]
//
// requiresConfirmation is there since Microsoft.Extensions.AI 10.8. Where the request declares tools, a run that is no
// continuation of one of their calls ends with the outcome success although it asks: rawEvent alone tells.
//
// Source: ag-ui sdks/dotnet/src/AGUI.Server (RunAgentInputExtensions, ChatResponseUpdateAGUIExtensions) of 2026-08-22, and its
// verified baselines Step09, Step10 and MixedToolInvocation; ag-ui issues 2393, 2815 and 2820.

const (
	dotnetRequest = "toolApprovalRequest"
	dotnetMessage = "Approval required for tool call: "
	dotnetIDs     = "ficc_" // before the call's id, by Microsoft.Extensions.AI's FunctionInvokingChatClient
)

// dotnetSchema is the schema that the host gives every approval.
var dotnetSchema = json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`)

// A dotnetCall is a tool call as the host wants it back.
type dotnetCall struct {
	ID   string          `json:"callId"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments,omitempty"` // an object, nil for none
}

// A dotnetApproval is the host's request to approve a call.
type dotnetApproval struct {
	ID   string     `json:"requestId"`
	Call dotnetCall `json:"toolCall"`
	free bool       // requiresConfirmation is false: it is asked for only because another call of its batch is
}

// dotnetAsked is the request to approve the call that the event is of. It is asked for every call that the client does not
// declare, so it is quick where there is none.
func dotnetAsked(ev agui.Event) (dotnetApproval, bool) {
	if !bytes.Contains(ev.JSON, []byte(dotnetRequest)) || !ev.Valid() {
		return dotnetApproval{}, false
	}
	id := ev.Get("toolCallId")
	for _, c := range ev.Get("rawEvent.contents").Array() {
		call, request := c.Get("toolCall"), c.Get("requestId")
		name, args := call.Get("name"), call.Get("arguments")
		switch {
		case c.Get("$type").Str != dotnetRequest, call.Get("$type").Str != "functionCall":
		case request.Type != gjson.String, request.Str == "", name.Type != gjson.String, id.Type != gjson.String, call.Get("callId").Str != id.Str:
		case args.Exists() && args.Type != gjson.Null && !args.IsObject():
		default:
			asked := dotnetCall{ID: id.Str, Name: name.Str, Args: translate.Payload(args)}
			return dotnetApproval{ID: request.Str, Call: asked, free: c.Get("requiresConfirmation").Type == gjson.False}, true
		}
	}
	return dotnetApproval{}, false
}

// signDotnet says whether the event is the host's: it is of a call that is to be approved, or it ends a run with such an
// interrupt. Other interrupts of its (InterruptRequestContent) look like anybody's.
func signDotnet(ev agui.Event) bool {
	switch ev.Type {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		_, ok := dotnetAsked(ev)
		return ok
	case agui.RunFinished:
		for i := range translate.Interrupts(ev) {
			if dotnetLooks(i) {
				return true
			}
		}
	}
	return false
}

// dotnetLooks says whether an interrupt is an approval of the host's by all that is the same in each. rawEvent may have been
// stripped on the way.
func dotnetLooks(i gjson.Result) bool {
	call := i.Get("toolCallId").Str
	return call != "" && i.Get("id").Str == dotnetIDs+call && i.Get("reason").Str == "tool_call" &&
		strings.HasPrefix(i.Get("message").Str, dotnetMessage) &&
		bytes.Equal(agui.Canonical([]byte(i.Get("responseSchema").Raw)), agui.Canonical(dotnetSchema))
}
