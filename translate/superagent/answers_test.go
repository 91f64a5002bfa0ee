package superagent

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/aguiwriter"
)

func TestWhatIsSentForAnAnswer(t *testing.T) {
	const (
		text     = `{"name":"city","type":"text","label":"City","required":true}`
		selected = `{"name":"size","type":"select","label":"Size","required":false,"options":["S","M","S",7]}`
	)
	optional := strings.Replace(confirmField, `,"required":true`, "", 1) + "," + text
	confirm, mixed, words, none := confirmField, confirmField+","+text+","+selected, text+","+selected, ""
	for name, c := range map[string]struct {
		fields, entry string
		// The input that is sent, "nothing" if the backend is not called, or the code of a refusal.
		want string
	}{
		"approved":                             {confirm, entry(`{"approved":true}`), `{"confirm":true}`},
		"denied":                               {confirm, entry(`{"approved":false}`), `{"confirm":false}`},
		"a bare yes":                           {confirm, entry(`true`), `{"confirm":true}`},
		"a bare no":                            {confirm, entry(`false`), `{"confirm":false}`},
		"under the field's name":               {confirm, entry(`{"confirm":true}`), `{"confirm":true}`},
		"with more":                            {confirm, entry(`{"approved":true,"comment":"x"}`), `{"confirm":true}`},
		"a no with edits":                      {confirm, entry(`{"approved":false,"editedArgs":{"n":1}}`), `{"confirm":false}`},
		"both names, equal":                    {confirm, entry(`{"approved":false,"confirm":false}`), `{"confirm":false}`},
		"both names, not equal":                {confirm, entry(`{"approved":true,"confirm":false}`), "INVALID_PAYLOAD"},
		"twice":                                {confirm, entry(`{"approved":true,"approved":false}`), "INVALID_PAYLOAD"},
		"in another spelling":                  {confirm, entry(`{"approved":true,"Approved":false}`), "INVALID_PAYLOAD"},
		"the field's name twice":               {confirm, entry(`{"confirm":true,"confirm":false}`), "INVALID_PAYLOAD"},
		"no boolean":                           {confirm, entry(`{"approved":"yes"}`), "INVALID_PAYLOAD"},
		"an empty object":                      {confirm, entry(`{}`), "INVALID_PAYLOAD"},
		"no payload":                           {confirm, `{"interruptId":"n~1","status":"resolved"}`, "INVALID_PAYLOAD"},
		"null":                                 {confirm, entry(`null`), "INVALID_PAYLOAD"},
		"cancelled":                            {confirm, entry(""), `{"confirm":false}`},
		"cancelled, whatever its payload says": {confirm, `{"interruptId":"n~1","status":"cancelled","payload":{"approved":true}}`, `{"confirm":false}`},

		"several fields":                {mixed, entry(`{"confirm":true,"city":"Graz","size":"M","else":1}`), `{"confirm":true,"city":"Graz","size":"M"}`},
		"approved is no field":          {mixed, entry(`{"approved":true}`), "INVALID_PAYLOAD"},
		"several fields cancelled":      {mixed, entry(""), `{"confirm":false}`},
		"a key twice":                   {mixed, entry(`{"confirm":false,"confirm":true}`), "INVALID_PAYLOAD"},
		"no confirm, cancelled":         {words, entry(""), "nothing"},
		"unknown keys only":             {words, entry(`{"town":"Graz"}`), "INVALID_PAYLOAD"},
		"nothing but empty values":      {words, entry(`{"city":" ","size":null}`), "INVALID_PAYLOAD"},
		"an empty value beside another": {words, entry(`{"city":"Graz","size":""}`), `{"city":"Graz"}`},
		"a confirm left out":            {optional, entry(`{"city":"Graz"}`), `{"city":"Graz","confirm":false}`},
		"a confirm that is null":        {optional, entry(`{"city":"Graz","confirm":null}`), `{"city":"Graz","confirm":false}`},
		"nothing but a confirm of null": {optional, entry(`{"confirm":null}`), "INVALID_PAYLOAD"},
		"a bare text for two fields":    {words, entry(`"Graz"`), "INVALID_PAYLOAD"},
		"a bare text for one field":     {text, entry(`"Graz \"x\""`), `{"city":"Graz \"x\""}`},
		"a list":                        {text, entry(`["Graz"]`), "INVALID_PAYLOAD"},
		"no fields":                     {none, entry(`{"go":true,"on":null}`), `{"go":true}`},
		"no fields, nothing":            {none, entry(`{}`), "INVALID_PAYLOAD"},
		"no fields, cancelled":          {none, entry(""), "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, "\x00INTERRUPT:"+stateWith(c.fields))
			out, run, err := resumeWith(t, p, input(t, dialecttest.ResumeArray(c.entry)))
			got := string(dialecttest.Code(err))
			switch {
			case err != nil:
			case out.None:
				got = "nothing"
				if res, _ := run.End(translate.End{None: true}); out.Body != nil || out.Resumes || res.Finish.Type != agui.RunFinished {
					t.Errorf("%+v %+v", out, res)
				}
			default:
				got = string(out.Body)
				c.want = `{"agent_id":"approver","session_id":"t1","input":` + c.want + `}`
				if out.Path != "/api/v1/chat/resume" || !out.Resumes || out.Method != "" {
					t.Errorf("%+v", out)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAnswersInCommandResume: clients that support only the CUSTOM event answer in command.resume.
// These answers must be read too.
func TestAnswersInCommandResume(t *testing.T) {
	p := pausedBy(t, "\x00INTERRUPT:"+state)
	for value, want := range map[string]string{`true`: `{"approved":true}`, `{"approved":false}`: `{"approved":false}`, `"no"`: `"no"`} {
		list, err := newDialect(t).Answers(input(t, dialecttest.Command(value)), p)
		if err != nil || len(list) != 1 || string(list[0].Payload) != want || list[0].ID != "n~1" {
			t.Errorf("%s: %+v %v", value, list, err)
		}
	}
}

// TestAnotherDialectsQuestion: the question belongs to another dialect, or its private state cannot
// be read. The answer must be refused.
func TestAnotherDialectsQuestion(t *testing.T) {
	for _, change := range []func(*agui.Pause){
		func(p *agui.Pause) { p.Dialect = "strands" },
		func(p *agui.Pause) { p.Interrupts[0].Private = nil },
		func(p *agui.Pause) { p.Interrupts = append(p.Interrupts, p.Interrupts[0]) },
	} {
		p := pausedBy(t, "\x00INTERRUPT:"+state)
		change(&p)
		if _, _, err := resumeWith(t, p, input(t, dialecttest.ResumeArray(entry("true")))); dialecttest.Code(err) != agui.StoreUnavailable {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestWhatIsSentForARun(t *testing.T) {
	const before = `{"id":"u0","role":"user","content":"first"},{"id":"a0","role":"assistant","content":"ok"}`
	for name, c := range map[string]struct{ messages, want string }{
		"a text":                    {hello, "delete it"},
		"the last of many":          {before + "," + hello, "delete it"},
		"parts":                     {`{"id":"u","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb"},
		"what nobody said behind":   {hello + `,{"id":"s","role":"system","content":"x"},{"id":"d","role":"developer","content":"x"}`, "delete it"},
		"an image before":           {`{"id":"u","role":"user","content":[{"type":"image"}]},` + hello, "delete it"},
		"an image":                  {`{"id":"u","role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}`, ""},
		"a content of another kind": {`{"id":"u","role":"user","content":{"text":"a"}}`, ""},
		"no text":                   {`{"id":"u","role":"user","content":" "}`, ""},
		"no content":                {`{"id":"u","role":"user"}`, ""},
		"the assistant spoke last":  {hello + `,{"id":"a","role":"assistant","content":"x"}`, ""},
		"a tool's result":           {before + `,{"id":"t","role":"tool","toolCallId":"c","content":"x"}`, ""},
		"nobody spoke":              {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, `"messages":[`+c.messages+`],"protocolVersion":"1.0","state":{"a":1}`)
			out, _, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages})
			if c.want == "" {
				if dialecttest.Code(err) != agui.MessagesNotTaken {
					t.Errorf("%s %v", out.Body, err)
				}
				return
			}
			want := `{"agent_id":"approver","session_id":"t1","message":` + aguiwriter.Quoted(c.want) + `}`
			if err != nil || string(out.Body) != want || out.Path != "/api/v1/chat/stream" || out.Header["X-A2ui"][0] != "true" || out.Resumes || !out.ReadOn {
				t.Errorf("%+v %s (%v)", out, out.Body, err)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	d := newDialect(t)
	for path, want := range map[string]bool{
		"/": true, "/api/v1/chat/stream": true, "/api/v1/chat/resume": true, "/api/v1/chat/resume/": true, "/api/v2/chat/resume": true, "/chat/stream": true,
		"/api/v1/chat/interrupt_state": false, "/api/v1/chat/abort": false, "/api/v1/agents": false, "/agent": false, "/api/v1/chat": false,
	} {
		if route, ok := d.Route(path); ok != want || ok && route != "/" {
			t.Errorf("%s: %q %v", path, route, ok)
		}
	}
}
