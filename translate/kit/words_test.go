package kit

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

func questionWith(schema string) agui.Interrupt {
	i := agui.Interrupt{Object: json.RawMessage(`{"reason":"r","responseSchema":` + schema + `}`)}
	i.Yes, i.No = Words(i)
	return i
}

func TestWords(t *testing.T) {
	for schema, yes := range map[string]string{
		ApprovalSchema: `{"approved":true}`,
		`{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`:  `{"accepted":true}`,
		`{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"]}`:                `{"confirmed":true}`,
		`{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}}`:                        `{"approved":true}`,
		`{"type":"object","properties":{"approved":{"type":"boolean"},"env":{"type":"string"}},"required":["approved","env"]}`: ``,
		`{"type":"object","properties":{"approved":{"type":"string"}},"required":["approved"]}`:                                ``,
		`{"type":"object","properties":{"approved":{"type":"boolean","const":false}},"required":["approved"]}`:                 ``,
		`{"type":"boolean"}`: ``,
		`null`:               ``,
	} {
		i := questionWith(schema)
		if string(i.Yes) != yes || (i.No == nil) != (yes == "") {
			t.Errorf("%s: yes %s, no %s", schema, i.Yes, i.No)
		}
	}
}

func TestSays(t *testing.T) {
	for payload, want := range map[string]agui.Meaning{
		`{"approved":true}`:                   agui.Approves,
		`{"approved":true,"comment":"x"}`:     agui.Approves,
		`{"approved":false}`:                  agui.Denies,
		`{"approved":false,"comment":"x"}`:    agui.Denies,
		`{"approved":true,"approved":false}`:  agui.Unclear,
		`{"approved":false,"decision":"yes"}`: agui.Unclear,
		`{"approved":"yes"}`:                  agui.Unclear,
		`{"Approved":true,"approved":true}`:   agui.Approves,
		`{"decision":"approve"}`:              agui.Unclear,
		`true`:                                agui.Unclear,
		`false`:                               agui.Denies,
		``:                                    agui.Unclear,
	} {
		if got := Says(questionWith(ApprovalSchema), agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}); got != want {
			t.Errorf("%s: %d, want %d", payload, got, want)
		}
	}
	cancelled := agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}
	if got := Says(questionWith(ApprovalSchema), cancelled); got != agui.Denies {
		t.Errorf("cancelled: %d", got)
	}
}

// A no is one at any length: a call that is not known asks for a clear one.
func TestLongNoIsClear(t *testing.T) {
	long := strings.Repeat("x", maxWord)
	for _, c := range []struct {
		answer agui.Answer
		want   agui.Meaning
	}{
		{agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`"` + long + `"`)}, agui.Denies},
		{agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false,"reason":"` + long + `"}`)}, agui.Denies},
		{agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true,"reason":"` + long + `"}`)}, agui.Unclear},
	} {
		if got := Says(questionWith(ApprovalSchema), c.answer); got != c.want {
			t.Errorf("%.30s...: %d, want %d", c.answer.Payload, got, c.want)
		}
	}
}
