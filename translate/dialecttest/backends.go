package dialecttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	eventStream = "text/event-stream"
	started     = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished    = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
)

// approved and denied are the payloads of a yes and a no at most backends.
const approved, denied = `{"approved":true}`, `{"approved":false}`

// textEvents returns the events of a message of the assistant with this text.
func textEvents(id, text string) []string {
	return []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"` + id + `","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + id + `","delta":"` + text + `"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"` + id + `"}`,
	}
}

// calls returns the events of one tool call. The parameter args is a JSON string.
func calls(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m{n}"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + args + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

// run returns the event stream of a run: RUN_STARTED, the events, and the event end.
func run(end string, events ...[]string) string {
	list := []string{started}
	for _, one := range events {
		list = append(list, one...)
	}
	return frames(append(list, end)...)
}

// interrupt returns a RUN_FINISHED whose interrupt outcome has the interrupt object.
func interrupt(object string) string {
	return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + object + `]}}`
}

// agnoRaw returns a RAW event of agno with this name.
func agnoRaw(event string) []string {
	return []string{`{"type":"RAW","event":{"event":"` + event + `"},"source":"agno"}`}
}

// dotNetCall has the events of call n of the .NET host AGUI.Server, with the request to approve it.
var dotNetCall = []string{
	`{"type":"TOOL_CALL_START","toolCallId":"call-{n}","toolCallName":"delete_file","parentMessageId":"m{n}","rawEvent":{"contents":[{"$type":"toolApprovalRequest","toolCall":{"$type":"functionCall","name":"delete_file","arguments":{"path":"{n}.txt"},"callId":"call-{n}"},"requestId":"ficc_call-{n}","requiresConfirmation":true}]}}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"call-{n}","delta":"{\"path\":\"{n}.txt\"}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"call-{n}"}`,
}

// result has the TOOL_CALL_RESULT of call n.
var result = []string{`{"type":"TOOL_CALL_RESULT","messageId":"result-{n}","toolCallId":"call-{n}","content":"deleted","role":"tool"}`}

// meaningOf returns the meaning of an answer's value. It is Approves only if the member approved is
// true, and Nothing if the value does not exist.
func meaningOf(value gjson.Result) Meaning {
	switch {
	case !value.Exists():
		return Nothing
	case value.Get("approved").Type == gjson.True:
		return Approves
	}
	return Denies
}

// inResume returns what the resume array answers to the interrupt with this id.
func inResume(body []byte, id string) Meaning {
	for _, entry := range gjson.GetBytes(body, "resume").Array() {
		if entry.Get("interruptId").Str != id {
			continue
		}
		if entry.Get("status").Str == "resolved" {
			return meaningOf(entry.Get("payload"))
		}
		return Denies
	}
	return Nothing
}

// inCommand returns what the request answers to question n. It reads forwardedProps.command, as
// Mastra's adapter does. The parameter run is the id of the run that waits; "" matches any run. The
// value false is a denial. If the value is missing, the request is an ordinary run.
func inCommand(body []byte, n int, run string) Meaning {
	command := gjson.GetBytes(body, "forwardedProps.command")
	event := command.Get("interruptEvent")
	if event.Type == gjson.String {
		event = gjson.Parse(event.Str)
	}
	value := command.Get("resume")
	if !value.Exists() || value.Type == gjson.Null || event.Get("toolCallId").Str != fmt.Sprint("call-", n) || run != "" && event.Get("runId").Str != TextFor(run, n) {
		return Nothing
	}
	return meaningOf(value)
}

// isIDMap reports whether LangGraph reads the value as an object whose keys are ids of questions.
// The ids of this backend begin with hexID.
func isIDMap(value gjson.Result) bool {
	list := value.Get("@keys").Array()
	return len(list) > 0 && !slices.ContainsFunc(list, func(k gjson.Result) bool { return !strings.HasPrefix(k.Str, hexID) })
}

// inMessage returns what the history answers to the call callID of the tool. It reads the last tool
// message for the call among the tool messages at the end of the history. It returns Nothing if no
// such message exists, or if no earlier message has this call of the tool.
func inMessage(body []byte, callID, tool string) Meaning {
	said, known := Nothing, false
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		if m.Get("role").Str != "tool" {
			said = Nothing
			known = known || m.Get(`toolCalls.#(id=="`+callID+`").function.name`).Str == tool
		} else if known && m.Get("toolCallId").Str == callID {
			said = meaningOf(gjson.Parse(m.Get("content").Str))
		}
	}
	return said
}

// lastWordOn returns what the tool messages at the end of the history answer to the call callID. It
// does not matter whether the history has the call. The backend reads everything except a plain no
// as a yes: the parameter key is the member that is false in a no.
func lastWordOn(body []byte, callID, key string) Meaning {
	said := Nothing
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		switch {
		case m.Get("role").Str != "tool":
			said = Nothing
		case m.Get("toolCallId").Str != callID:
		case gjson.Get(m.Get("content").Str, key).Type == gjson.False:
			said = Denies
		default:
			said = Approves
		}
	}
	return said
}

// Example returns the backend that docs/new-dialect.md uses as its example.
func Example() Backend {
	return Backend{
		Dialect: "ask", MediaType: eventStream, Yes: approved, No: denied,
		QuestionStream: run(finished, calls("q{n}", "ask", `"{\"text\":\"Pay {n}?\"}"`)),
		EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
		ActedStream:    run(finished, textEvents("said-{n}", "It is paid.")),
		DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
		Reply:          `{"id":"reply-{n}","role":"tool","toolCallId":"q{n}","content":"{\"approved\":{yes}}"}`,
		Reads:          func(body []byte, n int, _ bool) Meaning { return lastWordOn(body, fmt.Sprint("q", n), "approved") },
	}
}

// ExampleOfWords returns a backend whose answers are words, for the example
// translate/dialecttest/confirm.
func ExampleOfWords() Backend {
	return Backend{
		Dialect: "confirm", MediaType: eventStream, Yes: approved, No: denied,
		QuestionStream: run(finished, calls("s{n}", "confirm_step", `"{\"step\":\"Step {n}?\"}"`)),
		EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
		ActedStream:    run(finished, textEvents("said-{n}", "It is done.")),
		DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
		Reply:          `{"id":"reply-{n}","role":"tool","toolCallId":"s{n}","content":"{ACCEPT|REJECT}"}`,
		Reads: func(body []byte, n int, _ bool) Meaning {
			said := Nothing
			for _, m := range gjson.GetBytes(body, "messages").Array() {
				word := strings.ToUpper(strings.TrimSpace(m.Get("content").Str))
				switch {
				case m.Get("role").Str != "tool":
					said = Nothing
				case m.Get("toolCallId").Str != fmt.Sprint("s", n):
				case word == "ACCEPT":
					said = Approves
				case word == "REJECT":
					said = Denies
				}
			}
			return said
		},
	}
}

// plainCall returns a backend that asks by an ordinary tool call. It acts if the last tool message
// for the call has the text of the parameter yes, whether or not the history has the call.
func plainCall(form, yes, reply string, environment map[string]string) Backend {
	set := map[string]string{"HOLDPOINT_TOOLS": "delete_*=approval"}
	maps.Copy(set, environment)
	return Backend{
		Dialect: "tool-call", Form: form, MediaType: eventStream, Yes: approved, No: denied, Environment: set, Reply: reply,
		QuestionStream: run(finished, calls("call-{n}", "delete_file", `"{\"path\":\"{n}.txt\"}"`)),
		EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
		ActedStream:    run(finished, result, textEvents("said-{n}", "It is gone.")),
		DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
		Reads: func(body []byte, n int, _ bool) Meaning {
			said := Nothing
			for _, m := range gjson.GetBytes(body, "messages").Array() {
				switch {
				case m.Get("role").Str != "tool":
					said = Nothing
				case m.Get("toolCallId").Str != fmt.Sprint("call-", n):
				case m.Get("content").Str == yes:
					said = Approves
				case m.Get("content").Str == denied, m.Get("content").Str == "refused":
					said = Denies
				}
			}
			return said
		},
	}
}

func backends() []Backend {
	deleteFile := calls("call-{n}", "delete_file", `"{\"path\":\"{n}.txt\"}"`)
	return []Backend{
		{
			Dialect: "adk", MediaType: eventStream, Yes: `{"confirmed":true}`, No: `{"confirmed":false}`,
			QuestionStream: run(finished, deleteFile,
				calls("confirm-{n}", "adk_request_confirmation", `"{\"originalFunctionCall\":{\"id\":\"call-{n}\",\"name\":\"delete_file\",\"args\":{\"path\":\"{n}.txt\"}},\"toolConfirmation\":{\"hint\":\"Delete?\",\"confirmed\":false}}"`)),
			EndStream:    run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:  run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream: run(finished, result, textEvents("said-{n}", "I leave it.")),
			Reply:        `{"id":"reply-{n}","role":"tool","toolCallId":"confirm-{n}","content":"{\"confirmed\":{yes}}"}`,
			Reads: func(body []byte, n int, _ bool) Meaning {
				return lastWordOn(body, fmt.Sprintf("confirm-%d", n), "confirmed")
			},
		},
		{
			Dialect: "agno", MediaType: eventStream, Yes: `{"accepted":true}`, No: `{"accepted":false}`,
			QuestionStream: run(finished, agnoRaw("RunStarted"), deleteFile),
			EndStream:      run(finished, agnoRaw("RunStarted"), textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, agnoRaw("RunContinued"), deleteFile, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, agnoRaw("RunContinued"), textEvents("said-{n}", "I leave it.")),
			Reply:          `{"id":"reply-{n}","role":"tool","toolCallId":"call-{n}","content":"{\"accepted\":{yes}}"}`,
			Reads: func(body []byte, n int, _ bool) Meaning {
				return lastWordOn(body, fmt.Sprintf("call-%d", n), "accepted")
			},
		},
		{
			Dialect: "agui", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(interrupt(`{"id":"int-{n}","reason":"tool_call","toolCallId":"call-{n}","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`), deleteFile),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inResume(body, fmt.Sprintf("int-%d", n))
			},
		},
		{
			Dialect: "agui", Form: "announced", MediaType: eventStream, Yes: `"approved"`, No: `"rejected"`,
			QuestionStream: run(finished, []string{`{"type":"CUSTOM","name":"on_interrupt","value":{"id":"t","reason":"crewai:human_feedback","message":"Delete {n}.txt?","responseSchema":{"type":"string","enum":["approved","rejected"]},"metadata":{"crewai":{"flowId":"t","methodName":"ask","emit":["approved","rejected"]}}}}`}),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, _ int, waits bool) Meaning {
				// CrewAI ignores ids. At a cancel and at an empty answer it carries out its first
				// option, so both count as a yes.
				entry := gjson.GetBytes(body, "resume.0")
				switch {
				case !waits || !entry.Exists():
					return Nothing
				case entry.Get("status").Str == "resolved" && entry.Get("payload").Str == "rejected":
					return Denies
				}
				return Approves
			},
		},
		{
			Dialect: "agui", Form: "suspended", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(finished, []string{`{"type":"CUSTOM","name":"on_interrupt","value":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"call-{n}\",\"toolName\":\"delete_file\",\"suspendPayload\":{\"question\":\"Delete {n}.txt?\"},\"args\":{\"path\":\"{n}.txt\"},\"resumeSchema\":\"{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{\\\"approved\\\":{\\\"type\\\":\\\"boolean\\\"}},\\\"required\\\":[\\\"approved\\\"]}\",\"runId\":\"run-{n}\"}"}`}),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inCommand(body, n, "run-{n}")
			},
		},
		{
			Dialect: "mastra", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(finished, deleteFile),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inCommand(body, n, "")
			},
		},
		{
			Dialect: "agent-framework", Form: "1.7.0", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(interrupt(`{"id":"af-call-{n}","reason":"tool_call","message":"Approve running delete_file?","toolCallId":"call-{n}","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"accepted":{"type":"boolean"}}},"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"call-{n}","name":"delete_file"}}}}`),
				deleteFile,
				[]string{`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"af-call-{n}","function_call":{"call_id":"call-{n}","name":"delete_file","arguments":{"path":"{n}.txt"}}}}`},
				calls("confirm-{n}", "confirm_changes", `"{\"function_name\":\"delete_file\",\"function_call_id\":\"call-{n}\",\"function_arguments\":{\"path\":\"{n}.txt\"},\"steps\":[]}"`)),
			EndStream:    run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:  run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream: run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inResume(body, fmt.Sprintf("af-call-%d", n))
			},
		},
		{
			Dialect: "agent-framework", Form: "AGUI.Server", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(interrupt(`{"id":"ficc_call-{n}","reason":"tool_call","message":"Approval required for tool call: delete_file","toolCallId":"call-{n}","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`),
				dotNetCall),
			EndStream:    run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:  run(finished, deleteFile, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream: run(finished, deleteFile, result, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				// The host runs the toolCall in an answer, and ignores all other members.
				payload := gjson.GetBytes(body, fmt.Sprintf(`resume.#(interruptId=="ficc_call-%d").payload`, n))
				if payload.Get("toolCall.callId").Str != fmt.Sprintf("call-%d", n) {
					return Nothing
				}
				return meaningOf(payload)
			},
		},
		{
			Dialect: "aws-strands", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(interrupt(`{"id":"v1:before_tool_call:call-{n}:75a96266-45d2-581c-8a6f-043e472e1763","reason":"myapp-approval","metadata":{"reason":{"path":"{n}.txt"}}}`), deleteFile),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inResume(body, fmt.Sprintf("v1:before_tool_call:call-%d:75a96266-45d2-581c-8a6f-043e472e1763", n))
			},
		},
		{
			Dialect: "draft", Form: "by object", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt","interrupt":{"id":"int-{n}","reason":"human_approval","payload":{"proposal":{"tool":"delete_file","args":{"path":"{n}.txt"}}}}}`, textEvents("m{n}", "I have a draft.")),
			EndStream:      run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, waits bool) Meaning {
				resume := gjson.GetBytes(body, "resume")
				if id := resume.Get("interruptId"); !resume.IsObject() || id.Exists() && id.Str != fmt.Sprintf("int-%d", n) || !id.Exists() && !waits {
					return Nothing
				}
				return meaningOf(resume.Get("payload"))
			},
		},
		{
			Dialect: "draft", Form: "by call", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`, calls("call-{n}", "pando_permission_request", `"{\"tool\":\"bash\",\"description\":\"rm {n}.txt\"}"`)),
			EndStream:      run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, textEvents("said-{n}", "I leave it.")),
			Reply:          `{"id":"reply-{n}","role":"tool","toolCallId":"call-{n}","content":"{\"approved\":{yes}}"}`,
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inMessage(body, fmt.Sprintf("call-%d", n), "pando_permission_request")
			},
		},
		{
			Dialect: "langgraph", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(finished, []string{
				`{"type":"STEP_STARTED","stepName":"ask"}`,
				`{"type":"STATE_SNAPSHOT","snapshot":{}}`,
				`{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
				`{"type":"STEP_FINISHED","stepName":"ask"}`,
				`{"type":"CUSTOM","name":"on_interrupt","value":"{\"question\": \"Delete {n}.txt?\"}","rawEvent":{"value":{"question":"Delete {n}.txt?"},"id":"{n:32}"}}`,
			}),
			EndStream:    run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:  run(finished, []string{`{"type":"STEP_STARTED","stepName":"ask"}`, `{"type":"STEP_FINISHED","stepName":"ask"}`}, textEvents("said-{n}", "It is gone.")),
			DeniedStream: run(finished, []string{`{"type":"STEP_STARTED","stepName":"ask"}`, `{"type":"STEP_FINISHED","stepName":"ask"}`}, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, waits bool) Meaning {
				// From 0.0.43 on the adapter prefers the resume array. It ignores ids. It turns a
				// cancelled entry, or several entries, into a value that counts as true.
				value := gjson.GetBytes(body, "forwardedProps.command.resume")
				if list := gjson.GetBytes(body, "resume").Array(); len(list) > 0 {
					if value = list[0].Get("payload"); len(list) > 1 || list[0].Get("status").Str != "resolved" {
						value = gjson.Parse(approved)
					}
				}
				// If the value is an object whose keys are ids of questions, LangGraph passes each
				// member to the question with that id. It passes any other value to the question
				// that waits.
				if one := value.Get(TextFor("{n:32}", n)); one.Exists() {
					return meaningOf(one)
				}
				if !waits || isIDMap(value) {
					return Nothing
				}
				return meaningOf(value)
			},
		},
		{
			Dialect: "request-approval", MediaType: eventStream, Yes: approved, No: denied,
			QuestionStream: run(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`, calls("call-{n}", "request_approval", `"{\"request\":{\"approval_id\":\"ficc_call-{n}\",\"function_name\":\"delete_file\",\"function_arguments\":{\"path\":\"{n}.txt\"},\"message\":\"Approve?\"}}"`)),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, deleteFile, result, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reply:          `{"id":"reply-{n}","role":"tool","toolCallId":"call-{n}","content":"{\"approval_id\":\"ficc_call-{n}\",\"approved\":{yes}}"}`,
			Reads: func(body []byte, n int, _ bool) Meaning {
				return inMessage(body, fmt.Sprintf("call-%d", n), "request_approval")
			},
		},
		{
			Dialect: "phrases", MediaType: eventStream, Yes: approved, No: denied,
			Environment:    map[string]string{"HOLDPOINT_PHRASES_ASK": "default"},
			QuestionStream: run(finished, textEvents("m{n}", "I would delete {n}.txt. Shall I proceed?")),
			EndStream:      run(finished, textEvents("said-{n}", "Yes?")),
			ActedStream:    run(finished, textEvents("said-{n}", "It is gone.")),
			DeniedStream:   run(finished, textEvents("said-{n}", "I leave it.")),
			Reads: func(body []byte, n int, waits bool) Meaning {
				list := gjson.GetBytes(body, "messages").Array()
				if !waits || len(list) == 0 {
					return Nothing
				}
				last := list[len(list)-1]
				switch {
				case last.Get("role").Str != "user":
					return Nothing
				case last.Get("content").Str == "Yes, please proceed.":
					return Approves
				}
				return Denies // at any other text the model answers in words, and does not act
			},
		},
		langGraphServer(),
		{
			Dialect: "strands", MediaType: "application/x-ndjson", Yes: approved, No: denied,
			QuestionStream: lines(
				`{"type":"beforeInvocationEvent"}`,
				`{"type":"interruptEvent","interrupt":{"id":"hook:beforeToolCall:call-{n}:myapp-approval","name":"myapp-approval","reason":{"path":"{n}.txt"},"source":"hook"}}`,
				`{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"interrupt","lastMessage":{"role":"user","content":[{"text":"go"}]}}}`,
			),
			EndStream:    lines(`{"type":"beforeInvocationEvent"}`, `{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"endTurn","lastMessage":{"role":"assistant","content":[{"text":"Yes?"}]}}}`),
			ActedStream:  lines(`{"type":"beforeInvocationEvent"}`, `{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"endTurn","lastMessage":{"role":"assistant","content":[{"text":"It is gone."}]}}}`),
			DeniedStream: lines(`{"type":"beforeInvocationEvent"}`, `{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"endTurn","lastMessage":{"role":"assistant","content":[{"text":"I leave it."}]}}}`),
			Reads: func(body []byte, n int, _ bool) Meaning {
				for _, one := range gjson.GetBytes(body, "prompt").Array() {
					answer := one.Get("interruptResponse")
					if answer.Get("interruptId").Str != fmt.Sprintf("hook:beforeToolCall:call-%d:myapp-approval", n) {
						continue
					}
					if answer.Get("response").Str == "y" {
						return Approves
					}
					return Denies
				}
				return Nothing
			},
		},
		plainCall("", approved, `{"id":"reply-{n}","role":"tool","toolCallId":"call-{n}","content":"{\"approved\":{yes}}"}`, nil),
		plainCall("with words", "granted", `{"id":"reply-{n}","role":"tool","toolCallId":"call-{n}","content":"{granted|refused}"}`, map[string]string{"HOLDPOINT_TOOL_CALL_YES": "granted", "HOLDPOINT_TOOL_CALL_NO": "refused"}),
		{
			Dialect: "superagent", MediaType: eventStream, Yes: approved, No: denied,
			Environment: map[string]string{"HOLDPOINT_SUPERAGENT_AGENT_ID": "approver"},
			QuestionStream: "event: interrupt\ndata: " + `{"type":"interrupt","timestamp":1788256800500,"data":{"reason":"{\"session_id\":\"t\",\"agent_name\":\"approver\",\"reason\":\"I am about to delete {n}.txt. Please confirm.\",\"fields\":[{\"name\":\"confirm\",\"type\":\"confirm\",\"label\":\"Confirm action\",\"required\":true}],\"timestamp\":1788256800,\"checkpoint_id\":\"approver_t_178825680000000000{n}\"}","fields":[{"name":"response","type":"text","label":"Your response","required":true}]}}` + "\n\n" +
				"event: done\ndata: " + `{"type":"done","timestamp":1788256800500,"data":null}` + "\n\n",
			EndStream:    "event: message\ndata: Yes?\n\nevent: message\ndata: [DONE]\n\n",
			ActedStream:  "event: message\ndata: It is gone.\n\nevent: message\ndata: [DONE]\n\n",
			DeniedStream: "event: message\ndata: I leave it.\n\nevent: message\ndata: [DONE]\n\n",
			Reads: func(body []byte, _ int, waits bool) Meaning {
				confirm := gjson.GetBytes(body, "input.confirm")
				switch {
				case !waits || !confirm.Exists():
					return Nothing
				case confirm.Type == gjson.True:
					return Approves
				}
				return Denies
			},
		},
	}
}
