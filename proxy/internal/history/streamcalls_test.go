package history_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
)

// TestCallsThatAStreamLeaves: a call without a result is left to the client. It is the client's own
// if the request declares its tool.
func TestCallsThatAStreamLeaves(t *testing.T) {
	const (
		start    = `{"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"rm"}`
		chunk    = `{"type":"TOOL_CALL_CHUNK","toolCallId":"2","toolCallName":"mine"}`
		args     = `{"type":"TOOL_CALL_CHUNK","toolCallId":"2","delta":"{}"}`
		result   = `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"1","content":"gone"}`
		calls    = `{"id":"a9","role":"assistant","toolCalls":[{"id":"3","type":"function","function":{"name":"mine","arguments":"{}"}},{"id":"4","type":"function","function":{"name":"rm","arguments":"{}"}}]}`
		snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[` + userOne + `,` + calls + `]}`
		answered = `{"type":"MESSAGES_SNAPSHOT","messages":[` + userOne + `,` + calls + `,` + userTwo + `]}`
	)
	for name, c := range map[string]struct {
		events []string
		brings bool // the request has the message with calls itself
		want   string
	}{
		"a call":                             {events: []string{start}, want: "1"},
		"one of the client's tools":          {events: []string{chunk, args}, want: "2 own"},
		"with its result":                    {events: []string{start, result}},
		"two, and one result":                {events: []string{start, chunk, result}, want: "2 own"},
		"in a snapshot":                      {events: []string{snapshot}, want: "3 own"},
		"in a snapshot that repeats a call":  {events: []string{strings.ReplaceAll(chunk, `"2"`, `"3"`), snapshot}, want: "3 own"},
		"not in its last message":            {events: []string{answered}},
		"in a message of the request itself": {events: []string{snapshot}, brings: true},
	} {
		t.Run(name, func(t *testing.T) {
			messages := userOne
			if c.brings {
				messages += "," + calls
			}
			in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + messages + `],"tools":[{"name":"mine","description":"","parameters":{}}]}`))
			if err != nil {
				t.Fatal(err)
			}
			var stream history.StreamCalls
			for _, ev := range c.events {
				if ev := agui.NewEvent([]byte(ev)); ev.Type == agui.MessagesSnapshot {
					stream.NoteSnapshot(ev, &in)
				} else {
					stream.Note(ev, &in)
				}
			}
			var got []string
			for _, call := range stream {
				if call.Own {
					call.ID += " own"
				}
				got = append(got, call.ID)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("left are %q, want %q", got, c.want)
			}
		})
	}
	var stream history.StreamCalls
	for n := range history.MaxOpenCalls + 2 {
		stream.Note(agui.NewEvent(fmt.Appendf(nil, `{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"rm"}`, n)), &agui.RunInput{})
	}
	if len(stream) != history.MaxOpenCalls || stream[0].ID != "c2" {
		t.Errorf("%d calls are noted, from %s on", len(stream), stream[0].ID)
	}
	if stream.Forget("c2"); stream[0].ID != "c3" {
		t.Errorf("after c2 is forgotten the first is %s", stream[0].ID)
	}
	one, same, other := history.NoteOf("left ", []string{"a", "b"}), history.NoteOf("left ", []string{"a", "b"}), history.NoteOf("left ", []string{"a"})
	if one.ID != same.ID || one.ID == other.ID || string(one.Text) != `["a","b"]` {
		t.Errorf("the notes are %s %s, %s and %s", one.ID, one.Text, same.ID, other.ID)
	}
}
