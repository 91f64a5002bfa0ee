package agentframework

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

const dotnetExactly = `{"path":"a.txt","n":1.0,"big":12345678901234567890,"a":"\u003C"}`

// dotnetAsks is a pause of the host's about a call, and about a free question.
func dotnetAsks(t testing.TB) agui.Pause {
	t.Helper()
	res := dotnetEnds(t, translate.Request{}, append(dotnetAsksFor("call_1", "rm", dotnetExactly), dotnetInterrupting(dotnetInterrupt("call_1", "rm"), dotnetQuestion))...)
	return dotnetMinted(res.Pause)
}

func dotnetAnswers(p agui.Pause, first, second agui.Answer) []agui.Answer {
	first.ID, second.ID = p.Interrupts[0].ID, p.Interrupts[1].ID
	return []agui.Answer{first, second}
}

func dotnetSays(payload string) agui.Answer {
	return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}
}

func TestDotnetEntries(t *testing.T) {
	const call = `"toolCall":{"callId":"call_1","name":"rm","arguments":` + dotnetExactly + `}}}`
	const yes, no = `{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":true,` + call, `{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":false,` + call
	const free = `{"interruptId":"call_9","status":"resolved","payload":{"response":"x","n":1.0}}`
	given := dotnetSays(`{"response":"x","n":1.0}`)
	cancelled := agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}
	for name, c := range map[string]struct {
		first, second agui.Answer
		want          string // the array; "" if it is refused
	}{
		"yes":                                  {dotnetSays(`{"approved":true}`), given, yes + "," + free},
		"no":                                   {dotnetSays(`{"approved":false}`), given, no + "," + free},
		"cancelled, with a payload":            {cancelled, given, no + "," + free},
		"a question that is cancelled":         {dotnetSays(`{"approved":false}`), cancelled, no + `,{"interruptId":"call_9","status":"cancelled"}`},
		"an answer of null":                    {dotnetSays(`{"approved":false}`), agui.Answer{Status: agui.Resolved}, no + `,{"interruptId":"call_9","status":"resolved"}`},
		"a text for an answer":                 {dotnetSays(`{"approved":false}`), dotnetSays(`"x"`), no + `,{"interruptId":"call_9","status":"resolved","payload":"x"}`},
		"more keys":                            {dotnetSays(`{"approved":true,"reason":"x","result":"done","toolCall":{"callId":"call_1","name":"format","arguments":{}}}`), given, yes + "," + free},
		"both names":                           {dotnetSays(`{"accepted":true,"approved":true}`), given, yes + "," + free},
		"both names, of which one says no":     {dotnetSays(`{"accepted":false,"approved":true}`), given, ""},
		"yes and then no":                      {dotnetSays(`{"approved":true,"approved":false}`), given, ""},
		"no and then yes":                      {dotnetSays(`{"approved":false,"approved":true}`), given, ""},
		"a word":                               {dotnetSays(`{"approved":"true"}`), given, ""},
		"a number":                             {dotnetSays(`{"approved":1}`), given, ""},
		"nothing":                              {agui.Answer{Status: agui.Resolved}, given, ""},
		"a bare yes":                           {dotnetSays(`true`), given, ""},
		"an approval in place of an answer":    {dotnetSays(`{"approved":false}`), dotnetSays(`{"approved":true,"toolCall":{"callId":"x","name":"format"}}`), ""},
		"such with a key in escapes":           {dotnetSays(`{"approved":false}`), dotnetSays(`{"tool\u0043all":{"name":"format"}}`), ""},
		"such with a key in another case":      {dotnetSays(`{"approved":false}`), dotnetSays(`{"ToolCall":{"name":"format"}}`), ""},
		"a toolCall further inside is no such": {dotnetSays(`{"approved":false}`), dotnetSays(`{"a":{"toolCall":1}}`), no + `,{"interruptId":"call_9","status":"resolved","payload":{"a":{"toolCall":1}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := dotnetAsks(t)
			out, run, err := resumeDotnet(translate.Request{Input: dotnetInputOf(t, ""), Pause: p, Answers: dotnetAnswers(p, c.first, c.second)})
			if c.want == "" {
				if dotnetCode(err) != agui.InvalidPayload {
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

// What is for the application goes with the answer, if it is what AG-UI says it is.
func TestDotnetMetadata(t *testing.T) {
	p := dotnetAsks(t)
	in := dotnetInputOf(t, dotnetMessages(dotnetUser)+`,"resume":[{"interruptId":"call_9~r2","status":"cancelled","metadata":"x"},{"interruptId":"ficc_call_1~r1","status":"cancelled","metadata":{"k":[1.0]},"more":1}]`)
	out, _, err := resumeDotnet(translate.Request{Input: in, Pause: p, Answers: dotnetAnswers(p, agui.Answer{Status: agui.Cancelled}, agui.Answer{Status: agui.Cancelled})})
	const want = `{"interruptId":"call_9","status":"cancelled"}`
	if got := gjson.GetBytes(out.Body, "resume").Array(); err != nil || len(got) != 2 || got[0].Get("metadata").Raw != `{"k":[1.0]}` || got[0].Get("more").Exists() || got[1].Raw != want {
		t.Errorf("%v: %s", err, got)
	}
}

func TestDotnetSiblingsAreApproved(t *testing.T) {
	contents := []string{dotnetAsking("call_1", "rm", dotnetFiles, ""), dotnetAsking("call_2", "ls", "null", `,"requiresConfirmation":false`)}
	in := dotnetInputOf(t, `"messages":[],"tools":[{"name":"x"}]`)
	res := dotnetEnds(t, translate.Request{Input: in}, append(append(dotnetShows("call_1", "rm", dotnetFiles, contents...), dotnetShows("call_2", "ls", "null", contents...)...), dotnetEnd(dotnetSuccess))...)
	p := dotnetMinted(res.Pause)
	out, _, err := resumeDotnet(translate.Request{Input: in, Pause: p, Answers: []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Cancelled}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"interruptId":"ficc_call_1","status":"resolved","payload":{"approved":false,"toolCall":{"callId":"call_1","name":"rm","arguments":{"path":"a.txt"}}}},` +
		`{"interruptId":"ficc_call_2","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"call_2","name":"ls"}}}]`
	if got := gjson.GetBytes(out.Body, "resume").Raw; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Two entries with one id, and an empty one, end the host's request with HTTP 500.
func TestDotnetIDsThatCannotGoBack(t *testing.T) {
	for _, list := range [][]string{{dotnetQuestion, dotnetQuestion}, {`{"id":"","reason":"x"}`}, {`{"reason":"x"}`}} {
		p := dotnetMinted(dotnetEnds(t, translate.Request{}, dotnetInterrupting(list...)).Pause)
		answers := make([]agui.Answer, len(p.Interrupts))
		for n, i := range p.Interrupts {
			answers[n] = agui.Answer{ID: i.ID, Status: agui.Cancelled}
		}
		if out, _, err := resumeDotnet(translate.Request{Input: dotnetInputOf(t, ""), Pause: p, Answers: answers}); dotnetCode(err) != agui.InvalidPayload {
			t.Errorf("%s: %v; sent %s", list, err, out.Body)
		}
	}
}

const (
	dotnetUser      = `{"id":"u1","role":"user","content":"Go."}`
	dotnetMore      = `{"id":"u2","role":"user","content":"And?"}`
	dotnetGated     = `{"id":"call_1","role":"assistant","toolCalls":[{"id":"call_1","type":"function","function":{"name":"rm","arguments":"{}"}}]}`
	dotnetOther     = `{"id":"call_2","role":"assistant","toolCalls":[{"id":"call_2","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	dotnetOwn       = `{"id":"call_3","role":"assistant","toolCalls":[{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	dotnetOwnResult = `{"id":"t3","role":"tool","toolCallId":"call_3","content":"here"}`
	dotnetResult    = `{"id":"t1","role":"tool","toolCallId":"call_1","content":"done"}`
	dotnetMine      = `,"tools":[{"name":"mine"}]`
)

func dotnetMessages(list ...string) string {
	all := ""
	for n, m := range list {
		if n > 0 {
			all += ","
		}
		all += m
	}
	return `"messages":[` + all + `]`
}

func TestDotnetMessagesOfAResume(t *testing.T) {
	both := `{"id":"a","role":"assistant","content":"Well.","toolCalls":[{"id":"call_1","type":"function","function":{"name":"rm","arguments":"{}"}},{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	left := `{"id":"a","role":"assistant","content":"Well.","toolCalls":[{"id":"call_3","type":"function","function":{"name":"mine","arguments":"{}"}}]}`
	for name, c := range map[string]struct{ sent, want string }{
		"the call that was asked about goes":              {dotnetMessages(dotnetUser, dotnetGated), dotnetMessages(dotnetUser)},
		"the same id of an earlier, finished call stays":  {dotnetMessages(dotnetGated, dotnetResult, dotnetUser, dotnetGated), dotnetMessages(dotnetGated, dotnetResult, dotnetUser)},
		"new messages stay":                               {dotnetMessages(dotnetUser, dotnetGated, dotnetMore), dotnetMessages(dotnetUser, dotnetMore)},
		"a result of the client's own tool":               {dotnetMessages(dotnetUser, both, dotnetOwnResult) + dotnetMine, dotnetMessages(dotnetUser, left, dotnetOwnResult) + dotnetMine},
		"none of the client's own tool":                   {dotnetMessages(dotnetUser, dotnetOwn, dotnetGated) + dotnetMine, dotnetMessages(dotnetUser) + dotnetMine},
		"a call of the backend's that nobody asked about": {dotnetMessages(dotnetUser, dotnetOther, dotnetGated), dotnetMessages(dotnetUser, dotnetOther)},
		"one that was talked over":                        {dotnetMessages(dotnetOther, dotnetUser, dotnetGated), dotnetMessages(dotnetUser)},
		"none: what is known goes":                        {dotnetMessages(), dotnetMessages(`{"id":"u0","role":"user","content":"Known."}`)},
	} {
		t.Run(name, func(t *testing.T) {
			p := dotnetAsks(t)
			r := translate.Request{Input: dotnetInputOf(t, c.sent), Pause: p, Answers: dotnetAnswers(p, dotnetSays(`{"approved":true}`), agui.Answer{Status: agui.Cancelled})}
			r.Transcript = &dotnetLog{messages: []json.RawMessage{json.RawMessage(`{"id":"u0","role":"user","content":"Known."}`)}}
			out, _, err := resumeDotnet(r)
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

func TestDotnetCommandDoesNotGoOn(t *testing.T) {
	p := dotnetAsks(t)
	in := dotnetInputOf(t, dotnetMessages(dotnetUser)+`,"forwardedProps":{"a":1,"command":{"resume":{"approved":true}}}`)
	out, _, err := resumeDotnet(translate.Request{Input: in, Pause: p, Answers: dotnetAnswers(p, dotnetSays(`{"approved":true}`), agui.Answer{Status: agui.Cancelled})})
	if err != nil || gjson.GetBytes(out.Body, "forwardedProps").Raw != `{"a":1}` {
		t.Errorf("%v: %s", err, out.Body)
	}
}

func TestPlainDotnet(t *testing.T) {
	ended := []agui.Pause{{Dialect: "langgraph", Private: json.RawMessage(`{"natives":[]}`)}, dotnetAsks(t)}
	for name, c := range map[string]struct {
		ended      []agui.Pause
		sent, want string // want "": nothing is to change
	}{
		"nothing was asked":                                  {nil, dotnetMessages(dotnetUser, dotnetGated, dotnetMore), ""},
		"an answered call stays":                             {ended, dotnetMessages(dotnetUser, dotnetGated, dotnetResult, dotnetMore), ""},
		"an unanswered one goes":                             {ended, dotnetMessages(dotnetUser, dotnetGated, dotnetMore), dotnetMessages(dotnetUser, dotnetMore)},
		"in a continuation too":                              {ended, dotnetMessages(dotnetUser, dotnetOwn, dotnetOwnResult, dotnetGated) + dotnetMine, dotnetMessages(dotnetUser, dotnetOwn, dotnetOwnResult) + dotnetMine},
		"a call that the host is to run in a continuation":   {ended, dotnetMessages(dotnetUser, dotnetOwn, dotnetOther, dotnetOwnResult) + dotnetMine, ""},
		"the client's own call stays":                        {ended, dotnetMessages(dotnetUser, dotnetOwn, dotnetMore) + dotnetMine, ""},
		"nothing is known: the host is to run it":            {nil, dotnetMessages(dotnetUser, dotnetOwn, dotnetOther, dotnetOwnResult) + dotnetMine, ""},
		"nothing is known: a call that was talked over goes": {nil, dotnetMessages(dotnetUser, dotnetOwn, dotnetOwnResult, dotnetGated, dotnetMore) + dotnetMine, dotnetMessages(dotnetUser, dotnetOwn, dotnetOwnResult, dotnetMore) + dotnetMine},
		"nothing is known: results of the backend's own":     {nil, dotnetMessages(dotnetUser, dotnetGated, dotnetResult, dotnetOther, dotnetMore) + dotnetMine, ""},
		"the thread is not the host's":                       {ended[:1], dotnetMessages(dotnetUser, dotnetOwn, dotnetOwnResult, dotnetGated, dotnetMore) + dotnetMine, ""},
		"nothing is known, and no continuation":              {nil, dotnetMessages(dotnetUser, dotnetGated, dotnetMore, dotnetOwn) + dotnetMine, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := plainDotnet(translate.Request{Input: dotnetInputOf(t, c.sent), Ended: c.ended})
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

// The host may have run the call before an error, so nothing is given back.
func TestDotnetErrors(t *testing.T) {
	for name, end := range map[string]translate.End{
		"RUN_ERROR":   {Event: agui.NewEvent([]byte(`{"type":"RUN_ERROR","message":"x","code":"StreamingError"}`))},
		"HTTP 500":    {Status: 500},
		"a cut":       {Cut: true},
		"a clean end": {},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := (&dotnetRun{}).End(end)
			if err != nil || res.Nothing || res.Lost || res.Next != nil || len(res.Pause.Interrupts) > 0 || string(res.Finish.JSON) != string(end.Event.JSON) {
				t.Errorf("%v %+v", err, res)
			}
		})
	}
}
