package main

import (
	"bytes"
	"fmt"
	"strings"
)

// worsts are the inputs that were found to cost far more than their bytes: by clients' requests, and by backends' streams. Who
// finds another adds a row before the mend.
func worsts() []worst {
	return []worst{
		{name: "deltas", what: "STATE_DELTAs onto a state of 100 kB, and a pause", says: func(size int) []byte {
			return paused(repeated(stateEvent(members(100<<10)), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/k%d","value":%d}]}`, n%1000, n)
			}))
		}},
		{name: "deltas-run", what: "the same without a pause", says: func(size int) []byte {
			return finished(repeated(stateEvent(members(100<<10)), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/k%d","value":%d}]}`, n%1000, n)
			}))
		}},
		{name: "deltas-grow", what: "STATE_DELTAs that make a state key by key", says: func(size int) []byte {
			return paused(repeated(stateEvent("{}"), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/new%d","value":%d}]}`, n, n)
			}))
		}},
		{name: "deltas-front", what: "STATE_DELTAs that put into a list in front", says: func(size int) []byte {
			return paused(repeated(stateEvent(`{"list":[]}`), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/list/0","value":%d}]}`, n)
			}))
		}},
		{name: "deltas-copy", what: "STATE_DELTAs that copy the copies of copies", says: func(size int) []byte {
			return paused(repeated(stateEvent(`{"a":{"x":"y"}}`), size, func(n int) string {
				return fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"copy","from":"/a","path":"/a/k%d"}]}`, n)
			}))
		}},
		{name: "calls", what: "TOOL_CALL_STARTs of which none ends", says: func(size int) []byte {
			return finished(repeated("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f"}`, n)
			}))
		}},
		{name: "calls-one", what: "the same on one message", says: func(size int) []byte {
			return paused(repeated("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f","parentMessageId":"m"}`, n)
			}))
		}},
		{name: "texts", what: "texts without a word in them", says: func(size int) []byte {
			return paused(repeated("", size, func(n int) string {
				return fmt.Sprintf("{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m%d\",\"role\":\"assistant\"}\n\ndata: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m%d\"}", n, n)
			}))
		}},
		{name: "steps", what: "STEP_STARTEDs of which none ends", says: func(size int) []byte {
			return paused(repeated("", size, func(n int) string { return fmt.Sprintf(`{"type":"STEP_STARTED","stepName":"s%d"}`, n) }))
		}},
		{name: "metadata", what: "pieces of a text each with metadata of another key", says: func(size int) []byte {
			return paused(repeated(oneText, size, func(n int) string {
				return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":{"k%d":1}}`, n)
			}))
		}},
		{name: "interrupts", what: "CUSTOM on_interrupts without end", says: func(size int) []byte {
			return finished(repeated("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","rawEvent":{"id":"i%d","value":"?"},"value":"?"}`, n)
			}))
		}},
		{name: "approvals", what: "function_approval_requests without end", says: func(size int) []byte {
			return finished(repeated("", size, func(n int) string {
				return fmt.Sprintf(`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"a%d","function_call":{"call_id":"c%d","name":"f","arguments":{}}}}`, n, n)
			}))
		}},
		{name: "messages", what: "a request of messages as small as they get", body: func(size int, thread string, _ []string) []byte {
			return input(thread, size, `{}`, "")
		}},
		{name: "history", what: "a request of small messages with ids, and a pause", body: func(size int, thread string, _ []string) []byte {
			return input(thread, size, `{"id":"%d","role":"user","content":""}`, "")
		}, says: func(int) []byte { return paused(nil) }},
	}
}

const oneText = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`

// repeated are the event first, or none, and events of about size bytes.
func repeated(first string, size int, event func(n int) string) []byte {
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

// finished is a run of such frames.
func finished(frames []byte) []byte {
	return appendFrame(append(appendFrame(nil, runStarted), frames...), runFinished)
}

// paused is a run that ends in AG-UI's outcome.
func paused(frames []byte) []byte {
	return appendFrame(append(appendFrame(nil, runStarted), frames...),
		strings.TrimSuffix(runFinished, "}")+`,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm"}]}}`)
}

func stateEvent(state string) string { return `{"type":"STATE_SNAPSHOT","snapshot":` + state + `}` }

// members are an object of about size bytes.
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

// input is a run with so many messages, at least one, that it has about size bytes. %d in a message stands for its number.
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
