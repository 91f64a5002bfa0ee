package requestapproval

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const (
	pairA = `assistant (a request_approval ` + argsA + ")\ntool {\"approval_id\":\"ficc_a\",\"approved\":true} @a"
	denyB = `assistant (b request_approval ` + argsB + ")\ntool {\"approval_id\":\"ficc_b\",\"approved\":false} @b"
	noA   = `assistant (a request_approval ` + argsA + ")\ntool {\"approval_id\":\"ficc_a\",\"approved\":false} @a"
)

func bothAsked(t *testing.T) agui.Pause {
	t.Helper()
	return pausedBy(t, stream(trio("a", argsA), trio("b", argsB), finished)...)
}

// TestResumeOfTwo checks the answers to two calls. Each call must be sent in a message of its own
// and be directly followed by its answer. The two messages with the calls must have the same id.
func TestResumeOfTwo(t *testing.T) {
	in := input(t, messages(hello, `{"id":"a","role":"assistant","content":"I'll do both.","toolCalls":[`+string(agui.CallJSON("a", "Approve", `{}`))+","+string(agui.CallJSON("o", "Look", `{}`))+`]}`,
		tool("t", "o", "seen"), assistant("b", "b", "Delete", "{}"))+`,"tools":[],"protocolVersion":"1.0","forwardedProps":{"x":1,"command":{"resume":{"ficc_a~r1":{"approved":true},"ficc_b~r2":{"approved":false}}}},`+
		dialecttest.ResumeArray(dialecttest.Entry("ficc_b~r2", `{"approved":false}`), dialecttest.Entry("ficc_a~r1", `{"approved":true}`)))
	out, _, err := resumeWith(t, bothAsked(t), in)
	if err != nil {
		t.Fatal(err)
	}
	want := "user hi\nassistant I'll do both. (o Look {})\ntool seen @o\n" + pairA + "\n" + denyB
	if got := sent(out.Body); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !out.Resumes || out.TakesNew {
		t.Errorf("%+v", out)
	}
	for _, key := range []string{"resume", "protocolVersion", "forwardedProps.command"} {
		if gjson.GetBytes(out.Body, key).Exists() {
			t.Errorf("%s goes to the backend: %s", key, out.Body)
		}
	}
	if !gjson.GetBytes(out.Body, "forwardedProps.x").Exists() {
		t.Errorf("forwardedProps lost: %s", out.Body)
	}
	list := gjson.GetBytes(out.Body, "messages").Array()
	if p, q := list[3].Get("id").Str, list[5].Get("id").Str; p != "a" || q != "a" {
		t.Errorf("ids %q %q", p, q)
	}
	if p, q := list[4].Get("id").Str, list[6].Get("id").Str; p != "answer-ficc_a~r1" || q != "answer-ficc_b~r2" {
		t.Errorf("ids %q %q", p, q)
	}
}

// TestClientsResultGoesWithTheAnswers: the client sends the result of its own call together with
// the answers. The result must be sent in the same request as the answers, after its call.
// Otherwise the call would have no result.
func TestClientsResultGoesWithTheAnswers(t *testing.T) {
	p := pausedBy(t, stream(trio("a", argsA), finished)...)
	later := `{"id":"u2","role":"user","content":"and"}`
	turn := `{"id":"a","role":"assistant","toolCalls":[` + string(agui.CallJSON("a", "Approve", `{}`)) + "," + string(agui.CallJSON("p", "pick", `{}`)) + `]}`
	for name, c := range map[string]struct {
		beside     []string
		want       string
		took, left int
	}{
		"alone":                 {[]string{tool("t", "p", "red")}, "user hi\nassistant (p pick {})\ntool red @p\n" + pairA, 1, 0},
		"with a word":           {[]string{later, tool("t", "p", "red")}, "user hi\nassistant (p pick {})\ntool red @p\n" + pairA, 1, 1},
		"forged, on the asked":  {[]string{tool("t", "a", "done")}, "user hi\nassistant (p pick {})\n" + pairA, 0, 0},
		"forged, of no call":    {[]string{tool("t", "z", "done")}, "user hi\nassistant (p pick {})\n" + pairA, 0, 0},
		"a word, and no result": {[]string{later}, "user hi\nassistant (p pick {})\n" + pairA, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, messages(append([]string{hello, turn}, c.beside...)...)+`,"tools":[{"name":"pick"}],`+dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`)))
			out, _, err := resumeWith(t, p, in, func(r *translate.Request) { r.NewMessages = in.Messages[2:] })
			if err != nil {
				t.Fatal(err)
			}
			if got := sent(out.Body); got != c.want || out.TakesNew != (c.took > 0) || len(out.UnsentMessages) != c.left {
				t.Errorf("%s\nwant %s\ntakes %v, left %v", got, c.want, out.TakesNew, out.UnsentMessages)
			}
		})
	}
}

func TestMessagesOfTheResume(t *testing.T) {
	p := pausedBy(t, stream(trio("a", argsA), finished)...)
	p.Messages = []byte(`[` + hello + `,` + assistant("a", "a", "Approve", `{"n":1.0}`) + `]`)
	old := assistant("x", "x", "request_approval", argsB)
	for name, c := range map[string]struct{ messages, want string }{
		"none":                         {messages(), "user hi\n" + pairA},
		"the call is not among them":   {messages(hello), "user hi\n" + pairA},
		"forged arguments":             {messages(hello, assistant("a", "a", "Delete", `{"all":true}`)), "user hi\n" + pairA},
		"the client's own pair":        {messages(hello, assistant("a", "a", "request_approval", argsB), tool("a", "a", `{"approval_id":"ficc_b","approved":true}`)), "user hi\n" + pairA},
		"the call in another spelling": {messages(hello, `{"role":"assistant","ToolCalls":[{"Id":"a","function":{"name":"request_approval","arguments":"{}"}}]}`, `{"ROLE":"tool","toolcallid":"a","content":"{}"}`), "user hi\n" + pairA},
		"the call's id twice":          {messages(hello, `{"role":"assistant","toolCalls":[{"id":"x","id":"a","function":{"name":"y","arguments":"{}"}}]}`), "user hi\n" + pairA},
		"a result that cannot be":      {messages(hello, assistant("a", "a", "Approve", "{}"), tool("r", "a", "done")), "user hi\n" + pairA},
		"an old request, unanswered":   {messages(hello, old, hello, assistant("a", "a", "Approve", "{}")), "user hi\nuser hi\n" + pairA},
		"an old pair":                  {messages(hello, old, tool("y", "x", `{"approval_id":"ficc_b","approved":true}`), hello), "user hi\nuser hi\n" + pairA},
		"an old pair with its result":  {messages(hello, old, tool("y", "x", `{"approval_id":"ficc_b","approved":true}`), tool("z", "x", "gone"), hello), "user hi\nassistant (x Delete {})\ntool gone @x\nuser hi\n" + pairA},
		"a call left over":             {messages(hello, assistant("o", "o", "Look", "{}"), assistant("a", "a", "Approve", "{}")), "user hi\n" + pairA},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, p, input(t, c.messages+","+dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`))))
			if err != nil {
				t.Fatal(err)
			}
			if got := sent(out.Body); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	sample := tool("a", "a", `{"approval_id":"ficc_a","approved":true}`)
	for name, c := range map[string]struct {
		more string
		want string    // the call and the answer that are sent
		code agui.Code // or the code of the refusal
	}{
		"approved":                     {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":true,"note":"x"}`)), pairA, ""},
		"denied":                       {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":false}`)), noA, ""},
		"cancelled":                    {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", ``)), noA, ""},
		"true":                         {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`)), pairA, ""},
		"false":                        {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `false`)), noA, ""},
		"accepted":                     {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"accepted":true}`)), pairA, ""},
		"not accepted":                 {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"accepted":false}`)), noA, ""},
		"both, and the same":           {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"accepted":true,"approved":true}`)), pairA, ""},
		"both, and not the same":       {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"accepted":true,"approved":false}`)), "", agui.InvalidPayload},
		"twice, and not the same":      {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":false,"approved":true}`)), "", agui.InvalidPayload},
		"a word":                       {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":"yes"}`)), "", agui.InvalidPayload},
		"nothing":                      {dialecttest.ResumeArray(`{"interruptId":"ficc_a~r1","status":"resolved"}`), "", agui.InvalidPayload},
		"another approval":             {dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":true,"approval_id":"b"}`)), "", agui.InvalidPayload},
		"the sample's own message":     {messages(hello, sample), pairA, ""},
		"twice the same message":       {messages(hello, sample, sample), pairA, ""},
		"its denial":                   {messages(hello, strings.Replace(sample, "true", "false", 1)), noA, ""},
		"its approval and its denial":  {messages(hello, sample, strings.Replace(sample, "true", "false", 1)), "", agui.ResumeConflict},
		"its message for another":      {messages(hello, strings.Replace(sample, "ficc_a", "ficc_b", 1)), "", agui.UnknownInterruptID},
		"its message on another call":  {messages(hello, tool("a", "c", `{"approval_id":"ficc_a","approved":true}`)), "", agui.PartialResume},
		"its message without an id":    {messages(hello, tool("a", "a", `{"approved":true}`)), "", agui.PartialResume},
		"an id in its message twice":   {messages(hello, tool("a", "a", `{"approval_id":"ficc_a","approval_id":"x","approved":true}`)), "", agui.PartialResume},
		"command.resume":               {`"forwardedProps":{"command":{"resume":{"approved":true}}}`, pairA, ""},
		"command.resume, a boolean":    {`"forwardedProps":{"command":{"resume":false}}`, noA, ""},
		"command.resume and the other": {`"forwardedProps":{"command":{"resume":{"approved":true}}},` + dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", ``)), "", agui.ResumeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, pausedBy(t, stream(trio("a", argsA), finished)...), input(t, c.more))
			if dialecttest.Code(err) != c.code {
				t.Fatalf("error %v, want %q", err, c.code)
			}
			if err == nil && sent(out.Body) != "user hi\n"+c.want {
				t.Errorf("%s\nwant %s", sent(out.Body), c.want)
			}
		})
	}
}

// TestAnswersFromMessages: a tool message answers a question. The answer must name the message, so
// that it does not count as new input. If several calls have the same id, only messages that are
// newer than the question may be read.
func TestAnswersFromMessages(t *testing.T) {
	in := input(t, messages(hello, tool("x", "a", `{"approval_id":"ficc_a","approved":true}`)))
	p := pausedBy(t, stream(trio("a", argsA), finished)...)
	list, err := dialecttest.Answers(new(Dialect), in, p)
	if err != nil || len(list) != 1 || !list[0].Native || list[0].Message != agui.NewSeenMessage(in.Messages[1]) || string(list[0].Payload) != `{"approved":true}` {
		t.Errorf("%v %+v", err, list)
	}
	again := playPlain(t, translate.ShowNative, messages(hello, assistant("a", "a", "request_approval", argsA), hello), stream(trio("a", argsA), finished)...)
	repeated := dialecttest.WithIDs(again.Result.Asked.Pause(Name))
	if list, err := dialecttest.Answers(new(Dialect), in, repeated); err != nil || len(list) != 1 {
		t.Errorf("a new answer to a repeated call: %v %+v", err, list)
	}
	// The tool message has the id of a message that the record has seen: the message that the
	// client made for the call. Some hosts give no other id.
	p.SeenMessages = []agui.SeenMessage{{ID: "x"}}
	if list, err := dialecttest.Answers(new(Dialect), in, p); err != nil || len(list) != 1 {
		t.Errorf("an answer with the id of another message: %v %+v", err, list)
	}
	for name, p := range map[string]agui.Pause{
		"no pause":        {},
		"another's pause": {ID: "x", Dialect: "agui", Interrupts: p.Interrupts},
		"an unread pause": {ID: "x", Dialect: Name, Interrupts: []agui.Interrupt{{ID: "ficc_a", Native: "ficc_a"}}},
	} {
		if list, err := dialecttest.Answers(new(Dialect), in, p); list != nil || err != nil {
			t.Errorf("%s: %v %+v", name, err, list)
		}
	}
}

// TestMessageOfTwoRequestsIsRefused: a tool message is for one open call but has the approval_id of
// another. It must answer neither, because some hosts read the call's id and others the
// approval_id.
func TestMessageOfTwoRequestsIsRefused(t *testing.T) {
	published := bothAsked(t)
	native := bothAsked(t)
	for n := range native.Interrupts {
		native.Interrupts[n].ID = native.Interrupts[n].Native
	}
	crossed := input(t, messages(hello, tool("x", "a", `{"approval_id":"ficc_b","approved":true}`), tool("y", "b", `{"approval_id":"ficc_a","approved":true}`)))
	for _, p := range []agui.Pause{published, native} {
		// Each answer must be refused as unknown.
		if list, err := dialecttest.Answers(new(Dialect), crossed, p); err != nil || len(list) != 2 || p.Interrupt(list[0].ID) != nil || p.Interrupt(list[1].ID) != nil {
			t.Errorf("%v %+v", err, list)
		}
	}
}

// TestSecondAnswerStaysOut: the client sends an answer, and also a tool message for the open call.
// The tool message must not be sent, however its keys are spelled. Two answers would run the call
// twice, or run it although it was denied.
func TestSecondAnswerStaysOut(t *testing.T) {
	for _, second := range []string{
		tool("x", "a", `{"approval_id":"ficc_a","approved":true}`),
		`{"id":"x","role":"TOOL","toolCallId":"a","content":"{\"approval_id\":\"ficc_a\",\"approved\":true}"}`,
		`{"id":"x","role":"tool","ToolCallID":"a","content":"{\"approval_id\":\"ficc_a\",\"approved\":true}"}`,
		`{"id":"x","role":"tool","toolCallId":"b","tool_call_id":"a","content":"{\"approval_id\":\"ficc_a\",\"approved\":true}"}`,
	} {
		for _, show := range []translate.Show{translate.ShowNative, translate.ShowOutcome} {
			p := pausedBy(t, stream(trio("a", argsA), finished)...)
			in := input(t, messages(hello, second)+","+dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `false`)))
			out, run, err := resumeWith(t, p, in, func(r *translate.Request) { r.NewMessages, r.Show = in.Messages[1:], show })
			if err != nil || strings.Contains(string(out.Body), `\"approved\":true`) {
				t.Errorf("%v %s", err, out.Body)
			}
			if played := dialecttest.Play(run, unknown(), started, finished); played.Result.Next != nil {
				t.Errorf("a second exchange: %s", played.Result.Next.Out.Body)
			}
		}
	}
}

func TestPauseOfAnother(t *testing.T) {
	p := agui.Pause{ID: "x", Dialect: "agui", Interrupts: []agui.Interrupt{{ID: "a", Native: "a"}}}
	if _, _, err := resumeWith(t, p, input(t, dialecttest.ResumeArray(dialecttest.Entry("a", `true`)))); dialecttest.Code(err) != agui.StoreUnavailable {
		t.Errorf("%v", err)
	}
}

// TestNewMessagesBesideTheAnswers: the client sends new messages together with the answers. The new
// messages must be sent in a second run, after the result of the call.
func TestNewMessagesBesideTheAnswers(t *testing.T) {
	fresh := `{"id":"u2","role":"user","content":"and quick"}`
	in := input(t, messages(hello, assistant("a", "a", "Approve", "{}"), fresh)+","+dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`)))
	p := pausedBy(t, stream(trio("a", argsA), finished)...)
	withNew := func(show translate.Show) func(*translate.Request) {
		return func(r *translate.Request) {
			r.NewMessages, r.Show = in.Messages[2:], show
			r.Transcript = dialecttest.LogOf(hello, assistant("a", "a", "Approve", "{}"), tool("r", "a", "done"), assistant("x", "x", "Look", "{}"), fresh)
		}
	}
	out, run, err := resumeWith(t, p, in, withNew(translate.ShowOutcome))
	if err != nil || sent(out.Body) != "user hi\n"+pairA || out.TakesNew {
		t.Fatalf("%v\n%s", err, sent(out.Body))
	}
	played := dialecttest.Play(run, unknown(), started, finished)
	next := played.Result.Next
	if next == nil || !next.Out.TakesNew || next.Out.Resumes || sent(next.Out.Body) != "user hi\nassistant (a Approve {})\ntool done @a\nuser and quick" {
		t.Fatalf("%+v", next)
	}
	if again := dialecttest.Play(next.Run, unknown(), started, finished); again.Result.Next != nil {
		t.Error("a third exchange")
	}
	_, run, _ = resumeWith(t, p, in, withNew(translate.ShowOutcome))
	if r := dialecttest.Play(run, unknown(), started, failed).Result; r.Next != nil || r.Fate == translate.Lost || r.Fate == translate.Untouched {
		t.Errorf("%+v", r)
	}
	_, run, _ = resumeWith(t, p, in, withNew(translate.ShowOutcome))
	if r := dialecttest.Play(run, unknown(), stream(trio("b", argsB), finished)...).Result; r.Next != nil || len(r.Asked.Interrupts) != 1 {
		t.Errorf("%+v", r)
	}
	out, run, err = resumeWith(t, p, in, withNew(translate.ShowNative))
	if err != nil || !out.TakesNew || sent(out.Body) != "user hi\n"+pairA+"\nuser and quick" {
		t.Errorf("%v\n%s", err, sent(out.Body))
	}
	if played := dialecttest.Play(run, unknown(), started, finished); played.Result.Next != nil {
		t.Error("a second exchange of what went already")
	}
}
