package aguiserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const exactArgs = `{"path":"a.txt","n":1.0,"big":12345678901234567890,"a":"\u003C"}`

// asksTwo returns a pause of the host with two questions: one about a call, and a free one.
func asksTwo(t testing.TB) agui.Pause {
	t.Helper()
	res := ends(t, &translate.Request{}, append(asksFor("call_1", "rm", exactArgs), interrupting(interruptFor("call_1", "rm"), questionFor))...)
	return dialecttest.WithIDs(res.Asked.Pause("agent-framework"))
}

func answersFor(p agui.Pause, first, second agui.Answer) []agui.Answer {
	first.ID, second.ID = p.Interrupts[0].ID, p.Interrupts[1].ID
	return []agui.Answer{first, second}
}

func says(payload string) agui.Answer {
	return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}
}

func TestEntries(t *testing.T) {
	const call = `"toolCall":{"callId":"call_1","name":"rm","arguments":` + exactArgs + `}}}`
	const yes, no = `{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":true,` + call, `{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":false,` + call
	const edited = `{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"call_1","name":"rm","arguments":{"path":"z.txt","n":1.0}}}}`
	const free = `{"interruptId":"call_9","status":"resolved","payload":{"response":"x","n":1.0}}`
	given := says(`{"response":"x","n":1.0}`)
	cancelled := agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}
	for name, c := range map[string]struct {
		first, second agui.Answer
		want          string // the resume array; "" if the answers are refused
	}{
		"yes":                                  {says(`{"approved":true}`), given, yes + "," + free},
		"no":                                   {says(`{"approved":false}`), given, no + "," + free},
		"cancelled, with a payload":            {cancelled, given, no + "," + free},
		"a question that is cancelled":         {says(`{"approved":false}`), cancelled, no + `,{"interruptId":"call_9","status":"cancelled"}`},
		"an answer of null":                    {says(`{"approved":false}`), agui.Answer{Status: agui.Resolved}, no + `,{"interruptId":"call_9","status":"resolved"}`},
		"a text for an answer":                 {says(`{"approved":false}`), says(`"x"`), no + `,{"interruptId":"call_9","status":"resolved","payload":"x"}`},
		"more keys":                            {says(`{"approved":true,"reason":"x","result":"done","toolCall":{"callId":"call_1","name":"format","arguments":{}}}`), given, yes + "," + free},
		"edited arguments":                     {says(`{"approved":true,"editedArgs":{"path":"z.txt","n":1.0}}`), given, edited + "," + free},
		"edited arguments, and a no":           {says(`{"approved":false,"editedArgs":{"path":"z.txt"}}`), given, no + "," + free},
		"edited with null is not edited":       {says(`{"approved":true,"editedArgs":null}`), given, yes + "," + free},
		"edited in two ways":                   {says(`{"approved":true,"editedArgs":{"path":"z.txt"},"edited_args":{"path":"y.txt"}}`), given, ""},
		"edited arguments that are a list":     {says(`{"approved":true,"editedArgs":["z.txt"]}`), given, ""},
		"both names":                           {says(`{"accepted":true,"approved":true}`), given, yes + "," + free},
		"both names, of which one says no":     {says(`{"accepted":false,"approved":true}`), given, ""},
		"yes and then no":                      {says(`{"approved":true,"approved":false}`), given, ""},
		"no and then yes":                      {says(`{"approved":false,"approved":true}`), given, ""},
		"a word":                               {says(`{"approved":"true"}`), given, ""},
		"a number":                             {says(`{"approved":1}`), given, ""},
		"nothing":                              {agui.Answer{Status: agui.Resolved}, given, ""},
		"a bare yes":                           {says(`true`), given, ""},
		"an approval in place of an answer":    {says(`{"approved":false}`), says(`{"approved":true,"toolCall":{"callId":"x","name":"format"}}`), ""},
		"such with a key in escapes":           {says(`{"approved":false}`), says(`{"tool\u0043all":{"name":"format"}}`), ""},
		"such with a key in another case":      {says(`{"approved":false}`), says(`{"ToolCall":{"name":"format"}}`), ""},
		"a toolCall further inside is no such": {says(`{"approved":false}`), says(`{"a":{"toolCall":1}}`), no + `,{"interruptId":"call_9","status":"resolved","payload":{"a":{"toolCall":1}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := asksTwo(t)
			out, run, err := Resume(&translate.Request{Input: inputOf(t, ""), Pause: p, Answers: answersFor(p, c.first, c.second)})
			if c.want == "" {
				if dialecttest.Code(err) != agui.InvalidPayload {
					t.Errorf("%v; sent %s", err, out.Body)
				}
				return
			}
			if err != nil || run == nil || !out.Resumes || !out.TakesNew {
				t.Fatal(err, out)
			}
			if got := gjson.GetBytes(out.Body, "resume").Raw; got != "["+c.want+"]" {
				t.Errorf("got  %s\nwant [%s]", got, c.want)
			}
		})
	}
}

// TestMetadata: if the field metadata of an entry in the client's resume array is an object,
// Holdpoint must send it with the answer.
func TestMetadata(t *testing.T) {
	p := asksTwo(t)
	in := inputOf(t, messagesOf(userMessage)+`,"resume":[{"interruptId":"call_9~r2","status":"cancelled","metadata":"x"},{"interruptId":"ficc_call_1~r1","status":"cancelled","metadata":{"k":[1.0]},"more":1}]`)
	out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: answersFor(p, agui.Answer{Status: agui.Cancelled}, agui.Answer{Status: agui.Cancelled})})
	const want = `{"interruptId":"call_9","status":"cancelled"}`
	if got := gjson.GetBytes(out.Body, "resume").Array(); err != nil || len(got) != 2 || got[0].Get("metadata").Raw != `{"k":[1.0]}` || got[0].Get("more").Exists() || got[1].Raw != want {
		t.Errorf("%v: %s", err, got)
	}
}

func TestSiblingsAreApproved(t *testing.T) {
	contents := []string{asking("call_1", "rm", filesArgs, ""), asking("call_2", "ls", "null", `,"requiresConfirmation":false`)}
	in := inputOf(t, `"messages":[],"tools":[{"name":"x"}]`)
	res := ends(t, &translate.Request{Input: in}, append(append(shows("call_1", "rm", filesArgs, contents...), shows("call_2", "ls", "null", contents...)...), endWith(success))...)
	p := dialecttest.WithIDs(res.Asked.Pause("agent-framework"))
	out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Cancelled}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":false,"toolCall":{"callId":"call_1","name":"rm","arguments":{"path":"a.txt"}}}},` +
		`{"interruptId":"ficc_call_2","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"call_2","name":"ls"}}}]`
	if got := gjson.GetBytes(out.Body, "resume").Raw; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestIDsThatCannotGoBack: the host answers with HTTP 500 if two entries have the same id, or if an
// id is empty. So such answers must be refused.
func TestIDsThatCannotGoBack(t *testing.T) {
	for _, list := range [][]string{{questionFor, questionFor}, {`{"id":"","reason":"x"}`}, {`{"reason":"x"}`}} {
		p := dialecttest.WithIDs(ends(t, &translate.Request{}, interrupting(list...)).Asked.Pause("agent-framework"))
		answers := make([]agui.Answer, len(p.Interrupts))
		for n, i := range p.Interrupts {
			answers[n] = agui.Answer{ID: i.ID, Status: agui.Cancelled}
		}
		if out, _, err := Resume(&translate.Request{Input: inputOf(t, ""), Pause: p, Answers: answers}); dialecttest.Code(err) != agui.InvalidPayload {
			t.Errorf("%s: %v; sent %s", list, err, out.Body)
		}
	}
}

const (
	userMessage = `{"id":"u1","role":"user","content":"Go."}`
	moreText    = `{"id":"u2","role":"user","content":"And?"}`
	gatedCall   = `{"id":"call_1","role":"assistant","toolCalls":[{"id":"call_1","type":"function","function":{"name":"rm","arguments":"{}"}}]}`
	otherCall   = `{"id":"call_2","role":"assistant","toolCalls":[{"id":"call_2","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	ownCall     = `{"id":"call_3","role":"assistant","toolCalls":[{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	ownResult   = `{"id":"t3","role":"tool","toolCallId":"call_3","content":"here"}`
	gatedResult = `{"id":"t1","role":"tool","toolCallId":"call_1","content":"done"}`
	mineTool    = `,"tools":[{"name":"mine"}]`
)

func messagesOf(list ...string) string {
	all := ""
	for n, m := range list {
		if n > 0 {
			all += ","
		}
		all += m
	}
	return `"messages":[` + all + `]`
}

func TestMessagesOfAResume(t *testing.T) {
	both := `{"id":"a","role":"assistant","content":"Well.","toolCalls":[{"id":"call_1","type":"function","function":{"name":"rm","arguments":"{}"}},{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	left := `{"id":"a","role":"assistant","content":"Well.","toolCalls":[{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	for name, c := range map[string]struct{ sent, want string }{
		"the call that was asked about goes":              {messagesOf(userMessage, gatedCall), messagesOf(userMessage)},
		"an earlier, finished call of the same id goes":   {messagesOf(gatedCall, gatedResult, userMessage, gatedCall), messagesOf(userMessage)},
		"new messages stay":                               {messagesOf(userMessage, gatedCall, moreText), messagesOf(userMessage, moreText)},
		"a result of the client's own tool":               {messagesOf(userMessage, both, ownResult) + mineTool, messagesOf(userMessage, left, ownResult) + mineTool},
		"none of the client's own tool":                   {messagesOf(userMessage, ownCall, gatedCall) + mineTool, messagesOf(userMessage) + mineTool},
		"a call of the backend's that nobody asked about": {messagesOf(userMessage, otherCall, gatedCall), messagesOf(userMessage, otherCall)},
		"one that was talked over":                        {messagesOf(otherCall, userMessage, gatedCall), messagesOf(userMessage)},
		"none: what is known goes":                        {messagesOf(), messagesOf(`{"id":"u0","role":"user","content":"Known."}`)},
	} {
		t.Run(name, func(t *testing.T) {
			p := asksTwo(t)
			r := &translate.Request{Input: inputOf(t, c.sent), Pause: p, Answers: answersFor(p, says(`{"approved":true}`), agui.Answer{Status: agui.Cancelled})}
			r.Transcript = dialecttest.LogOf(`{"id":"u0","role":"user","content":"Known."}`)
			out, _, err := Resume(r)
			if err != nil {
				t.Fatal(err)
			}
			want := string(agui.SetKey([]byte(`{"threadId":"t1","runId":"r1",`+c.want+`}`), "resume", []byte(gjson.GetBytes(out.Body, "resume").Raw)))
			if string(out.Body) != want {
				t.Errorf("got  %s\nwant %s", out.Body, want)
			}
		})
	}
}

func TestCommandDoesNotGoOn(t *testing.T) {
	p := asksTwo(t)
	in := inputOf(t, messagesOf(userMessage)+`,"forwardedProps":{"a":1,"command":{"resume":{"approved":true}}}`)
	out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: answersFor(p, says(`{"approved":true}`), agui.Answer{Status: agui.Cancelled})})
	if err != nil || gjson.GetBytes(out.Body, "forwardedProps").Raw != `{"a":1}` {
		t.Errorf("%v: %s", err, out.Body)
	}
}

// TestPlain checks which calls without a result the dialect leaves out of a run without answers.
// Before that, the package proxy has decided whether the host may run such a call
// (translate.Continuer).
func TestPlain(t *testing.T) {
	ended := []translate.EndedPause{{Pause: agui.Pause{Dialect: "langgraph", Private: json.RawMessage(`{"natives":[]}`)}}, {Pause: asksTwo(t)}}
	for name, c := range map[string]struct {
		ended      []translate.EndedPause
		sent, want string // want is "" if nothing changes
	}{
		"nothing was asked":                                {nil, messagesOf(userMessage, gatedCall, moreText), ""},
		"an answered call stays":                           {ended, messagesOf(userMessage, gatedCall, gatedResult, moreText), ""},
		"an unanswered one goes":                           {ended, messagesOf(userMessage, gatedCall, moreText), messagesOf(userMessage, moreText)},
		"in a continuation too":                            {ended, messagesOf(userMessage, ownCall, ownResult, gatedCall) + mineTool, messagesOf(userMessage, ownCall, ownResult) + mineTool},
		"a call that the host is to run in a continuation": {ended, messagesOf(userMessage, ownCall, otherCall, ownResult) + mineTool, ""},
		"the client's own call stays":                      {ended, messagesOf(userMessage, ownCall, moreText) + mineTool, ""},
		"nothing is known: the host is to run it":          {nil, messagesOf(userMessage, ownCall, otherCall, ownResult) + mineTool, ""},
		"nothing is known: results of the backend's own":   {nil, messagesOf(userMessage, gatedCall, gatedResult, otherCall, moreText) + mineTool, ""},
		"the thread is not the host's":                     {ended[:1], messagesOf(userMessage, ownCall, ownResult, gatedCall, moreText) + mineTool, ""},
		"nothing is known, and no continuation":            {nil, messagesOf(userMessage, gatedCall, moreText, ownCall) + mineTool, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := PlainRequest(&translate.Request{Input: inputOf(t, c.sent), EndedPauses: c.ended}, false)
			want := ""
			if c.want != "" {
				want = `{"threadId":"t1","runId":"r1",` + c.want + `}`
			}
			if string(out.Body) != want || out.Resumes {
				t.Errorf("got  %s\nwant %s", out.Body, want)
			}
		})
	}
}

// TestPlainAfterALostQuestion: Holdpoint has lost a question, and the client's history contains its
// call without a result. The model's provider would refuse every later request. So if a user's
// message follows the call, Holdpoint must leave the call out. It does so only if it knows the
// host, or if a client has named one of the host's questions.
func TestPlainAfterALostQuestion(t *testing.T) {
	sent := messagesOf(userMessage, gatedCall, moreText, otherCall)
	want := `{"threadId":"t1","runId":"r1",` + messagesOf(userMessage, moreText, otherCall) + `}`
	for name, c := range map[string]struct {
		backend string
		named   bool
		want    string
	}{"seen": {Backend, false, want}, "named": {"", true, want}, "another backend": {"python", false, ""}} {
		t.Run(name, func(t *testing.T) {
			if out := PlainRequest(&translate.Request{Input: inputOf(t, sent), Backend: c.backend}, c.named); string(out.Body) != c.want {
				t.Errorf("got  %s\nwant %s", out.Body, c.want)
			}
		})
	}
}

// TestErrors: the answer to a question leads to an error. The host may have run the call before the
// error, so the question must not be open again.
func TestErrors(t *testing.T) {
	for name, end := range map[string]translate.End{
		"RUN_ERROR":   {Event: agui.NewEvent([]byte(`{"type":"RUN_ERROR","message":"x","code":"StreamingError"}`))},
		"HTTP 500":    {Status: 500},
		"a cut":       {Cut: true},
		"a clean end": {},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := (&run{r: &translate.Request{}}).End(end)
			if err != nil || res.Fate == translate.Untouched || res.Fate == translate.Lost || res.Next != nil || len(res.Asked.Interrupts) > 0 || string(res.Finish.JSON) != string(end.Event.JSON) {
				t.Errorf("%v %+v", err, res)
			}
		})
	}
}

// TestCallThatIsAskedTwice: an agent asks about a call, and then its workflow asks about the same
// call again. If both questions are answered, the host runs nothing. So Holdpoint must show and
// answer only the second question, with its call. The host keeps a session, so Holdpoint must not
// send messages again that the host already has.
func TestCallThatIsAskedTwice(t *testing.T) {
	const around = "48:inner_1_UserInput:ficc_call_1"
	outer := func(of string) string { return strings.ReplaceAll(of, `"ficc_call_1"`, `"`+around+`"`) }
	again := asksFor("call_1", "rm", filesArgs)
	for n := range again {
		again[n] = outer(again[n])
	}
	question := interruptFor("call_1", "rm")
	stream := append(append(asksFor("call_1", "rm", filesArgs), again...), interrupting(question, outer(question)))
	both := []string{interruptFor("call_2", "rm")}
	for name, c := range map[string]struct {
		stream []string
		want   string
	}{
		"as the host tells it":         {stream, around},
		"the second first":             {append(append(again[:3:3], asksFor("call_1", "rm", filesArgs)...), interrupting(outer(question), question)), around},
		"with tools declared":          {append(stream[:6:6], endWith(success)), around},
		"without the second's call":    {append(stream[:3:3], interrupting(question, outer(question))), around},
		"beside one of another call":   {append(append(stream[:6:6], asksFor("call_2", "rm", filesArgs)...), interrupting(append(both, question, outer(question))...)), "ficc_call_2 " + around},
		"one that no workflow repeats": {append(stream[:3:3], interrupting(question)), "ficc_call_1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &dialecttest.Log{}
			r := &translate.Request{Input: inputOf(t, ""), Transcript: l}
			played := dialecttest.Play(&run{r: r}, l, c.stream...)
			if played.Err != nil {
				t.Fatal(played.Err)
			}
			var asked []string
			for _, i := range played.Result.Asked.Interrupts {
				asked = append(asked, i.Native)
				if i.ToolCallID() == "" {
					t.Errorf("%s is asked without its call", i.Native)
				}
			}
			if got := strings.Join(asked, " "); got != c.want {
				t.Fatalf("asked %s, want %s", got, c.want)
			}
			p := dialecttest.WithIDs(played.Result.Asked.Pause("agent-framework"))
			answers := make([]agui.Answer, len(p.Interrupts))
			for n := range answers {
				answers[n] = says(`{"approved":true}`)
				answers[n].ID = p.Interrupts[n].ID
			}
			out, _, err := Resume(&translate.Request{Input: inputOf(t, ""), Pause: p, Answers: answers, Transcript: l})
			if err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, e := range gjson.GetBytes(out.Body, "resume.#.interruptId").Array() {
				sent = append(sent, e.Str)
			}
			if got := strings.Join(sent, " "); got != c.want {
				t.Errorf("answered %s, want %s", got, c.want)
			}
			session := strings.Contains(c.want, around)
			if messages := gjson.GetBytes(out.Body, "messages.#").Int(); (messages == 0) != session {
				t.Errorf("sent with %d messages: %s", messages, out.Body)
			}
			if edits := p.Interrupts[len(p.Interrupts)-1].Schema(); strings.Contains(string(edits), "editedArgs") == session {
				t.Errorf("the schema is %s", edits)
			}
		})
	}
}
