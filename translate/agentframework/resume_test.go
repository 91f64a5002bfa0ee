package agentframework

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestAnswersAreSentAsTheRowDemands(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		resume []string
		way    string // the last message of the request, or the resume array
	}{
		"1.0.0rc7, two":            {asking(withList("a", "b"), "", "a", "b"), []string{yes, no}, `user [{"id":"a","call_id":"a","name":"rm","approved":true,"arguments":{"path":"a"}},{"id":"b","call_id":"b","name":"rm","approved":false,"arguments":{"path":"b"}}]`},
		"1.0.0rc7, given":          {asking(withList("a"), "", "a"), []string{yes}, `tool a {"accepted":true}`},
		"1.0.0rc7, denied":         {asking(withList("a"), "", "a"), []string{no}, `tool a {"accepted":false}`},
		"1.0.0rc7, cancelled":      {asking(withList("a"), "", "a"), []string{""}, `tool a {"accepted":false}`},
		"1.0.0rc7, a bare yes":     {asking(withList("a"), "", "a"), []string{`true`}, `tool a {"accepted":true}`},
		"1.0.0rc8, given":          {asking(withOutcome(schemaOld, "a"), "", "a"), []string{yes}, `array [{"interruptId":"a","status":"resolved","payload":{"accepted":true}}]`},
		"1.0.0rc8, a bare no":      {asking(withOutcome(schemaOld, "a"), "", "a"), []string{`false`}, `array [{"interruptId":"a","status":"resolved","payload":{"accepted":false}}]`},
		"1.0.0rc8, cancelled":      {asking(withOutcome(schemaOld, "a"), "", "a"), []string{""}, `array [{"interruptId":"a","status":"resolved","payload":{"accepted":false}}]`},
		"1.7.0, given":             {asking(withOutcome(schemaNew, "af-a"), "af-", "a"), []string{yes}, `array [{"interruptId":"af-a","status":"resolved","payload":{"approved":true}}]`},
		"1.7.0, the older word":    {asking(withOutcome(schemaNew, "af-a"), "af-", "a"), []string{`{"accepted":true}`}, `array [{"interruptId":"af-a","status":"resolved","payload":{"accepted":true}}]`},
		"1.7.0, changed arguments": {asking(withOutcome(schemaNew, "af-a"), "af-", "a"), []string{`{"approved":true,"editedArgs":{"path":"z"}}`}, `array [{"interruptId":"af-a","status":"resolved","payload":{"approved":true,"editedArgs":{"path":"z"}}}]`},
		"1.7.0, two":               {asking(withOutcome(schemaNew, "af-a", "af-b"), "af-", "a", "b"), []string{yes, yes}, `array [{"interruptId":"af-a","status":"resolved","payload":{"approved":true}},{"interruptId":"af-b","status":"resolved","payload":{"approved":true}}]`},
		"a predicted state, confirmed": {
			events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{withConfirm("c", "w")}), []string{`{"approved":true,"steps":[{"description":"x","status":"enabled"}]}`},
			`tool c {"accepted":true,"steps":[{"description":"x","status":"enabled"}]}`,
		},
		"a predicted state, rejected": {events([]string{started}, confirms("c", "w"), []string{withConfirm("c", "w")}), []string{no}, `tool c {"accepted":false,"steps":[]}`},
		"a predicted state, cancelled": {
			events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{withOutcome(schemaOld, "c")}), []string{""}, `tool c {"accepted":false,"steps":[]}`,
		},
		"a workflow of 1.0.0rc7": {
			append(append([]string{started}, requests("q", "dict", `{}`)...), `{"type":"RUN_FINISHED","interrupt":[{"id":"q","value":{}}]}`), []string{`{"choice":"a"}`},
			`object {"interrupts":[{"id":"q","value":{"choice":"a"}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, c.stream...)
			out, _ := answering(t, p, l, input(t, entries(p, c.resume...)))
			if got := wayOf(out); got != c.way {
				t.Errorf("sent %s\nwant %s", got, c.way)
			}
			if !out.Resumes {
				t.Error("it carries the answers")
			}
			if strings.Contains(sent(out, "messages").Raw, "confirm_changes") {
				t.Errorf("the call that only asked is in the history: %s", sent(out, "messages").Raw)
			}
		})
	}
}

func wayOf(out translate.Out) string {
	switch last, resume := lastMessage(out), sent(out, "resume"); {
	case resume.IsArray():
		return "array " + resume.Raw
	case resume.IsObject():
		return "object " + resume.Raw
	case last.Get("role").Str == "tool":
		return "tool " + last.Get("toolCallId").Str + " " + last.Get("content").Str
	default:
		return last.Get("role").Str + " " + last.Get("function_approvals").Raw
	}
}

// TestBatchOfVersionsThatActOnOneAnswer: 1.0.0rc8 to 1.0.1 act only on the last of several entries
// that look the same. So the other answers must also be sent in a message.
func TestBatchOfVersionsThatActOnOneAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		calls    []string
		siblings bool
		message  string // the calls in the message that Holdpoint adds, in order
		array    string // the calls in the resume array, in order
	}{
		"one":                    {[]string{"a"}, false, "", "a"},
		"two":                    {[]string{"a", "b"}, false, "a", "b a"},
		"three":                  {[]string{"a", "b", "c"}, false, "a b", "c a b"},
		"two beside a search":    {[]string{"a", "b"}, true, "", "a b"},
		"three beside a search":  {[]string{"a", "b", "c"}, true, "a", "b c a"},
		"one beside a search":    {[]string{"a"}, true, "", "a"},
		"more calls than before": {[]string{"a", "b", "c", "d"}, false, "a b c", "d a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := asking(withOutcome(schemaOld, c.calls...), "", c.calls...)
			if c.siblings {
				stream = append(append([]string{stream[0], stream[1]}, toolCall("s", "search", `{}`)...), stream[2:len(stream)-2]...)
				stream = append(stream, withOutcome(schemaOld, c.calls...))
			}
			p, l := pausedBy(t, stream...)
			answers := make([]string, len(c.calls))
			for n := range answers {
				answers[n] = []string{`{"accepted":true}`, `{"accepted":false}`}[n%2]
			}
			out, _ := answering(t, p, l, input(t, entries(p, answers...)))
			var message, array []string
			for _, a := range lastMessage(out).Get("function_approvals").Array() {
				message = append(message, a.Get("id").Str)
				if want := strings.Index("abcd", a.Get("id").Str)%2 == 0; a.Get("approved").Bool() != want {
					t.Errorf("%s says %s", a.Get("id"), a.Get("approved").Raw)
				}
			}
			for _, e := range sent(out, "resume").Array() {
				array = append(array, e.Get("interruptId").Str)
				if want := strings.Index("abcd", e.Get("interruptId").Str)%2 == 0; e.Get("payload.accepted").Bool() != want {
					t.Errorf("%s says %s", e.Get("interruptId"), e.Get("payload").Raw)
				}
			}
			if strings.Join(message, " ") != c.message || strings.Join(array, " ") != c.array {
				t.Errorf("message %q array %q, want %q and %q", message, array, c.message, c.array)
			}
		})
	}
}

// TestChangedArgumentsInABatch: if the person edits arguments, the message and the resume array
// must have the same edited arguments.
func TestChangedArgumentsInABatch(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
	out, _ := answering(t, p, l, input(t, entries(p, `{"accepted":true,"path":"z"}`, `{"accepted":true}`)))
	if got := lastMessage(out).Get("function_approvals.0.arguments").Raw; got != `{"path":"z"}` {
		t.Errorf("arguments %s", got)
	}
}

// TestMixedBatchIsPrecededByAnExchangeThatMakesForget: 1.4.0 to 1.7.0 run no call of a batch with a
// denied call, unless they first forget the answers that they have collected. So an exchange that
// makes them forget must come first.
func TestMixedBatchIsPrecededByAnExchangeThatMakesForget(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaNew, "af-a", "af-b"), "af-", "a", "b")...)
	out, run := answering(t, p, l, input(t, entries(p, yes, no)))
	if out.Resumes || out.TakesNew || wayOf(out) != `array [{"interruptId":"holdpoint-no-such-interrupt","status":"cancelled"}]` {
		t.Fatalf("%+v %s", out, wayOf(out))
	}
	unknown := failedWith("APPROVAL_RESUME_NOT_FOUND", "No pending interrupt found")
	played := play(t, run, l, started, unknown)
	next := played.Result.Next
	if next == nil || !next.Out.Resumes || len(played.All()) != 0 {
		t.Fatalf("%+v", played)
	}
	if got := wayOf(next.Out); got != `array [{"interruptId":"af-a","status":"resolved","payload":{"approved":true}},{"interruptId":"af-b","status":"resolved","payload":{"approved":false}}]` {
		t.Errorf("sent %s", got)
	}
	for name, c := range map[string]struct {
		end  translate.End
		told agui.Type // the last event that the client gets
	}{
		"another error":      {translate.End{Event: agui.NewEvent([]byte(failedWith("X", "x")))}, agui.RunErrored},
		"a stream that ends": {translate.End{}, agui.Unknown},
		"an HTTP status":     {translate.End{Status: 500}, agui.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			_, run := answering(t, p, l, input(t, entries(p, yes, no)))
			res, err := run.End(c.end)
			if err != nil || res.Next != nil || res.Finish.Type != c.told {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
	for name, payloads := range map[string][]string{"all given": {yes, yes}, "all denied": {no, no}, "all cancelled": {"", ""}, "denied and cancelled": {no, ""}} {
		if out, _ := answering(t, p, l, input(t, entries(p, payloads...))); !out.Resumes {
			t.Errorf("%s: an exchange before", name)
		}
	}
	old, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
	if out, _ := answering(t, old, l, input(t, entries(old, `{"accepted":true}`, `{"accepted":false}`))); !out.Resumes {
		t.Error("1.0.0rc8 collects nothing")
	}
}

func TestWorkflowIsCancelled(t *testing.T) {
	ask := append(append([]string{started}, requests("q", "dict", `{}`)...), requests("w", "bool", `{}`)...)
	outcome := `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input_required"},{"id":"w","reason":"input_required"}]}}`
	p, l := pausedBy(t, append(ask, outcome)...)
	out, _ := answering(t, p, l, input(t, entries(p, "", "")))
	if wayOf(out) != `array [{"interruptId":"q","status":"cancelled"},{"interruptId":"w","status":"cancelled"}]` || sent(out, "messages").Raw != "[]" {
		t.Errorf("sent %s with messages %s", wayOf(out), sent(out, "messages").Raw)
	}
	out, _ = answering(t, p, l, input(t, entries(p, `{}`, `true`)))
	if len(sent(out, "messages").Array()) != 1 {
		t.Errorf("messages %s", sent(out, "messages").Raw)
	}

	p, l = pausedBy(t, append(ask, withRequests("q", "w"))...)
	fits := func(value string) func(*translate.Request) {
		return func(r *translate.Request) {
			r.Valid = func(_, payload json.RawMessage) error {
				if string(payload) != value {
					return errors.New("no")
				}
				return nil
			}
		}
	}
	if _, _, err := resumeWith(t, newDialect(t), p, l, input(t, entries(p, "", `true`)), fits("{}")); dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("a cancel that fits nothing: %v", err)
	}
	out, _ = answering(t, p, l, input(t, entries(p, "", "")), fits("false"))
	if got := wayOf(out); got != `object {"interrupts":[{"id":"q","value":false},{"id":"w","value":false}]}` {
		t.Errorf("sent %s", got)
	}
	if _, _, err := resumeWith(t, newDialect(t), p, l, input(t, entries(p, "", ""))); dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("a cancel that nobody judged: %v", err)
	}
}

// TestAnswersThatAreRefused: if an answer is not a plain yes or no, it must be refused before
// anything is sent.
func TestAnswersThatAreRefused(t *testing.T) {
	list := asking(withList("a"), "", "a")
	for name, c := range map[string]struct {
		stream  []string
		payload string
	}{
		"no payload":                {list, `null`},
		"text":                      {list, `"yes"`},
		"a number":                  {list, `1`},
		"no decision":               {list, `{}`},
		"a decision that is text":   {list, `{"approved":"true"}`},
		"a contradiction":           {list, `{"approved":true,"accepted":false}`},
		"one behind an agreement":   {list, `{"accepted":true,"approved":true,"accepted":false}`},
		"a key twice":               {list, `{"approved":false,"approved":true}`},
		"a list":                    {list, `[{"approved":true}]`},
		"changed arguments":         {list, `{"approved":true,"editedArgs":{"path":"z"}}`},
		"a changed argument":        {list, `{"approved":true,"path":"z"}`},
		"two words of the newest":   {asking(withOutcome(schemaNew, "af-a"), "af-", "a"), `{"approved":true,"accepted":false}`},
		"a workflow without answer": {append(append([]string{started}, requests("q", "str", `"?"`)...), withRequests("q")), `null`},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, c.stream...)
			if out, _, err := resumeWith(t, newDialect(t), p, l, input(t, entries(p, c.payload))); dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("%v: sent %s", err, out.Body)
			}
		})
	}
}

func TestAnswerThatDeniesMayHoldAnything(t *testing.T) {
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	out, _ := answering(t, p, l, input(t, entries(p, `{"approved":false,"path":"z","comment":"no"}`)))
	if wayOf(out) != `tool a {"accepted":false}` {
		t.Errorf("sent %s", wayOf(out))
	}
}

func TestThreadOfTheBackend(t *testing.T) {
	for name, c := range map[string]struct {
		finish, thread string
	}{
		"1.0.0rc7": {withList("a"), "conv_1"},
		"1.0.0rc8": {withOutcome(schemaOld, "a"), "conv_1"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := asking(c.finish, "", "a")
			stream[0] = `{"type":"RUN_STARTED","threadId":"conv_1","runId":"resp_1"}`
			p, l := pausedBy(t, stream...)
			out, _ := answering(t, p, l, input(t, entries(p, "true")))
			if sent(out, "threadId").Str != c.thread {
				t.Errorf("threadId %s", sent(out, "threadId"))
			}
		})
	}
}

func TestBodyOfAResume(t *testing.T) {
	more := `"protocolVersion":"1.0","odd":[1.0],"forwardedProps":{"a":{"resume":1}},`
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	out, _ := answering(t, p, l, input(t, more+entries(p, yes)))
	for path, want := range map[string]string{
		"protocolVersion": "", "resume": "", "odd": "[1.0]", "forwardedProps": `{"a":{"resume":1}}`, "threadId": `"t1"`, "runId": `"r1"`, "thread_id": "",
	} {
		if got := sent(out, path).Raw; got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	p, l = pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	in := strings.Replace(entries(p, yes), `"status"`, `"metadata":{"k":1},"status"`, 1)
	out, _ = answering(t, p, l, input(t, more+in))
	if sent(out, "protocolVersion").Str != "1.0" || sent(out, "resume.0.metadata").Raw != `{"k":1}` {
		t.Errorf("body %s", out.Body)
	}
}

func TestConversationThatTheBackendNeeds(t *testing.T) {
	stream := asking(withList("a"), "", "a")
	for name, c := range map[string]struct {
		known    []string // the client's messages; nil: as the stream had them
		messages []string
	}{
		"as it was told":      {nil, []string{user, said("a")}},
		"with residue":        {[]string{user, said("a", "c=a")}, []string{user, said("a")}},
		"arguments changed":   {[]string{user, strings.Replace(said("a"), `\"a\"`, `\"z\"`, 1)}, []string{user, said("a")}},
		"an answer besides":   {[]string{user, said("a"), toolMessage("x", "a", `{"status":"resolved"}`)}, []string{user, said("a")}},
		"an older call":       {[]string{user, said("a"), toolMessage("x", "a", "done"), said("a")}, []string{user, said("a"), toolMessage("x", "a", "done"), said("a")}},
		"without the call":    {[]string{user}, []string{user, `{"id":"ID-calls","role":"assistant","content":"","toolCalls":[{"id":"a","type":"function","function":{"name":"rm","arguments":"{\"path\":\"a\"}"}}]}`}},
		"of another approval": {[]string{user, said("b", "a")}, []string{user, said("b", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, stream...)
			if c.known != nil {
				l = dialecttest.LogOf(c.known...)
			}
			out, _ := answering(t, p, l, input(t, entries(p, yes)))
			list := sent(out, "messages").Array()
			answer := list[len(list)-1].Get("id").Str
			id := strings.TrimSuffix(answer, "-1")
			var got []string
			for _, m := range list[:len(list)-1] {
				got = append(got, strings.Replace(m.Raw, id, "ID", 1))
			}
			if strings.Join(got, "\n") != strings.Join(c.messages, "\n") {
				t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.messages, "\n"))
			}
		})
	}
	t.Run("what is not known", func(t *testing.T) {
		p, l := pausedBy(t, stream...)
		l.Unknown = true
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+user+`,`+said("a")+`,{"id":"u2","role":"user","content":"more"}],`+entries(p, yes)+`}`)
		out, _ := answering(t, p, l, in, func(r *translate.Request) { r.NewMessages = r.Input.Messages[2:] })
		if n := len(sent(out, "messages").Array()); n != 3 {
			t.Errorf("%d messages: %s", n, sent(out, "messages").Raw)
		}
	})
}

// TestAnsweringMessageHasAnIDOfItsOwn: backends read two messages with the same id as one, so each
// message with answers must have its own id.
func TestAnsweringMessageHasAnIDOfItsOwn(t *testing.T) {
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	one, _ := answering(t, p, l, input(t, entries(p, yes)))
	p.Interrupts[0].ID = "a~other"
	two, _ := answering(t, p, l, input(t, entries(p, yes)))
	if a, b := lastMessage(one).Get("id").Str, lastMessage(two).Get("id").Str; a == b || !strings.HasPrefix(a, "holdpoint-") {
		t.Errorf("%s and %s", a, b)
	}
}

// TestKindsGoOneAfterAnother: questions of different kinds cannot be answered together. So they are
// answered in several exchanges, and the approvals come first.
func TestKindsGoOneAfterAnother(t *testing.T) {
	stream := events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), toolCall("a", "rm", `{}`), []string{asks("a", "a")},
		requests("q", "dict", `{}`), []string{withOutcome(schemaOld, "c", "a", "q")})
	p, l := pausedBy(t, stream...)
	out, run := answering(t, p, l, input(t, entries(p, yes, yes, `{"x":1}`)))
	var ways []string
	for {
		ways = append(ways, wayOf(out))
		got := play(t, run, l, started, result("a", "done"), finished)
		res := got.Result
		// The client gets the result of the confirmed changes in the first exchange, before the
		// model's text about them.
		if told := strings.Contains(got.Text(), resultAccepted); told != (len(ways) == 1) {
			t.Errorf("exchange %d told %s", len(ways), got.Text())
		}
		if res.Next == nil {
			break
		}
		out, run = res.Next.Out, res.Next.Run
	}
	want := `array [{"interruptId":"a","status":"resolved","payload":{"accepted":true}}] array [{"interruptId":"q","status":"resolved","payload":{"x":1}}] tool c {"accepted":true,"steps":[]}`
	if got := strings.Join(ways, " "); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestPauseThatCannotBeRead(t *testing.T) {
	for name, change := range map[string]func(*agui.Pause){
		"the pause":     func(p *agui.Pause) { p.Private = nil },
		"the interrupt": func(p *agui.Pause) { p.Interrupts[0].Private = json.RawMessage(`7`) },
	} {
		p, l := pausedBy(t, asking(withList("a"), "", "a")...)
		in := input(t, entries(p, yes))
		change(&p)
		if _, _, err := resumeWith(t, newDialect(t), p, l, in); dialecttest.Code(err) != agui.StoreUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
