package standard

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// These are interrupts as the real backends send them.
const (
	adkConfirms    = `{"id":"adk-1","reason":"confirmation","message":"Please","toolCallId":"adk-1","metadata":{"adk":{"originalFunctionCall":{"id":"adk-0"}}}}`
	adkPredicts    = `{"id":"u-1","reason":"confirm_changes","toolCallId":"u-1","metadata":{"predict_state":[{"state_key":"document"}]}}`
	crewAsks       = `{"id":"t","reason":"crewai:human_feedback","responseSchema":{"type":"string","enum":["approved","rejected"]},"metadata":{"crewai":{"flowId":"t"}}}`
	crewAsksFree   = `{"id":"t","reason":"crewai:human_feedback","metadata":{"crewai":{"flowId":"t"}}}`
	mastraAsks     = `{"id":"r1::c1","reason":"mastra:tool_suspend","toolCallId":"c1","metadata":{"mastra":{"runId":"r1"}}}`
	mastraApproves = `{"id":"r1::c1","reason":"tool_call","toolCallId":"c1","metadata":{"mastra":{"type":"tool_approval","runId":"r1"}}}`
	mastraOfATilde = `{"id":"r~1::c1","reason":"mastra:tool_suspend","toolCallId":"c1","metadata":{"mastra":{"runId":"r~1"}}}`
	adkOfATilde    = `{"id":"a~1","reason":"confirmation","toolCallId":"a~1","metadata":{"adk":{"originalFunctionCall":{"id":"adk-0"}}}}`
	pydanticAsks   = `{"id":"int-c1","reason":"tool_call","toolCallId":"c1","responseSchema":{"type":"object"}}`
	ag2Asks        = `{"id":"9-1","reason":"tool_call","toolCallId":"c1","metadata":{"ag2":{"proof":"x"}}}`
	claudeAsks     = `{"id":"toolu_1","toolCallId":"toolu_1","reason":"tool_approval","metadata":{"source":"claude-sdk-deferred","toolName":"Bash","input":{"command":"rm x"}}}`
	antigravAsks   = `{"id":"0c1d","reason":"tool_approval","message":"Allow?","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"}},"required":["approved"]},"metadata":{"tool_name":"run_command","args":{}}}`
	antigravWonder = `{"id":"0c1e","reason":"ask_question","message":"Which?","metadata":{"questions":[]}}`
	tanstackAsks   = `{"id":"approval_c1","reason":"tool_call","toolCallId":"c1","metadata":{"kind":"approval","tanstack:interruptBinding":{"v":1,"kind":"tool-approval","interruptId":"approval_c1"}}}`
	somebodyAsks   = `{"id":"a","reason":"r"}`
	crewBehindOne  = `{"id":"t~x1","reason":"crewai:human_feedback","metadata":{"crewai":{"flowId":"t"}}}`
	crewOfATilde   = `{"id":"t~x1","reason":"crewai:human_feedback","metadata":{"crewai":{"flowId":"t~x1"}}}`
)

// TestAnswersHaveTheBackendsForm checks how an answer is sent to each backend. Two of the given
// texts are no payloads: "cancelled" is a cancelled answer, and "absent" an answer without a
// payload.
func TestAnswersHaveTheBackendsForm(t *testing.T) {
	const refused, none = "refused", "no payload"
	for name, c := range map[string]struct {
		interrupt string
		sent      map[string]string // the payload that is sent, by the client's payload
	}{
		"ADK, a confirmation": {adkConfirms, map[string]string{
			`{"confirmed":true}`: `{"confirmed":true}`, `{"confirmed":false}`: `{"confirmed":false}`,
			`{"confirmed":true,"payload":{"n":1.0}}`: `{"confirmed":true,"payload":{"n":1.0}}`, `{ "payload":null , "confirmed":false}`: `{"confirmed":false,"payload":null}`,
			`{"approved":true}`: `{"confirmed":true}`, `{"approved":false}`: `{"confirmed":false}`, `{"approved":true,"payload":1}`: `{"confirmed":true,"payload":1}`,
			`true`: `{"confirmed":true}`, `false`: `{"confirmed":false}`, `{"\u0063onfirmed":false}`: `{"confirmed":false}`,
			`"no"`: refused, `"yes"`: refused, `{"accepted":false}`: refused, `{"decision":"reject"}`: refused, `{"approved":"false"}`: refused, `0`: refused, `{}`: refused, `[]`: refused,
			`{"confirmed":"false"}`: refused, `{"confirmed":true,"comment":"x"}`: refused, `{"confirmed":true,"approved":true}`: refused,
			`{"confirmed":false,"confirmed":true}`: refused, `{"confirmed":true,"payload":1,"payload":2}`: refused, `{"confirmed":true,"hint":"x"}`: refused,
			"absent": refused, "cancelled": none,
		}},
		"ADK, a predicted state": {adkPredicts, map[string]string{
			`{"accepted":true}`: `{"accepted":true}`, `{"accepted":false}`: `{"accepted":false}`, `{"approved":false}`: `{"accepted":false}`, `{"confirmed":true}`: `{"accepted":true}`,
			`false`: `{"accepted":false}`, `"no"`: refused, `"yes"`: refused, `{"accepted":"no"}`: refused, `{"accepted":false,"approved":true}`: refused, `0`: refused, `[]`: refused,
			`{"accepted":true,"steps":[]}`: refused, `{}`: refused, "absent": refused, "cancelled": none,
		}},
		"CrewAI": {crewAsks, map[string]string{
			`"approved"`: `"approved"`, `"rejected"`: `"rejected"`, `""`: refused, `" \t"`: refused, `"\u00a0\u001f"`: refused, "absent": refused, "cancelled": refused,
		}},
		"CrewAI, free": {crewAsksFree, map[string]string{`"good"`: `"good"`, `false`: `false`, `""`: refused, "absent": refused, "cancelled": refused}},
		"CrewAI behind a Holdpoint, which gives the pause up itself": {crewBehindOne, map[string]string{"cancelled": none, `""`: refused}},
		"CrewAI on a thread whose id looks like Holdpoint's":         {crewOfATilde, map[string]string{"cancelled": refused}},
		"Mastra": {mastraAsks, map[string]string{
			`{"approved":true}`: `{"approved":true}`, `"yes"`: `"yes"`, `0`: `0`, `{}`: `{}`, `false`: none, "absent": refused, `null`: refused, "cancelled": none,
		}},
		"Claude Agent SDK": {claudeAsks, map[string]string{
			`{"behavior":"allow"}`: `{"behavior":"allow"}`, `{"behavior":"deny"}`: `{"behavior":"deny"}`, `{"approved":true}`: `{"behavior":"allow"}`, `{"approved":false}`: `{"behavior":"deny"}`,
			`true`: `{"behavior":"allow"}`, `false`: `{"behavior":"deny"}`, `{"approved":false,"message":"Not now."}`: `{"behavior":"deny","message":"Not now."}`,
			`{"updatedInput":{"command":"ls"},"behavior":"allow"}`: `{"behavior":"allow","updatedInput":{"command":"ls"}}`,
			`{"behavior":"allow","approved":false}`:                refused, `{"behavior":true}`: `{"behavior":"allow"}`, `{"behavior":"ask"}`: refused, `{"behavior":"Allow"}`: refused,
			`"allow"`: refused, `"yes"`: refused, `{}`: refused, `1`: refused, `{"approved":"false"}`: refused, `{"behavior":"deny","behavior":"allow"}`: refused, `{"behavior":"allow","always":true}`: refused,
			"absent": refused, "cancelled": none,
		}},
		"Antigravity": {antigravAsks, map[string]string{
			`{"approved":true}`: `{"approved":true}`, `{"approved":false,"message":"No."}`: `{"approved":false,"message":"No."}`, `{"allow":true}`: `{"approved":true}`, `true`: `{"approved":true}`, `false`: `{"approved":false}`,
			`{"approved":"false"}`: refused, `{"approved":true,"allow":false}`: refused, `"no"`: refused, "absent": refused, "cancelled": none,
		}},
		"Antigravity, a question": {antigravWonder, map[string]string{`{"responses":[{"skipped":true}]}`: `{"responses":[{"skipped":true}]}`, `"b"`: `"b"`, "cancelled": none}},
		"anybody":                 {somebodyAsks, map[string]string{`"no"`: `"no"`, `false`: `false`, "absent": none, "cancelled": none}},
	} {
		for given, want := range c.sent {
			t.Run(name+"/"+given, func(t *testing.T) {
				e := `{"interruptId":"` + gjson.Get(c.interrupt, "id").Str + `~r1","status":"resolved","metadata":{"k":1.0},"payload":` + given + `}`
				switch given {
				case "cancelled":
					e = dialecttest.Entry(gjson.Get(c.interrupt, "id").Str+"~r1", "")
				case "absent":
					e = strings.Replace(e, `,"payload":absent`, "", 1)
				}
				out, _, err := resume(t, pausedBy(t, c.interrupt), parse(t, dialecttest.ResumeArray(e)))
				got := refused
				if dialecttest.Code(err) != agui.InvalidPayload && err != nil {
					t.Fatal(err)
				} else if err == nil {
					if got = gjson.GetBytes(out.Body, "resume.0.payload").Raw; got == "" {
						got = none
					}
					if status := gjson.GetBytes(out.Body, "resume.0.status").Str; status != "resolved" && (want != none || given == "absent") {
						t.Errorf("sent %s", out.Body)
					}
					if given != "cancelled" && !strings.Contains(string(out.Body), `"metadata":{"k":1.0}`) && want != none {
						t.Errorf("the client's own keys are gone: %s", out.Body)
					}
				}
				if got != want {
					t.Errorf("sent %s, want %s (%v)", got, want, err)
				}
			})
		}
	}
}

// TestOneOfSeveralThatCannotBeCancelled: a pause has two questions, and the client cancels the one
// that CrewAI cannot cancel. The dialect must not send the cancel, and cannot send the other answer
// without it. So it must refuse both.
func TestOneOfSeveralThatCannotBeCancelled(t *testing.T) {
	two := pausedBy(t, crewAsksFree, somebodyAsks)
	if _, _, err := resume(t, two, parse(t, dialecttest.ResumeArray(dialecttest.Entry("t~r1", ""), dialecttest.Entry("a~r2", `1`)))); dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("%v", err)
	}
	if out, _, err := resume(t, two, parse(t, dialecttest.ResumeArray(dialecttest.Entry("t~r1", `"fine"`), dialecttest.Entry("a~r2", ``)))); err != nil || gjson.GetBytes(out.Body, "resume.1.status").Str != "cancelled" {
		t.Errorf("%s %v", out.Body, err)
	}
}

// TestEveryProfile checks the properties of each profile with a question of its backend. In the
// field facts, RAN means that a backend of this version was run, READ that its source was read. If
// you add a profile, add a line here and a name of its backend in docs/support.md.
func TestEveryProfile(t *testing.T) {
	want := []struct{ question, name, facts, known string }{
		{adkConfirms, "Google ADK", "RAN ag-ui-adk 0.11.0", "publishes a schema, takes a decision, reads the last message with calls, brings results, beside: results of the client"},
		{adkPredicts, "Google ADK, a predicted state", "RAN ag-ui-adk 0.11.0", "publishes a schema, takes a decision, beside: results of the client"},
		{crewAsks, "CrewAI", "RAN ag-ui-crewai 1.0.0, READ 0.3.0", "wants a payload, has no cancel, beside: nothing"},
		{mastraApproves, "Mastra, an approval", "RAN @ag-ui/mastra 1.0.3, 1.1.2", "takes a decision, reads one answer, keeps by run id, beside: nothing"},
		{mastraAsks, "Mastra", "RAN @ag-ui/mastra 1.0.3, 1.1.2", "wants a payload, false is cancelled, hides the call, reads one answer, keeps by run id, beside: nothing"},
		{pydanticAsks, "pydantic-ai", "RAN pydantic-ai-slim 2.0.0, 2.68.0", "brings results, beside: all"},
		{ag2Asks, "AG2", "RAN ag2 1.2.1", "brings results, beside: results of the client, and what is old"},
		{strings.Replace(ag2Asks, "tool_call", "input_required", 1), "AG2, a question", "RAN ag2 1.2.1", "beside: results of the client, and what is old"},
		{claudeAsks, "Claude Agent SDK", "READ ag-ui-claude-sdk 0.2.3", "publishes a schema, takes a decision, beside: all"},
		{antigravAsks, "Antigravity", "READ ag-ui-antigravity 0.2.1", "takes a decision, beside: all"},
		{antigravWonder, "Antigravity, a question", "READ ag-ui-antigravity 0.2.1", "beside: all"},
		{tanstackAsks, "TanStack AI", "RAN @tanstack/ai 0.58.0", "beside: results of the client, and what is old"},
	}
	support, err := os.ReadFile("../../docs/support.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, w := range want {
		p := profileOf(gjson.Get(w.question, "id").Str, gjson.Parse(w.question))
		if p.name != w.name || p.source != w.facts || known(p) != w.known {
			t.Errorf("%s\nis %q (%s): %s", w.question, p.name, p.source, known(p))
		}
		listed[w.name] = true
		if backend, _, _ := strings.Cut(w.name, ","); !strings.Contains(string(support), backend) {
			t.Errorf("docs/support.md does not name %s", backend)
		}
	}
	for _, p := range profiles {
		if !listed[p.name] || !strings.HasPrefix(p.source, "RAN ") && !strings.HasPrefix(p.source, "READ ") {
			t.Errorf("profile %q (facts %q) has no line in this test", p.name, p.source)
		}
	}
	for _, other := range []string{
		somebodyAsks, `{"id":"a","reason":"tool_approval"}`, `{"id":"a","reason":"tool_approval","metadata":{"source":"somebody"}}`,
		`{"id":"a","reason":"confirmation","metadata":{"agent_framework":{}}}`, `{"id":"a","reason":"ask_question"}`,
	} {
		if p := profileOf("a", gjson.Parse(other)); p.name != "" {
			t.Errorf("%s is taken for %s", other, p.name)
		}
	}
}

// known describes the properties of a profile in words.
func known(p profile) string {
	var list []string
	for _, one := range []struct {
		is   bool
		word string
	}{
		{p.schema != "", "publishes a schema"},
		{p.decision != nil, "takes a decision"},
		{p.needsPayload, "wants a payload"},
		{p.falseIs != "", "false is " + string(p.falseIs)},
		{p.noCancel, "has no cancel"},
		{p.hidesCall, "hides the call"},
		{p.callsTogether, "reads the last message with calls"},
		{p.oneByOne, "reads one answer"},
		{p.ownRuns, "keeps by run id"},
		{p.result != "", "brings results"},
	} {
		if one.is {
			list = append(list, one.word)
		}
	}
	return strings.Join(append(list, "beside: "+map[extraPolicy]string{
		withResults: "results of the client, and what is old", onlyResults: "results of the client", withNone: "nothing", withAll: "all",
	}[p.extra]), ", ")
}

// TestSchemaOfAProfile checks that the profile's schema is published if the backend sends no
// schema.
func TestSchemaOfAProfile(t *testing.T) {
	for interrupt, want := range map[string]string{
		adkConfirms: `["confirmed"]`, adkPredicts: `["accepted"]`, mastraAsks: ``, somebodyAsks: ``,
		`{"id":"a","reason":"confirmation","metadata":{"agent_framework":{}}}`:                           ``,
		`{"id":"a","reason":"confirmation","metadata":{"adk":{}},"responseSchema":{"required":["own"]}}`: `["own"]`,
	} {
		if got := gjson.GetBytes(pausedBy(t, interrupt).Interrupts[0].Schema(), "required").Raw; got != want {
			t.Errorf("%s: required %s", interrupt, got)
		}
	}
}

// TestNewMessagesSentWithTheAnswers checks which new messages are sent together with the answers,
// and which in a second run.
func TestNewMessagesSentWithTheAnswers(t *testing.T) {
	const known, call = `{"id":"u1","role":"user","content":"Go."}`, `{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const said, result, thought = `{"id":"u2","role":"user","content":"And hurry."}`, `{"id":"x1","role":"tool","toolCallId":"c1","content":"ok"}`, `{"id":"g1","role":"reasoning","content":"Hm."}`
	for name, c := range map[string]struct{ interrupt, with, after string }{
		"anybody":                         {somebodyAsks, "u1 m1 g1 x1", "u1 m1 g1 x1 u2"},
		"ADK: nothing that is new":        {adkConfirms, "u1 m1 x1", "u1 m1 g1 x1 u2"},
		"CrewAI: none":                    {crewAsksFree, "u1 m1 g1", "u1 m1 g1 x1 u2"},
		"Mastra: none":                    {mastraAsks, "u1 m1 g1", "u1 m1 g1 x1 u2"},
		"Mastra, a run's id with a tilde": {mastraOfATilde, "u1 m1 g1", "u1 m1 g1 x1 u2"},
		"ADK, a call's id with a tilde":   {adkOfATilde, "u1 m1 x1", "u1 m1 g1 x1 u2"},
		"Mastra behind a Holdpoint: all":  {`{"id":"r1::c1~x","reason":"mastra:tool_suspend","toolCallId":"c1"}`, "u1 m1 g1 x1 u2", ""},
		"AG2":                             {strings.Replace(ag2Asks, "tool_call", "input_required", 1), "u1 m1 g1 x1", "u1 m1 g1 x1 u2"},
		"pydantic-ai: all":                {pydanticAsks, "u1 m1 g1 x1 u2", ""},
		"a Holdpoint: all":                {`{"id":"a~x","reason":"r"}`, "u1 m1 g1 x1 u2", ""},
		"CrewAI behind one: all":          {crewBehindOne, "u1 m1 g1 x1 u2", ""},
		"another question's int-":         {`{"id":"int-c2","reason":"tool_call","toolCallId":"c1"}`, "u1 m1 g1 x1", "u1 m1 g1 x1 u2"},
		"ADK beside somebody's":           {somebodyAsks + `,` + adkConfirms, "u1 m1 x1", "u1 m1 g1 x1 u2"},
		"pydantic-ai and somebody's":      {pydanticAsks + `,` + somebodyAsks, "u1 m1 g1 x1", "u1 m1 g1 x1 u2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.interrupt)
			var answers []agui.Answer
			for _, i := range p.Interrupts {
				answers = append(answers, agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: []byte(`true`)})
			}
			in := parse(t, `"state":{"old":1},"forwardedProps":{"k":1}`)
			for _, m := range []string{known, call, thought, result, said} {
				in.Messages = append(in.Messages, agui.ParseMessage([]byte(m)))
			}
			in = in.WithMessages(in.Messages)
			for _, m := range in.Messages[:2] {
				p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
			}
			l := dialecttest.NewLog(in.Messages)
			r := &translate.Request{Input: in, Pause: p, Answers: answers, NewMessages: in.Messages[3:], Transcript: l}
			out, run, err := new(Dialect).Begin(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := idsOf(out.Body); got != c.with || !out.TakesNew || !out.Resumes {
				t.Errorf("with the answers: %q, want %q", got, c.with)
			}
			res := play(t, run, l, started, `{"type":"STATE_SNAPSHOT","snapshot":{"new":2}}`, finished)
			got := ""
			if next := res.Next; next != nil {
				got = idsOf(next.Out.Body)
				body := gjson.ParseBytes(next.Out.Body)
				if body.Get("resume").Exists() || body.Get("state").Raw != `{"new":2}` || body.Get("protocolVersion").Str != "1.0" || body.Get("forwardedProps").Raw != `{"k":1}` ||
					!next.Out.TakesNew || next.Out.Resumes || len(next.Out.UnsentMessages) > 0 {
					t.Errorf("afterwards %+v %s", next.Out, next.Out.Body)
				}
			}
			if got != c.after {
				t.Errorf("afterwards %q, want %q", got, c.after)
			}
			if res := play(t, run, l, started, outcome(somebodyAsks)); res.Next != nil || len(res.Asked.Interrupts) != 1 {
				t.Errorf("after another question: %+v", res)
			}
		})
	}
}

func idsOf(body []byte) string {
	var ids []string
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		ids = append(ids, m.Get("id").Str)
	}
	return strings.Join(ids, " ")
}

// TestTwoQuestionsOfOneID: two questions have the same id, so the backend uses one answer for both.
// If one is approved and the other denied, the answers must be refused.
func TestTwoQuestionsOfOneID(t *testing.T) {
	for name, interrupts := range map[string][2]string{
		"of nobody known": {`{"id":"n","reason":"confirmation"}`, `{"id":"n","reason":"confirmation"}`},
		"without ids":     {`{"reason":"confirmation"}`, `{"reason":"confirmation"}`},
		"pydantic-ai":     {`{"id":"int-c","reason":"tool_call","toolCallId":"c"}`, `{"id":"int-c","reason":"tool_call","toolCallId":"c"}`},
		"Mastra": {`{"id":"r::c","reason":"mastra:tool_suspend","toolCallId":"c","metadata":{"mastra":{"runId":"r"}}}`,
			`{"id":"r::c","reason":"mastra:tool_suspend","toolCallId":"c","metadata":{"mastra":{"runId":"r"}}}`},
	} {
		for _, c := range []struct {
			one, other string
			want       agui.Code
		}{
			{`{"approved":true}`, `{"approved":false}`, agui.InvalidPayload},
			{`{"approved":false}`, `{"approved":true}`, agui.InvalidPayload},
			{`{"approved":true}`, ``, agui.InvalidPayload},
			{`{"approved":true}`, `{"approved": true}`, ""},
			{`{"approved":false}`, ``, ""},
			{``, ``, ""},
		} {
			p := pausedBy(t, interrupts[0], interrupts[1])
			in := parse(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.one), dialecttest.Entry(p.Interrupts[1].ID, c.other)))
			if out, _, err := dialecttest.Resume(new(Dialect), p, in, &dialecttest.Log{}); dialecttest.Code(err) != c.want {
				t.Errorf("%s: %q and %q: %v, sent %s", name, c.one, c.other, err, out.Body)
			}
		}
	}
}
