package client

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// messagesWith returns one message for each element of list. The element `id` becomes a user
// message. The element `id:call,call` becomes an assistant message with these calls.
func messagesWith(list ...string) []agui.Message {
	var messages []agui.Message
	for _, one := range list {
		id, calls, assistant := strings.Cut(one, ":")
		m := map[string]any{"id": id, "role": "user", "content": "x"}
		if assistant {
			var all []any
			for call := range strings.SplitSeq(calls, ",") {
				all = append(all, map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}})
			}
			m = map[string]any{"id": id, "role": "assistant", "content": "x", "toolCalls": all}
		}
		messages = append(messages, agui.ParseMessage(agui.MustMarshal(m)))
	}
	return messages
}

// withheldOf returns the messages of all that are not in sent, or are in sent in another form.
func withheldOf(all, sent []agui.Message) []translate.WithheldMessage {
	var list []translate.WithheldMessage
	var before []string
	for _, m := range all {
		at := slices.IndexFunc(sent, func(other agui.Message) bool { return other.ID == m.ID })
		if m.ID != "" && (at < 0 || string(sent[at].JSON) != string(m.JSON)) {
			list = append(list, translate.WithheldMessage{Message: m, Whole: at < 0, Before: slices.Clone(before)})
		}
		before = append(before, m.ID)
	}
	return list
}

// TestWithheldMessagesComeBack: a dialect did not send some messages to the backend, so the
// backend's snapshot lacks them. Holdpoint must add them to the snapshot, each after the nearest
// earlier message, in the client's order.
func TestWithheldMessagesComeBack(t *testing.T) {
	for name, c := range map[string]struct{ all, sent, snapshot, want string }{
		"nothing was cut":               {"u1 a1:A u2", "u1 a1:A u2", "u1 a1:A u2", "u1 a1:A u2"},
		"one":                           {"u1 a1:A u2", "u1 u2", "u1 u2", "u1 a1:A u2"},
		"the first":                     {"a1:A u2", "u2", "u2", "a1:A u2"},
		"two, one behind the other":     {"u1 a1:A a2:B u2", "u1 u2", "u1 u2", "u1 a1:A a2:B u2"},
		"two in two places":             {"u1 a1:A u2 a2:B", "u1 u2", "u1 u2 a3:C", "u1 a1:A u2 a2:B a3:C"},
		"some calls of one":             {"u1 a1:A,B u2", "u1 a1:A u2", "u1 a1:A u2", "u1 a1:A,B u2"},
		"it is there all the same":      {"u1 a1:A u2", "u1 u2", "u1 a1:A u2", "u1 a1:A u2"},
		"what stood before it is gone":  {"u1 u2 a1:A", "u1 u2", "u1 x", "u1 a1:A x"},
		"all that stood before is gone": {"u1 a1:A", "u1", "x", "a1:A x"},
		"another order":                 {"u1 u2 a1:A", "u1 u2", "u2 u1", "u2 a1:A u1"},
		"no ids before it":              {" a1:A u2", " u2", "u2 ", "a1:A u2 "},
		"an empty snapshot":             {"u1 a1:A,B", "u1 a1:A", "", ""},
	} {
		list := func(s string) []agui.Message {
			if s == "" {
				return nil
			}
			return messagesWith(strings.Split(s, " ")...)
		}
		ev := WithWithheld(agui.SnapshotEvent(agui.MessageList(list(c.snapshot))), withheldOf(list(c.all), list(c.sent)))
		var got []string
		for _, m := range ev.Get("messages").Array() {
			one := m.Get("id").Str
			for n, call := range m.Get("toolCalls").Array() {
				one += map[bool]string{true: ":", false: ","}[n == 0] + call.Get("id").Str
			}
			got = append(got, one)
		}
		if strings.Join(got, " ") != c.want || !ev.Get("messages").IsArray() {
			t.Errorf("%s: %q, want %q: %s", name, strings.Join(got, " "), c.want, ev.JSON)
		}
	}
}
