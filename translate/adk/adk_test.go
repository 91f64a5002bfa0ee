package adk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1","protocolVersion":"1.0"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{"_ag_ui_thread_id":"t1","_ag_ui_app_name":"a"}}`
	spoken   = `{"type":"TEXT_MESSAGE_START","messageId":"m9","role":"assistant"}`
)

// call returns the events of a tool call.
func call(id, name, args string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"%s","toolCallName":"%s"}`, id, name),
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"%s","delta":%s}`, id, dialecttest.Quoted(args)),
		fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"%s"}`, id),
	}
}

// confirms returns the events of a call with the id id. By this call, ADK asks whether the call of
// delete_file with the id about may run.
func confirms(id, about string) []string {
	return call(id, requestConfirmation, `{"originalFunctionCall":{"id":"`+about+`","name":"delete_file","args":{"path":"x"}},"toolConfirmation":{"hint":"Sure?","confirmed":false}}`)
}

// inputs returns the events of a call with the id id. By this call, a node of a workflow asks for a
// value.
func inputs(id, schema string) []string {
	return call(id, requestInput, `{"interruptId":"`+id+`","payload":{"draft":"hello"},"message":"Publish?","response_schema":`+schema+`}`)
}

// nodeSchema is the schema of ToolConfirmation in google-adk 2.13.0.
const nodeSchema = `{"additionalProperties":false,"properties":{"hint":{"type":"string"},"confirmed":{"default":false,"type":"boolean"},"payload":{}},"title":"ToolConfirmation","type":"object"}`

// confirmsNode returns the events of a call with the id id. By this call, a node of a workflow asks
// whether it may run.
func confirmsNode(id string) []string {
	return call(id, requestInput, `{"interruptId":"`+id+`","payload":{"tool_name":"pay","args":{"amount":5}},"message":"May pay() run?","response_schema":`+nodeSchema+`}`)
}

// credentials returns the events of a call with the id id. By this call, a tool asks for a
// credential.
func credentials(id, config string) []string {
	return call(id, requestCredential, `{"functionCallId":"A","authConfig":`+config+`}`)
}

const (
	keyConfig   = `{"authScheme":{"type":"apiKey","in":"header","name":"X-Key"},"rawAuthCredential":{"authType":"apiKey","apiKey":"own-secret"}}`
	oauthConfig = `{"authScheme":{"type":"oauth2"},"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientSecret":"own-secret"}},` +
		`"exchangedAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c","clientSecret":"own-secret","authUri":"https://login.test","state":"s"}},"credentialKey":"k"}`
)

func stream(parts ...any) []string {
	list := []string{started}
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

func newDialect(t testing.TB, ask ...string) *Dialect {
	t.Helper()
	d, err := New(Options{Ask: kit.Names(ask)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play begins a run without answers, and plays a stream to it. more contains further members of the
// run's request.
func play(t testing.TB, d *Dialect, show translate.Show, more string, stream ...string) dialecttest.Played {
	t.Helper()
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"hi"}]`+more+`}`)
	l := dialecttest.NewLog(in.Messages)
	_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Show: show, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.Play(run, l, stream...)
}

func pausedBy(t testing.TB, d *Dialect, stream ...string) agui.Pause {
	t.Helper()
	p := play(t, d, translate.ShowOutcome, `,"tools":[{"name":"show"}]`, stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	return dialecttest.WithIDs(p.Result.Asked.Pause(Name))
}

// TestPause checks which questions a run asks. The client must not get the call by which ADK asks.
func TestPause(t *testing.T) {
	for name, c := range map[string]struct {
		tools, asked string
		stream       []string
	}{
		"a confirmation":              {"", "A", stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished)},
		"two, whose ENDs come last":   {"", "A A2", stream(call("A", "delete_file", `{}`), call("A2", "delete_file", `{}`), confirms("B", "A")[:2], confirms("C", "A2"), confirms("B", "A")[2], finished)},
		"of a call that is not shown": {"", "-", stream(confirms("B", "A"), finished)},
		"without an END":              {"", "-", stream(confirms("B", "A")[:2], finished)},
		"the client's own":            {`,"tools":[{"name":"adk_request_confirmation"}]`, "", stream(confirms("B", "A"), finished)},
		"with an outcome":             {"", "", stream(confirms("B", "A"), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[]}}`)},
		"that failed":                 {"", "", stream(confirms("B", "A"), `{"type":"RUN_ERROR","message":"x"}`)},
		"no confirmation":             {"", "", stream(call("B", requestConfirmation, `{"x":1}`), finished)},
		"a predicted state":           {"", "P", stream(state, call("P", confirmChanges, `{}`), state, finished)},
		"confirm_changes of others":   {"", "", stream(call("P", confirmChanges, `{}`), finished)},
		"a named long-running tool":   {"", "J", stream(call("J", "ask_human", `{}`), finished)},
		"that the run talks on after": {"", "", stream(call("J", "ask_human", `{}`)[:2], spoken, call("J", "ask_human", `{}`)[2], finished)},
		"one that nobody named":       {"", "", stream(call("J", "start_job", `{}`), finished)},
		"that has its result":         {"", "", stream(call("J", "ask_human", `{}`), `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"J","content":"x"}`, finished)},
		"a value":                     {"", "-", stream(inputs("I", `{"type":"string"}`), finished)},
		"a value, and a confirmation": {"", "- -", stream(inputs("I", `null`), confirms("B", "A"), finished)},
		"whether a node may run":      {"", "-", stream(confirmsNode("N"), finished)},
		"a credential":                {"", "-", stream(credentials("C", keyConfig), finished)},
		"no credential":               {"", "", stream(call("C", requestCredential, `{"authConfig":"x"}`), finished)},
		"no value":                    {"", "", stream(call("I", requestInput, `[]`), finished)},
		"a value, the client's own":   {`,"tools":[{"name":"adk_request_input"}]`, "", stream(inputs("I", `null`), finished)},
		"that the request declares":   {`,"tools":[{"name":"ask_human"}]`, "", stream(call("J", "ask_human", `{}`), finished)},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, newDialect(t, "ask_*"), translate.ShowOutcome, c.tools, c.stream...)
			var asked []string
			for _, i := range p.Result.Asked.Interrupts {
				id := i.ToolCallID()
				if id == "" {
					id = "-"
				}
				asked = append(asked, id)
			}
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
			shown := 0
			for _, ev := range p.All() {
				if isProtocolCall(ev.Get("toolCallName").Str) {
					shown++
				}
			}
			if hides := strings.HasPrefix(c.asked, "A") || strings.HasPrefix(c.asked, "-"); hides != (shown == 0) && strings.Contains(strings.Join(c.stream, ""), protocolPrefix) {
				t.Errorf("shown %d times", shown)
			}
		})
	}
}

// TestWhatIsSent: ADK must get only a clear yes or a clear no.
func TestWhatIsSent(t *testing.T) {
	d := newDialect(t, "ask_*")
	pauses := map[*kind]agui.Pause{
		confirm: pausedBy(t, d, stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished)...),
		changes: pausedBy(t, d, stream(state, call("P", confirmChanges, `{}`), finished)...),
		job:     pausedBy(t, d, stream(call("J", "ask_human", `{}`), finished)...),

		input:       pausedBy(t, d, stream(inputs("I", `null`), finished)...),
		confirmNode: pausedBy(t, d, stream(confirmsNode("N"), finished)...),
		credential:  pausedBy(t, d, stream(credentials("C", keyConfig), finished)...),
	}
	const given = `{"authScheme":{"type":"apiKey","in":"header","name":"X-Key"},"rawAuthCredential":{"authType":"apiKey","apiKey":"own-secret"},"exchangedAuthCredential":`
	for _, c := range []struct {
		kind          *kind
		payload, want string // want is "" if the payload is refused
	}{
		{confirm, `true`, `{"confirmed":true}`},
		{confirm, `{"approved":false}`, `{"confirmed":false}`},
		{confirm, `{"confirmed":true,"payload":{"a": 1}}`, `{"confirmed":true,"payload":{"a":1}}`},
		{confirm, ``, `{"confirmed":false}`},
		{confirm, `"no"`, ``},
		{confirm, `{"accepted":false}`, ``},
		{confirm, `{"confirmed":"true"}`, ``},
		{confirm, `{"confirmed":true,"approved":false}`, ``},
		{confirm, `{"confirmed":true,"hint":"x"}`, ``},
		{confirm, `{}`, ``},
		{changes, `{"accepted":true}`, `{"accepted":true}`},
		{changes, `false`, `{"accepted":false}`},
		{changes, `{"confirmed":true}`, `{"accepted":true}`},
		{changes, ``, `{"accepted":false,"cancelled":true}`},
		{changes, `7`, ``},
		{job, `"blue"`, `{"result":"blue"}`},
		{job, `{"colour": "blue"}`, `{"colour":"blue"}`},
		{job, `{"result":1}`, `{"result":{"result":1}}`},
		{job, `null`, `{"result":null}`},
		{job, ``, cancelled},
		{input, `"blue"`, `{"result":"blue"}`},
		{input, `"5"`, `{"result":"\"5\""}`},
		{input, `"NaN"`, `{"result":"\"NaN\""}`},
		{input, `5`, `{"result":5}`},
		{input, `{"approved": true}`, `{"approved":true}`},
		{input, `{"result":"5"}`, `{"result":{"result":"5"}}`},
		{input, `null`, `{"result":null}`},
		{input, ``, ``},
		{confirmNode, `true`, `{"confirmed":true}`},
		{confirmNode, `{"approved":false}`, `{"confirmed":false}`},
		{confirmNode, `"yes"`, ``},
		{confirmNode, `{}`, ``},
		{confirmNode, ``, ``},
		{credential, `"k1"`, given + `{"apiKey":"k1","authType":"apiKey"}}`},
		{credential, `{"apiKey":"k1"}`, given + `{"apiKey":"k1","authType":"apiKey"}}`},
		{credential, `{"authScheme":{"type":"x"},"exchangedAuthCredential":{"authType":"apiKey","apiKey":"k1"}}`, given + `{"authType":"apiKey","apiKey":"k1"}}`},
		{credential, `""`, ``},
		{credential, `true`, ``},
		{credential, ``, ``},
	} {
		p := pauses[c.kind]
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[{"id":"u1","role":"user","content":"hi"}],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
		out, _, err := dialecttest.Resume(d, p, in, dialecttest.NewLog(in.Messages))
		if c.want == "" {
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%s %s: %v, sent %s", c.kind.Name, c.payload, err, out.Body)
			}
			continue
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		if err != nil || len(list) != 2 || list[1].Get("content").Str != c.want || list[0].Get("toolCalls.0.id").Str != list[1].Get("toolCallId").Str {
			t.Errorf("%s %s: %v %s", c.kind.Name, c.payload, err, out.Body)
			continue
		}
		if c.kind == credential {
			continue // the client gets no result of it, and the content is more than the answer
		}
		// The dialect must read the content that it sends as the same answer.
		back, ok := c.kind.Read(c.want)
		answers, _ := d.Answers(in, p)
		if !ok || back.Status != answers[0].Status || string(agui.Canonical(back.Payload)) != string(agui.Canonical(answers[0].Payload)) {
			if c.kind != confirm || c.payload != "" { // the client gets no result of a confirmation
				t.Errorf("%s %s reads back as %s %s", c.kind.Name, c.payload, back.Status, back.Payload)
			}
		}
	}
}

// TestWhatIsAsked: a question must have ADK's own text and schema, and must contain no secret.
func TestWhatIsAsked(t *testing.T) {
	d := newDialect(t)
	for name, c := range map[string]struct{ stream, want []string }{
		"a value": {inputs("I", `{"type":"string"}`), []string{
			`{"reason":"input_required","message":"Publish?","responseSchema":{"type":"string"},"metadata":{"adk":{"payload":{"draft":"hello"}}}}`, ""}},
		"a value of any form": {call("I", requestInput, `{"interruptId":"I","payload":null,"message":null,"response_schema":null}`), []string{
			`{"reason":"input_required","message":"The agent asks for input."}`, ""}},
		"whether a node may run": {confirmsNode("N"), []string{
			`{"reason":"confirmation","message":"May pay() run?","responseSchema":` + confirmSchema + `,"metadata":{"adk":{"payload":{"tool_name":"pay","args":{"amount":5}}}}}`,
			`pay {"amount":5}`}},
		"an OAuth credential": {credentials("C", oauthConfig), []string{
			`{"reason":"input_required","message":"The agent asks for a credential.","responseSchema":` + credentialSchema +
				`,"metadata":{"adk":{"authConfig":{"authScheme":{"type":"oauth2"},"exchangedAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c","authUri":"https://login.test","state":"s"}}}}}}`, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, d, translate.ShowOutcome, "", stream(c.stream, finished)...)
			if len(p.Result.Asked.Interrupts) != 1 {
				t.Fatalf("%+v", p.Result)
			}
			i := p.Result.Asked.Interrupts[0]
			about := ""
			for _, one := range i.Calls {
				about += one.Name + " " + one.Args
			}
			if string(i.Object) != c.want[0] || about != c.want[1] {
				t.Errorf("%s about %q", i.Object, about)
			}
		})
	}
}

// TestCancelThatCannotBeSaid: the client cancels a question about a value. ADK would read the
// cancel as the value, so the dialect must refuse the answers, whether the other question is
// answered or cancelled. If all questions are cancelled, Holdpoint then gives the pause up, as the
// contract says.
func TestCancelThatCannotBeSaid(t *testing.T) {
	d := newDialect(t)
	p := pausedBy(t, d, stream(inputs("I", `null`), confirms("B", "A"), finished)...)
	for payloads, want := range map[[2]string]agui.Code{{``, `true`}: agui.InvalidPayload, {``, ``}: agui.InvalidPayload, {`1`, ``}: "", {`1`, `true`}: ""} {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+
			dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payloads[0]), dialecttest.Entry(p.Interrupts[1].ID, payloads[1]))+`}`)
		if out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{}); dialecttest.Code(err) != want {
			t.Errorf("%q: %v %s", payloads, err, out.Body)
		}
	}
}

// TestResumeOfAnOutcome: an agent with emit_interrupt_outcome expects the resume array, and refuses
// runs while a confirmation is open. So if the client cancels all questions, Holdpoint must deny
// the confirmation. For a cancelled question about a value, Holdpoint must send nothing.
func TestResumeOfAnOutcome(t *testing.T) {
	d := newDialect(t)
	const outcome = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"B","reason":"confirmation"}]}}`
	p := pausedBy(t, d, stream(inputs("I", `null`), confirms("B", "A"), outcome)...)
	for payloads, want := range map[[2]string]string{
		{`1`, `true`}:  `[{"interruptId":"I","status":"resolved","payload":{"result":1}},{"interruptId":"B","status":"resolved","payload":{"confirmed":true}}]`,
		{``, `true`}:   `[{"interruptId":"B","status":"resolved","payload":{"confirmed":true}}]`,
		{``, ``}:       `[{"interruptId":"B","status":"resolved","payload":{"confirmed":false}}]`,
		{`1`, `false`}: `[{"interruptId":"I","status":"resolved","payload":{"result":1}},{"interruptId":"B","status":"resolved","payload":{"confirmed":false}}]`,
	} {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+
			dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payloads[0]), dialecttest.Entry(p.Interrupts[1].ID, payloads[1]))+`}`)
		i := slices.IndexFunc(p.Interrupts, func(i agui.Interrupt) bool { return i.Native == "I" })
		out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{})
		messages := gjson.GetBytes(out.Body, "messages").Array()
		if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || i != 0 || got != want || len(messages) != 1 || messages[0].Get("role").Str != "assistant" {
			t.Errorf("%q: %v %s", payloads, err, out.Body)
		}
	}
}

// TestOutcomeWithoutAWordForNo: all questions of an outcome ask for a value, and the client cancels
// all of them. ADK has no value that means "cancelled", so Holdpoint must send nothing.
func TestOutcomeWithoutAWordForNo(t *testing.T) {
	d := newDialect(t)
	const outcome = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"I","reason":"input_required"}]}}`
	p := pausedBy(t, d, stream(inputs("I", `null`), inputs("J", `null`), outcome)...)
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+
		dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, ""), dialecttest.Entry(p.Interrupts[1].ID, ""))+`}`)
	if out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{}); dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("%v %s", err, out.Body)
	}
}

// TestResume: the answers, together with the results of the client's own tools, must be the last
// messages of the request to ADK. Holdpoint must send the client's new messages in a second
// exchange.
func TestResume(t *testing.T) {
	d := newDialect(t)
	p := pausedBy(t, d, stream(call("A", "delete_file", `{}`), call("F", "show", `{}`), confirms("B", "A"), finished)...)
	const asked = `{"id":"u1","role":"user","content":"hi"},{"id":"F","role":"assistant","toolCalls":[{"id":"F","type":"function","function":{"name":"show","arguments":"{}"}}]}`
	p.SeenMessages = dialecttest.LogOf(asked[:strings.Index(asked, "},{")+1], asked[strings.Index(asked, "},{")+2:]).SeenMessages()
	const result, more = `{"id":"t1","role":"tool","toolCallId":"F","content":"shown"}`, `{"id":"u2","role":"user","content":"and more"}`
	for name, c := range map[string]struct {
		messages, payload, want, code string
		next                          bool
	}{
		"with the client's result": {asked + "," + result, "true", `B {"confirmed":true} F shown`, "", false},
		"and with new words":       {asked + "," + result + "," + more, "true", `B {"confirmed":true} F shown`, "", true},
		"without it":               {asked, "true", "", string(agui.PartialResume), false},
		"a no without it":          {asked, "false", `B {"confirmed":false}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+c.messages+`],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			l := dialecttest.NewLog(in.Messages)
			out, run, err := dialecttest.Resume(d, p, in, l, func(r *translate.Request) { r.NewMessages = agui.NewMessages(in.Messages, p.SeenMessages) })
			if string(dialecttest.Code(err)) != c.code {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			var sent []string
			for _, m := range gjson.GetBytes(out.Body, "messages").Array()[1:] {
				sent = append(sent, m.Get("toolCallId").Str, m.Get("content").Str)
			}
			if got := strings.Join(sent, " "); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
			ran := `{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"A","content":"gone"}`
			played := dialecttest.Play(run, l, started, ran, finished)
			if played.Result.Fate != translate.Finished || (played.Result.Next != nil) != c.next {
				t.Errorf("%+v", played.Result)
			}
			if c.next && gjson.GetBytes(played.Result.Next.Out.Body, "messages.@reverse.0.content").Str != "and more" {
				t.Errorf("%s", played.Result.Next.Out.Body)
			}
		})
	}
}

// TestFate checks whether the answers count as having taken effect.
func TestFate(t *testing.T) {
	d := newDialect(t, "ask_*")
	const ran = `{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"A","content":"gone"}`
	failed := func(code, message string) string {
		return `{"type":"RUN_ERROR","code":"` + code + `","message":"` + message + `"}`
	}
	for name, c := range map[string]struct {
		payload string
		stream  []string
		want    translate.Fate
	}{
		"it ran":                  {"true", []string{started, ran, finished}, translate.Finished},
		"it was denied":           {"false", []string{started, spoken, finished}, translate.Finished},
		"an empty run":            {"true", []string{started, finished}, translate.Lost},
		"an empty run after a no": {"false", []string{started, finished}, translate.Lost},
		"no result":               {"true", []string{started, spoken, finished}, translate.InDoubt},
		"another call's result":   {"true", []string{started, strings.Replace(ran, `"A"`, `"X"`, 1), finished}, translate.InDoubt},
		"it asks again":           {"true", append(append([]string{started, ran}, confirms("B2", "A2")...), finished), translate.Finished},
		"the call is not known":   {"true", []string{started, failed("BACKGROUND_EXECUTION_ERROR", "Function call not found for function response ids: B")}, translate.Lost},
		"too many":                {"true", []string{started, failed("EXECUTION_ERROR", "Maximum concurrent executions (10) reached")}, translate.Untouched},
		"the sessions are gone":   {"true", []string{failed("SESSION_LOOKUP_ERROR", "x")}, translate.Untouched},
		"the value breaks it":     {"true", []string{started, failed("BACKGROUND_EXECUTION_ERROR", "Validation failed for interrupt B: Failed to coerce data")}, translate.Lost},
		"an error of the tool's":  {"true", []string{started, failed("BACKGROUND_EXECUTION_ERROR", "list index out of range")}, translate.Finished},
		"an error behind work":    {"true", []string{started, spoken, failed("SESSION_LOOKUP_ERROR", "x")}, translate.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, d, stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished)...)
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			l := &dialecttest.Log{}
			_, run, err := dialecttest.Resume(d, p, in, l)
			if err != nil {
				t.Fatal(err)
			}
			if got := dialecttest.Play(run, l, c.stream...).Result.Fate; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestReplies checks which messages of a history count as a decision, because ADK could read them
// as one.
func TestReplies(t *testing.T) {
	tool := func(call, content string) string {
		return `{"id":"t1","role":"tool","toolCallId":"` + call + `","content":` + dialecttest.Quoted(content) + `}`
	}
	calls := func(id, name string) string {
		return `{"id":"a1","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]},`
	}
	const declares = `,"tools":[{"name":"show"}]`
	for name, c := range map[string]struct {
		messages, more, spoken, want string
	}{
		"on a call that asks":               {calls("B", requestConfirmation) + tool("B", "yes"), "", Name, "B asked"},
		"of a route that nobody knows":      {calls("B", requestConfirmation) + tool("B", "yes"), "", "", "B asked"},
		"on a call for a value":             {calls("I", requestInput) + tool("I", "yes"), "", "", "I asked"},
		"on a call for a credential":        {calls("C", requestCredential) + tool("C", "yes"), "", Name, "C asked"},
		"the client's own call for a value": {calls("I", requestInput) + tool("I", "yes"), `,"tools":[{"name":"adk_request_input"}]`, Name, "I"},
		"of another backend":                {calls("B", requestConfirmation) + tool("B", "yes"), "", "langgraph", ""},
		"a result on an unknown route":      {calls("F", "show") + tool("F", "shown"), "", "", ""},
		"a result":                          {calls("F", "show") + tool("F", "shown"), declares, Name, "F"},
		"a decision on another's call":      {calls("F", "list") + tool("F", `{"confirmed":true}`), declares, Name, "F asked"},
		"one on the client's own call":      {calls("F", "show") + tool("F", `{"confirmed":true}`), declares, Name, "F"},
		"one on a call of two names":        {calls("F", "show") + calls("F", "list") + tool("F", `{"confirmed":true}`), declares, Name, "F asked"},
		"a call that nobody made":           {tool("X", "yes"), "", Name, "X asked unless a result"},
		"a call that the history may lack":  {tool("X", "yes"), declares, Name, "X"},
		"and a yes on it":                   {tool("X", `{"confirmed":true}`), declares, Name, "X asked unless left"},
		"and an unclear yes on it":          {strings.Replace(tool("X", `{"confirmed":true}`), "toolCallId", "tool_call_id", 1), declares, Name, "X asked unclear"},
		"in another spelling":               {strings.Replace(tool("B", "yes"), "toolCallId", "tool_call_id", 1), "", Name, "B asked unclear"},
		"twice":                             {strings.Replace(tool("B", "yes"), `"content"`, `"content":"no","content"`, 1), "", Name, "B asked unclear"},
		"a named tool on an unknown route":  {calls("J", "ask_human") + tool("J", "blue"), "", "", ""},
		"a named tool":                      {calls("J", "ask_human") + tool("J", "blue"), "", Name, "J asked"},
		"beside a call that asks, unknown":  {calls("B", requestConfirmation) + calls("F", "show") + tool("F", "shown"), "", "", ""},
		"confirm_changes":                   {calls("P", confirmChanges) + tool("P", `{"accepted":true}`), "", Name, "P asked"},
		"the client's own of the same name": {calls("P", confirmChanges) + tool("P", `{}`), `,"tools":[{"name":"confirm_changes"}]`, Name, "P"},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+c.messages+`]`+c.more+`}`)
			var got []string
			for one := range newDialect(t, "ask_*").Replies(in, c.spoken) {
				if one.Dialect != Name {
					continue // it is a reply of another dialect
				}
				line := one.Key
				if one.Decides {
					line += " asked"
				}
				if one.DecidesUnlessResult {
					line += " asked unless a result"
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

// TestWhatStaysOfAHistory: Holdpoint showed an answer to the client as a message. If the client
// sends this message in its history, the message may stay there, because ADK recognizes its id. If
// the request declares the call's tool, the message counts as a decision only if the record has a
// question about the call.
func TestWhatStaysOfAHistory(t *testing.T) {
	for name, c := range map[string]struct {
		tool, more    string
		kept, ifKnown bool
	}{
		"a confirmation":      {requestConfirmation, "", false, false},
		"a predicted state":   {confirmChanges, "", true, false},
		"a long-running tool": {"ask_human", "", true, false},
		"a declared tool":     {"ask_human", `,"tools":[{"name":"ask_human"}]`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[{"id":"a1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"`+c.tool+`","arguments":"{}"}}]},`+
				`{"id":"t1","role":"tool","toolCallId":"A","content":"x"}]`+c.more+`}`)
			for one := range newDialect(t, "ask_*").Replies(in, Name) {
				if one.Dialect == Name && (one.Keep != c.kept || one.DecidesIfKnown != c.ifKnown) {
					t.Errorf("%+v", one)
				}
			}
		})
	}
}

// TestWordsThatAreNoDecision: if a call asks a question, ADK reads every message about this call as
// the answer. So a message that is not a decision must count as an answer that fits no schema, and
// not as an ordinary result.
func TestWordsThatAreNoDecision(t *testing.T) {
	d := newDialect(t)
	for name, p := range map[string]agui.Pause{
		"confirm": pausedBy(t, d, stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished)...),
		"changes": pausedBy(t, d, stream(state, call("B", confirmChanges, `{}`), finished)...),
	} {
		for _, content := range []string{"hello", "no", `{}`, `{"confirmed":"false"}`, `[false]`} {
			m := agui.ParseMessage([]byte(`{"id":"t1","role":"tool","toolCallId":"B","content":` + dialecttest.Quoted(content) + `}`))
			a, ok := d.AnswerIn(m, translate.Reply{}, p.Interrupts[0])
			if _, fits := confirm.Words.Clear(a.Payload); !ok || fits || a.Status != agui.Resolved {
				t.Errorf("%s: %q is read as %v %s", name, content, ok, a.Payload)
			}
		}
	}
}

// TestTwoConfirmationsOfOneID: ADK gives the same answer to two confirmations with the same id. So
// only a no may be sent.
func TestTwoConfirmationsOfOneID(t *testing.T) {
	d := newDialect(t)
	p := pausedBy(t, d, stream(call("A", "delete_file", `{}`), call("A2", "delete_file", `{}`), confirms("B", "A"), confirms("B", "A2"), finished)...)
	if len(p.Interrupts) != 1 {
		t.Fatalf("%+v", p.Interrupts)
	}
	for payload, want := range map[string]agui.Code{"true": agui.ApprovalAmbiguous, "false": "", "": ""} {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload))+`}`)
		if out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{}); dialecttest.Code(err) != want {
			t.Errorf("%q: %v, sent %s", payload, err, out.Body)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := New(Options{Ask: kit.Names{"["}}, nil); err == nil || !strings.Contains(err.Error(), "ASK") {
		t.Errorf("a pattern that is none: %v", err)
	}
}

// TestSecretsOfTheAgentsClientAreNotShown: if ADK asks for a credential, the call contains secrets
// of the agent itself. They must not be sent to the client, however the run ends, and whatever
// event repeats them. Only a client that gets ADK's own form gets them, as it would without
// Holdpoint.
func TestSecretsOfTheAgentsClientAreNotShown(t *testing.T) {
	const secret = "the-agents-own-secret"
	const config = `{"authConfig":{"authScheme":{"type":"oauth2"},"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientSecret":"` + secret + `"}}}}`
	whole := call("C", requestCredential, config)
	huge := strings.Repeat("x", maxHeld/2)
	snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},` +
		`{"id":"a1","role":"assistant","toolCalls":[{"id":"F","type":"function","function":{"name":"show","arguments":"{}"}},{"id":"C","type":"function","function":{"name":"adk_request_\u0063redential","arguments":` + dialecttest.Quoted(config) + `}}]},` +
		`{"id":"t1","role":"tool","toolCallId":"C","content":` + dialecttest.Quoted(config) + `},{"id":"t2","role":"tool","toolCallId":"F","content":"shown"}]}`
	for name, c := range map[string]struct {
		events []string
		code   agui.Code
	}{
		"asked":                     {stream(whole, finished), ""},
		"the run fails":             {stream(whole, `{"type":"RUN_ERROR","message":"x"}`), ""},
		"the stream is cut":         {stream(whole[:2]), ""},
		"the arguments are cut":     {stream(whole[0], `{"type":"TOOL_CALL_ARGS","toolCallId":"C","delta":`+dialecttest.Quoted(config[:len(config)-3])+`}`, finished), agui.UpstreamStatus},
		"too large":                 {stream(whole[:2], `{"type":"TOOL_CALL_ARGS","toolCallId":"C","delta":"`+huge+`"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"C","delta":"`+huge+`"}`, finished), agui.PauseTooLarge},
		"behind too large a one":    {stream(`{"type":"TOOL_CALL_START","toolCallId":"I","toolCallName":"adk_request_input"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"I","delta":"`+huge+huge+`"}`, whole, finished), agui.PauseTooLarge},
		"in a snapshot":             {stream(snapshot, finished), ""},
		"in the result of the call": {stream(whole, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"C","content":"`+secret+`"}`, finished), ""},
	} {
		for _, native := range []bool{false, true} {
			if native && c.code != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s, native %v", name, native), func(t *testing.T) {
				d := newDialect(t)
				r := &translate.Request{Input: dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[]}`)}
				if native {
					r.Show = translate.ShowNative
				}
				told, err := playAll(d, r, c.events)
				if dialecttest.Code(err) != c.code {
					t.Errorf("%v, want %q", err, c.code)
				}
				if strings.Contains(told, secret) != native {
					t.Errorf("the client is shown %s", told)
				}
				if name == "in a snapshot" && !native && (!strings.Contains(told, `"content":"shown"`) || strings.Count(told, `"id":"C"`) != 1 || !strings.Contains(told, hiddenCredential)) {
					t.Errorf("the snapshot is %s", told)
				}
			})
		}
	}
}

// TestSnapshotWithoutCredentials: Holdpoint must remove the credentials from a snapshot, wherever
// they are in it, and nothing else.
func TestSnapshotWithoutCredentials(t *testing.T) {
	const (
		user   = `{"id":"u1","role":"user","content":"hi"}`
		made   = `{"id":"a1","role":"assistant","toolCalls":[{"id":"%s","type":"function","function":{"name":"adk_request_credential","arguments":%q}}]}`
		answer = `{"id":"t1","role":"tool"%s,"content":%q}`
		of     = `,"toolCallId":"C"`
	)
	call := func(id, args string) string { return fmt.Sprintf(made, id, args) }
	reply := func(more, content string) string { return fmt.Sprintf(answer, more, content) }
	for name, c := range map[string]struct{ messages, want []string }{
		"in order":                   {[]string{user, call("C", "SECRET"), reply(of, "SECRET")}, []string{user, call("C", "{}"), reply(of, hiddenCredential)}},
		"the answer before":          {[]string{reply(of, "SECRET"), user, call("C", "SECRET")}, []string{reply(of, hiddenCredential), user, call("C", "{}")}},
		"a call without an id":       {[]string{call("", "SECRET"), user, reply("", "SECRET")}, []string{call("", "{}"), user, reply("", hiddenCredential)}},
		"an answer with empty calls": {[]string{call("C", "SECRET"), reply(of+`,"toolCalls":[]`, "SECRET")}, []string{call("C", "{}"), reply(of+`,"toolCalls":[]`, hiddenCredential)}},
		"another's answer":           {[]string{call("C", "SECRET"), reply(`,"toolCallId":"F"`, "shown")}, []string{call("C", "{}"), reply(`,"toolCallId":"F"`, "shown")}},
	} {
		t.Run(name, func(t *testing.T) {
			ev := agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(c.messages, ",") + `]}`))
			want := `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(c.want, ",") + `]}`
			if got := string(withoutCredentials(ev).JSON); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// playAll plays events to a run of the dialect. It returns all events that the client gets, and the
// questions.
func playAll(d *Dialect, r *translate.Request, events []string) (told string, err error) {
	_, run, err := d.Begin(r)
	if err != nil {
		return "", err
	}
	end := translate.End{}
	for _, one := range events {
		ev := agui.NewEvent([]byte(one))
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		if err := run.Event(ev, func(ev agui.Event) { told += string(ev.JSON) }); err != nil {
			return told, err
		}
	}
	res, err := run.End(end)
	for _, ev := range res.HeldEvents {
		told += string(ev.JSON)
	}
	for _, i := range res.Asked.Interrupts {
		told += string(i.Object)
	}
	for _, own := range res.Asked.NativeEvents {
		told += string(own)
	}
	return told, err
}
