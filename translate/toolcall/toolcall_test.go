package toolcall

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
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	errored  = `{"type":"RUN_ERROR","message":"x"}`
	user     = `{"id":"u1","role":"user","content":"hi"}`
	spoken   = `{"type":"TEXT_MESSAGE_START","messageId":"m9","role":"assistant"}`
)

func call(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + dialecttest.Quoted(args) + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func ran(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + id + `","toolCallId":"` + id + `","content":"done","role":"tool"}`
}

func ended(outcome string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":` + outcome + `}`
}

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

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(Options{
		Ask: kit.Names{"delete_*", "ask_me"}, Yes: `{"approved":true,"arguments":"$arguments"}`, No: `{"approved":false,"reason":"$reason"}`,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func request(t testing.TB, show translate.Show, more string) (*translate.Request, *dialecttest.Log) {
	t.Helper()
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+user+`]`+more+`}`)
	l := dialecttest.NewLog(in.Messages)
	return &translate.Request{Input: in, ClientMessages: in.Messages, Show: show, Transcript: l}, l
}

func play(t testing.TB, show translate.Show, more string, stream ...string) (dialecttest.Played, *dialecttest.Log) {
	t.Helper()
	r, l := request(t, show, more)
	_, run, err := newDialect(t).Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.Play(run, l, stream...), l
}

func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p, l := play(t, translate.ShowOutcome, `,"tools":[{"name":"show"}]`, stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	pause := dialecttest.WithIDs(p.Result.Asked.Pause(Name))
	pause.SeenMessages = l.SeenMessages()
	for n := range pause.Interrupts { // as the proxy sets them
		for _, c := range l.Calls() {
			if i := &pause.Interrupts[n]; c.ID == i.ToolCallID() {
				i.Calls = []agui.AskedCall{{ID: c.ID, Name: c.Name, Args: c.Args}}
			}
		}
	}
	return pause
}

// TestPause checks which calls without results become questions, and whether the dialect auto,
// which recognizes a backend by its stream, lets this dialect handle the end of the run.
func TestPause(t *testing.T) {
	one := call("A", "delete_file", `{"path":"x"}`)
	for name, c := range map[string]struct {
		more, asked string
		stream      []string
		others      bool // auto leaves the end to other dialects
	}{
		"a call":                         {"", "A", stream(one, finished), false},
		"two":                            {"", "A B", stream(one, call("B", "ask_me", ``), finished), false},
		"with a text behind":             {"", "A", stream(one, spoken, finished), false},
		"beside one that has a result":   {"", "B", stream(one, call("B", "ask_me", ``), ran("A"), finished), false},
		"beside one of another tool":     {"", "A", stream(call("L", "list", `{}`), one, finished), false},
		"a success":                      {"", "A", stream(one, ended(`{"type":"success"}`)), false},
		"an outcome that is a text":      {"", "A", stream(one, ended(`"interrupt"`)), true},
		"an outcome that is null":        {"", "A", stream(one, ended(`null`)), true},
		"begun twice":                    {"", "A", stream(one, one, finished), false},
		"without an END":                 {"", "A", stream(one[:2], finished), false},
		"of another tool":                {"", "", stream(call("L", "list", `{}`), finished), false},
		"with a result":                  {"", "", stream(one, ran("A"), finished), false},
		"of a tool that is the client's": {`,"tools":[{"name":"delete_file"}]`, "", stream(one, finished), false},
		"an interrupt outcome":           {"", "", stream(one, ended(`{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}`)), false},
		"a run that failed":              {"", "", stream(one, errored), false},
		"a run that broke off":           {"", "", stream(one), false},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := play(t, translate.ShowOutcome, c.more, c.stream...)
			var asked []string
			for _, i := range p.Result.Asked.Interrupts {
				asked = append(asked, i.ToolCallID())
			}
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
			if len(asked) > 0 && gjson.GetBytes(p.Result.Finish.JSON, "outcome").Exists() {
				t.Errorf("finish %s", p.Result.Finish.JSON)
			}
			r, l := request(t, translate.ShowOutcome, c.more)
			for _, ev := range c.stream[:len(c.stream)-1] {
				l.Add(agui.NewEvent([]byte(ev)))
			}
			if signs := newDialect(t).Sign(agui.NewEvent([]byte(c.stream[len(c.stream)-1])), r); signs != (c.asked != "" && !c.others) {
				t.Errorf("signs: %v", signs)
			}
		})
	}
}

// TestNativeForm: a client in the native form already has the calls. If it asks for the question
// again, it must get the calls again.
func TestNativeForm(t *testing.T) {
	p, _ := play(t, translate.ShowNative, "", stream(call("A", "delete_file", `{}`), finished)...)
	if a := p.Result.Asked; !a.NativeShown || len(a.NativeEvents) != 3 || string(a.NativeFinish) != finished {
		t.Errorf("%+v", a)
	}
}

// TestResume checks the request with the answers. It must contain the history, the results of the
// client's own tools, and last the answers.
func TestResume(t *testing.T) {
	p := pausedBy(t, stream(call("A", "delete_file", `{"path":"x"}`), call("F", "show", `{}`), spoken, finished)...)
	const (
		asked  = `{"id":"m1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"x\"}"}},{"id":"F","type":"function","function":{"name":"show","arguments":"{}"}}]}`
		text   = `{"id":"m9","role":"assistant","content":"hm"}`
		result = `{"id":"f1","role":"tool","toolCallId":"F","content":"shown"}`
		more   = `{"id":"u2","role":"user","content":"and more"}`
	)
	p.SeenMessages = dialecttest.LogOf(user, asked, text).SeenMessages()
	said := func(content string) string {
		return `{"id":"A~r1","role":"tool","toolCallId":"A","content":` + dialecttest.Quoted(content) + `}`
	}
	yes, no := said(`{"approved":true,"arguments":{"path":"x"}}`), said(`{"approved":false,"reason":""}`)
	const before = user + "," + text + "," + asked + ","
	for name, c := range map[string]struct {
		messages, payload, want string
		code                    agui.Code
		next                    bool
	}{
		"a yes":                       {user + "," + asked + "," + text + "," + result, `{"approved":true}`, before + result + "," + yes, "", false},
		"with other arguments":        {user + "," + asked + "," + text + "," + result, `{"approved":true,"editedArgs":{"path":"y"}}`, before + result + "," + said(`{"approved":true,"arguments":{"path":"y"}}`), "", false},
		"with words beside":           {user + "," + asked + "," + text + "," + result + "," + more, `{"approved":true}`, before + result + "," + yes, "", true},
		"without the client's result": {user + "," + asked + "," + text, `{"approved":true}`, "", agui.PartialResume, false},
		"a no without it":             {user + "," + asked + "," + text, `{"approved":false}`, before + no, "", false},
		"a cancel":                    {user + "," + asked + "," + text + "," + result, ``, before + result + "," + no, "", false},
		"with a yes of its own too": {
			user + "," + asked + "," + text + "," + result + `,{"id":"x","role":"tool","toolCallId":"A","content":"{\"approved\":true}"}`, `{"approved":false}`, before + result + "," + no, "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+c.messages+`],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", c.payload))+`,"protocolVersion":"1.0"}`)
			l := dialecttest.NewLog(in.Messages)
			d := newDialect(t)
			answers, err := d.Answers(in, p)
			if err != nil {
				t.Fatal(err)
			}
			out, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Pause: p, Answers: answers, Transcript: l, NewMessages: agui.NewMessages(in.Messages, p.SeenMessages)})
			if dialecttest.Code(err) != c.code {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if want := `{"threadId":"t1","runId":"r2","messages":[` + c.want + `],"protocolVersion":"1.0"}`; string(out.Body) != want || !out.Resumes {
				t.Errorf("%s, want\n%s", out.Body, want)
			}
			res := dialecttest.Play(run, l, started, ran("A"), finished).Result
			if (res.Next != nil) != c.next || len(res.HeldEvents) != 0 {
				t.Errorf("%+v", res)
			}
			if c.next && (gjson.GetBytes(res.Next.Out.Body, "messages.@reverse.0.content").Str != "and more" || len(out.UnsentMessages) != 1) {
				t.Errorf("%s, left %v", res.Next.Out.Body, out.UnsentMessages)
			}
		})
	}
}

// TestBackendWithSessions: the backend stores the conversation. It must get only the answers,
// whatever the client sends, and the new messages alone in a second request.
func TestBackendWithSessions(t *testing.T) {
	d, err := New(Options{Ask: kit.Names{"delete_*"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := pausedBy(t, stream(call("A", "delete_file", `{"path":"x"}`), call("F", "show", `{}`), finished)...)
	const (
		asked  = `{"id":"m1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"x\"}"}},{"id":"F","type":"function","function":{"name":"show","arguments":"{}"}}]}`
		result = `{"id":"f1","role":"tool","toolCallId":"F","content":"shown"}`
		more   = `{"id":"u2","role":"user","content":"and more"}`
		own    = `{"id":"x","role":"tool","toolCallId":"A","content":"{\"approved\":true}"}`
		yes    = `{"id":"A~r1","role":"tool","toolCallId":"A","content":"{\"approved\":true}"}`
	)
	p.SeenMessages = dialecttest.LogOf(user, asked).SeenMessages()
	for name, c := range map[string]struct{ messages, want, next string }{
		"new messages only":      {result, result + "," + yes, ""},
		"words beside":           {result + "," + more, result + "," + yes, more},
		"a yes of its own":       {result + "," + own + "," + more, result + "," + yes, more},
		"the whole conversation": {user + "," + asked + "," + result + "," + more, result + "," + yes, more},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+c.messages+`],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":true}`))+`}`)
			l := dialecttest.LogOf(user, asked)
			for _, m := range agui.NewMessages(in.Messages, p.SeenMessages) {
				l.Say(m)
			}
			answers, err := d.Answers(in, p)
			if err != nil {
				t.Fatal(err)
			}
			fresh := agui.NewMessages(in.Messages, p.SeenMessages)
			out, run, err := d.Begin(&translate.Request{Input: in.WithMessages(fresh), ClientMessages: in.Messages, Sessions: true, Pause: p, Answers: answers, Transcript: l, NewMessages: fresh})
			if err != nil {
				t.Fatal(err)
			}
			if got := gjson.GetBytes(out.Body, "messages").Raw; got != "["+c.want+"]" {
				t.Errorf("sent %s, want %s", got, c.want)
			}
			res := dialecttest.Play(run, l, started, ran("A"), finished).Result
			next := ""
			if res.Next != nil {
				next = gjson.GetBytes(res.Next.Out.Body, "messages").Raw
			}
			if c.next != "" {
				c.next = "[" + c.next + "]"
			}
			if next != c.next {
				t.Errorf("then %s, want %s", next, c.next)
			}
		})
	}
}

// TestAnswerIsSentAsAResult: if the backend sends no result for an answered call, the client must
// get the answer as the call's result, exactly once and in the right place. The call must not ask
// again, even if the backend begins it again.
func TestAnswerIsSentAsAResult(t *testing.T) {
	p := pausedBy(t, stream(call("A", "delete_file", `{}`), call("B", "ask_me", ``), finished)...)
	const told = `TOOL_CALL_RESULT`
	for name, c := range map[string]struct {
		stream []string
		want   string // each event that the client gets: its type, or a result's message id
		asks   int
	}{
		"before the text":              {stream(spoken, finished), "RUN_STARTED A~r1 B~r2 TEXT_MESSAGE_START", 0},
		"before another call":          {stream(call("C", "delete_file", `{}`)[:1], finished), "RUN_STARTED A~r1 B~r2 TOOL_CALL_START", 1},
		"not beside the backend's":     {stream(ran("A"), spoken, finished), "RUN_STARTED r-A B~r2 TEXT_MESSAGE_START", 0},
		"behind both of the backend's": {stream(ran("A"), ran("B"), finished), "RUN_STARTED r-A r-B", 0},
		"at the end":                   {stream(`{"type":"STATE_SNAPSHOT","snapshot":{}}`, finished), "RUN_STARTED STATE_SNAPSHOT A~r1 B~r2", 0},
		"before an error":              {stream(errored), "RUN_STARTED A~r1 B~r2", 0},
		"before a cut":                 {stream(), "RUN_STARTED A~r1 B~r2", 0},
		"before a snapshot":            {stream(`{"type":"MESSAGES_SNAPSHOT","messages":[]}`, finished), "RUN_STARTED A~r1 B~r2 MESSAGES_SNAPSHOT", 0},
		"not before the call itself":   {stream(call("A", "delete_file", `{}`)[:1], ran("A"), ran("B"), finished), "RUN_STARTED TOOL_CALL_START r-A r-B", 0},
		"a call that is left again":    {stream(call("A", "delete_file", `{}`)[:1], finished), "RUN_STARTED TOOL_CALL_START A~r1 B~r2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":true}`), dialecttest.Entry("B~r2", ""))+`}`)
			l := &dialecttest.Log{}
			_, run, err := dialecttest.Resume(newDialect(t), p, in, l)
			if err != nil {
				t.Fatal(err)
			}
			played := dialecttest.Play(run, l, c.stream...)
			var got []string
			for _, ev := range played.All() {
				switch {
				case ev.Type.Terminal():
				case string(ev.Type) == told:
					got = append(got, ev.Get("messageId").Str)
				default:
					got = append(got, string(ev.Type))
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
			if n := len(played.Result.Asked.Interrupts); n != c.asks {
				t.Errorf("%d questions, want %d", n, c.asks)
			}
		})
	}
}

// TestPlainRun: a run without answers must be sent unchanged, with two exceptions. A call that
// asked and has no result is removed, because models refuse it and it can no longer be answered. If
// a call has two results, the one that Holdpoint sent is removed.
func TestPlainRun(t *testing.T) {
	asked := func(id, name string) string {
		return `{"id":"m-` + id + `","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]}`
	}
	tool := func(id, call string) string {
		return `{"id":"` + id + `","role":"tool","toolCallId":"` + call + `","content":"x"}`
	}
	earlier := []translate.EndedPause{{Pause: pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)}}
	for name, c := range map[string]struct {
		messages, more, want string // an empty want means unchanged
		show                 translate.Show
	}{
		"as it came":                {user + "," + asked("L", "list"), `,"resume":[]`, "", 0},
		"a call that asked":         {asked("A", "delete_file") + "," + user, "", user, 0},
		"one that nobody knows":     {asked("Z", "ask_me") + "," + user, "", user, 0},
		"of the client's own tool":  {asked("Z", "ask_me") + "," + user, `,"tools":[{"name":"ask_me"}]`, "", 0},
		"with a result":             {asked("A", "delete_file") + "," + tool("x", "A") + "," + user, "", "", 0},
		"with what was told":        {asked("A", "delete_file") + "," + tool("A~r1", "A") + "," + user, "", "", 0},
		"with both":                 {asked("A", "delete_file") + "," + tool("A~r1", "A") + "," + tool("x", "A") + "," + user, "", asked("A", "delete_file") + "," + tool("x", "A") + "," + user, 0},
		"in the backend's own form": {asked("A", "delete_file") + "," + user, "", "", translate.ShowNative},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+c.messages+`]`+c.more+`}`)
			out, _, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Show: c.show, EndedPauses: earlier, Transcript: dialecttest.NewLog(in.Messages)})
			got := gjson.GetBytes(out.Body, "messages").Raw
			if want := "[" + c.want + "]"; err != nil || c.want == "" && out.Body != nil || c.want != "" && got != want {
				t.Errorf("%v %s, want\n%s", err, out.Body, c.want)
			}
		})
	}
}

// TestResultThatTheHistoryHas: the result of the client's own call is older than the question and
// already in the history. The dialect must not send the result twice.
func TestResultThatTheHistoryHas(t *testing.T) {
	p := pausedBy(t, stream(call("A", "delete_file", `{"path":"x"}`), call("F", "show", `{}`), finished)...)
	const (
		asked  = `{"id":"m1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_file","arguments":"{}"}},{"id":"F","type":"function","function":{"name":"show","arguments":"{}"}}]}`
		result = `{"id":"f1","role":"tool","toolCallId":"F","content":"shown"}`
	)
	p.SeenMessages = dialecttest.LogOf(user, asked, result).SeenMessages()
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+user+","+asked+","+result+`],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":true}`))+`}`)
	out, _, err := dialecttest.Resume(newDialect(t), p, in, dialecttest.NewLog(in.Messages))
	if err != nil || strings.Count(string(out.Body), `"shown"`) != 1 {
		t.Errorf("%v %s", err, out.Body)
	}
}

func TestReplies(t *testing.T) {
	tool := func(call, content string) string {
		return `{"id":"t1","role":"tool","toolCallId":"` + call + `","content":` + dialecttest.Quoted(content) + `}`
	}
	asks := func(id, name string) string {
		return `{"id":"a1","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]},`
	}
	const yes, no = `{"approved":true}`, `{"approved":false}`
	for name, c := range map[string]struct{ messages, more, spoken, want string }{
		"a yes":                         {asks("A", "delete_file") + tool("A", yes), "", "", "A asked"},
		"a no":                          {asks("A", "delete_file") + tool("A", no), "", Name, "A asked"},
		"a no further up":               {asks("A", "delete_file") + tool("A", no) + "," + user, "", Name, ""},
		"a yes further up":              {asks("A", "delete_file") + tool("A", yes) + "," + user, "", Name, "A asked past"},
		"a result":                      {asks("A", "delete_file") + tool("A", "deleted"), "", Name, ""},
		"a decision on another tool":    {asks("L", "list") + tool("L", yes), "", Name, "L"},
		"on another declared tool":      {asks("L", "list") + tool("L", yes), `,"tools":[{"name":"list"}]`, Name, "L if known"},
		"a client's own tool":           {asks("A", "delete_file") + tool("A", yes), `,"tools":[{"name":"delete_file"}]`, Name, "A if known"},
		"a call that nobody made":       {tool("X", yes), "", Name, "X asked"},
		"on a path that nobody knows":   {tool("X", yes), "", "", "X"},
		"a call that the history lacks": {tool("X", yes), `,"tools":[{"name":"show"}]`, Name, "X"},
		"in another spelling":           {asks("A", "delete_file") + strings.Replace(tool("A", yes), "toolCallId", "tool_call_id", 1), "", Name, "A asked unclear"},
		"the word in another spelling":  {asks("A", "delete_file") + tool("A", `{"Approved":true}`), "", Name, "A asked unclear"},
		"a word that some read as true": {asks("A", "delete_file") + tool("A", `{"approved":"yes"}`), "", Name, "A asked unclear"},
		"two contents":                  {asks("A", "delete_file") + strings.Replace(tool("A", yes), `"content"`, `"content":"x","content"`, 1), "", Name, "A asked unclear"},
		"the call in another spelling":  {strings.NewReplacer("toolCalls", "tool_calls", `"id":"A"`, `"ID":"A"`).Replace(asks("A", "delete_file")) + tool("A", yes), "", Name, "A asked"},
		"a message that names no call":  {asks("A", "delete_file") + `{"id":"t1","role":"tool","content":"{\"approved\":true}"}`, "", Name, " asked unclear"},
		"and the request has tools":     {asks("A", "delete_file") + `{"id":"t1","role":"tool","content":"{\"approved\":true}"}`, `,"tools":[{"name":"show"}]`, Name, " asked unclear"},
		"in parts":                      {asks("A", "delete_file") + `{"id":"t1","role":"tool","toolCallId":"A","content":[{"type":"text","text":"{\"approved\":true}"}]}`, "", Name, "A asked unclear"},
		"no JSON to others than Python": {asks("A", "delete_file") + tool("A", `{"approved":NaN}`), "", Name, "A asked unclear"},
		"of Microsoft's form, if named": {asks("A", "request_approval") + tool("A", yes), "", Name, "A"},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+c.messages+`]`+c.more+`}`)
			var got []string
			for one := range newDialect(t).Replies(in, c.spoken) {
				if one.Dialect != Name {
					continue // a decision for another backend
				}
				line := one.Key
				if one.Decides {
					line += " asked"
				}
				if one.DecidesIfKnown {
					line += " if known"
				}
				if one.TooLate {
					line += " past"
				}
				if one.Unclear {
					line += " unclear"
				}
				got = append(got, line)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"the defaults":        {Options{Ask: kit.Names{"a"}}, ""},
		"a pattern":           {Options{Ask: kit.Names{"["}}, "ASK"},
		"a yes":               {Options{Ask: kit.Names{"a"}, Yes: `{"approved"`}, "YES"},
		"a no":                {Options{Ask: kit.Names{"a"}, No: `{"approved":true}`}, "no"},
		"a no that is a word": {Options{Ask: kit.Names{"a"}, No: `denied`}, "NO"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.o, nil)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want+": ") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if need := (Options{}).Needs(); need != "TOOLS" {
		t.Errorf("needs %q", need)
	}
}

// later returns a call whose parent is another message (m2).
func later(id, name, args string) []string {
	list := call(id, name, args)
	list[0] = strings.Replace(list[0], "m1", "m2", 1)
	return list
}

// TestTwoCallsOfOneID: some models use an id for several calls. Two such calls in one turn must be
// a single question. The backend would use its answer for both, so an approval must be refused.
func TestTwoCallsOfOneID(t *testing.T) {
	p := pausedBy(t, stream(call("A", "delete_file", `{"path":"a"}`), ran("A"), later("A", "delete_file", `{"path":"b"}`), finished)...)
	if len(p.Interrupts) != 1 || p.Interrupts[0].Private != nil {
		t.Fatalf("the first has its result: %+v", p.Interrupts)
	}
	l := &dialecttest.Log{}
	twice := pausedBy(t, stream(call("A", "delete_file", `{"path":"a"}`), call("A", "list", `{}`), finished)...)
	if len(twice.Interrupts) != 1 {
		t.Fatalf("%+v", twice.Interrupts)
	}
	for payload, want := range map[string]agui.Code{`{"approved":true}`: agui.ApprovalAmbiguous, `{"approved":false}`: "", "": ""} {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", payload))+`}`)
		if out, _, err := dialecttest.Resume(newDialect(t), twice, in, l); dialecttest.Code(err) != want {
			t.Errorf("%q: %v, sent %s", payload, err, out.Body)
		}
	}
}

// TestAsksAgainUnderTheSameID: a call was answered. Then the resumed run begins a call with the
// same id. If the second call belongs to another message, it must be a new question, and the result
// of the answered call must precede it. If it belongs to the same message, it must ask nothing.
func TestAsksAgainUnderTheSameID(t *testing.T) {
	const asked = `{"id":"m1","role":"assistant","toolCalls":[{"id":"A","type":"function","function":{"name":"delete_file","arguments":"{}"}}]}`
	p := pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)
	for name, c := range map[string]struct {
		stream []string
		told   string // the event that directly follows the result
		want   int
	}{
		"it ran, and another asks": {stream(ran("A"), later("A", "delete_file", `{"path":"b"}`), finished), "", 1},
		"another asks":             {stream(later("A", "delete_file", `{"path":"b"}`), finished), "TOOL_CALL_START", 1},
		"it is begun again":        {stream(call("A", "delete_file", `{}`), finished), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+user+`,`+asked+`],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":false}`))+`}`)
			l := dialecttest.NewLog(in.Messages)
			_, run, err := dialecttest.Resume(newDialect(t), p, in, l)
			if err != nil {
				t.Fatal(err)
			}
			played := dialecttest.Play(run, l, c.stream...)
			if n := len(played.Result.Asked.Interrupts); n != c.want {
				t.Errorf("%d questions, want %d", n, c.want)
			}
			next := ""
			all := played.All()
			for n, ev := range all[:len(all)-1] {
				if ev.Get("messageId").Str == "A~r1" && !all[n+1].Type.Terminal() {
					next = string(all[n+1].Type)
				}
			}
			if next != c.told {
				t.Errorf("the answer is told before %q, want %q", next, c.told)
			}
		})
	}
}

// TestDecisionsAtTheEnd: a chat ends with a denied call and an open call. The open call is removed,
// because a model refuses it. If the record has the question about the denied call, the backend has
// received the denial, so the denial must be removed too. Without a record, for example in a chat
// from before Holdpoint, it must stay: the model would ask for the same call again.
func TestDecisionsAtTheEnd(t *testing.T) {
	calls := func(id string) string {
		return `{"id":"m-` + id + `","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"delete_file","arguments":"{}"}}]}`
	}
	const denial = `{"id":"t1","role":"tool","toolCallId":"one","content":"{\"approved\":false,\"reason\":\"it is the only copy\"}"}`
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+strings.Join([]string{user, calls("one"), denial, calls("two")}, ",")+`]}`)
	p := pausedBy(t, stream(call("one", "delete_file", `{}`), finished)...)
	for name, c := range map[string]struct {
		earlier []translate.EndedPause
		want    string
	}{
		"on record": {[]translate.EndedPause{{Pause: p}}, "user"},
		"no record": {nil, "user assistant tool"},
	} {
		out, _, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, EndedPauses: c.earlier, Transcript: dialecttest.NewLog(in.Messages)})
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, role := range gjson.GetBytes(out.Body, "messages.#.role").Array() {
			roles = append(roles, role.Str)
		}
		if got := strings.Join(roles, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
