package yesno

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"

	"github.com/tidwall/gjson"
)

const payRule = `pay;transfer_* {"go":true,"args":"$arguments"} {"go":false,"why":"$reason"}
* "yes" "no"`

func newRules(t testing.TB, text string) Rules {
	t.Helper()
	var r Rules
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRules checks that a rule, which consists of names and two JSON values, is read with any white
// space between its parts.
func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		payRule:                           payRule2Lines,
		` pay  {"go": true} {"go":false}`: `pay {"go": true} {"go":false}`,
		"a true false b 1 0":              "a true false\nb 1 0",
		``:                                ``,
	} {
		if got := newRules(t, text).String(); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`pay`:                            "want names, the yes and the no",
		`pay true`:                       "want names, the yes and the no",
		`pay yes no`:                     "want names, the yes and the no",
		`; true false`:                   "want names, the yes and the no",
		`[ true false`:                   "is not a pattern",
		`pay true true`:                  "it could be taken for an approval",
		`pay {"go":true} {"went":false}`: "it has no \"go\"",
		`pay true false more`:            "want names, the yes and the no",
		`pay {"go":true} {"go":"never"}`: "a backend that tests whether it is true",
		`pay "yes" "yes, but later"`:     "it could be taken for an approval",
		`pay ["yes"] ["no"]`:             "want a JSON object",
		`pay {"go":true,"a":"$argument"} {"go":false}`: "is not a placeholder here",
	} {
		var r Rules
		if err := r.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

const payRule2Lines = `pay;transfer_* {"go":true,"args":"$arguments"} {"go":false,"why":"$reason"}
* "yes" "no"`

// TestAskedForAYesOrANo checks how Ask changes a question. This depends on what the question says
// about the call that it is about.
func TestAskedForAYesOrANo(t *testing.T) {
	const full = `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"reason":{"type":"string"}},"required":["approved"]}`
	bob := []agui.AskedCall{{ID: "c", Name: "pay", Args: `{"to":"Bob","amount":5}`}}
	for name, c := range map[string]struct {
		value  string // the value with which the agent asks
		calls  []agui.AskedCall
		object string // the interrupt of the question
		want   string // its schema
		asks   string // its message
		shown  string // the name and the arguments of its call
	}{
		"an action":                 {`{"action":"pay","args":{"amount":5}}`, nil, `{"reason":"r"}`, full, "The agent asks to call the tool pay.", `pay {"amount":5}`},
		"with a message":            {`{"action":"pay","args":{"amount":5},"message":"Pay?"}`, nil, `{"message":"Pay?"}`, full, "Pay?", `pay {"amount":5}`},
		"by a pattern":              {`{"tool":"transfer_all","arguments":{"to":"x"}}`, nil, `{}`, full, "The agent asks to call the tool transfer_all.", `transfer_all {"to":"x"}`},
		"members without a frame":   {`{"action":"pay","amount":5,"message":"Pay?"}`, nil, `{"message":"Pay?"}`, full, "Pay?", `pay {"amount":5}`},
		"without arguments":         {`{"action":"pay"}`, nil, `{}`, kit.ApprovalSchema, "The agent asks to call the tool pay.", ""},
		"a text":                    {`"Pay?"`, nil, `{"message":"Pay?"}`, kit.ApprovalSchema, "Pay?", ""},
		"whose yes has no place":    {`{"action":"delete","path":"/tmp"}`, nil, `{}`, kit.ApprovalSchema, "The agent asks to call the tool delete.", ""},
		"as its call":               {`{"action":"pay","args":{"amount":5,"to":"Bob"}}`, bob, `{}`, full, "The agent asks to call the tool pay.", `pay {"to":"Bob","amount":5}`},
		"not as its call":           {`{"action":"pay","args":{"amount":500,"to":"Eve"}}`, bob, `{}`, kit.ApprovalSchema, "The agent asks to call the tool pay.", `pay {"to":"Bob","amount":5}`},
		"a name with a slash":       {`{"action":"mail/send","args":{}}`, nil, `{}`, kit.ApprovalSchema, "The agent asks to call the tool mail/send.", ""},
		"of a call":                 {`"Pay?"`, []agui.AskedCall{{ID: "c", Name: "pay", Args: `{"amount":5}`}}, `{"message":"Pay?"}`, full, "Pay?", `pay {"amount":5}`},
		"of a call that is unknown": {`"Pay?"`, []agui.AskedCall{{ID: "c", Name: "pay", ArgumentsUnknown: true}}, `{"message":"Pay?"}`, kit.ApprovalSchema, "Pay?", `pay `},
	} {
		i := agui.Interrupt{Object: json.RawMessage(c.object), Calls: c.calls}
		newRules(t, payRule).Ask(&i, kit.SubjectOf(gjson.Parse(c.value)))
		shown := ""
		if len(i.Calls) == 1 {
			shown = i.Calls[0].Name + " " + i.Calls[0].Args
		}
		if got := string(i.Schema()); got != c.want || gjson.GetBytes(i.Object, "message").Str != c.asks || shown != c.shown {
			t.Errorf("%s: %s, %s, want %s, %s", name, i.Object, shown, c.want, c.shown)
		}
	}
	i := agui.Interrupt{Object: json.RawMessage(`{}`)}
	if newRules(t, `pay true false`).Ask(&i, translate.Subject{Name: "delete"}); i.YesNo != nil || string(i.Object) != `{}` {
		t.Errorf("no rule is for it: %s", i.Object)
	}
	// The question is about other arguments than its call has, or the question has several calls.
	// If the yes of the only rule has a place for arguments, Ask must leave the question unchanged.
	for _, calls := range [][]agui.AskedCall{bob, append(bob, bob...)} {
		i := agui.Interrupt{Object: json.RawMessage(`{}`), Calls: calls}
		newRules(t, `pay {"go":true,"args":"$arguments"} {"go":false}`).Ask(&i, translate.Subject{Name: "pay", Arguments: json.RawMessage(`{"to":"Eve","amount":500}`)})
		if i.YesNo != nil || string(i.Object) != `{}` || len(i.Calls) != len(calls) {
			t.Errorf("%d calls: it asks %s", len(calls), i.Object)
		}
	}
}

// TestAnswersInTheAgentsValues checks the value that is sent to the agent for an answer, and the
// payload with the meaning that is recorded.
func TestAnswersInTheAgentsValues(t *testing.T) {
	const asked = `{"amount":5}`
	pay := agui.Interrupt{ID: "i", Object: json.RawMessage(`{}`)}
	newRules(t, payRule).Ask(&pay, translate.Subject{Name: "pay", Arguments: json.RawMessage(asked)})
	text := agui.Interrupt{ID: "i", Object: json.RawMessage(`{}`)}
	newRules(t, payRule).Ask(&text, translate.Subject{})
	const cancelled = ""
	for _, c := range []struct {
		i       *agui.Interrupt
		native  bool
		payload string // empty means cancelled
		// The payload that ReadAnswer and the one that WriteAnswer returns. An empty writes means
		// an error.
		reads, writes string
	}{
		{&pay, false, `{"approved":true}`, `{"approved":true}`, `{"go":true,"args":{"amount":5}}`},
		{&pay, false, `{"approved":true,"editedArgs":{"amount":4}}`, `{"approved":true,"editedArgs":{"amount":4}}`, `{"go":true,"args":{"amount":4}}`},
		{&pay, false, `{"approved":false,"reason":"too much"}`, `{"approved":false,"reason":"too much"}`, `{"go":false,"why":"too much"}`},
		{&pay, false, `{"approved":false,"reason":"no, go!","note":1}`, `{"approved":false,"reason":"no, go!","note":1}`, `{"go":false,"why":"no, go!"}`},
		{&pay, false, cancelled, ``, `{"go":false,"why":""}`},
		{&pay, false, `{"approved":true,"amount":4}`, `{"approved":true,"amount":4}`, ``},
		{&pay, false, `{"approved":true,"reason":"only 4, not 5"}`, `{"approved":true,"reason":"only 4, not 5"}`, ``},
		{&pay, false, `{"approved":true,"reason":["only 4"]}`, `{"approved":true,"reason":["only 4"]}`, ``},
		{&pay, false, `{"approved":true,"reason":" "}`, `{"approved":true,"reason":" "}`, `{"go":true,"args":{"amount":5}}`},
		{&pay, false, `{"approved":true,"reason":null}`, `{"approved":true,"reason":null}`, `{"go":true,"args":{"amount":5}}`},
		{&text, true, `{"approved":true,"reason":"fine"}`, `{"approved":true,"reason":"fine"}`, ``},
		{&pay, false, `{"go":true,"args":{"amount":5}}`, `{"approved":true}`, `{"go":true,"args":{"amount":5}}`},
		{&pay, false, `{"go":true,"args":{"amount":4}}`, `{"approved":true,"editedArgs":{"amount":4}}`, `{"go":true,"args":{"amount":4}}`},
		// the schema would refuse this payload
		{&pay, false, `{"go":true,"args":{"amount":5},"more":1}`, `{"go":true,"args":{"amount":5},"more":1}`, `{"go":false,"why":""}`},
		{&pay, true, `{"approved":true}`, `{"approved":true}`, `{"go":true,"args":{"amount":5}}`},
		{&pay, true, `{"go":true,"args":{"amount":5}}`, `{"approved":true}`, `{"go":true,"args":{"amount":5}}`},
		{&pay, true, `{"go":false,"why":"no"}`, `{"approved":false,"reason":"no"}`, `{"go":false,"why":"no"}`},
		{&pay, true, `{"go":true}`, `{"go":true}`, `{"go":true}`},
		{&pay, true, `{"go":true,"args":{"amount":5},"more":1}`, `{"go":true,"args":{"amount":5},"more":1}`, `{"go":true,"args":{"amount":5},"more":1}`},
		{&pay, true, `true`, `true`, `true`},
		{&pay, true, `{"go":true,"args":"all"}`, `{"go":true,"args":"all"}`, `{"go":true,"args":"all"}`},
		{&pay, true, `{"go":false,"why":["no"]}`, `{"go":false,"why":["no"]}`, `{"go":false,"why":["no"]}`},
		{&text, true, `"yes"`, `{"approved":true}`, `"yes"`},
		{&text, false, `"yes"`, `{"approved":true}`, `"yes"`},
		{&text, false, `"no"`, `{"approved":false}`, `"no"`},
		{&text, true, `"later"`, `"later"`, `"later"`},
		{&text, false, `{"approved":true,"editedArgs":{}}`, `{"approved":true,"editedArgs":{}}`, ``},
		{&text, false, cancelled, ``, `"no"`},
	} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(c.payload), Native: c.native}
		if c.payload == cancelled {
			a.Status, a.Payload = agui.Cancelled, nil
		}
		read := ReadAnswer(c.i, a)
		if string(read.Payload) != c.reads {
			t.Errorf("%s is read as %s, want %s", c.payload, read.Payload, c.reads)
		}
		written, err := WriteAnswer(c.i, read)
		if (err != nil) != (c.writes == "") || err == nil && (string(written.Payload) != c.writes || written.Status != agui.Resolved) {
			t.Errorf("%s goes as %s (%v), want %s", c.payload, written.Payload, err, c.writes)
		}
		if c.native && string(read.Payload) == c.payload && !strings.Contains(c.payload, "approved") != read.OwnForm {
			t.Errorf("%s: own form %v", c.payload, read.OwnForm)
		}
	}
}

// TestCancelOfAnAnsweredQuestion: a question with CancelOnly was answered before, and a denial
// would make the agent act on that answer. So its cancel must stay a cancel.
func TestCancelOfAnAnsweredQuestion(t *testing.T) {
	i := agui.Interrupt{ID: "i", Object: json.RawMessage(`{}`), CancelOnly: true}
	newRules(t, payRule).Ask(&i, translate.Subject{})
	if a, err := WriteAnswer(&i, agui.Answer{ID: "i", Status: agui.Cancelled}); err != nil || a.Status != agui.Cancelled {
		t.Errorf("%+v, %v", a, err)
	}
}
