package proxy_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// An agentFrameworkScenario knows what Holdpoint may remove from a stream of Microsoft Agent
// Framework, and what Holdpoint may add to it. It is based on the recordings, not on the code of
// translate/agentframework.
type agentFrameworkScenario struct{ s scenario }

func (s scenario) agentFramework() agentFrameworkScenario { return agentFrameworkScenario{s} }

func (s scenario) isAgentFramework() bool { return s.Folder() == "agent-framework" }

// renamedKeys returns the keys of a request whose values Holdpoint may change. For Microsoft Agent
// Framework, this is the thread id. For Mastra, it is the run id, which Holdpoint makes. For
// TanStack AI, it is the id of the parent run, which becomes the id of the run that asked.
func (s scenario) renamedKeys() []string {
	switch {
	case s.isAgentFramework():
		return []string{"threadId"}
	case strings.Contains(s.Name, "/mastra"), s.Folder() == "mastra":
		return []string{"runId"}
	case strings.Contains(s.Name, "/tanstack-"):
		return []string{"parentRunId"}
	}
	return nil
}

// synthetic returns the ids of the calls that exist only to ask a question. It reads the streams of
// the backend from turn 1 up to the given turn.
func (a agentFrameworkScenario) synthetic(turn int) []string {
	var ids []string
	for n := 1; n <= turn; n++ {
		frames := backendFrames(a.s, n)
		for _, f := range frames {
			ev := gjson.Parse(f.data)
			args := gjson.Parse(ev.Get("delta").Str)
			if ev.Get("type").Str == "TOOL_CALL_ARGS" && (args.Get("function_call_id").Exists() || args.Get("request_id").Exists()) {
				ids = append(ids, ev.Get("toolCallId").Str)
			}
		}
	}
	return ids
}

// asked returns the ids of the calls that a question was about. It also returns calls of earlier
// turns that may wait together with such a call. It reads the streams of the backend from turn 1 up
// to the given turn.
func (a agentFrameworkScenario) asked(turn int) (calls []string) {
	for n := 1; n <= turn; n++ {
		for _, f := range backendFrames(a.s, n) {
			ev := gjson.Parse(f.data)
			if ev.Get("type").Str == "TOOL_CALL_START" && n < turn {
				// This call may wait together with the call in question.
				calls = append(calls, ev.Get("toolCallId").Str)
			}
			calls = append(calls, ev.Get("value.function_call.call_id").Str, gjson.Parse(ev.Get("delta").Str).Get("function_call_id").Str)
			for _, i := range ev.Get("outcome.interrupts").Array() {
				calls = append(calls, i.Get("toolCallId").Str)
			}
		}
	}
	return calls
}

// repeated reports whether the backend sends the same start or end of a call twice. Agent Framework
// 1.7.0 does so with a call of a client's tool that precedes the call in question.
func (a agentFrameworkScenario) repeated(turn int, ev gjson.Result) bool {
	kind, n := ev.Get("type").Str, 0
	for _, f := range backendFrames(a.s, turn) {
		if f.data == ev.Raw {
			n++
		}
	}
	return n > 1 && (kind == "TOOL_CALL_START" || kind == "TOOL_CALL_END")
}

// gone reports whether a frame of the backend may be missing from the client's stream.
func (a agentFrameworkScenario) gone(turn int, ev gjson.Result, got string) bool {
	if !a.s.isAgentFramework() {
		return false
	}
	synthetic := a.synthetic(turn)
	if a.late(turn, ev) || a.repeated(turn, ev) {
		return strings.Count(got, ev.Raw) == 1
	}
	switch ev.Get("type").Str {
	case "CUSTOM":
		return slices.Contains([]string{"function_approval_request", "request_info", "WorkflowInterruptEvent"}, ev.Get("name").Str)
	case "TOOL_CALL_START", "TOOL_CALL_ARGS":
		return slices.Contains(synthetic, ev.Get("toolCallId").Str)
	case "TOOL_CALL_END": // of a call that the client has, if it is asked about again
		return slices.Contains(append(synthetic, a.asked(turn)...), ev.Get("toolCallId").Str)
	case "TOOL_CALL_RESULT": // if the client has a result of the call
		return strings.Contains(got, `"toolCallId":"`+ev.Get("toolCallId").Str+`","content"`)
	case "RUN_ERROR": // of an exchange that the client does not see
		return strings.HasPrefix(ev.Get("code").Str, "APPROVAL_RESUME_") || strings.HasPrefix(ev.Get("code").Str, "WORKFLOW_RESUME_") ||
			strings.Contains(got, "BACKEND_LOST_INTERRUPT") || strings.Contains(got, "RUN_FINISHED")
	// Holdpoint drops it beside a question or an answer, because other events contain all of it.
	case "MESSAGES_SNAPSHOT":
		// stored: the snapshot is the backend's own history, which the backend also sends in
		// ordinary runs.
		stored := strings.Contains(ev.Raw, "function_call_id")
		return (stored || len(a.asked(turn)) > 0) && a.otherwise(turn, ev, got)
	}
	return false
}

// otherwise reports whether the client has the contents of a snapshot in another way: from other
// events or from its own requests. It leaves out calls that exist only to ask a question, and the
// answers to these calls.
func (a agentFrameworkScenario) otherwise(turn int, snapshot gjson.Result, got string) bool {
	synthetic, asked := a.synthetic(turn), a.asked(turn)
	known := got
	for n := 1; n <= turn; n++ {
		known += string(a.s.request(n))
	}
	var words strings.Builder
	frames, _ := split(got)
	for _, frame := range frames {
		if data, _ := dataOf(frame); gjson.Get(data, "type").Str == "TEXT_MESSAGE_CONTENT" {
			words.WriteString(gjson.Get(data, "delta").Str)
		}
	}
	for _, m := range snapshot.Get("messages").Array() {
		call, content := m.Get("toolCallId").Str, m.Get("content").Str
		switch {
		case m.Get("function_approvals").Exists() || slices.Contains(synthetic, call):
		case call != "":
			if !slices.Contains(asked, call) && !strings.Contains(known, m.Get("content").Raw) || !strings.Contains(known, `"toolCallId":"`+call+`"`) {
				return false
			}
		case !strings.Contains(words.String(), content) && !strings.Contains(known, m.Get("content").Raw):
			return false
		}
		for _, c := range m.Get("toolCalls").Array() {
			if id := c.Get("id").Str; c.Get("function.name").Str != "confirm_changes" && !slices.Contains(synthetic, id) && !strings.Contains(known, `"`+id+`"`) {
				return false
			}
		}
	}
	return true
}

// made reports whether Holdpoint may have added the event ev. For example, it may add the result of
// a call in question, or the call itself if the backend sent only the end of the call.
func (a agentFrameworkScenario) made(turn int, ev gjson.Result) bool {
	if a.s.isAgentFramework() && a.s.env["HOLDPOINT_CLIENT"] == "native" && a.told(turn, ev) {
		return true
	}
	if a.s.isAgentFramework() && a.late(turn, ev) {
		return true
	}
	switch ev.Get("type").Str {
	case "TOOL_CALL_RESULT", "TOOL_CALL_START", "TOOL_CALL_ARGS":
		return a.s.isAgentFramework() && (slices.Contains(a.asked(turn), ev.Get("toolCallId").Str) || a.inSnapshot(turn, ev))
	}
	return false
}

// inSnapshot reports whether a snapshot of the backend contains the same result as the event ev.
func (a agentFrameworkScenario) inSnapshot(turn int, ev gjson.Result) bool {
	for _, f := range backendFrames(a.s, turn) {
		for _, m := range gjson.Get(f.data, "messages").Array() {
			if m.Get("role").Str == "tool" && m.Get("toolCallId").Str == ev.Get("toolCallId").Str && m.Get("content").Str == ev.Get("content").Str {
				return true
			}
		}
	}
	return false
}

// late reports whether ev belongs to a text of the backend in a turn with several exchanges. Such a
// text may follow the results of a later exchange.
func (a agentFrameworkScenario) late(turn int, ev gjson.Result) bool {
	if len(a.s.Answers(turn)) < 2 || !strings.HasPrefix(ev.Get("type").Str, "TEXT_MESSAGE_") {
		return false
	}
	return slices.ContainsFunc(backendFrames(a.s, turn), func(f backendFrame) bool { return f.data == ev.Raw })
}

// told reports whether the backend sent ev in an earlier turn. A client that gets questions in the
// backend's own form gets such an event again.
func (a agentFrameworkScenario) told(turn int, ev gjson.Result) bool {
	for n := 1; n < turn; n++ {
		if slices.ContainsFunc(backendFrames(a.s, n), func(f backendFrame) bool { return f.data == ev.Raw }) {
			return true
		}
	}
	return false
}
