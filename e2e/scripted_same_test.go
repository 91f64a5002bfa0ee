//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// TestReplayAndCheckpointLookTheSame compares two backends. The first (request_approval) stores
// nothing and reads the history in each request. The second (LangGraph) stores the thread. A client
// must not see any difference between them, except for ids. The conversation has three questions in
// a row and then an ordinary turn. The second question is denied.
//
// Both backends share a state with their client, and send the whole state after a tool has run. The
// .NET application sends an event of its own for this, as the SDK's samples for state do.
// LangGraph's adapter sends the values of the graph.
func TestReplayAndCheckpointLookTheSame(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			replay := conversation(t, version, layouts()[3], nil)
			checkpoint := conversation(t, version, actor{name: "langgraph-plain", make: scripted.LangGraph{}.New}, nil)
			if replay != checkpoint {
				t.Errorf("they differ, request_approval first:\n%s", difference(replay, checkpoint))
			}
		})
	}
}

// TestReplayAndCheckpointLookTheSameBesideSteps makes the same comparison with all events of
// LangGraph's adapter. It does not compare what only one backend sends and Holdpoint forwards:
//
//   - STEP_STARTED and STEP_FINISHED, because .NET's pipeline has no nodes
//   - the adapter's snapshots after every node and at every end; but a paused run must have a
//     MESSAGES_SNAPSHOT somewhere
//   - the messages that the adapter puts into the state
//   - the empty content that the adapter gives to a message with calls
func TestReplayAndCheckpointLookTheSameBesideSteps(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			replay := conversation(t, version, layouts()[3], leaveOutSnapshots)
			checkpoint := conversation(t, version, actor{name: "langgraph-whole", make: scripted.LangGraph{Whole: true}.New}, leaveOutSnapshots)
			if replay != checkpoint {
				t.Errorf("they differ, request_approval first:\n%s", difference(replay, checkpoint))
			}
		})
	}
}

func leaveOutSnapshots(kinds []string, paused bool) []string {
	has := slices.Contains(kinds, "MESSAGES_SNAPSHOT")
	kinds = slices.DeleteFunc(kinds, func(k string) bool {
		return slices.Contains([]string{"STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"}, k)
	})
	if paused && has {
		kinds = append(kinds, "(with MESSAGES_SNAPSHOT)")
	}
	return kinds
}

// conversation plays the conversation. For each run it returns, as text, the kinds of the events,
// the questions, the client's messages and its state. leaveOut, if not nil, removes kinds of events
// that are not compared.
func conversation(t *testing.T, version string, a actor, leaveOut func(kinds []string, paused bool) []string) string {
	t.Helper()
	h := must(before())
	a.calls = true
	s := newScene(t, theStage().play(a), version, h)
	s.d.call(t, "set", map[string]any{"client": s.name, "state": map[string]any{"results": []any{}}}, &struct{}{})
	var story strings.Builder
	play := func(run step) {
		t.Helper()
		r := s.run(t, run)
		w := r.answer(t)
		if w.code() != "" {
			t.Fatalf("%s: %s", a.name, terminal(w))
		}
		s.sound(t)
		kinds := w.kinds()
		if leaveOut != nil {
			kinds = leaveOut(kinds, w.outcome() != nil)
		}
		story.WriteString(strings.Join(kinds, " ") + "\n")
		for _, i := range s.pending {
			call := s.call(i.str("toolCallId"))
			story.WriteString("asks: " + strings.Join([]string{i.str("reason"), i.str("message"), indented(call["name"]), indented(call["arguments"])}, " ") + "\n")
		}
		state, _ := r.State.(map[string]any)
		holds := indented(s.withoutIDs())
		if leaveOut != nil {
			delete(state, "messages")
			holds = s.told()
		}
		story.WriteString(holds + "\nstate: " + indented(state) + "\n\n")
	}
	play(step{say: "chain 3 E"})
	play(step{resume: s.answers(accept)})
	play(step{resume: s.answers(reject)})
	play(step{resume: s.answers(accept)})
	play(step{say: "plain and after all"})
	s.executed(t, "E.1", "E.3")
	s.runs(t, 5)
	return story.String()
}

// withoutIDs returns the client's messages without their ids, and with numbers instead of the ids
// of calls.
func (c *client) withoutIDs() []map[string]any {
	number := map[string]int{}
	var list []map[string]any
	for _, m := range c.messages {
		m := maps.Clone(m)
		delete(m, "id")
		calls, _ := m["toolCalls"].([]any)
		var numbered []any
		for _, one := range calls {
			call := maps.Clone(one.(map[string]any))
			number[call["id"].(string)] = len(number) + 1
			call["id"] = len(number)
			numbered = append(numbered, call)
		}
		if calls != nil {
			m["toolCalls"] = numbered
		}
		if id, ok := m["toolCallId"].(string); ok {
			m["toolCallId"] = number[id]
		}
		list = append(list, m)
	}
	return list
}
