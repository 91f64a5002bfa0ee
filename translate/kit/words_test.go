package kit

import (
	"encoding/json"
	"errors"
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
	const (
		yesForm = `{"type":"object","properties":{"approved":{"const":true},"editedArgs":{"type":"object"}},"required":["approved"]}`
		noForm  = `{"type":"object","properties":{"approved":{"const":false},"why":{"type":"string"}},"required":["approved"]}`
	)
	for schema, yes := range map[string]string{
		ApprovalSchema: `{"approved":true}`,
		`{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`:  `{"accepted":true}`,
		`{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"]}`:                `{"confirmed":true}`,
		`{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}}`:                        `{"approved":true}`,
		`{"type":"object","properties":{"approved":{"type":"boolean"},"env":{"type":"string"}},"required":["approved","env"]}`: ``,
		`{"type":"object","properties":{"approved":{"type":"string"}},"required":["approved"]}`:                                ``,
		`{"type":"object","properties":{"approved":{"type":"boolean","const":false}},"required":["approved"]}`:                 ``,
		`{"oneOf":[` + yesForm + `,` + noForm + `]}`:                                                                           `{"approved":true}`,
		`{"anyOf":[` + yesForm + `,` + noForm + `]}`:                                                                           `{"approved":true}`,
		`{"anyOf":[` + yesForm + `]}`:                ``,
		`{"allOf":[` + yesForm + `,` + noForm + `]}`: ``, // no answer fits both forms
		`{"type":"boolean"}`:                         ``,
		`null`:                                       ``,
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
		if got := MeaningOf(questionWith(ApprovalSchema), agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}); got != want {
			t.Errorf("%s: %d, want %d", payload, got, want)
		}
	}
	cancelled := agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}
	if got := MeaningOf(questionWith(ApprovalSchema), cancelled); got != agui.Denies {
		t.Errorf("cancelled: %d", got)
	}
}

// TestLongNoIsClear: a denial must be clear however long it is, because some calls need a clear
// denial. A long approval is unclear.
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
		if got := MeaningOf(questionWith(ApprovalSchema), c.answer); got != c.want {
			t.Errorf("%.30s...: %d, want %d", c.answer.Payload, got, c.want)
		}
	}
}

// tanStackSchema is the schema of an approval in TanStack AI. It has one form for a yes and another
// for a no.
const tanStackSchema = `{"oneOf":[{"type":"object","properties":{"approved":{"const":true},"editedArgs":{"type":"object"}},"required":["approved"],"additionalProperties":false},
	{"type":"object","properties":{"approved":{"const":false}},"required":["approved"],"additionalProperties":false}]}`

func TestWordsOfSeveralForms(t *testing.T) {
	for schema, want := range map[string]string{
		tanStackSchema: `{"approved":true} {"approved":false}`,
		// a schema that requires more than a yes
		strings.ReplaceAll(tanStackSchema, `["approved"]`, `["approved","payload"]`): " ",
		// schemas without a form for a no
		strings.Replace(tanStackSchema, "false", "true", 2):                                                              " ",
		strings.Replace(tanStackSchema, `"const":false`, `"const":"no"`, 1):                                              " ",
		`{"type":"object","properties":{"approved":{"const":true}},"required":["approved"]}`:                             " ",
		`{"oneOf":[` + ApprovalSchema + `,{"type":"string"}]}`:                                                           `{"approved":true} {"approved":false}`,
		`{"type":"object","properties":{"approved":{"type":"boolean","enum":[true]}},"required":["approved"]}`:           " ",
		`{"type":"object","properties":{"accepted":{"type":"boolean"},"why":{"type":"string"}},"required":["accepted"]}`: `{"accepted":true} {"accepted":false}`,
	} {
		if yes, no := Words(questionWith(schema)); string(yes)+" "+string(no) != want {
			t.Errorf("%s: %s %s, want %s", schema, yes, no, want)
		}
	}
}

// TestBareBoolean: an answer is only true or false. It must become an object if the schema of the
// question wants an object with a decision, and stay unchanged otherwise.
func TestBareBoolean(t *testing.T) {
	const either = `{"type":["object","boolean"],"properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	refuses := func(schema, payload json.RawMessage) error {
		if strings.Contains(string(schema), `"boolean"]`) {
			return nil
		}
		return errors.New("an object is wanted")
	}
	for name, c := range map[string]struct {
		schema, payload, want string
		own, cancelled        bool
	}{
		"yes":                       {ApprovalSchema, `true`, `{"approved":true}`, false, false},
		"no":                        {ApprovalSchema, ` false `, `{"approved":false}`, false, false},
		"in two forms":              {tanStackSchema, `true`, `{"approved":true}`, false, false},
		"another word":              {`{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}`, `true`, `{"confirmed":true}`, false, false},
		"an object":                 {ApprovalSchema, `{"approved":true}`, `{"approved":true}`, false, false},
		"a text":                    {ApprovalSchema, `"true"`, `"true"`, false, false},
		"something else is wanted":  {`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`, `true`, `true`, false, false},
		"any object is wanted":      {`{"type":"object"}`, `true`, `true`, false, false},
		"a boolean is wanted":       {either, `true`, `true`, false, false},
		"no schema":                 {``, `true`, `true`, false, false},
		"in the backend's own form": {ApprovalSchema, `true`, `true`, true, false},
		"cancelled":                 {ApprovalSchema, `true`, `true`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			i := agui.Interrupt{ID: "a", Object: json.RawMessage(`{"id":"a"}`)}
			if c.schema != "" {
				i = questionWith(c.schema)
				i.ID = "a"
			}
			answers := []agui.Answer{{ID: "b", Status: agui.Resolved, Payload: json.RawMessage(`true`)}, {ID: "a", Status: agui.Resolved, Payload: json.RawMessage(c.payload), OwnForm: c.own}}
			if c.cancelled {
				answers[1].Status = agui.Cancelled
			}
			SpellOut(agui.Pause{ID: "p", Interrupts: []agui.Interrupt{i}}, answers, refuses)
			if string(answers[1].Payload) != c.want || string(answers[0].Payload) != "true" {
				t.Errorf("%s, want %s", answers[1].Payload, c.want)
			}
		})
	}
}
