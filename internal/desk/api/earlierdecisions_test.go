package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/internal/desk/policy"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// refund opens a question about a refund, and decides it. more has further members of the
// decision's JSON.
func (r *rig) refund(n int, args, decision, more string) {
	r.Helper()
	p := pause(n, "refund", args)
	p.Interrupts[0].No = []byte(`{"approved":false}`)
	r.open(n, p)
	digest := p.Origin.AskedDigest(&p.Interrupts[0])
	r.clock.advance(time.Second)
	r.post(200, "/v1/approvals/"+id(n)+"/questions/"+fmt.Sprintf("i%d", n), fmt.Sprintf(`{"decision":%q,"digest":%q%s}`, decision, digest, more))
}

// TestEarlierDecisions: a question must show the last decisions about the same tool. The fields of
// the question must be compared with the fields that were approved.
func TestEarlierDecisions(t *testing.T) {
	r, _ := deciding(t)
	for n, amount := range []string{"1.10", "12.00", "40", "120.00"} {
		r.refund(10+n, `{"amount":`+amount+`,"env":"staging-eu","id":"x`+amount+`","note":"`+strings.Repeat("x ", 50)+`"}`, "approve", `,"comment":"fine"`)
	}
	r.refund(20, `{"amount":1,"env":"staging-eu"}`, "deny", ``)
	r.refund(21, `{"amount":500,"env":"staging-eu"}`, "answer", `,"payload":{"approved":true,"editedArgs":{"amount":50,"env":"staging-eu"}}`)

	r.open(1, pause(1, "refund", `{"amount":1200,"env":"prod","id":"x1","note":"`+strings.Repeat("x ", 50)+`"}`))
	q := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0")
	for path, want := range map[string]string{
		"similar.#": "5", "similar.0.outcome": "approved", "similar.0.changed": `["amount"]`, "similar.0.fields.0.text": "50",
		"similar.1.outcome": "denied", "similar.2.outcome": "approved", "similar.2.comment": "fine", "similar.2.by": "operator",
		"similar.2.door": "desk", "similar.2.at": "2026-11-24T10:00:04Z", "similar.4.fields.0.text": "12.00",
		"compared.#": "2", "compared.0.path": "amount", "compared.0.least": "12.00", "compared.0.most": "120.00", "compared.0.times": "10", "compared.0.of": "4",
		"compared.1.path": "env", "compared.1.usual": "staging-eu", "compared.1.same": "",
	} {
		if got := q.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	// A question about another tool, or of another agent or tenant, must not show these decisions.
	for n, change := range []func(tenant, agent, tool *string){
		func(_, _, tool *string) { *tool = "delete" }, func(_, agent, _ *string) { *agent = "hr" }, func(tenant, _, _ *string) { *tenant = "other" },
	} {
		p := pause(30+n, "refund", `{"amount":1}`)
		change(&p.Origin.Tenant, &p.Origin.Agent, &p.Interrupts[0].Calls[0].Name)
		r.open(30+n, p)
		if q := r.ask(200, "GET", "/v1/approvals/"+id(30+n)).Get("questions.0"); q.Get("similar").Exists() || q.Get("compared").Exists() {
			t.Errorf("%d knows of it: %s", n, q)
		}
	}
	// The earlier decisions of a question must not include the decision of the question itself.
	r.refund(40, `{"amount":1}`, "deny", ``)
	if got := r.ask(200, "GET", "/v1/approvals/"+id(40)).Get("questions.0.similar.0.at").Str; got == "" || got == r.clock.now().Format(time.RFC3339) {
		t.Errorf("the newest one is of %s", got)
	}
}

// TestSecretsAreNotRemembered: a question asks for a secret, and its answer is an approval with
// edited arguments. Later readers must see only that the question was answered, and no value.
func TestSecretsAreNotRemembered(t *testing.T) {
	i := &agui.Interrupt{ID: "i", Secret: true, Calls: []agui.AskedCall{{Name: "login", Args: `{"user":"bob","password":""}`}}}
	for _, edited := range []bool{true, false} {
		said := &agui.Decision{Status: agui.Resolved, Verdict: outcomeApproved, Edited: edited, Payload: json.RawMessage(`{"approved":true,"editedArgs":{"user":"alice","password":"hunter2"}}`)}
		if e := earlierDecisionOf(i, said); e.Outcome != outcomeAnswered || len(e.Fields) > 0 || len(e.ChangedPaths) > 0 {
			t.Errorf("edited %v: %+v is remembered", edited, e)
		}
	}
	i.Secret = false
	if e := earlierDecisionOf(i, &agui.Decision{Status: agui.Resolved, Verdict: outcomeApproved, Edited: true, Payload: json.RawMessage(`{"approved":true,"editedArgs":{"user":"alice"}}`)}); len(e.Fields) != 1 || len(e.ChangedPaths) != 2 {
		t.Errorf("of an answer that is not secret %+v is remembered", e)
	}
}

func TestCompare(t *testing.T) {
	before := func(args ...string) (list []*earlierDecision) {
		for _, a := range args {
			e := &earlierDecision{Outcome: outcomeApproved}
			for _, f := range fields.Of(a, noteBounds).Fields {
				e.Fields = append(e.Fields, earlierField{f.Path, f.Kind, f.Text, f.Currency})
			}
			list = append(list, e)
		}
		return list
	}
	for _, test := range []struct {
		now    string
		before []*earlierDecision
		want   string
	}{
		{`{"a":"x"}`, before(`{"a":"x"}`), ``}, // one earlier value is not enough to be usual
		{`{"a":"x"}`, before(`{"a":"x"}`, `{"a":"x"}`), `a same`},
		{`{"a":"y"}`, before(`{"a":"x"}`, `{"a":"x"}`), `a usual x`},
		{`{"a":"y"}`, before(`{"a":"x"}`, `{"a":"z"}`), ``},
		{`{"a":"y"}`, before(`{"a":"x"}`, `{}`), ``},
		{`{"n":1.10}`, before(`{"n":1.10}`, `{"n":1.10}`), `n same`},
		{`{"n":1.1}`, before(`{"n":1.10}`, `{"n":1.10}`), `n 1.10-1.10 0`},
		{`{"n":5}`, before(`{"n":1}`, `{"n":10}`), `n 1-10 0`},
		{`{"n":25}`, before(`{"n":1}`, `{"n":10}`), `n 1-10 2.5`},
		{`{"n":0.5}`, before(`{"n":1}`, `{"n":10}`), `n 1-10 0.5`},
		{`{"n":-5}`, before(`{"n":1}`, `{"n":10}`), `n 1-10 0`},
		{`{"n":1e-320}`, before(`{"n":1}`, `{"n":10}`), `n 1-10 1e-320`},
		{`{"n":1e400}`, before(`{"n":1}`, `{"n":10}`), ``},
		{`{"amount":"30"}`, before(`{"amount":"10"}`, `{"amount":"20"}`), `amount 10-20 1.5`},
		{`{"name":"30"}`, before(`{"name":"10"}`, `{"name":"20"}`), ``},
		{`{"order_id":7,"uuid":"x"}`, before(`{"order_id":7,"uuid":"x"}`, `{"order_id":7,"uuid":"x"}`), ``},
		{`{"a":1,"a":2}`, before(`{"a":1}`, `{"a":1}`), ``},
		{`{"amount":30,"currency":"EUR"}`, before(`{"amount":10,"currency":"EUR"}`, `{"amount":20,"currency":"EUR"}`, `{"amount":99999,"currency":"JPY"}`), `amount 10-20 1.5 of 2 in EUR`},
		{`{"amount":30,"currency":"EUR"}`, before(`{"amount":30,"currency":"EUR"}`, `{"amount":30,"currency":"EUR"}`, `{"amount":5,"currency":"JPY"}`), `amount same`},
		{`{"amount":30,"currency":"EUR"}`, before(`{"amount":10,"currency":"EUR"}`, `{"amount":20,"currency":"JPY"}`), ``},
		{`{"amount":30,"currency":"EUR"}`, before(`{"amount":10,"currency":"USD"}`, `{"amount":20,"currency":"JPY"}`), `amount not in EUR but USD JPY`},
		{`{"amount":30,"currency":"EUR"}`, before(`{"amount":10,"currency":"USD"}`, `{"amount":20,"currency":"USD"}`), `amount not in EUR but USD;currency usual USD`},
		{`{"o":{"env":"b"}}`, before(`{"o":{"env":"a"}}`, `{"o":{"env":"a"}}`), `o.env usual a`},
	} {
		var got []string
		for _, c := range compare(fields.Of(test.now, fields.QuestionBounds).Fields, test.before) {
			switch {
			case c.IsUsual:
				got = append(got, c.Path+" same")
			case c.Usual != nil:
				got = append(got, c.Path+" usual "+*c.Usual)
			case c.OtherCurrencies != nil:
				got = append(got, c.Path+" not in "+c.Currency+" but "+strings.Join(c.OtherCurrencies, " "))
			case c.Currency != "":
				got = append(got, fmt.Sprint(c.Path, " ", c.Minimum, "-", c.Maximum, " ", c.Factor, " of ", c.Approvals, " in ", c.Currency))
			default:
				got = append(got, fmt.Sprint(c.Path, " ", c.Minimum, "-", c.Maximum, " ", c.Factor))
			}
		}
		if strings.Join(got, ";") != test.want {
			t.Errorf("%s: %q, want %q", test.now, got, test.want)
		}
	}
}

// A forgetful store fails to save the desk's own records.
type forgetful struct{ store.Store }

var errForgets = errors.New("it remembers nothing")

func (forgetful) Remember(context.Context, store.Key, store.Note, int) error { return errForgets }

// TestNothingIsRemembered: a decision must count even if the desk cannot save it for later
// comparisons.
func TestNothingIsRemembered(t *testing.T) {
	r, _ := deciding(t)
	r.desk.opts.Store = forgetful{r.store}
	r.refund(1, `{"amount":1}`, "deny", ``)
	if got := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.decision.says"); got.Exists() {
		t.Errorf("says %s", got)
	}
}

// TestEndedAreListed: approvals that were decided or freed at the desk must be listed after their
// end, the newest first.
func TestEndedAreListed(t *testing.T) {
	r, _ := deciding(t)
	list := func(query string) gjson.Result { return r.ask(200, "GET", "/v1/approvals?state=ended"+query) }
	if got := list(""); len(ids(got)) != 0 {
		t.Errorf("at first: %s", got)
	}
	for n := range 3 {
		r.refund(n, `{}`, "approve", ``)
	}
	if got := list(""); len(ids(got)) != 0 {
		t.Errorf("before they have ended: %s", got)
	}
	for n := range 2 {
		p := r.load(n).Pause
		r.must(storetest.Do(r.Context(), r.store, keyOf(n), store.Claim{PauseID: pauseOf(n), Token: "token", Digest: p.Decisions[0].Question + " " + p.Decisions[0].Digest, Lease: time.Minute}))
		r.must(storetest.Do(r.Context(), r.store, keyOf(n), store.Finish{Token: "token", Result: store.Result{EndKind: store.Finished}}))
	}
	r.open(5, pause(5, "delete", `{}`))
	r.clock.advance(time.Second)
	r.ask(200, "DELETE", "/v1/approvals/"+id(5))
	got := list("")
	if fmt.Sprint(ids(got)) != fmt.Sprint([]string{id(5), id(1), id(0)}) || got.Get("approvals.0.end.how").Str != "withdrawn" || got.Get("approvals.1.state").Str != "ended" {
		t.Errorf("%s", got)
	}
	if got := ids(list("&tool=delete")); fmt.Sprint(got) != fmt.Sprint([]string{id(5)}) {
		t.Errorf("of a tool: %s", got)
	}
	if got := ids(list("&limit=1")); len(got) != 1 {
		t.Errorf("one: %s", got)
	}
	r.clock.advance(2 * time.Hour)
	if got := ids(list("")); len(got) != 0 {
		t.Errorf("when they are forgotten: %s", got)
	}
}

// TestEndedInTwoPlaces: a pause has two questions. The first is decided at the desk, and the second
// in the chat. The pause must be listed after its end.
func TestEndedInTwoPlaces(t *testing.T) {
	r, _ := deciding(t)
	p := pause(1, "refund", `{}`)
	second := p.Interrupts[0]
	second.ID, second.Object = "other", []byte(`{"id":"other","reason":"tool_call"}`)
	p.Interrupts = append(p.Interrupts, second)
	r.open(1, p)
	r.post(200, "/v1/approvals/"+id(1)+"/questions/i1", fmt.Sprintf(`{"decision":"approve","digest":%q}`, p.Origin.AskedDigest(&p.Interrupts[0])))
	if got := ids(r.ask(200, "GET", "/v1/approvals?state=ended")); got != nil {
		t.Errorf("before it has ended: %q", got)
	}
	d := r.load(1).Pause.Decisions[0]
	r.must(storetest.Do(r.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "token", Digest: "i1 " + d.Digest + "\nother x", Lease: time.Minute}))
	r.must(storetest.Do(r.Context(), r.store, keyOf(1), store.Finish{Token: "token", Result: store.Result{EndKind: store.Finished}}))
	if got := ids(r.ask(200, "GET", "/v1/approvals?state=ended")); len(got) != 1 || got[0] != id(1) {
		t.Errorf("when it has ended: %q", got)
	}
}

func (r *rig) load(n int) store.Record {
	r.Helper()
	rec, err := r.store.Load(r.Context(), keyOf(n), "")
	r.must(err)
	return rec
}

// TestListCompares: a list must show those fields of a question that differ from the fields
// approved before. For this the desk may load only one more record for each tool. Callers who may
// not read approvals must not get these fields.
func TestListCompares(t *testing.T) {
	r, _ := deciding(t)
	for n, amount := range []string{"12.00", "120.00"} {
		r.refund(10+n, `{"amount":`+amount+`,"currency":"EUR","env":"a"}`, "approve", ``)
	}
	counted := &counting{Store: r.store}
	r.desk.opts.Store = counted
	long := strings.Repeat("x", 200)
	for n, args := range []string{
		`{"amount":60,"currency":"EUR","env":"a"}`, `{"to":"a","why":"b","by":"c","at":"d","text":"` + long + `","amount":1200,"currency":"USD","env":"a"}`, `{}`, `{"amount":1,"amount":2}`,
	} {
		r.open(n, pause(n, "refund", args))
	}
	list := func() []gjson.Result { return r.ask(200, "GET", "/v1/approvals").Get("approvals").Array() }
	got := list()
	if got[0].Get("questions.0.compared").Exists() || got[2].Get("questions.0.compared").Exists() || got[3].Get("questions.0.compared").Exists() {
		t.Errorf("there is nothing different: %s %s %s", got[0], got[2], got[3])
	}
	const want = `[{"path":"amount","of":0,"currency":"USD","others":["EUR"]},{"path":"currency","usual":"EUR","of":2}]`
	if c := got[1].Get("questions.0.compared").Raw; c != want {
		t.Errorf("different is %s", c)
	}
	if got[1].Get("questions.0.similar").Exists() {
		t.Error("a list has the earlier decisions")
	}
	// The desk loads six threads, of which two are decided, and one record of the tool.
	if n := counted.loads.Load(); n != 6+1 {
		t.Errorf("six threads on one tool take %d loads", n)
	}
	for n := range 2 * maxListTools {
		r.open(100+n, pause(100+n, fmt.Sprintf("tool%d", n), `{}`))
	}
	counted.loads.Store(0)
	list()
	if n := counted.loads.Load(); n > 50+2+concurrentLoads+maxListTools {
		t.Errorf("a page of many tools takes %d loads", n)
	}
	file, err := policy.Parse([]byte("access:\n  - names: [operator]\n    agents: [billing]\n    tenants: [acme]\n    rights: [list]\n"))
	r.must(err)
	r.desk.opts.Access = func() policy.Access { return file.Access }
	for _, a := range list() {
		if a.Get("questions.0.compared").Exists() {
			t.Errorf("who may not read it reads %s", a)
		}
	}
}

// TestOneQuestionDoesNotHideTheOthers: an agent sends values that encoding/json cannot write again.
// The list must still have all questions.
func TestOneQuestionDoesNotHideTheOthers(t *testing.T) {
	r, _ := deciding(t)
	for n, amount := range []string{"12", "120"} {
		r.refund(10+n, `{"amount":`+amount+`,"currency":"EUR"}`, "approve", ``)
	}
	r.open(1, pause(1, "refund", `{"amount":1e-320,"currency":"EUR"}`))
	for n, offset := range []string{"+24:00", "-24:00", "+23:60", "+23:59"} {
		late := pause(2+n, "refund", `{}`)
		late.Interrupts[0].Object = agui.SetString(late.Interrupts[0].Object, "expiresAt", "9999-12-31T23:59:59"+offset)
		r.open(2+n, late)
	}
	if list := r.ask(200, "GET", "/v1/approvals"); len(ids(list)) != 5 {
		t.Errorf("the list is %s", list)
	}
	for n := range 5 {
		r.ask(200, "GET", "/v1/approvals/"+id(1+n))
	}
}

// A counting store counts the calls of Load.
type counting struct {
	store.Store
	loads atomic.Int64
}

func (c *counting) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	c.loads.Add(1)
	return c.Store.Load(ctx, key, owner)
}

// TestEditedInOtherWords: an approval in the agent's own form contains changed arguments. Later
// questions must be compared with the changed arguments. If the approval names a different tool, it
// must not be compared with questions about the first tool.
func TestEditedInOtherWords(t *testing.T) {
	i := &agui.Interrupt{Calls: []agui.AskedCall{{Name: "refund", Args: `{"amount":5000}`}}}
	said := &agui.Decision{Status: agui.Resolved, Verdict: outcomeApproved, Edited: true, Payload: json.RawMessage(`{"type":"edit","edited_action":{"name":"refund","args":{"amount":5}}}`)}
	if e := earlierDecisionOf(i, said); e.Outcome != outcomeApproved || len(e.Fields) != 1 || e.Fields[0].Text != "5" || len(e.ChangedPaths) != 1 {
		t.Errorf("%+v", e)
	}
	said.Payload = json.RawMessage(`{"type":"edit","edited_action":{"name":"other","args":{"amount":5}}}`)
	if e := earlierDecisionOf(i, said); e.Outcome == outcomeApproved || len(e.Fields) > 0 {
		t.Errorf("%+v", e)
	}
	said.Edited, said.Payload = false, json.RawMessage(`{"type":"approve"}`)
	if e := earlierDecisionOf(i, said); e.Outcome != outcomeApproved || len(e.Fields) != 1 {
		t.Errorf("%+v", e)
	}
}
