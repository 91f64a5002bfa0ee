package api

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// interrupt opens a question about which no call is known. If change is not nil, it changes the
// question first.
func (r *rig) interrupt(n int, object string, change func(*agui.Interrupt)) {
	r.Helper()
	p := pause(n, "", "")
	p.Interrupts[0] = agui.Interrupt{ID: "q", Object: json.RawMessage(object)}
	if change != nil {
		change(&p.Interrupts[0])
	}
	r.open(n, p)
}

// TestStatements: data that the agent sent with a question must be shown as fields, in a list and
// for a single approval.
func TestStatements(t *testing.T) {
	r := inMemory(t)
	r.interrupt(1, `{"id":"q","message":"Pay?","metadata":{"langgraph":{"raw":{"message":"Pay?","action":"pay","args":{"supplier":"Nordlicht","amount":1250.0}}}}}`, nil)
	want := `[{"path":"langgraph.raw","fields":[` +
		`{"path":"action","key":"action","depth":0,"kind":"string","text":"pay","size":3},` +
		`{"path":"args","key":"args","depth":0,"kind":"object","text":"","size":40},` +
		`{"path":"args.supplier","key":"supplier","depth":1,"kind":"string","text":"Nordlicht","size":9},` +
		`{"path":"args.amount","key":"amount","depth":1,"kind":"number","text":"1250.0","json":true,"salient":true,"size":6}],"size":` + "64}]"
	for path, at := range map[string]string{"/v1/approvals": "approvals.0.", "/v1/approvals/" + id(1): ""} {
		q := r.ask(200, "GET", path).Get(at + "questions.0")
		if got := q.Get("statements").Raw; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if q.Get("kind").Str != "text" {
			t.Errorf("%s: its kind is %s", path, q.Get("kind"))
		}
	}
	if got := r.file("/v1/approvals/" + id(1) + "/sent/q"); got != `{"langgraph":{"raw":{"message":"Pay?","action":"pay","args":{"supplier":"Nordlicht","amount":1250.0}}}}` {
		t.Errorf("the file: %s", got)
	}
	r.ask(404, "GET", "/v1/approvals/"+id(1)+"/sent/x")
	r.ask(404, "GET", "/v1/approvals/"+id(2)+"/sent/q")
}

// TestStatementsOfAnInbox: the agent's data names a call. The response for a single approval must
// have the call's arguments, so that they can be edited. A list must have one line of their fields.
func TestStatementsOfAnInbox(t *testing.T) {
	r, _ := deciding(t)
	r.interrupt(1, `{"id":"q","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}}},"metadata":{"langgraph":{"name":"send_email","args":{"to":"bob"},"index":0}}}`,
		func(i *agui.Interrupt) { i.Yes = json.RawMessage(`{"approved":true}`) })
	q := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0")
	if s := q.Get("statements.0"); s.Get("name").Str != "send_email" || s.Get("arguments").Raw != `{"to":"bob"}` || s.Get("fields.0.text").Str != "bob" || !q.Get("may.edit").Bool() {
		t.Errorf("%s", q)
	}
	if s := r.ask(200, "GET", "/v1/approvals").Get("approvals.0.questions.0.statements.0"); s.Get("arguments").Exists() || s.Get("fields.0.text").Str != "bob" {
		t.Errorf("in a list: %s", s)
	}
}

// TestStatementsAreBounded: a list must show one line of the agent's data, or nothing if the data
// is too large. A single approval must show a limited part of the data, and the file must have all
// of it. Hidden text in the data must make the question grave, even in a part that is not shown.
func TestStatementsAreBounded(t *testing.T) {
	r := inMemory(t)
	long := strings.Repeat("x", fields.QuestionBounds.TotalText)
	r.interrupt(1, `{"id":"q","metadata":{"langgraph":{"raw":{"a":"`+long+`","b":"\u202e"}}}}`, nil)
	r.interrupt(2, `{"id":"q","metadata":{"langgraph":{"raw":{"a":"`+long[:1000]+`"}}}}`, nil)
	list := r.ask(200, "GET", "/v1/approvals")
	if q := list.Get("approvals.0.questions.0"); q.Get("statements").Exists() || !q.Get("cut").Bool() || !q.Get("grave").Bool() {
		t.Errorf("in a list: %.200s", q)
	}
	if q := list.Get("approvals.1.questions.0"); len(q.Get("statements.0.fields.0.text").Str) != fields.LineBounds.Text || !q.Get("statements.0.rest").Bool() {
		t.Errorf("in a list: %s", q)
	}
	s := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.statements.0")
	if len(s.Get("fields.0.text").Str) != fields.QuestionBounds.TotalText || !s.Get("rest").Bool() {
		t.Errorf("by itself it has %d bytes", len(s.Raw))
	}
	if got := r.file("/v1/approvals/" + id(1) + "/sent/q"); len(got) < fields.QuestionBounds.TotalText || !strings.HasSuffix(got, `"b":"\u202e"}}}`) {
		t.Errorf("the file has %d bytes", len(got))
	}
}

// TestStatementsAreWithheld: a caller who may only list approvals must not see the agent's data.
func TestStatementsAreWithheld(t *testing.T) {
	r := withRights(t)
	r.interrupt(1, `{"id":"q","message":"m","metadata":{"langgraph":{"name":"pay_4711","args":{"n":4711}}}}`, nil)
	for name, reads := range map[string]bool{"lister": false, "janitor": false, "reader": true} {
		for _, path := range []string{"/v1/approvals", "/v1/approvals/" + id(1)} {
			if got := r.ask(200, "GET", path, as(name)...).Raw; strings.Contains(got, "4711") != reads {
				t.Errorf("%s, %s: %s", name, path, got)
			}
		}
		if got := r.raw("GET", "/v1/approvals/"+id(1)+"/sent/q", "", as(name)...); strings.HasPrefix(got, "200") != reads || strings.Contains(got, "4711") != reads {
			t.Errorf("%s: the file: %s", name, got)
		}
	}
	same(t, r.raw("GET", "/v1/approvals/"+id(1)+"/sent/q", "", as("nobody")...), r.raw("GET", "/v1/approvals/"+id(77)+"/sent/q", "", as("nobody")...))
}

// TestEditedArguments: an answer has arguments that replace those of the question. They must be
// found in each form of answer.
func TestEditedArguments(t *testing.T) {
	for payload, want := range map[string]string{
		`{"approved":true,"editedArgs":{"n":1.10}}`:                                      `{"n":1.10}`,
		`{"accepted":true,"edited_args":{"n":1}}`:                                        `{"n":1}`,
		`{"type":"edit","args":{"action":"pay","args":{"n":1}}}`:                         `{"n":1}`,
		`{"type":"edit","edited_action":{"name":"pay","args":{"n":1}}}`:                  `{"n":1}`,
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"n":1}}}]}`:   `{"n":1}`,
		`{"decisions":[{"type":"approve"},{"type":"edit","edited_action":{"args":{}}}]}`: ``,
		`{"type":"edit","edited_action":{"name":"other","args":{"n":1}}}`:                ``,
		`{"approved":true}`: ``, `"yes"`: ``, `[]`: ``, ``: ``,
		// In these answers several places have arguments, and backends differ in which place they
		// read. So no arguments may be returned.
		`{"approved":true,"editedArgs":{"n":1},"edited_action":{"name":"pay","args":{"n":2}}}`: ``,
		`{"approved":true,"editedArgs":{"n":1},"edited_args":{"n":2}}`:                         ``,
		`{"approved":true,"editedArgs":{"n":1},"editedArgs":{"n":2}}`:                          ``,
		`{"decisions":[{"type":"edit","args":{"args":{"n":5}}}],"editedArgs":{"n":1}}`:         ``,
		`{"type":"edit","edited_action":{"name":"pay","args":{"n":1},"arguments":{"n":2}}}`:    ``,
		`{"approved":true,"editedArgs":{"n":1},"edited_args":{"n":1}}`:                         ``,
	} {
		if got := editedArguments([]byte(payload), "pay"); got != want {
			t.Errorf("%s: %s, want %s", payload, got, want)
		}
	}
}

// TestEditedDecision: a decision has changed arguments. A single approval must show these
// arguments, and a list must show one line of them.
func TestEditedDecision(t *testing.T) {
	r, _ := deciding(t)
	p := pause(1, "pay", `{"amount":12500000,"currency":"JPY"}`)
	p.Interrupts = append(p.Interrupts, p.Interrupts[0])
	p.Interrupts[1].ID = "other"
	r.open(1, p)
	r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Decide{PauseID: pauseOf(1), Decisions: []agui.Decision{{
		Question: "i1", Status: agui.Resolved, Verdict: outcomeApproved, Edited: true, Digest: "d",
		Payload: json.RawMessage(`{"approved":true,"editedArgs":{"amount":125000,"currency":"JPY"}}`),
	}}}))
	for path, at := range map[string]string{"/v1/approvals": "approvals.0.", "/v1/approvals/" + id(1): ""} {
		d := r.ask(200, "GET", path).Get(at + "questions.0.decision")
		if f := d.Get("fields.0"); f.Get("text").Str != "125000" || f.Get("currency").Str != "JPY" || !f.Get("salient").Bool() || d.Get("arguments").Exists() == (at != "") {
			t.Errorf("%s: %s", path, d)
		}
	}
}
