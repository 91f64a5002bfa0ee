package calls_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/calls"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	user     = `{"id":"u1","role":"user","content":"hi"}`
)

func call(id, name, parent string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"` + parent + `"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func toolMessage(call, content string) string {
	return `{"id":"t-` + call + `","role":"tool","toolCallId":"` + call + `","content":` + dialecttest.Quoted(content) + `}`
}

func assistant(id, call, tool string) string {
	return `{"id":"` + id + `","role":"assistant","toolCalls":[{"id":"` + call + `","type":"function","function":{"name":"` + tool + `","arguments":"{}"}}]}`
}

type dialect struct{ calls.Table }

func (*dialect) Name() string { return "d" }

// newDialect returns a dialect with two tools that ask. The tool rm asks for a decision, and an
// approval must lead to a result. The tool ask asks for a value.
func newDialect() *dialect {
	decision := &calls.Kind{
		Name: "decision", Words: &calls.Words{Key: "ok", Aliases: []string{"approved"}, Extra: "note"}, Wrong: "no decision",
		Cancel: `{"ok":false,"cancelled":true}`, Results: calls.Denials,
	}
	value := &calls.Kind{
		Name:     "value",
		Value:    func(_ calls.PrivateState, a agui.Answer) (string, error) { return string(a.Payload), nil },
		NoCancel: "has no word for a cancel",
	}
	return &dialect{calls.Table{
		Dialect: "d", Backend: "the backend", Kinds: []*calls.Kind{decision, value},
		Ask: func(c agui.Call, _ *translate.Request) (calls.Question, bool) {
			switch c.Name {
			case "rm":
				return calls.Question{Kind: decision, Reason: "tool_call", Message: calls.AsksToCall(c.Name), Call: c.ID, Runs: c.ID}, true
			case "ask":
				return calls.Question{Kind: value, Reason: "input_required", Message: calls.WaitsFor(c.Name), Call: c.ID}, true
			}
			return calls.Question{}, false
		},
		Errors: []calls.Error{{Code: "LOST", Fate: translate.Lost}, {Prefix: "not ", Suffix: " now", Fate: translate.Untouched}},
	}}
}

func paused(t *testing.T, d *dialect, messages string, stream ...string) agui.Pause {
	t.Helper()
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","tools":[{"name":"show"}],"messages":[`+messages+`]}`)
	log := dialecttest.NewLog(in.Messages)
	_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: log})
	if err != nil {
		t.Fatal(err)
	}
	p := dialecttest.Play(run, log, append([]string{started}, stream...)...)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	pause := dialecttest.WithIDs(p.Result.Asked.Pause("d"))
	pause.SeenMessages = log.SeenMessages()
	return pause
}

func joined(lists ...[]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return append(all, finished)
}

// TestWhichCallsAsk checks which calls of the stream become questions: those without a result,
// except calls of the client's own tools.
func TestWhichCallsAsk(t *testing.T) {
	ran := []string{`{"type":"TOOL_CALL_RESULT","messageId":"m9","toolCallId":"A","content":"x"}`}
	for name, c := range map[string]struct {
		messages string
		stream   []string
		want     string // the questions, and the client's own calls
	}{
		"two":                        {user, joined(call("A", "rm", "m1"), call("B", "ask", "m1")), "A B;"},
		"one with its result":        {user, joined(call("A", "rm", "m1"), ran), ";"},
		"one of the history":         {user + "," + assistant("m0", "A", "rm"), joined(call("B", "rm", "m1")), "B;"},
		"beside the client's own":    {user, joined(call("S", "show", "m1"), call("A", "rm", "m1")), "A;S"},
		"which comes twice":          {user, joined(call("S", "show", "m1"), call("S", "show", "m2"), call("A", "rm", "m1")), "A;S"},
		"the client's own alone":     {user, joined(call("S", "show", "m1")), ";"},
		"two of one id":              {user, joined(call("A", "rm", "m1"), call("A", "rm", "m2")), "A;"},
		"behind an outcome":          {user, append(call("A", "rm", "m1"), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[]}}`), ";"},
		"of a run that ends unknown": {user, append(call("A", "rm", "m1"), `{"type":"RUN_ERROR","message":"x"}`), ";"},
	} {
		t.Run(name, func(t *testing.T) {
			p := paused(t, newDialect(), c.messages, c.stream...)
			var asked []string
			for _, i := range p.Interrupts {
				asked = append(asked, i.ToolCallID())
			}
			if got := strings.Join(asked, " ") + ";" + strings.Join(calls.KeptIn(p).Clients, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestContentOfAnAnswer checks what content a tool message has for an answer, and that this content
// is read as the same answer again.
func TestContentOfAnAnswer(t *testing.T) {
	// an empty want means that the answer is refused
	for _, c := range []struct{ tool, payload, want string }{
		{"rm", `true`, `{"ok":true}`},
		{"rm", `{"approved": false}`, `{"ok":false}`},
		{"rm", `{"ok":true,"note":{"a": 1}}`, `{"ok":true,"note":{"a":1}}`},
		{"rm", ``, `{"ok":false,"cancelled":true}`},
		{"rm", `{"ok":true,"ok":false}`, ``},
		{"rm", `{"ok":true,"approved":true}`, ``},
		{"rm", `{"ok":true,"note":1,"note":2}`, ``},
		{"rm", `{"ok":true,"more":1}`, ``},
		{"rm", `{"ok":1}`, ``},
		{"rm", `{"note":1}`, ``},
		{"rm", `"yes"`, ``},
		{"ask", `5`, `5`},
		{"ask", ``, ``},
	} {
		d := newDialect()
		p := paused(t, d, user, joined(call("A", c.tool, "m1"))...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+user+`],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
		out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{})
		m := gjson.GetBytes(out.Body, "messages.0")
		if c.want == "" {
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%s %s: %v, sent %s", c.tool, c.payload, err, out.Body)
			}
			continue
		}
		if err != nil || m.Get("content").Str != c.want {
			t.Errorf("%s %s: %v, sent %s", c.tool, c.payload, err, out.Body)
			continue
		}
		answers, _ := d.Answers(in, p)
		back, ok := d.AnswerIn(agui.ParseMessage([]byte(m.Raw)), translate.Reply{}, p.Interrupts[0])
		if !ok || back.Status != answers[0].Status || string(agui.Canonical(back.Payload)) != string(agui.Canonical(answers[0].Payload)) {
			t.Errorf("%s %s reads back as %s %s", c.tool, c.payload, back.Status, back.Payload)
		}
		if _, ok := d.AnswerIn(agui.ParseMessage([]byte(m.Raw)), translate.Reply{TooLate: true}, p.Interrupts[0]); ok {
			t.Errorf("%s %s: a message that the backend does not look for any more answers", c.tool, c.payload)
		}
	}
}

// TestCallsOfOneID: two calls have the same id. An approval of one must be refused, because the
// backend would apply it to both. A denial must be sent.
func TestCallsOfOneID(t *testing.T) {
	for payload, want := range map[string]agui.Code{"true": agui.ApprovalAmbiguous, "false": "", "": ""} {
		d := newDialect()
		p := paused(t, d, user, joined(call("A", "rm", "m1"), call("A", "rm", "m2"))...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload))+`}`)
		if out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{}); dialecttest.Code(err) != want {
			t.Errorf("%q: %v %s", payload, err, out.Body)
		}
	}
}

// TestFateOfTheAnswers checks what became of the answers (translate.Fate) for each stream of the
// backend, and whether new messages are sent in a second exchange.
func TestFateOfTheAnswers(t *testing.T) {
	const ran = `{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"A","content":"gone"}`
	failed := func(code, text string) string {
		return fmt.Sprintf(`{"type":"RUN_ERROR","code":%q,"message":%q}`, code, text)
	}
	for name, c := range map[string]struct {
		payload string
		stream  []string
		fate    translate.Fate
		next    bool
	}{
		"it ran":                   {"true", []string{ran, finished}, translate.Finished, true},
		"it was denied":            {"false", []string{finished}, translate.Finished, true},
		"nothing proves it":        {"true", []string{finished}, translate.InDoubt, false},
		"it is not known":          {"true", []string{failed("LOST", "x")}, translate.Lost, false},
		"behind a result":          {"true", []string{ran, failed("LOST", "x")}, translate.Finished, false},
		"it did nothing":           {"true", []string{failed("", "not just now")}, translate.Untouched, false},
		"another error":            {"true", []string{failed("", "not today")}, translate.Finished, false},
		"it begins again and ends": {"true", append(call("A", "rm", "m1"), ran, finished), translate.Finished, true},
		"the call is left":         {"false", append(call("A", "rm", "m1"), finished), translate.Finished, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect()
			p := paused(t, d, user, joined(call("A", "rm", "m1"))...)
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+user+","+assistant("m1", "A", "rm")+`,{"id":"u2","role":"user","content":"more"}],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))+`}`)
			log := dialecttest.NewLog(in.Messages[:2])
			out, run, err := dialecttest.Resume(d, p, in, log, func(r *translate.Request) { r.NewMessages = in.Messages[2:] })
			if err != nil || len(out.UnsentMessages) != 1 || !out.TakesNew {
				t.Fatalf("%+v %v", out, err)
			}
			played := dialecttest.Play(run, log, append([]string{started}, c.stream...)...)
			if res := played.Result; res.Fate != c.fate || (res.Next != nil) != c.next || len(res.Asked.Interrupts) > 0 {
				t.Errorf("%+v", res)
			}
			told := 0
			for _, ev := range played.All() {
				if ev.Type == agui.CallResult {
					told++
				}
			}
			if want := strings.Count(strings.Join(c.stream, ""), "TOOL_CALL_RESULT"); c.payload == "false" && told != want+1 || c.payload == "true" && told != want {
				t.Errorf("%d results are told", told)
			}
		})
	}
}

// TestDenialIsSentAsAResult checks that a denial is sent to the client exactly once, as the result
// of the denied call. A client in the native form does not get it.
func TestDenialIsSentAsAResult(t *testing.T) {
	for show, want := range map[translate.Show]int{translate.ShowOutcome: 1, translate.ShowNative: 0} {
		d := newDialect()
		p := paused(t, d, user, joined(call("A", "rm", "m1"))...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, "false"))+`}`)
		log := &dialecttest.Log{}
		_, run, err := dialecttest.Resume(d, p, in, log, func(r *translate.Request) { r.Show = show })
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, ev := range dialecttest.Play(run, log, started, started, finished).All() {
			if ev.Type == agui.CallResult && ev.Get("content").Str == `{"ok":false}` {
				told++
			}
		}
		if told != want {
			t.Errorf("show %v: told %d times, want %d", show, told, want)
		}
	}
}

// TestValueNeverDenies checks a kind with the field Value. A cancel must count as a denial, and a
// value must never count as one, whatever the value is. For a denial, the client must get a result,
// and Refuse must not be called. The answer must not be in doubt although the call has no other
// result.
func TestValueNeverDenies(t *testing.T) {
	for payload, denied := range map[string]bool{"false": false, `{"approved":false}`: false, `"stop"`: false, "": true} {
		d := newDialect()
		value := d.Kinds[1]
		value.Cancel, value.Results = "stop", calls.Denials
		d.Ask = func(c agui.Call, _ *translate.Request) (calls.Question, bool) {
			return calls.Question{Kind: value, Reason: "input_required", Call: c.ID, Runs: c.ID}, true
		}
		refused := false
		d.Refuse = func(*translate.Request, agui.Interrupt) error { refused = true; return nil }
		p := paused(t, d, user, joined(call("A", "ask", "m1"))...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload))+`}`)
		log := &dialecttest.Log{}
		_, run, err := dialecttest.Resume(d, p, in, log)
		if err != nil {
			t.Fatal(err)
		}
		played := dialecttest.Play(run, log, started, finished)
		if sent := strings.Contains(played.Text(), string(agui.CallResult)); sent != denied || refused == denied || (played.Result.Fate == translate.InDoubt) == denied {
			t.Errorf("%q: sent as a denial: %v, refused: %v, fate %v", payload, sent, refused, played.Result.Fate)
		}
	}
}

// TestAnswersThatDoNotCoverThePause checks that a dialect refuses the answers if a question of the
// pause has none.
func TestAnswersThatDoNotCoverThePause(t *testing.T) {
	d := newDialect()
	p := paused(t, d, user, joined(call("A", "rm", "m1"), call("B", "rm", "m1"))...)
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[]}`)
	for _, answers := range [][]agui.Answer{nil, {{ID: p.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte("true")}}} {
		if _, _, err := d.Begin(&translate.Request{Input: in, Pause: p, Answers: answers}); dialecttest.Code(err) != agui.StoreUnavailable {
			t.Errorf("%v: %v", answers, err)
		}
	}
}

// TestReplies checks which tool messages count as decisions. The tools are known only from the
// table of tools that ask.
func TestReplies(t *testing.T) {
	const declares = `,"tools":[{"name":"show"}]`
	yes := `{"ok":true}`
	for name, c := range map[string]struct{ messages, more, spoken, want string }{
		"on a call that asks":            {assistant("m1", "A", "rm") + "," + toolMessage("A", "done"), declares, "d", "A asked"},
		"of another dialect":             {assistant("m1", "A", "rm") + "," + toolMessage("A", yes), declares, "e", ""},
		"of a route that nobody knows":   {assistant("m1", "A", "rm") + "," + toolMessage("A", yes), declares, "", ""},
		"a yes on another's call":        {assistant("m1", "A", "list") + "," + toolMessage("A", yes), declares, "d", "A asked"},
		"an unclear one on it":           {assistant("m1", "A", "list") + "," + toolMessage("A", `{"more":1,"Ok":"true"}`), declares, "d", "A asked"},
		"a result of it":                 {assistant("m1", "A", "list") + "," + toolMessage("A", "done"), declares, "d", "A"},
		"a yes on the client's own":      {assistant("m1", "A", "show") + "," + toolMessage("A", yes), declares, "d", "A if known"},
		"a yes on a call that is absent": {toolMessage("A", yes), declares, "d", "A unless left if known"},
		"and where no tool is declared":  {toolMessage("A", "done"), "", "d", "A asked"},
		"further up":                     {assistant("m1", "A", "rm") + "," + toolMessage("A", yes) + "," + user, declares, "d", "A asked past"},
		"in another spelling":            {assistant("m1", "A", "rm") + "," + strings.Replace(toolMessage("A", yes), "toolCallId", "tool_call_id", 1), declares, "d", "A asked unclear"},
		"in parts":                       {assistant("m1", "A", "rm") + "," + strings.Replace(toolMessage("A", "x"), `"x"`, `[{"type":"text","text":"x"}]`, 1), declares, "d", "A asked unclear"},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+c.messages+`]`+c.more+`}`)
			var got []string
			for one := range newDialect().Replies(in, c.spoken) {
				line := one.Key
				for _, word := range []struct {
					is   bool
					text string
				}{{one.Decides, " asked"}, {one.DecidesUnlessLeft, " unless left"}, {one.TooLate, " past"}, {one.Unclear, " unclear"}} {
					if word.is {
						line += word.text
					}
				}
				if one.DecidesIfKnown && !one.Decides {
					line += " if known"
				}
				got = append(got, line)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestGuideNamesFields checks that each field that the table of docs/new-dialect.md names exists.
func TestGuideNamesFields(t *testing.T) {
	text, err := os.ReadFile("../../../docs/new-dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The table\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := map[string]bool{"Alone": true, "WithCalls": true, "Untouched": true, "Lost": true} // values
	for _, of := range []reflect.Type{reflect.TypeFor[calls.Table](), reflect.TypeFor[calls.Kind](), reflect.TypeFor[calls.Question](), reflect.TypeFor[calls.Words]()} {
		names[of.Name()] = true
		for n := range of.NumField() {
			names[of.Field(n).Name], names[of.Name()+"."+of.Field(n).Name] = true, true
		}
	}
	named := regexp.MustCompile("`([A-Z][A-Za-z.]+)`").FindAllStringSubmatch(section, -1)
	for _, m := range named {
		if !names[m[1]] {
			t.Errorf("docs/new-dialect.md names %s, which is not a field", m[1])
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d fields are named", len(named))
	}
}
