package dialecttest

import (
	"strings"

	"github.com/tidwall/gjson"
)

// langGraphServer returns a backend like LangGraph's own server. It has a thread with a state, and
// runs that ask about calls.
func langGraphServer() Backend {
	const (
		meta  = "event: metadata\ndata: " + `{"run_id":"0190a1f7-0000-7000-8000-000000000000","attempt":1}` + "\n\n"
		value = `{"question":"Delete {n}.txt?","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`
		asks  = `{"__interrupt__":[{"id":"{n:32}","value":` + value + `}]}`
	)
	says := func(text string) string {
		return meta + "event: messages\ndata: " + `[{"type":"ai","id":"said-{n}","content":"` + text + `"},{"langgraph_node":"agent"}]` + "\n\n" +
			"event: values\ndata: {\"messages\":[]}\n\n"
	}
	return Backend{
		Dialect: "langgraph-server", MediaType: eventStream, Yes: approved, No: denied,
		Environment:    map[string]string{"HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": "agent"},
		QuestionStream: meta + "event: updates\ndata: " + asks + "\n\n" + "event: values\ndata: " + asks + "\n\n",
		EndStream:      says("Yes?"), ActedStream: says("It is gone."), DeniedStream: says("I leave it."),
		Other: func(method, path string, waits, _ int) string {
			switch {
			case strings.HasSuffix(path, "/runs/stream"):
				return ""
			case method == "POST" && strings.HasSuffix(path, "/threads"):
				return `{"thread_id":"t","status":"idle"}`
			case method == "GET" && strings.HasSuffix(path, "/state"):
				tasks := "[]"
				if waits > 0 {
					tasks = TextFor(`[{"id":"task","name":"agent","interrupts":[{"id":"{n:32}","value":`+value+`}]}]`, waits)
				}
				return `{"values":{},"next":[],"tasks":` + tasks + `,"checkpoint":{"checkpoint_id":"c"}}`
			case method == "GET" && strings.HasSuffix(path, "/runs"):
				return "[]"
			case method == "GET":
				return "{}" // the run can no longer be joined
			}
			return ""
		},
		Reads: func(body []byte, n int, waits bool) Meaning {
			if gjson.GetBytes(body, "as_node").Str == "__end__" {
				if waits {
					return Denies
				}
				return Nothing
			}
			resume := gjson.GetBytes(body, "command.resume")
			if !resume.Exists() {
				return Nothing
			}
			return meaningOf(resume.Get(TextFor("{n:32}", n)))
		},
	}
}
