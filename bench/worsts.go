package main

import (
	"bytes"
	"fmt"
	"strings"
)

// worsts returns the inputs that cost far more than their size suggests when they were found:
// requests of clients, and streams of backends. If you find another such input, add it here before
// you correct the code.
func worsts() []worst {
	return []worst{
		{name: "deltas", description: "STATE_DELTAs onto a state of 100 kB, and a pause", runStream: func(size int) []byte {
			return pausedRun(repeatEvents(stateEvent(members(100<<10)), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/k%d","value":%d}]}`, n%1000, n)
			}))
		}},
		{name: "deltas-run", description: "the same without a pause", runStream: func(size int) []byte {
			return finishedRun(repeatEvents(stateEvent(members(100<<10)), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/k%d","value":%d}]}`, n%1000, n)
			}))
		}},
		{name: "deltas-grow", description: "STATE_DELTAs that make a state key by key", runStream: func(size int) []byte {
			return pausedRun(repeatEvents(stateEvent("{}"), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/new%d","value":%d}]}`, n, n)
			}))
		}},
		{name: "deltas-front", description: "STATE_DELTAs that put into a list in front", runStream: func(size int) []byte {
			return pausedRun(repeatEvents(stateEvent(`{"list":[]}`), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/list/0","value":%d}]}`, n)
			}))
		}},
		{name: "deltas-copy", description: "STATE_DELTAs that copy the copies of copies", runStream: func(size int) []byte {
			return pausedRun(repeatEvents(stateEvent(`{"a":{"x":"y"}}`), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"copy","from":"/a","path":"/a/k%d"}]}`, n)
			}))
		}},
		{name: "calls", description: "TOOL_CALL_STARTs of which none ends", runStream: func(size int) []byte {
			return finishedRun(repeatEvents("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f"}`, n)
			}))
		}},
		{name: "calls-one", description: "the same on one message", runStream: func(size int) []byte {
			return pausedRun(repeatEvents("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f","parentMessageId":"m"}`, n)
			}))
		}},
		{name: "texts", description: "texts without a word in them", runStream: func(size int) []byte {
			return pausedRun(repeatEvents("", size, func(n int) string {
				return fmt.Sprintf("{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m%d\",\"role\":\"assistant\"}\n\ndata: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m%d\"}", n, n)
			}))
		}},
		{name: "steps", description: "STEP_STARTEDs of which none ends", runStream: func(size int) []byte {
			return pausedRun(repeatEvents("", size, func(n int) string { return fmt.Sprintf(`{"type":"STEP_STARTED","stepName":"s%d"}`, n) }))
		}},
		{name: "metadata", description: "pieces of a text each with metadata of another key", runStream: func(size int) []byte {
			return pausedRun(repeatEvents(textMessageStart, size, func(n int) string {
				return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":{"k%d":1}}`, n)
			}))
		}},
		{name: "interrupts", description: "CUSTOM on_interrupts without end", runStream: func(size int) []byte {
			return finishedRun(repeatEvents("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","rawEvent":{"id":"i%d","value":"?"},"value":"?"}`, n)
			}))
		}},
		{name: "approvals", description: "function_approval_requests without end", runStream: func(size int) []byte {
			return finishedRun(repeatEvents("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"a%d","function_call":{"call_id":"c%d","name":"f","arguments":{}}}}`, n, n)
			}))
		}},
		{name: "messages", description: "a request of messages as small as they get", request: func(size int, thread string, _ []string) []byte {
			return input(thread, size, `{}`, "")
		}},
		{name: "history", description: "a request of small messages with ids, and a pause", request: func(size int, thread string, _ []string) []byte {
			return input(thread, size, `{"id":"%d","role":"user","content":""}`, "")
		}, runStream: func(int) []byte { return pausedRun(nil) }},
		{name: "history-calls", description: "messages of one call each beside an answer to a host on AGUI.Server", pauseStream: hostPauseStream, request: func(size int, thread string, ids []string) []byte {
			more := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, ids[0])
			return input(thread, size, `{"id":"%d","role":"assistant","toolCalls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, more)
		}},
		{name: "entries", description: "a resume of entries for questions that nobody asked", pauseStream: pauseStreamWith(``), request: func(size int, thread string, ids []string) []byte {
			return resume(thread, jsonElements(size, func(n int) string { return fmt.Sprintf(`{"interruptId":"x%d","status":"cancelled"}`, n) }))
		}},
		{name: "entries-calls", description: "as many entries as messages about a call that is asked about", pauseStream: pauseStreamWith(`,"toolCallId":"c"`), request: func(size int, thread string, ids []string) []byte {
			messages := jsonElements(size/2, func(n int) string {
				return fmt.Sprintf(`{"id":"r%d","role":"tool","toolCallId":"c","content":"{\"n\":%d}"}`, n, n)
			})
			more := `,"resume":[` + jsonElements(size/2, func(n int) string {
				return fmt.Sprintf(`{"interruptId":"x%d","status":"resolved","payload":{"n":%d}}`, n, n)
			}) + `]`
			return input(thread, 0, messages, more)
		}},
		{name: "payload-numbers", description: "a payload of numbers such as 1e999999, and a schema with integers", pauseStream: pauseStreamWith(`,"responseSchema":{"items":{"type":"integer"}}`), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `[`+jsonElements(size, func(int) string { return `1e999999` })+`]`)
		}},
		{name: "payload-long-numbers", description: "a payload of the longest numbers that are taken, and a schema with all that looks at them", pauseStream: pauseStreamWith(`,"responseSchema":{"items":{"type":"integer","multipleOf":3,"minimum":0},"uniqueItems":true}`), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `[`+jsonElements(size, func(n int) string { return fmt.Sprintf(`%de400`, n) })+`]`)
		}},
		{name: "payload-objects", description: "a payload of objects as small as they get, and a schema", pauseStream: pauseStreamWith(`,"responseSchema":{"items":{"type":"object"}}`), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `[`+jsonElements(size, func(int) string { return `{}` })+`]`)
		}},
		{name: "payload-members", description: "a payload of very many members, without a schema", pauseStream: pauseStreamWith(``), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `{`+jsonElements(size, func(n int) string { return fmt.Sprintf(`"%d":0`, -n) })+`}`)
		}},
		{name: "payload-deep", description: "a text in 900 objects whose keys are out of order, without a schema", pauseStream: pauseStreamWith(``), request: func(size int, thread string, ids []string) []byte {
			deep := size / 40
			deep = min(deep, 900)
			return answer(thread, ids, strings.Repeat(`{"b":`, deep)+`"`+strings.Repeat("x", size-12*deep)+`"`+strings.Repeat(`,"a":0}`, deep))
		}},
		{name: "schema-doubles", description: "a schema of which each of 24 levels refers to the next one twice, and a text", pauseStream: pauseStreamWith(`,"responseSchema":` + doublingSchema(24)), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `"`+strings.Repeat("x", size)+`"`)
		}},
		{name: "schema-deep", description: "a question with a text in 900 objects for a schema, told to TanStack's client", request: func(_ int, thread string, _ []string) []byte {
			return input(thread, 0, `{"id":"u","role":"user","content":"Go on"}`, `,"data":{}`)
		}, runStream: func(size int) []byte {
			deep := min(900, size/40)
			return pauseStreamWith(`,"responseSchema":` + strings.Repeat(`{"items":`, deep) + `"\n` + strings.Repeat("x", size-12*deep) + `"` + strings.Repeat(`}`, deep))(size)
		}},
		{name: "schema-pattern", description: "a pattern of 1,000 states, and a text", pauseStream: pauseStreamWith(`,"responseSchema":{"pattern":"(x?){500}x{500}y"}`), request: func(size int, thread string, ids []string) []byte {
			return answer(thread, ids, `"`+strings.Repeat("x", size)+`"`)
		}},
		{name: "keys", description: "a state of very many keys, each of which stands once", request: func(size int, thread string, _ []string) []byte {
			return withState(thread, `{`+jsonElements(size, func(n int) string { return fmt.Sprintf(`"%x":0`, n) })+`}`)
		}},
		{name: "keys-message", description: "a message of very many keys, with escapes and letters that fold", request: func(size int, thread string, _ []string) []byte {
			return input(thread, 0, `{"id":"u","role":"user","content":"",`+jsonElements(size, func(n int) string { return fmt.Sprintf(`"\u017F%x":0`, n) })+`}`, "")
		}},
		{name: "keys-deep", description: "900 objects in one another, each with the same keys, of which the last has one twice", request: func(size int, thread string, _ []string) []byte {
			deep := min(900, size/400)
			one := jsonElements(max(size/max(deep, 1), 300), func(n int) string { return fmt.Sprintf(`"k%d":0`, n) })
			return withState(thread, strings.Repeat(`{`+one+`,"x":`, deep)+`{"k":0,"k":0}`+strings.Repeat(`}`, deep))
		}},
		{name: "tools", description: "a request of tools as small as they get", request: func(size int, thread string, _ []string) []byte {
			tools := `"tools":[` + jsonElements(size, func(int) string { return `{}` }) + `]`
			return bytes.Replace(shortInput(thread, "second"), []byte(`"tools":[]`), []byte(tools), 1)
		}},
	}
}

// withState returns the request of a run with the given state.
func withState(thread, state string) []byte {
	return bytes.Replace(shortInput(thread, "second"), []byte(`"state":{}`), []byte(`"state":`+state), 1)
}

// pauseStreamWith returns a function that makes a run with a question. more has additional members
// of the question's interrupt.
func pauseStreamWith(more string) func(int) []byte {
	return func(int) []byte {
		return bytes.Replace(pausedRun(nil), []byte(`"reason":"confirm"`), []byte(`"reason":"confirm"`+more), 1)
	}
}

// hostPauseStream returns a run of .NET's AGUI.Server that pauses. Holdpoint recognizes this server
// by the id of its question.
func hostPauseStream(int) []byte {
	call := repeatEvents(`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`, 1, func(int) string { return `{"type":"TOOL_CALL_END","toolCallId":"c"}` })
	return bytes.Replace(pausedRun(call), []byte(`"id":"i","reason":"confirm"`), []byte(`"id":"ficc_c","reason":"tool_call","toolCallId":"c"`), 1)
}

// jsonElements returns JSON elements that are separated by commas, of about size bytes in total.
func jsonElements(size int, element func(n int) string) string {
	b := make([]byte, 0, size+100)
	for n := 0; n == 0 || len(b) < size-100; n++ {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, element(n)...)
	}
	return string(b)
}

// resume returns the request of a run with the given entries of resume.
func resume(thread, entries string) []byte {
	return input(thread, 0, `{"id":"u-second","role":"user","content":"Go on"}`, `,"resume":[`+entries+`]`)
}

// answer returns the request of a run that answers the first question with the given payload.
func answer(thread string, ids []string, payload string) []byte {
	return resume(thread, fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":%s}`, ids[0], payload))
}

// doublingSchema returns a schema that a simple validator needs 2^levels steps to check.
func doublingSchema(levels int) string {
	var b bytes.Buffer
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for n := range levels {
		fmt.Fprintf(&b, `"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, n, n+1, n+1)
	}
	fmt.Fprintf(&b, `"%d":{"type":"number"}}}`, levels)
	return b.String()
}

const textMessageStart = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`

// repeatEvents returns the frame of the event first, if it is not "", and then frames of further
// events with about size bytes.
func repeatEvents(first string, size int, event func(n int) string) []byte {
	var b []byte
	if len(first) > 0 {
		b = appendFrame(b, first)
	}
	for n, begin := 0, len(b); len(b)-begin < size; n++ {
		b = appendFrame(b, event(n))
	}
	return b
}

const runStarted = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
const runFinished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`

// finishedRun returns the stream of a run that contains the frames.
func finishedRun(frames []byte) []byte {
	return appendFrame(append(appendFrame(nil, runStarted), frames...), runFinished)
}

// pausedRun returns the stream of a run that contains the frames and ends with AG-UI's interrupt
// outcome.
func pausedRun(frames []byte) []byte {
	return appendFrame(append(appendFrame(nil, runStarted), frames...),
		strings.TrimSuffix(runFinished, "}")+`,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm"}]}}`)
}

func stateEvent(state string) string { return `{"type":"STATE_SNAPSHOT","snapshot":` + state + `}` }

// members returns a JSON object of about size bytes with many members.
func members(size int) string {
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, `,"k%d":"%s"`, n, strings.Repeat("v", 90))
	}
	return "{" + b.String()[1:] + "}"
}

func shortInput(thread, run string) []byte {
	return input(thread, 0, `{"id":"u-`+run+`","role":"user","content":"Go on"}`, "")
}

// input returns the request of a run. It has enough messages for about size bytes, but at least
// one. In the parameter message, %d is replaced by the number of the message. more has additional
// members of the request.
func input(thread string, size int, message, more string) []byte {
	b := fmt.Appendf(nil, `{"threadId":"%s","runId":"run","state":{},"tools":[],"context":[],"forwardedProps":{}%s,"messages":[`, thread, more)
	for n, begin := 0, len(b); n == 0 || len(b)-begin+len(message)+1 < size; n++ {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, strings.ReplaceAll(message, "%d", fmt.Sprint(n))...)
	}
	return append(b, "]}"...)
}
