package proxy_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// This file is for dialects whose backend asks by a tool call. It checks what such a dialect may
// add to a stream, and what it may leave out. It judges by the bytes on the wire, not by the code
// of the dialects.

// toldAnswer reports whether ev, a TOOL_CALL_RESULT, shows the client the answer to a question that
// was a tool call. Then its messageId begins with the id of the call, and its content is also in
// the tool message for this call in the backend's first request. sent are the requests that the
// backend got in this test. toldAnswer cannot use the parts of the scenario, because -update may
// not have written them yet.
func toldAnswer(sent [][]byte, ev gjson.Result) bool {
	if len(sent) == 0 || !strings.HasPrefix(ev.Get("messageId").Str, ev.Get("toolCallId").Str+"~") {
		return false
	}
	for _, m := range gjson.GetBytes(sent[0], "messages").Array() {
		if m.Get("role").Str == "tool" && m.Get("toolCallId").Str == ev.Get("toolCallId").Str && m.Get("content").Str == ev.Get("content").Str {
			return true
		}
	}
	return false
}

// hidden reports whether ev belongs to a call that ADK makes itself (adk_request_...). No client
// gets such a call.
func (u *untouched) hidden(ev gjson.Result) bool {
	return strings.HasPrefix(ev.Get("type").Str, "TOOL_CALL_") && slices.ContainsFunc(u.frames, func(f backendFrame) bool {
		one := gjson.Parse(f.data)
		return strings.HasPrefix(one.Get("toolCallName").Str, "adk_request_") && one.Get("toolCallId").Str == ev.Get("toolCallId").Str
	})
}
