package api

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/policy"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

const rightsFile = `access:
- {groups: [finance], agents: ["bill*"], tenants: [acme], rights: [decide]}
- {names: [reader], agents: ["*"], tenants: [acme], rights: [read]}
- {names: [lister], agents: ["*"], tenants: [acme], rights: [list]}
- {names: [janitor], agents: ["*"], tenants: [acme], rights: [operate]}
- {names: [other], agents: ["*"], tenants: [umbrella], rights: [decide, operate, conversation]}
- {names: [none], agents: ["*"], rights: [decide, operate]}
- {names: [root], agents: ["*"], tenants: ["*"], rights: [decide, operate, conversation]}
`

// withRights returns a rig with an agent. A policy file sets the rights of its callers. The token
// of each caller is "token of " and the caller's name.
func withRights(t *testing.T) *rig {
	t.Helper()
	r, _ := deciding(t)
	p, err := policy.Parse([]byte(rightsFile))
	r.must(err)
	r.desk.opts.Access = func() policy.Access { return p.Access }
	file := ""
	for _, name := range []string{"decider finance", "reader", "lister", "janitor", "other", "none", "root", "nobody"} {
		file += fmt.Sprintf("%s sha256:%x\n", name, sha256.Sum256([]byte("token of "+strings.Fields(name)[0])))
	}
	list, err := ParseTokens(file)
	r.must(err)
	r.desk.opts.Tokens.Set(list)
	return r
}

func as(name string) []string { return []string{"Authorization", "Bearer token of " + name} }

// TestRights checks which caller may do what. If a caller may not list an approval, the response
// must be the same, byte for byte, as if the approval did not exist.
func TestRights(t *testing.T) {
	r := withRights(t)
	r.open(1, pause(1, "refund", `{"amount":4711}`))
	path := "/v1/approvals/" + id(1)
	question := path + "/questions/i1"
	p := pause(1, "refund", `{"amount":4711}`)
	said := `{"decision":"approve","digest":"` + p.Origin.AskedDigest(&p.Interrupts[0]) + `"}`
	for _, tt := range []struct {
		name                        string
		lists, reads, decides, free bool
		rights                      string
	}{
		{"nobody", false, false, false, false, `[]`},
		{"none", false, false, false, false, `["list","read","decide","operate"]`},
		{"other", false, false, false, false, `["list","read","conversation","decide","operate"]`},
		{"lister", true, false, false, false, `["list"]`},
		{"reader", true, true, false, false, `["list","read"]`},
		{"decider", true, true, true, false, `["list","read","decide"]`},
		{"janitor", true, false, false, true, `["list","operate"]`},
		{"root", true, true, true, true, `["list","read","conversation","decide","operate"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.T = t
			if me := r.ask(200, "GET", "/v1/me", as(tt.name)...); me.Get("rights").Raw != tt.rights || me.Get("name").Str != tt.name {
				t.Errorf("me: %s", me)
			}
			list := r.ask(200, "GET", "/v1/approvals", as(tt.name)...)
			if (len(ids(list)) == 1) != tt.lists || strings.Contains(list.Raw, "4711") != tt.reads {
				t.Errorf("the list: %s", list)
			}
			if !tt.lists {
				same(t, r.raw("GET", path+"/raw/i1/0", "", as(tt.name)...), r.raw("GET", "/v1/approvals/"+id(77)+"/raw/i1/0", "", as(tt.name)...))
				for _, m := range []string{"GET", "DELETE"} {
					same(t, r.raw(m, path, "", as(tt.name)...), r.raw(m, "/v1/approvals/"+id(77), "", as(tt.name)...))
				}
				same(t, r.raw("POST", question, said, as(tt.name)...), r.raw("POST", "/v1/approvals/"+id(77)+"/questions/i1", said, as(tt.name)...))
				all := strings.Replace(`{"decisions":[`+said+`]}`, `{"decision"`, `{"question":"i1","decision"`, 1)
				same(t, r.raw("POST", path, all, as(tt.name)...), r.raw("POST", "/v1/approvals/"+id(77), all, as(tt.name)...))
				wrong := strings.Replace(said, "approve", "perhaps", 1)
				same(t, r.raw("POST", question, wrong, as(tt.name)...), r.raw("POST", "/v1/approvals/"+id(77)+"/questions/i1", wrong, as(tt.name)...))
				return
			}
			a := r.ask(200, "GET", path, as(tt.name)...)
			if a.Get("withheld").Bool() == tt.reads || a.Get("questions.0.digest").Exists() != tt.reads || strings.Contains(a.Raw, "4711") != tt.reads || strings.Contains(a.Raw, "Sure?") != tt.reads || a.Get("questions.0.calls.0.name").Str != "refund" {
				t.Errorf("the approval: %s", a)
			}
			for _, m := range []gjson.Result{a.Get("may"), a.Get("questions.0.may"), list.Get("approvals.0.may")} {
				for _, what := range []string{"approve", "answer", "cancel"} {
					if m.Get(what).Bool() != tt.decides || (m.Get("why."+what).Str == codeForbidden) == tt.decides {
						t.Errorf("%s: %s", what, m)
					}
				}
				if m.Get("operate").Bool() != tt.free || (m.Get("why.operate").Str == codeForbidden) == tt.free {
					t.Errorf("operate: %s", m)
				}
			}
			if file := r.raw("GET", path+"/raw/i1/0", "", as(tt.name)...); strings.HasPrefix(file, "200") != tt.reads || strings.Contains(file, "4711") != tt.reads {
				t.Errorf("the arguments as a file: %s", file)
			}
			if !tt.decides {
				if got := r.post(403, question, said, as(tt.name)...); got.Get("code").Str != codeForbidden {
					t.Errorf("decided: %s", got)
				}
			}
			if !tt.free {
				if got := r.ask(403, "DELETE", path, as(tt.name)...); got.Get("code").Str != codeForbidden {
					t.Errorf("freed: %s", got)
				}
			}
		})
	}
	r.T = t
	rec, err := r.store.Load(t.Context(), keyOf(1), "")
	r.must(err)
	if rec.Pause == nil || rec.Pause.Decisions != nil || len(r.events.list) != 0 {
		t.Fatalf("somebody has changed something: %+v", rec)
	}
	if by := r.post(200, question, said, as("decider")...).Get("questions.0.decision.by").Str; by != "decider" {
		t.Errorf("decided by %q", by)
	}
	if a := r.ask(200, "GET", path, as("lister")...); a.Get("questions.0.decision.by").Str != "decider" || a.Get("questions.0.decision.payload").Exists() {
		t.Errorf("for who may list: %s", a.Get("questions.0.decision"))
	}
	freed := r.ask(200, "DELETE", path, as("janitor")...)
	if freed.Get("end.by").Str != "janitor" || freed.Get("may.why.operate").Str != codeEnded {
		t.Errorf("freed: %s", freed)
	}
	// The same must hold after the approval has ended.
	same(t, r.raw("GET", path, "", as("other")...), r.raw("GET", "/v1/approvals/"+id(77), "", as("other")...))
	same(t, r.raw("POST", question, said, as("other")...), r.raw("POST", "/v1/approvals/"+id(77)+"/questions/i1", said, as("other")...))
	same(t, r.raw("DELETE", path, "", as("other")...), r.raw("DELETE", "/v1/approvals/"+id(77), "", as("other")...))
	r.ask(200, "GET", path, as("reader")...)
	// When the approval is forgotten, its agent and tenant are unknown. Then only callers who may
	// see everything may see it.
	r.clock.advance(2 * time.Hour)
	for name, status := range map[string]int{"reader": 404, "decider": 404, "other": 404, "root": 200} {
		r.ask(status, "GET", path, as(name)...)
	}
}

// raw sends a request and returns the response as text: its status, its headers and its body.
func (r *rig) raw(method, path, body string, headers ...string) string {
	r.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for h := range slices.Chunk(headers, 2) {
		req.Header.Set(h[0], h[1])
	}
	w := httptest.NewRecorder()
	r.desk.ServeHTTP(w, req)
	var text strings.Builder
	_ = w.Result().Header.Write(&text) // writing to memory does not fail
	return fmt.Sprint(w.Code, "\n", text.String(), w.Body)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want || strings.HasPrefix(got, "200") {
		t.Errorf("the answer tells that there is such an approval:\n%s\nof one that is not there:\n%s", got, want)
	}
}

// TestTenantsApart: a caller has rights in one tenant. Whatever filter and page the caller asks
// for, the desk must show nothing of another tenant, even if both tenants have the same agent and
// thread.
func TestTenantsApart(t *testing.T) {
	r := withRights(t)
	for n := range 40 {
		p := pause(n, "refund", `{}`)
		p.Origin.Tenant, p.Origin.Thread = []string{"acme", "umbrella", ""}[n%3], "t"
		r.open(n, p)
	}
	for name, tenant := range map[string]string{"reader": "acme", "other": "umbrella", "none": ""} {
		for _, query := range []string{"", "&thread=t", "&agent=billing&tool=refund", "&requester=ann"} {
			seen := 0
			for next := ""; ; {
				l := r.ask(200, "GET", "/v1/approvals?limit=5"+query+next, as(name)...)
				for _, a := range l.Get("approvals").Array() {
					if seen++; a.Get("tenant").Str != tenant {
						t.Errorf("%s sees %s", name, a)
					}
				}
				if !l.Get("next").Exists() {
					break
				}
				next = "&cursor=" + l.Get("next").Str
			}
			if want := map[string]int{"acme": 14, "umbrella": 13, "": 13}[tenant]; seen != want {
				t.Errorf("%s by %q sees %d, want %d", name, query, seen, want)
			}
		}
	}
}

// TestRightsOnARecordOfBefore: a record of an older version does not say the agent and tenant of
// its pause. Only a caller who may see the approvals of all agents and tenants may see it.
func TestRightsOnARecordOfBefore(t *testing.T) {
	r := withRights(t)
	p := pause(1, "refund", `{}`)
	p.Origin = nil
	r.open(1, p)
	for name, status := range map[string]int{"decider": 404, "reader": 404, "lister": 404, "janitor": 404, "other": 404, "none": 404, "nobody": 404, "root": 200} {
		r.ask(status, "GET", "/v1/approvals/"+id(1), as(name)...)
		if got := len(ids(r.ask(200, "GET", "/v1/approvals", as(name)...))); (got == 1) != (status == 200) {
			t.Errorf("%s lists %d", name, got)
		}
	}
	if m := r.ask(200, "GET", "/v1/approvals/"+id(1), as("root")...).Get("questions.0.may"); m.Get("approve").Bool() || m.Get("why.approve").Str != codeElsewhere || !m.Get("operate").Bool() {
		t.Errorf("may: %s", m)
	}
	r.ask(404, "DELETE", "/v1/approvals/"+id(1), as("janitor")...)
	r.ask(200, "DELETE", "/v1/approvals/"+id(1), as("root")...)
}

// TestRightsOnARecordThatCannotBeRead: only callers who may list everything are told that a record
// cannot be read.
func TestRightsOnARecordThatCannotBeRead(t *testing.T) {
	r := withRights(t)
	r.open(1, pause(1, "refund", `{}`))
	r.desk.opts.Store = &broken{Store: r.store, load: store.ErrUnread}
	for name, status := range map[string]int{"decider": 404, "lister": 404, "other": 404, "nobody": 404, "root": 500} {
		for _, method := range []string{"GET", "DELETE"} {
			r.ask(status, method, "/v1/approvals/"+id(1), as(name)...)
		}
		if got := r.ask(200, "GET", "/v1/approvals", as(name)...).Get("unread").Int(); (got == 1) != (status == 500) {
			t.Errorf("%s hears of %d", name, got)
		}
	}
}

// TestMay: what a caller with all rights may do depends on the question and its state. The response
// has this in its field "may". For each action that is not allowed, this field must have the code
// of the refusal that the action would get.
func TestMay(t *testing.T) {
	r, a := deciding(t)
	a.lacks = nil
	schema := func(p *agui.Pause, text string) { p.Interrupts[0].Object = json.RawMessage(text) }
	for n, tt := range []struct {
		name   string
		change func(p *agui.Pause)
		want   string // the actions that are allowed
		why    map[string]string
	}{
		{"a yes and no no", nil, "approve answer cancel", map[string]string{"deny": codeNotKnown, "edit": codeNotKnown}},
		{"both, and edits", func(p *agui.Pause) {
			p.Interrupts[0].No = json.RawMessage(`{"approved":false}`)
			schema(p, `{"id":"i","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{}}}}`)
		}, "approve deny answer edit cancel", nil},
		{"edits in the form of the yes", func(p *agui.Pause) {
			schema(p, `{"id":"i","responseSchema":{"oneOf":[{"type":"object","properties":{"approved":{"const":true},"editedArgs":{}}},{"type":"object","properties":{"approved":{"const":false}}}]}}`)
		}, "approve answer edit cancel", map[string]string{"deny": codeNotKnown}},
		{"edits in one of any forms", func(p *agui.Pause) {
			schema(p, `{"id":"i","responseSchema":{"anyOf":[{"type":"object","properties":{"approved":{"const":false}}},{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{}}}]}}`)
		}, "approve answer edit cancel", map[string]string{"deny": codeNotKnown}},
		{"edits in the form of the no alone", func(p *agui.Pause) {
			schema(p, `{"id":"i","responseSchema":{"oneOf":[{"type":"object","properties":{"approved":{"const":true}}},{"type":"object","properties":{"approved":{"const":false},"editedArgs":{}}}]}}`)
		}, "approve answer cancel", map[string]string{"edit": codeNotKnown}},
		{"edits of what no call says", func(p *agui.Pause) {
			p.Interrupts[0].Calls = nil
			schema(p, `{"id":"i","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{}}}}`)
		}, "approve answer cancel", map[string]string{"edit": codeNotKnown}},
		{"edits of what the agent says", func(p *agui.Pause) {
			p.Interrupts[0].Calls = nil
			schema(p, `{"id":"i","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{}}},"metadata":{"langgraph":{"name":"pay","args":{"amount":5}}}}`)
		}, "approve answer edit cancel", nil},
		{"edits of arguments that are not read alike", func(p *agui.Pause) {
			p.Interrupts[0].Calls[0].Args = `{"a":1,"a":2}`
			schema(p, `{"id":"i","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{}}}}`)
		}, "approve answer cancel", map[string]string{"edit": codeNotKnown}},
		{"neither", func(p *agui.Pause) { p.Interrupts[0].Yes = nil }, "answer cancel", map[string]string{"approve": codeNotKnown, "deny": codeNotKnown}},
		{"expired", func(p *agui.Pause) { schema(p, `{"id":"i","expiresAt":"2026-11-24T09:59:59Z"}`) }, "cancel",
			map[string]string{"approve": string(agui.InterruptExpired), "answer": string(agui.InterruptExpired)}},
		{"to be cancelled only", func(p *agui.Pause) { p.Interrupts[0].CancelOnly = true }, "cancel", map[string]string{"approve": string(agui.InvalidPayload)}},
		{"of another process", func(p *agui.Pause) { p.Origin.Agent = "mail" }, "", map[string]string{"approve": codeElsewhere, "cancel": codeElsewhere}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.T = t
			p := pause(n, "refund", `{}`)
			if tt.change != nil {
				tt.change(&p)
			}
			r.open(n, p)
			m := r.ask(200, "GET", "/v1/approvals/"+id(n)).Get("questions.0.may")
			var allowed []string
			for _, what := range []string{"approve", "deny", "answer", "edit", "cancel"} {
				if m.Get(what).Bool() {
					allowed = append(allowed, what)
				}
				if m.Get(what).Bool() == m.Get("why."+what).Exists() {
					t.Errorf("%s: %s", what, m)
				}
			}
			if strings.Join(allowed, " ") != tt.want || !m.Get("operate").Bool() {
				t.Errorf("allowed are %q, want %q: %s", allowed, tt.want, m)
			}
			for what, code := range tt.why {
				if m.Get("why."+what).Str != code {
					t.Errorf("%s: %s, want %s", what, m.Get("why"), code)
				}
			}
		})
	}
	r.T = t
	r.open(50, pause(50, "refund", `{}`))
	path := "/v1/approvals/" + id(50)
	why := func(what string) string { return r.ask(200, "GET", path).Get("may.why." + what).Str }
	r.post(200, path+"/questions/i50", `{"decision":"approve","digest":"`+r.digest(50, 0)+`"}`)
	if why("approve") != codeDecided || why("cancel") != codeDecided || why("operate") != "" {
		t.Errorf("decided: %s", r.ask(200, "GET", path))
	}
	r.open(51, pause(51, "refund", `{}`))
	path = "/v1/approvals/" + id(51)
	r.must(storetest.Do(t.Context(), r.store, keyOf(51), store.Claim{PauseID: pauseOf(51), Token: "token", Digest: "digest", Lease: time.Minute}))
	if why("approve") != codeInProgress || why("operate") != codeInProgress {
		t.Errorf("carried: %s", r.ask(200, "GET", path))
	}
	r.must(storetest.Do(t.Context(), r.store, keyOf(51), store.Finish{Token: "token", Result: store.Result{EndKind: store.Doubtful}}))
	if why("approve") != codeInProgress || why("operate") != "" {
		t.Errorf("in doubt: %s", r.ask(200, "GET", path))
	}
	r.ask(200, "DELETE", path)
	if why("approve") != codeEnded || why("operate") != codeEnded {
		t.Errorf("ended: %s", r.ask(200, "GET", path))
	}
}

// TestNobodyAsks: if a request has no caller, the desk must not show anything.
func TestNobodyAsks(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	rec, err := r.desk.load(t.Context(), keyOf(1))
	if err != nil || rec.Pause != nil {
		t.Errorf("%+v, %v", rec.Pause, err)
	}
	req, _ := http.NewRequest("GET", "/", nil)
	if callerIn(req.Context()) != nil {
		t.Error("there is a caller")
	}
}
