package history_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
)

// TestCallsThatAStreamLeaves: a stream ends, and a call in it has no result. The call must count as
// left to the client. If the request declares the tool of the call, the call must count as the
// client's own.
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
		brings bool // the request has the message with the calls
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
				if call.DeclaredByRequest {
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
}

// TestWhatIsRememberedOfLeftCalls: a run has left calls to its client. The test checks what the
// process and the record remember about these calls.
func TestWhatIsRememberedOfLeftCalls(t *testing.T) {
	for name, c := range map[string]struct {
		calls    string // own:1 is a call of a tool of the client; 1 is any other call
		plainly  bool   // the run ended without an error and without a question
		open     string // a call that the open question is about
		inMemory bool   // the store loses its records with the process
		another  bool   // the backend runs no open calls, and reads no decisions
		passed   string
		kept     string // calls that a later request may have without a result
		notes    string // the notes for the record
	}{
		"nothing":                             {plainly: true},
		"a call":                              {calls: "1", plainly: true, passed: "1", kept: "1"},
		"of a run that failed":                {calls: "1"},
		"one of the client's tools":           {calls: "own:2", plainly: true, passed: "own:2", notes: "left"},
		"of a run that failed, too":           {calls: "own:2", passed: "own:2", notes: "left"},
		"one of each":                         {calls: "1 own:2", plainly: true, passed: "1 own:2", kept: "1", notes: "open left"},
		"and the store forgets":               {calls: "1 own:2", plainly: true, inMemory: true, passed: "1 own:2", kept: "1"},
		"before another backend":              {calls: "1 own:2", plainly: true, another: true, passed: "1 own:2"},
		"one with the id of a question's":     {calls: "own:2", plainly: true, open: "2", passed: "own:2", notes: "reused:2 left"},
		"a call that is not the client's own": {calls: "2", plainly: true, open: "2", passed: "2", kept: "2"},
		"one that is not known in full":       {calls: "large", plainly: true, passed: "large"},
		"one that the transcript lacks":       {calls: "lost own:2", plainly: true, passed: "lost own:2", notes: "left"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(inputOf(t, "u", ""))
			v.Record, v.Thread, v.InMemory, v.KnownDialect = recordOf(c.open, ""), "key", c.inMemory, "fake"
			if !c.another {
				v.Dialect.Continuer, v.Dialect.Decisions = continuer{}, decider{}
			}
			asked := func(id string) (agui.AskedCall, bool) {
				return agui.AskedCall{ID: id, Name: "rm", Args: "{}", ArgumentsUnknown: id == "large"}, id != "lost"
			}
			var stream history.StreamCalls
			names, keys := map[history.ThreadCall]string{}, map[history.CallKey]string{}
			for _, word := range strings.Fields(c.calls) {
				id, own := strings.CutPrefix(word, "own:")
				stream = append(stream, history.StreamCall{ID: id, DeclaredByRequest: own})
				names[history.NewThreadCall("key", id, own)] = word
				keys[history.NewCallKey(v.Scope, agui.Call{ID: id, Name: "rm", Args: "{}"})] = id
			}
			left := stream.OpenNotes(v, asked, c.plainly)
			var passed, kept, notes []string
			for _, call := range left.LeftCalls {
				passed = append(passed, names[call])
			}
			for _, key := range left.OpenCalls {
				kept = append(kept, keys[key])
			}
			if left.OpenNote != nil {
				notes = append(notes, "open")
				if v.Record.Notes = append(v.Record.Notes, *left.OpenNote); !history.IsNotedOpen(v.Record, left.OpenCalls[0]) {
					t.Error("the note does not hold the call")
				}
			}
			for _, call := range left.ReusedCalls {
				notes = append(notes, "reused:"+call.Call)
			}
			if left.OwnNote != nil {
				if notes = append(notes, "left"); !strings.HasPrefix(left.OwnNote.ID, history.LeftPrefix) || left.Own != 1 {
					t.Errorf("the note %s is of %d calls", left.OwnNote.ID, left.Own)
				}
			}
			for what, got := range map[string][2]string{
				"passed": {strings.Join(passed, " "), c.passed}, "kept": {strings.Join(kept, " "), c.kept}, "notes": {strings.Join(notes, " "), c.notes},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}
