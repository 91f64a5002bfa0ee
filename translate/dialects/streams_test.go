package dialects

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
)

// A scenario consists of the streams that a backend sent in one thread, each as a list of events.
type scenario [][]string

// recorded returns the scenarios of a dialect whose backend uses AG-UI. For auto it returns the
// scenarios of all such dialects.
func recorded(t *testing.T, name string) (list []scenario) {
	t.Helper()
	for _, s := range scenariosOf(t, name) {
		var streams scenario
		for _, turn := range s.Turns {
			for _, answer := range turn.Answers {
				if events := answer.Events(); len(events) > 0 {
					streams = append(streams, events)
				}
			}
		}
		if streams != nil {
			list = append(list, streams)
		}
	}
	return list
}

const (
	textContent   = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"May I?"}`
	callStart     = `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"search","parentMessageId":"m"}`
	callArgs      = `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`
	callEnd       = `{"type":"TOOL_CALL_END","toolCallId":"c"}`
	callResult    = `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c","content":"y"}`
	stateSnapshot = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	messages      = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"x"}]}`
	onInterrupt   = `{"type":"CUSTOM","name":"on_interrupt","value":"What?"}`

	// Events of Microsoft's backends: the call that is asked about, as the Python and .NET hosts
	// send it, and the call that an old .NET host makes up for its question.
	approval     = `{"type":"CUSTOM","name":"function_approval_request","value":{"id":"c","function_call":{"call_id":"c","name":"search","arguments":{}}}}`
	dotnetRaw    = `"rawEvent":{"contents":[{"$type":"toolApprovalRequest","requestId":"ficc_c","toolCall":{"$type":"functionCall","name":"search","callId":"c"}}]}`
	dotnetStart  = `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"search",` + dotnetRaw + `}`
	dotnetArgs   = `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}",` + dotnetRaw + `}`
	requestStart = `{"type":"TOOL_CALL_START","toolCallId":"q","toolCallName":"request_approval"}`
	requestArgs  = `{"type":"TOOL_CALL_ARGS","toolCallId":"q","delta":"{\"request\":{\"approval_id\":\"q\",\"function_name\":\"f\"}}"}`
	requestEnd   = `{"type":"TOOL_CALL_END","toolCallId":"q"}`
	requestChunk = `{"type":"TOOL_CALL_CHUNK","toolCallId":"q","toolCallName":"request_approval","delta":"{"}`
	requestTold  = `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"q","content":"y"}`
	requestKept  = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":[{"id":"q","type":"function","function":` +
		`{"name":"request_approval","arguments":"{\"request\":{\"approval_id\":\"q\",\"function_name\":\"f\"}}"}}]}]}`
)

// texts are the events that make up most of a stream.
var texts = []string{
	`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, textContent, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":"n","role":"assistant","delta":"x"}`,
}

// noise consists of events that stream inserts in addition to texts: at least one of every other
// type, and one of an unknown type. Some continue or end what the recorded streams begin.
var noise = []string{
	`{"type":"RUN_STARTED","threadId":"other","runId":"r"}`,
	`{"type":"STEP_STARTED","stepName":"__start__"}`, `{"type":"STEP_STARTED","stepName":"s"}`, `{"type":"STEP_FINISHED","stepName":"s"}`,
	callStart, callArgs, callEnd, callResult, `{"type":"TOOL_CALL_END","toolCallId":"nobody"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"k","toolCallName":"confirm_changes"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"k","delta":"{}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"k"}`, requestStart, requestArgs, requestEnd, requestChunk, requestTold,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"search","delta":"{"}`, `{"type":"TOOL_CALL_CHUNK","delta":"}"}`,
	stateSnapshot, `{"type":"STATE_DELTA","delta":[]}`, messages, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
	`{"type":"RAW","event":{}}`, `{"type":"CUSTOM","name":"x","value":1}`, onInterrupt, approval,
	`{"type":"REASONING_START","messageId":"m"}`, `{"type":"REASONING_END","messageId":"m"}`, `{"type":"REASONING_MESSAGE_START","messageId":"m"}`,
	`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"REASONING_MESSAGE_END","messageId":"m"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","messageId":"m","delta":"x"}`, `{"type":"REASONING_ENCRYPTED_VALUE"}`,
	`{"type":"THINKING_START"}`, `{"type":"THINKING_END"}`, `{"type":"THINKING_TEXT_MESSAGE_START"}`, `{"type":"THINKING_TEXT_MESSAGE_END"}`,
	`{"type":"SUBAGENT_STARTED"}`, `{"type":"SUBAGENT_FINISHED"}`, `{"type":"SUBAGENT_ERROR"}`,
	`{"type":"ACTIVITY_SNAPSHOT","messageId":"a"}`, `{"type":"TOMORROWS","toolCallId":"c"}`,
}

// stories are sequences of events that mean something only together.
var stories = [][]string{
	// the call does not directly follow the approval
	{approval, textContent, callStart, textContent, callEnd},
	{dotnetArgs},
	{dotnetStart, callResult}, // the application has approved the call itself
	{onInterrupt, stateSnapshot, stateSnapshot, messages, messages},
	{requestStart, textContent, requestTold},
	{requestKept},
}

// ends are terminal events in addition to the recorded ones. If stream draws the empty text, the
// stream breaks off without a terminal event.
var ends = []string{
	finished, "", `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}}`,
	`{"type":"RUN_ERROR","message":"kaput"}`, `{"type":"RUN_ERROR","message":"x","code":"APPROVAL_RESUME_NOT_FOUND"}`,
}

// stream draws the stream of a backend and its terminal event. Without p.edits it is a recorded
// stream. With p.edits it may consist of parts of two recorded streams, and events are left out and
// inserted.
func (p *pair) stream() (events []string, end string) {
	draw := func(label string, most int) int { return rapid.IntRange(0, most).Draw(p.rt, label) }
	events = slices.Clone(rapid.SampledFrom(p.at).Draw(p.rt, "stream"))
	if !p.edits {
		return split(events)
	}
	switch rapid.IntRange(0, 3).Draw(p.rt, "of it") {
	case 0:
		events = events[:1]
	case 1:
		other := rapid.SampledFrom(rapid.SampledFrom(p.scenarios).Draw(p.rt, "other")).Draw(p.rt, "its stream")
		events = append(events[:draw("until", len(events))], other[draw("from", len(other)):]...)
	}
	for at := draw("first", len(events)); at <= len(events); at += draw("step", 20) + 1 {
		var row []string
		switch rapid.IntRange(0, 3).Draw(p.rt, "what") {
		case 0:
			row = rapid.SampledFrom(stories).Draw(p.rt, "story")
		case 1:
			row = slices.Repeat([]string{rapid.SampledFrom(texts).Draw(p.rt, "text")}, draw("length", 3))
		default:
			row = slices.Repeat([]string{rapid.SampledFrom(noise).Draw(p.rt, "event")}, draw("length", 3))
		}
		events = slices.Insert(events, at, row...)
	}
	if from := draw("cut", len(events)); rapid.Bool().Draw(p.rt, "cuts") {
		events = slices.Delete(events, from, min(len(events), from+draw("size", 3)))
	}
	events, end = split(events)
	if rapid.Bool().Draw(p.rt, "ends otherwise") {
		end = rapid.SampledFrom(ends).Draw(p.rt, "end")
	}
	return events, end
}

// split returns a stream without its terminal event, and the terminal event.
func split(events []string) (rest []string, end string) {
	terminal := func(s string) bool { return agui.PeekType([]byte(s)).Terminal() }
	if at := slices.IndexFunc(events, terminal); at >= 0 {
		end = events[at]
	}
	return slices.DeleteFunc(events, terminal), end
}
