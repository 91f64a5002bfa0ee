package proxy_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// What the dialects of calls that ask may tell and leave out, told from the wire and not from the
// code.

// toldAnswer reports whether a TOOL_CALL_RESULT is the answer to a question that was a call: it has
// the question's id, and the content of the tool message on that call that the backend got. sent
// are the requests that it got. They are not the scenario's parts, which -update has yet to write.
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

// hidden reports whether an event belongs to one of ADK's own calls, which no client gets.
func (u *untouched) hidden(ev gjson.Result) bool {
	return strings.HasPrefix(ev.Get("type").Str, "TOOL_CALL_") && slices.ContainsFunc(u.frames, func(f backendFrame) bool {
		one := gjson.Parse(f.data)
		return strings.HasPrefix(one.Get("toolCallName").Str, "adk_request_") && one.Get("toolCallId").Str == ev.Get("toolCallId").Str
	})
}
