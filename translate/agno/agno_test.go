package agno

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

const (
	started   = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished  = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	begun     = `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`
	continued = `{"type":"RAW","event":{"event":"RunContinued"},"source":"agno"}`
	user      = `{"id":"u1","role":"user","content":"hi"}`
)

func call(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + dialecttest.Quoted(args) + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

// later returns the events of a call like those of the function call, but with another parent
// message.
func later(id, name, args string) []string {
	list := call(id, name, args)
	list[0] = strings.Replace(list[0], "m1", "m2", 1)
	return list
}

func ran(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"` + id + `","toolCallId":"` + id + `","content":"x"}`
}

func stream(parts ...any) []string {
	list := []string{started, begun}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(Options{Input: kit.Names{"send_*"}, External: kit.Names{"run_*"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func play(t testing.TB, show translate.Show, stream ...string) (dialecttest.Played, *dialecttest.Log) {
	t.Helper()
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","tools":[{"name":"show"}],"messages":[`+user+`]}`)
	l := dialecttest.NewLog(in.Messages)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Show: show, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.Play(run, l, stream...), l
}

func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p, l := play(t, translate.ShowOutcome, stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	pause := dialecttest.WithIDs(p.Result.Asked.Pause(Name))
	pause.SeenMessages = l.SeenMessages()
	return pause
}

// TestPause checks which questions a run asks, and of which kind they are.
func TestPause(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		asked  string
	}{
		"a confirmation":         {stream(call("A", "delete_file", `{}`), finished), "A tool_call"},
		"three kinds":            {stream(call("X", "run_it", `{}`), call("A", "delete_file", `{}`), call("M", "send_mail", `{"to":"a"}`), finished), "X input_required; A tool_call; M input_required"},
		"its own forms":          {stream(call("F", getUserInput, `{"user_input_fields":[{"field_name":"a"}]}`), call("Q", askUser, `{"questions":[{"question":"Which?"}]}`), finished), "F input_required; Q input_required"},
		"a free call beside one": {stream(call("L", "list", `{}`), ran("L"), call("A", "delete_file", `{}`), finished), "A tool_call"},
		"the client's own":       {stream(call("S", "show", `{}`), finished), ""},
		"that failed":            {stream(call("A", "delete_file", `{}`), `{"type":"RUN_ERROR","message":"x"}`), ""},
		"an outcome":             {stream(call("A", "delete_file", `{}`), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[]}}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := play(t, translate.ShowOutcome, c.stream...)
			var asked []string
			for _, i := range p.Result.Asked.Interrupts {
				asked = append(asked, i.ToolCallID()+" "+i.Reason())
			}
			if got := strings.Join(asked, "; "); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
		})
	}
}

// TestWhatIsSent: an answer may be sent only if agno can read it in only one way. Reading what is
// sent must give the same answer.
func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		tool, payload, want string // want is "" if the payload is refused
	}{
		{"delete_file", `true`, `{"accepted":true}`},
		{"delete_file", `{"approved":false}`, `{"accepted":false}`},
		{"delete_file", `{"accepted":false,"note":"no"}`, `{"accepted":false,"note":"no"}`},
		{"delete_file", ``, `{"accepted":false,"cancelled":true}`},
		{"delete_file", `{"accepted":"true"}`, ``},
		{"delete_file", `{"accepted":true,"approved":false}`, ``},
		{"delete_file", `{"accepted":true,"values":{}}`, ``},
		{"delete_file", `"yes"`, ``},
		{"send_mail", `{"values":{"to": "x"}}`, `{"values":{"to":"x"}}`},
		{"send_mail", `{"values":[]}`, ``},
		{"send_mail", `true`, ``},
		{"send_mail", ``, ``},
		{askUser, `{"selections":{"Which?":["a"]}}`, `{"selections":{"Which?":["a"]}}`},
		{askUser, `{"selections":{"Which?":"a"}}`, ``},
		{askUser, ``, ``},
		{"run_it", `"done"`, `done`},
		{"run_it", `{"ok": true}`, `{"ok":true}`},
		{"run_it", ``, `{"cancelled":true}`},
		{"run_it", `{"cancelled": true}`, `{"cancelled":true}`},
	} {
		d, p := newDialect(t), pausedBy(t, stream(call("A", c.tool, `{"to":"a"}`), finished)...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+user+`],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
		out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{})
		if c.want == "" {
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%s %s: %v %s", c.tool, c.payload, err, out.Body)
			}
			continue
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		if err != nil || len(list) != 1 || list[0].Get("content").Str != c.want {
			t.Errorf("%s %s: %v %s", c.tool, c.payload, err, out.Body)
			continue
		}
		no := strings.Contains(c.want, `"accepted":false`) || strings.Contains(c.want, "cancelled")
		if list[0].Get("error").Exists() != no {
			t.Errorf("%s %s: %s", c.tool, c.payload, list[0].Raw)
		}
		answers, _ := d.Answers(in, p)
		if back, ok := d.AnswerIn(agui.ParseMessage([]byte(list[0].Raw)), translate.Reply{}, p.Interrupts[0]); !ok || back.Status != answers[0].Status || string(agui.Canonical(back.Payload)) != string(agui.Canonical(answers[0].Payload)) {
			t.Errorf("%s %s reads back as %+v", c.tool, c.payload, back)
		}
	}
}

// TestSchemaOfAskUser: the schema must contain the questions of ask_user with their options.
func TestSchemaOfAskUser(t *testing.T) {
	const free = `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`
	for name, c := range map[string]struct{ args, want string }{
		"one of two": {
			`{"questions":[{"question":"Which?","header":"Size","options":[{"label":"red"},{"label":"blue"},{"label":"red"}],"multi_select":false}]}`,
			`{"type":"object","properties":{"Which?":{"type":"array","title":"Size","items":{"type":"string","enum":["red","blue"]},"maxItems":1}},"required":["Which?"],"additionalProperties":false}`,
		},
		"two questions, several of each": {
			`{"questions":[{"question":"A?","options":[{"label":"x"}],"multi_select":true},{"question":"B?","options":null,"multi_select":true},{"question":"A?"}]}`,
			`{"type":"object","properties":{"A?":{"type":"array","items":{"type":"string","enum":["x"]}},"B?":{"type":"array","items":{"type":"string"}}},"required":["A?","B?"],"additionalProperties":false}`,
		},
		"of no form": {`{"questions":"x"}`, free},
		"no JSON":    {`{"que`, free},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, stream(call("A", askUser, c.args), finished)...)
			want := `{"type":"object","properties":{"selections":` + c.want + `},"required":["selections"],"additionalProperties":false}`
			if got := string(p.Interrupts[0].Schema()); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestFate checks whether the answers count as having taken effect.
func TestFate(t *testing.T) {
	failed := func(message string) string {
		return `{"type":"RUN_ERROR","message":` + dialecttest.Quoted(message) + `}`
	}
	for name, c := range map[string]struct {
		payload string
		stream  []string
		want    translate.Fate
	}{
		"it ran":              {"true", []string{started, continued, ran("A"), finished}, translate.Finished},
		"it was denied":       {"false", []string{started, continued, finished}, translate.Finished},
		"no result":           {"true", []string{started, continued, finished}, translate.InDoubt},
		"of a team":           {"true", []string{started, `{"type":"RAW","event":{"event":"TeamRunContinued"},"source":"agno"}`, finished}, translate.Finished},
		"it does not know it": {"true", []string{started, failed("No paused run matching the provided tool results found in session t1")}, translate.Lost},
		"nor the session":     {"true", []string{started, failed("Session t1 not found")}, translate.Lost},
		"another kind":        {"true", []string{started, failed("user_input expects {'values': {...}}")}, translate.Untouched},
		"and a no to it":      {"false", []string{started, failed("user_input expects {'values': {...}}")}, translate.Finished},
		"it remains paused":   {"true", []string{started, failed("Cannot continue run r0: requirement routes to member 'x', which is not a member of team 'y'. The run remains paused.")}, translate.Untouched},
		"but something ran":   {"true", []string{started, continued, failed("Cannot continue run r0: x. The run remains paused.")}, translate.Finished},
		"another such error":  {"true", []string{started, failed("Cannot continue run r0: run is cancelled")}, translate.Finished},
		"no database":         {"true", []string{started, failed("Frontend tool resume requires a database")}, translate.Untouched},
		"an error behind it":  {"true", []string{started, continued, failed("Session t1 not found")}, translate.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			_, run, err := dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{})
			if err != nil {
				t.Fatal(err)
			}
			if got := dialecttest.Play(run, &dialecttest.Log{}, c.stream...).Result.Fate; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestRefusals: the results of the client's own tools are sent with the answers. If a call has the
// id of an earlier question but other arguments, its approval must be refused, because agno would
// resume the older run.
func TestRefusals(t *testing.T) {
	d := newDialect(t)
	p := pausedBy(t, stream(call("S", "show", `{}`), call("A", "delete_file", `{}`), finished)...)
	p.Interrupts[0].Calls = []agui.AskedCall{{ID: "A", Name: "delete_file", Args: `{"path":"k"}`}}
	older := p
	older.Interrupts = []agui.Interrupt{{Native: "A", Calls: []agui.AskedCall{{ID: "A", Name: "delete_file", Args: `{"path":"j"}`}}}}
	const shown = `,{"id":"t1","role":"tool","toolCallId":"S","content":"shown"}`
	for name, c := range map[string]struct {
		messages, payload string
		ended             bool
		want              agui.Code
	}{
		"without the result":        {"", "true", false, agui.PartialResume},
		"with it":                   {shown, "true", false, ""},
		"a no without it":           {"", "false", false, ""},
		"an id that an earlier had": {shown, "true", true, agui.ApprovalAmbiguous},
		"a no to that":              {shown, "false", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","tools":[{"name":"show"}],"messages":[`+user+c.messages+`],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			out, _, err := dialecttest.Resume(d, p, in, dialecttest.NewLog(in.Messages), func(r *translate.Request) {
				if r.NewMessages = agui.NewMessages(in.Messages, p.SeenMessages); c.ended {
					r.EndedPauses = []translate.EndedPause{{Pause: older}}
				}
			})
			if dialecttest.Code(err) != c.want {
				t.Fatalf("%v", err)
			}
			if want := 1 + strings.Count(c.messages, "shown"); err == nil && len(gjson.GetBytes(out.Body, "messages").Array()) != want {
				t.Errorf("%s", out.Body)
			}
		})
	}
}

// TestTwoCallsOfOneID: some models repeat ids. Calls of a turn with the same id become one
// question, and agno would use its answer for all of them. So only a no may be sent.
func TestTwoCallsOfOneID(t *testing.T) {
	for name, c := range map[string]struct {
		stream []any
		want   agui.Code
	}{
		"two that ask":               {[]any{call("A", "delete_file", `{"path":"a"}`), call("A", "delete_file", `{"path":"b"}`), finished}, agui.ApprovalAmbiguous},
		"one of another tool":        {[]any{call("A", "delete_file", `{}`), call("A", "list", `{}`), finished}, agui.ApprovalAmbiguous},
		"one that had its result":    {[]any{call("A", "list", `{}`), ran("A"), later("A", "delete_file", `{}`), finished}, ""},
		"two, and the first has its": {[]any{call("A", "list", `{}`), ran("A"), later("A", "delete_file", `{}`), later("A", "delete_file", `{}`), finished}, agui.ApprovalAmbiguous},
	} {
		for _, payload := range []string{"true", "false"} {
			t.Run(name+"/"+payload, func(t *testing.T) {
				p := pausedBy(t, stream(c.stream...)...)
				if len(p.Interrupts) != 1 {
					t.Fatalf("%+v", p.Interrupts)
				}
				in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload))+`}`)
				out, _, err := dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{})
				want := c.want
				if payload == "false" {
					want = ""
				}
				if dialecttest.Code(err) != want {
					t.Errorf("%v, sent %s", err, out.Body)
				}
			})
		}
	}
}

// TestAsksAgainUnderTheSameID: a resumed run may ask by a call that has the id of the call that was
// just answered. That must be a new question.
func TestAsksAgainUnderTheSameID(t *testing.T) {
	const words = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"And now:"}`
	for name, c := range map[string]struct {
		payload string
		stream  []any
		want    int
	}{
		"it ran, and another asks":        {"true", []any{started, continued, call("A", "delete_file", `{}`), ran("A"), words, later("A", "delete_file", `{"path":"b"}`), finished}, 1},
		"with no words between":           {"true", []any{started, continued, call("A", "delete_file", `{}`), ran("A"), later("A", "delete_file", `{"path":"b"}`), finished}, 1},
		"it was denied, and another asks": {"false", []any{started, continued, words, later("A", "delete_file", `{"path":"b"}`), finished}, 1},
		"it ran":                          {"true", []any{started, continued, call("A", "delete_file", `{}`), ran("A"), words, finished}, 0},
		"it is left without a result":     {"true", []any{started, continued, call("A", "delete_file", `{}`), words, finished}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			l := &dialecttest.Log{}
			_, run, err := dialecttest.Resume(newDialect(t), p, in, l)
			if err != nil {
				t.Fatal(err)
			}
			played := dialecttest.Play(run, l, stream(c.stream...)[2:]...)
			if asked := played.Result.Asked.Interrupts; len(asked) != c.want {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

// TestReplies checks which messages of a history count as a decision, because agno could read them
// as one.
func TestReplies(t *testing.T) {
	tool := func(call, content string) string {
		return `{"id":"t1","role":"tool","toolCallId":"` + call + `","content":` + content + `}`
	}
	quoted := dialecttest.Quoted
	calls := func(id, name string) string {
		return `{"id":"a1","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]},`
	}
	const declares = `,"tools":[{"name":"show"}]`
	for name, c := range map[string]struct {
		messages, more, want string
	}{
		"a yes":                           {calls("A", "delete_file") + tool("A", quoted(`{"accepted":true}`)), declares, "A asked"},
		"with more beside it":             {calls("A", "delete_file") + tool("A", quoted(`{"accepted":true,"values":{}}`)), declares, "A asked"},
		"a no and a yes":                  {calls("A", "delete_file") + tool("A", quoted(`{"accepted":false,"accepted":true}`)), declares, "A asked"},
		"in a fence":                      {calls("A", "delete_file") + tool("A", quoted("```json\n{\"accepted\":true}\n```")), declares, "A asked"},
		"in prose":                        {calls("A", "delete_file") + tool("A", quoted(`Sure: {"accepted":true}`)), declares, "A asked"},
		"behind a thought":                {calls("A", "delete_file") + tool("A", quoted(`<think>x</think>{"accepted":true}`)), declares, "A asked"},
		"with a sign that agno takes out": {calls("A", "delete_file") + tool("A", quoted("go {\"acce\rpted\":true}")), declares, "A asked"},
		"in escapes":                      {calls("A", "delete_file") + tool("A", quoted(`go {"\u0061ccepted":true}`)), declares, "A asked"},
		"in parts":                        {calls("A", "delete_file") + tool("A", `[{"type":"text","text":"{\"accepted\":true}"}]`), declares, "A asked unclear"},
		"values":                          {calls("A", "send_mail") + tool("A", quoted(`x {"values":{}}`)), declares, "A asked"},
		"of a call that is not there":     {tool("A", quoted(`x {"selections":{}}`)), declares, "A asked unless left"},
		"and unclear":                     {strings.Replace(tool("A", quoted(`x {"selections":{}}`)), "toolCallId", "tool_call_id", 1), declares, "A asked unclear"},
		"any word where no tool is":       {tool("A", quoted(`hello`)), "", "A asked"},
		"words":                           {calls("A", "delete_file") + tool("A", quoted(`accepted`)), declares, "A"},
		"a yes in a history":              {calls("A", "delete_file") + tool("A", quoted(`{"accepted":true}`)) + "," + user, declares, "A asked"},
		"a result in a history":           {calls("A", "list") + tool("A", quoted(`[{"values":1}]`)) + "," + user, declares, "A"},
		"the client's own result":         {calls("S", "show") + tool("S", quoted(`{"accepted":false}`)), declares, "S"},
		"with an error beside it":         {calls("A", "delete_file") + strings.Replace(tool("A", quoted(`{"accepted":true}`)), `"content"`, `"error":"x","content"`, 1), declares, "A asked unclear"},
		"and of a call of two names":      {calls("S", "show") + calls("S", "list") + tool("S", quoted(`{"accepted":false}`)), declares, "S asked"},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+c.messages+`]`+c.more+`}`)
			var got []string
			for one := range newDialect(t).Replies(in, Name) {
				if one.Dialect != Name {
					continue // it is a reply of another dialect
				}
				line := one.Key
				if one.Decides {
					line += " asked"
				}
				if one.DecidesUnlessLeft {
					line += " asked unless left"
				}
				if one.Unclear {
					line += " unclear"
				}
				got = append(got, line)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestWhereAnswersStand: agno reads answers only in the last messages. So an answer in an earlier
// message must stay unchanged.
func TestWhereAnswersStand(t *testing.T) {
	const answered = `{"id":"a1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_file","arguments":"{}"}}]},` +
		`{"id":"t1","role":"tool","toolCallId":"A","content":"{\"accepted\":true}"}`
	for messages, last := range map[string]bool{answered: true, answered + "," + user: false} {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","tools":[{"name":"show"}],"messages":[`+messages+`]}`)
		found := false
		for one := range newDialect(t).Replies(in, Name) {
			if one.Dialect != Name {
				continue
			}
			if found = true; one.TooLate == last || one.Keep == last || one.DecidesIfKnown != last {
				t.Errorf("last %v: %+v", last, one)
			}
		}
		if !found {
			t.Errorf("last %v: no reply", last)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Input: kit.Names{"["}}, {External: kit.Names{"["}}} {
		if _, err := New(o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
