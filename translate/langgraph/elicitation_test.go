package langgraph

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// These are questions that langchain.mcp of langchain 1.5.2 asks for an MCP server. They were
// recorded with fastmcp 4.2.3.
const (
	payForm     = `{"type":"object","properties":{"reference":{"type":"string"},"copies":{"type":"integer"}},"required":["reference"]}`
	elicitation = `{"type":"mcp_elicitation","tool_name":"pay","requests":[{"key":"confirm","message":"Which reference?","mode":"form","requested_schema":` + payForm +
		`},{"key":"visit","message":"Sign in","mode":"url","url":"https://bank.example/in"},{"key":"sure","message":"Sure?","mode":"form","requested_schema":{"type":"object","properties":{}}}]}`
	oneForm = `{"type":"mcp_elicitation","tool_name":"pay","requests":[{"key":"a.b","message":"Which reference?","mode":"form","requested_schema":` + payForm + `}]}`
)

// TestElicitationIsPublished: each key must become one question with its own message and schema. If
// the key has a URL, the URL must follow the message.
func TestElicitationIsPublished(t *testing.T) {
	const yesNo = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	want := []string{
		`{"reason":"langgraph:mcp_elicitation","message":"Which reference?","responseSchema":` + payForm + `,"metadata":{"langgraph":{"name":"pay","key":"confirm"}}}`,
		`{"reason":"langgraph:mcp_elicitation","message":"Sign in\nhttps://bank.example/in","responseSchema":` + yesNo + `,"metadata":{"langgraph":{"name":"pay","key":"visit","url":"https://bank.example/in"}}}`,
		`{"reason":"langgraph:mcp_elicitation","message":"Sure?","responseSchema":` + yesNo + `,"metadata":{"langgraph":{"name":"pay","key":"sure"}}}`,
	}
	for name, stream := range map[string][]string{
		"custom":  {started, pyCalls, custom(idA, elicitation), finished},
		"outcome": {started, pyCalls, withOutcome(adapters(idA, elicitation, ""))},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, newDialect(t, Options{}), stream...)
			got := objects(p)
			for n, object := range want {
				if n >= len(got) || agui.DeleteKey([]byte(got[n]), "id") == nil || string(agui.DeleteKey([]byte(got[n]), "id")) != object {
					t.Errorf("objects\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					break
				}
			}
			if len(p.Interrupts) == 3 && (string(p.Interrupts[0].No) != `{"action":"decline"}` || p.Interrupts[0].Yes != nil) {
				t.Errorf("a plain no is %s, and yes %s", p.Interrupts[0].No, p.Interrupts[0].Yes)
			}
		})
	}
}

// fits returns an error if the payload lacks a member that the schema requires, or if that member
// has the wrong type.
func fits(schema, payload json.RawMessage) error {
	v := gjson.ParseBytes(payload)
	if gjson.GetBytes(schema, "type").Str == "object" && !v.IsObject() {
		return errors.New("not an object")
	}
	for _, key := range gjson.GetBytes(schema, "required").Array() {
		member, want := v.Get(key.Str), gjson.GetBytes(schema, "properties."+key.Str+".type").Str
		if !member.Exists() || want == "string" && member.Type != gjson.String || want == "boolean" && !member.IsBool() {
			return errors.New(key.Str + " is missing or not a " + want)
		}
	}
	return nil
}

func TestElicitationIsAnswered(t *testing.T) {
	d := newDialect(t, Options{})
	three, one := pausedBy(t, d, started, custom(idA, elicitation), finished), pausedBy(t, d, started, custom(idA, oneForm), finished)
	entries := func(payloads ...string) string {
		var list []string
		for n, payload := range payloads {
			list = append(list, dialecttest.Entry(idA+"~r"+string(rune('1'+n)), payload))
		}
		return dialecttest.ResumeArray(list...)
	}
	answered := func(first string) string { return `{"responses":{"a.b":` + first + `}}` }
	const accepted = `{"action":"accept","content":{"reference":"5"}}`
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
	}{
		"content":                       {one, entries(`{"reference":"5"}`), answered(accepted)},
		"the server's own word":         {one, entries(accepted), answered(accepted)},
		"approved with content":         {one, entries(`{"approved":true,"content":{"reference":"5"}}`), answered(accepted)},
		"all of langchain's resume":     {one, entries(`{"responses":{"a.b":` + accepted + `}}`), answered(accepted)},
		"denied":                        {one, entries(`{"approved":false}`), answered(`{"action":"decline"}`)},
		"denied with a reason":          {one, entries(`{"approved":false,"message":"no"}`), answered(`{"action":"decline"}`)},
		"false":                         {one, entries(`false`), answered(`{"action":"decline"}`)},
		"own decline":                   {one, entries(`{"action":"decline"}`), answered(`{"action":"decline"}`)},
		"cancelled":                     {one, entries(``), answered(`{"action":"cancel"}`)},
		"own cancel":                    {one, entries(`{"action":"cancel"}`), answered(`{"action":"cancel"}`)},
		"command, own":                  {one, dialecttest.Command(answered(accepted)), answered(accepted)},
		"command, map":                  {one, dialecttest.Command(`{"` + idA + `":` + answered(accepted) + `}`), answered(accepted)},
		"command, content":              {one, dialecttest.Command(`{"reference":"5"}`), answered(accepted)},
		"approved without content":      {one, entries(`{"approved":true}`), ""},
		"true":                          {one, entries(`true`), ""},
		"accept without content":        {one, entries(`{"action":"accept"}`), ""},
		"content of another type":       {one, entries(`{"reference":5}`), ""},
		"own content of another type":   {one, entries(`{"action":"accept","content":{"reference":5}}`), ""},
		"command of another type":       {one, dialecttest.Command(answered(`{"action":"accept","content":{"reference":5}}`)), ""},
		"an object in it":               {one, entries(`{"reference":"5","copies":{}}`), ""},
		"a list of numbers in it":       {one, entries(`{"reference":"5","copies":[1]}`), ""},
		"another action":                {one, entries(`{"action":"yes"}`), ""},
		"an action that says more":      {one, entries(`{"action":"decline","approved":true}`), ""},
		"text":                          {one, entries(`"yes"`), ""},
		"nothing":                       {one, entries(`{}`), ""},
		"three":                         {three, entries(`{"reference":"5"}`, `{"approved":true}`, `{"approved":true}`), `{"responses":{"confirm":` + accepted + `,"visit":{"action":"accept"},"sure":{"action":"accept","content":{}}}}`},
		"three, mixed":                  {three, entries(`{"approved":false}`, ``, `true`), `{"responses":{"confirm":{"action":"decline"},"visit":{"action":"cancel"},"sure":{"action":"accept","content":{}}}}`},
		"three in langchain's form":     {three, dialecttest.Command(`{"responses":{"sure":{"action":"accept","content":{}},"visit":{"action":"accept"},"confirm":` + accepted + `}}`), `{"responses":{"confirm":` + accepted + `,"visit":{"action":"accept"},"sure":{"action":"accept","content":{}}}}`},
		"a page denied":                 {three, entries(`{"reference":"5"}`, `{"approved":false}`, `false`), `{"responses":{"confirm":` + accepted + `,"visit":{"action":"decline"},"sure":{"action":"decline"}}}`},
		"a page, approved and declined": {three, entries(`{"reference":"5"}`, `{"approved":true,"action":"decline"}`, `false`), ""},
		"a page, no clear answer":       {three, entries(`{"reference":"5"}`, `{}`, `false`), ""},
		"a form without members, empty": {three, entries(`{"reference":"5"}`, `false`, `{}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, c.pause, input(t, c.more), func(r *translate.Request) { r.Valid = fits })
			switch {
			case c.want == "" && dialecttest.Code(err) != agui.InvalidPayload:
				t.Errorf("the backend gets %s (%v)", sent(out), err)
			case c.want != "" && (err != nil || gjson.Get(sent(out), idA).Raw != c.want):
				t.Errorf("the backend gets %s (%v), want %s", sent(out), err, c.want)
			}
		})
	}
	t.Run("a question without a response stays open", func(t *testing.T) {
		in := input(t, dialecttest.Command(`{"responses":{"visit":{"action":"accept"}}}`))
		if list, err := d.Answers(in, three); err != nil || len(list) != 1 || list[0].ID != three.Interrupts[1].ID {
			t.Errorf("%+v %v", list, err)
		}
	})
	const decline = `{"action":"decline"}`
	// The members of a form may have the names that elsewhere make up a decision, such as approved.
	// A payload that only denies must stay a denial.
	t.Run("a form with members of those names", func(t *testing.T) {
		p := pausedBy(t, d, started, custom(idA, `{"type":"mcp_elicitation","tool_name":"f","requests":[{"key":"k","message":"M","mode":"form","requested_schema":{"type":"object","properties":{"approved":{"type":"boolean"},"action":{"type":"string"}}}}]}`), finished)
		if no := string(p.Interrupts[0].No); no != decline {
			t.Errorf("a plain no is %s", no)
		}
		for content, action := range map[string]string{
			`{"approved":false}`:                  decline,
			decline:                               decline,
			`{"action":"cancel"}`:                 `{"action":"cancel"}`,
			`{"approved":true,"action":"accept"}`: `{"action":"accept","content":{"approved":true,"action":"accept"}}`,
			`{"approved":false,"action":"later"}`: `{"action":"accept","content":{"approved":false,"action":"later"}}`,
			`{"approved":true}`:                   `{"action":"accept","content":{"approved":true}}`,
		} {
			out, _, err := resumeWith(t, d, p, input(t, entries(content)))
			if want := `{"responses":{"k":` + action + `}}`; err != nil || gjson.Get(sent(out), idA).Raw != want {
				t.Errorf("%s: %s %v, want %s", content, sent(out), err, want)
			}
		}
	})
	// A schema without required members accepts every object. A denial must still not become the
	// content of the form.
	t.Run("a form whose members may be left out", func(t *testing.T) {
		p := pausedBy(t, d, started, custom(idA, `{"type":"mcp_elicitation","tool_name":"f","requests":[{"key":"k","message":"M","mode":"form","requested_schema":{"type":"object","properties":{"note":{"type":"string"}}}}]}`), finished)
		for content, action := range map[string]string{
			`{"type":"reject"}`:                             decline,
			`{"decision":"deny"}`:                           decline,
			`{"accepted":false}`:                            decline,
			`{"action":"decline","reason":"no"}`:            decline,
			`{"action":"cancel","message":"no"}`:            `{"action":"cancel"}`,
			`{"note":"reject"}`:                             `{"action":"accept","content":{"note":"reject"}}`,
			`{"action":"reject"}`:                           "",
			`{"approved":"false"}`:                          "",
			`{"approved":null}`:                             "",
			`{"cancelled":true}`:                            "",
			`{"action":"accept","approved":false}`:          "",
			`{"approved":true,"action":"decline"}`:          "",
			`{"note":"x","type":"reject"}`:                  "",
			`{"note":"x","responses":{"k":{"action":"x"}}}`: "",
		} {
			out, _, err := resumeWith(t, d, p, input(t, entries(content)))
			got := gjson.Get(sent(out), idA).Raw
			if want := `{"responses":{"k":` + action + `}}`; action == "" && dialecttest.Code(err) != agui.InvalidPayload || action != "" && got != want {
				// A denial may also be sent as a plain decline.
				if action != "" || got != `{"responses":{"k":`+decline+`}}` {
					t.Errorf("%s: %s %v, want %s", content, got, err, want)
				}
			}
		}
	})
}

// TestElicitationBesideOtherCalls: several calls run at once, and another call than the one that
// asks could get the answer. So only a no may be sent.
func TestElicitationBesideOtherCalls(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, oneForm), finished)
	var kept map[string]any
	if err := json.Unmarshal(p.Private, &kept); err != nil {
		t.Fatal(err)
	}
	kept["natives"].([]any)[0].(map[string]any)["beside"] = []any{}
	p.Private = agui.MustMarshal(kept)
	for payload, want := range map[string]bool{`{"reference":"5"}`: false, `{"approved":false}`: true, ``: true, `{"action":"cancel"}`: true} {
		_, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", payload))))
		if (err == nil) != want || err != nil && dialecttest.Code(err) != agui.ApprovalAmbiguous {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
