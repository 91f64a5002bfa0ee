package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// The tests make pauses from these events and interrupts. A backend asks by the interrupt outcome,
// by a CUSTOM event, by a call of request_approval, or by a call of another tool.
const (
	question  = `{"id":"n~x","reason":"approval","message":"Delete it?"}`
	aboutCall = `{"id":"n~x","reason":"tool_call","message":"Delete it?","toolCallId":"c1"}`
	asked     = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n"}]}}`
	ended     = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	custom    = `{"type":"CUSTOM","name":"on_interrupt","value":"{}"}`
	approval  = `{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"request_approval"}`
	otherTool = `{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"confirm"}`
)

// asks returns a pause with one question. native are the events by which the backend announced the
// question.
func asks(object, finish string, native ...string) *agui.Pause {
	p := &agui.Pause{Finish: []byte(ended), NativeFinish: []byte(finish), SeenMessages: []agui.SeenMessage{agui.NewSeenMessage(agui.ParseMessage([]byte(user)))}}
	i := agui.Interrupt{ID: "n~x", Native: "n", Object: []byte(object)}
	if i.ToolCallID() != "" {
		i.Calls = []agui.AskedCall{{ID: "c1", Name: "rm", Args: `{"path":"a"}`}}
	}
	for _, own := range native {
		p.Native = append(p.Native, []byte(own))
		if strings.Contains(own, "TOOL_CALL_START") {
			i.Keys = []string{"c2"}
		}
	}
	p.Interrupts = []agui.Interrupt{i}
	return p
}

// TestWhoIsToldWhat checks in which form each client gets each kind of pause, as docs/support.md
// promises.
func TestWhoIsToldWhat(t *testing.T) {
	t.Parallel()
	const (
		outcome = "RUN_FINISHED(interrupt)"
		byEvent = "CUSTOM " + outcome
		text    = "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END "
	)
	pauses := []*agui.Pause{asks(question, asked), asks(question, ended, custom), asks(question, ended, approval), asks(question, ended, otherTool), asks(question, ended, otherTool)}
	pauses[4].Interrupts[0].Keys = nil // no message can answer it
	for _, c := range []struct {
		who      string
		listener Listener
		// The forms in which the client gets the questions of five kinds of backends. They ask by
		// the outcome, by CUSTOM, by request_approval, by another tool, and by a call that no
		// message can answer.
		want [5]string
	}{
		{"AG-UI 1.0", listen(t, official), [5]string{outcome, outcome, outcome, outcome, outcome}},
		{"@ag-ui/client 0.0.59", listen(t, older), [5]string{byEvent, byEvent, "TOOL_CALL_START(request_approval) " + outcome, "TOOL_CALL_START(confirm) " + outcome, "TOOL_CALL_START(confirm) " + outcome}},
		{"it has answered by resume", listen(t, resuming), [5]string{outcome, outcome, outcome, outcome, outcome}},
		{"TanStack AI", listen(t, tanStack), [5]string{byEvent, byEvent, "TOOL_CALL_START(request_approval) " + outcome, "TOOL_CALL_START(confirm) " + outcome, "TOOL_CALL_START(confirm) " + outcome}},
		{"AGUI.Client 0.0.3", listen(t, dotnet), [5]string{byEvent, byEvent, "TOOL_CALL_START(request_approval) " + outcome, "TOOL_CALL_START(confirm) " + outcome, "TOOL_CALL_START(confirm) " + outcome}},
		// The in-tree client fails at CUSTOM and ignores the outcome. It answers calls of one tool,
		// and gets every other question as a text.
		{"Microsoft.Agents.AI.AGUI", listen(t, inTree), [5]string{
			text + outcome, "CUSTOM " + text + "RUN_FINISHED", "TOOL_CALL_START(request_approval) RUN_FINISHED", "TOOL_CALL_START(confirm) " + text + "RUN_FINISHED", "TOOL_CALL_START(confirm) " + text + "RUN_FINISHED",
		}},
		{"an unknown one, the operator wants the own form", as(listen(t, older), translate.ShowNative), [5]string{
			outcome, "CUSTOM RUN_FINISHED", "TOOL_CALL_START(request_approval) RUN_FINISHED", "TOOL_CALL_START(confirm) RUN_FINISHED", "TOOL_CALL_START(confirm) " + text + "RUN_FINISHED",
		}},
		{"AG-UI 1.0, the operator wants the own form", as(listen(t, official), translate.ShowNative), [5]string{
			outcome, "CUSTOM RUN_FINISHED", "TOOL_CALL_START(request_approval) RUN_FINISHED", "TOOL_CALL_START(confirm) RUN_FINISHED", "TOOL_CALL_START(confirm) " + outcome,
		}},
		{"AGUI.Client, the operator wants the own form", as(listen(t, dotnet), translate.ShowNative), [5]string{
			outcome, "CUSTOM RUN_FINISHED", "TOOL_CALL_START(request_approval) RUN_FINISHED", "TOOL_CALL_START(confirm) RUN_FINISHED", "TOOL_CALL_START(confirm) " + outcome,
		}},
	} {
		for n, p := range pauses {
			got := c.listener.Question(Question{Pause: p, Announced: c.listener.Announcement(p)})
			if b := brief(got); b != c.want[n] {
				t.Errorf("%s, pause %d: %s, want %s", c.who, n, b, c.want[n])
			}
			if c.listener.AsksByText(p) != strings.Contains(c.want[n], text) {
				t.Errorf("%s, pause %d: it is said to be told as a text, or not to be", c.who, n)
			}
		}
	}
}

// TestOrderOfAQuestion checks the order of the events of a question: first its announcement, then
// the other events, then the end of the run. If the question is a text, this text follows the
// events that close open messages.
func TestOrderOfAQuestion(t *testing.T) {
	t.Parallel()
	const (
		state = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
		close = `{"type":"TEXT_MESSAGE_END","messageId":"m"}`
	)
	list := func(text string) []agui.Event { return []agui.Event{agui.NewEvent([]byte(text))} }
	l := listen(t, older)
	p := asks(question, ended, custom)
	got := l.Question(Question{Pause: p, Announced: l.Announcement(p), MoreEvents: list(state), ClosingEvents: list(close), NotTaken: true})
	same(t, got, custom, state,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[`+question+`]},"metadata":{"holdpoint":{"code":"MESSAGES_NOT_TAKEN"}}}`)

	l = listen(t, inTree)
	got = l.Question(Question{Pause: p, MoreEvents: list(state), ClosingEvents: list(close)})
	if b := brief(got); b != "STATE_SNAPSHOT TEXT_MESSAGE_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
		t.Error(b)
	}

	decided := *p
	decided.Interrupts = append(decided.Interrupts, agui.Interrupt{ID: "o~y", Object: []byte(`{"id":"o~y","reason":"r"}`)})
	decided.Decisions = []agui.Decision{{Question: "n~x"}}
	got = listen(t, official).Question(Question{Pause: &decided})
	if ids := agui.View(got[0].JSON).Get("outcome.interrupts.#.id").Raw; ids != `["o~y"]` {
		t.Errorf("a question that is decided is told, or one that is not is missing: %s", ids)
	}
}

// TestCustomInterrupt checks that the CUSTOM event contains all questions, in the format that
// LangGraph's clients read.
func TestCustomInterrupt(t *testing.T) {
	t.Parallel()
	p := asks(question, asked)
	value := agui.View(customInterrupt(p).JSON).Get("value").Str
	if value != question {
		t.Errorf("one question: %s", value)
	}
	p.Interrupts = append(p.Interrupts, agui.Interrupt{ID: "o~y", Object: []byte(`{"id":"o~y"}`)})
	value = agui.View(customInterrupt(p).JSON).Get("value").Str
	if value != `{"interrupts":[`+question+`,{"id":"o~y"}]}` {
		t.Errorf("two questions: %s", value)
	}
}

// TestAnnouncement: a call announces a question, and the client already has the call in its
// history. Holdpoint must not send the call again. The client would append the arguments to those
// that it has.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	p := asks(question, ended, custom, approval, `{"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c2"}`)
	if b := brief(listen(t, older).Announcement(p)); b != "CUSTOM TOOL_CALL_START(request_approval) TOOL_CALL_ARGS TOOL_CALL_END" {
		t.Error(b)
	}
	holds := `{"id":"a1","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"request_approval","arguments":"{}"}}]}`
	if b := brief(listen(t, older, user, holds).Announcement(p)); b != "CUSTOM" {
		t.Errorf("the client has the call: %s", b)
	}
}

// TestQuestionText checks that the text of a question says what the agent asks and where the person
// can answer. The id of the text message must name the question. By this id, Holdpoint gives the
// question up when the person writes the next message.
func TestQuestionText(t *testing.T) {
	t.Parallel()
	const where = "This program cannot answer that. It can be answered at the desk, or in another client of this conversation. If it is not answered before your next message, that message cancels it."
	for name, c := range map[string]struct {
		pause *agui.Pause
		want  string
	}{
		"a question":            {asks(question, ended), "Delete it?\n"},
		"a question and a call": {asks(aboutCall, ended), "Delete it?\nThe agent asks to call the tool rm with {\"path\":\"a\"}.\n"},
		"no message":            {asks(`{"id":"n~x","reason":"input"}`, ended), "The agent waits for an answer (input).\n"},
	} {
		events := questionText(c.pause)
		if got := agui.View(events[1].JSON); got.Get("delta").Str != c.want+where || got.Get("messageId").Str != "holdpoint-question-n~x" {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	large := asks(aboutCall, ended)
	large.Interrupts[0].Calls[0].Args = strings.Repeat("é", maxShownArguments)
	if got := agui.View(questionText(large)[1].JSON).Get("delta").Str; !strings.Contains(got, "é...") || len(got) > 2*maxShownArguments {
		t.Errorf("%d bytes of a large call are shown", len(got))
	}
}

// TestGivingUp: a text shows a question to a client, and the person's next message then gives the
// question up. The test checks for which clients and pauses Holdpoint does so.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	text := `{"id":"holdpoint-question-n~x","role":"assistant","content":"..."}`
	byText := func(p *agui.Pause) *agui.Pause {
		p.ByText = true
		return p
	}
	for name, c := range map[string]struct {
		listener Listener
		pause    *agui.Pause
		want     bool
	}{
		"it was told so":                            {listen(t, inTree), byText(asks(question, ended, custom)), true},
		"another client was, it has the text":       {as(listen(t, inTree, `{"name":null,"id":"u1","role":"user","content":"go"}`, text), translate.ShowNative), asks(question, ended, custom), true},
		"another client was, it has no text":        {listen(t, inTree), asks(question, ended, custom), false},
		"it can answer":                             {listen(t, official, user, text), byText(asks(question, ended, custom)), false},
		"it can answer by the call":                 {listen(t, inTree), byText(asks(question, ended, approval)), false},
		"the operator's form is that of the client": {as(listen(t, older), translate.ShowNative), byText(asks(question, ended, custom)), false},
	} {
		if got := c.listener.WasToldByText(c.pause); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if ids := listen(t, older, user, text).QuestionsOfTexts(); len(ids) != 1 || ids[0] != "n~x" {
		t.Errorf("the texts of the request name %q", ids)
	}
}

// TestTanStackBindings checks the bindings of questions. TanStack AI's client shows a question only
// if the question has a binding that names the current run. Other clients must get no binding.
func TestTanStackBindings(t *testing.T) {
	t.Parallel()
	p := asks(aboutCall, ended)
	binding := func(l Listener) string {
		events := l.Question(Question{Pause: p})
		bound := agui.View(events[len(events)-1].JSON).Get("outcome.interrupts.0.metadata")
		return bound.Raw
	}
	if got := binding(listen(t, tanStack)); !strings.Contains(got, `"interruptedRunId":"r"`) {
		t.Errorf("the binding does not name the run: %s", got)
	}
	for _, other := range []string{official, older, dotnet} {
		if got := binding(listen(t, other)); got != "" {
			t.Errorf("another client gets a binding: %s", got)
		}
	}
	if got := binding(as(listen(t, tanStack), translate.ShowNative)); got != "" {
		t.Errorf("the backend's own form has a binding: %s", got)
	}
}

// TestRetoldIDs: each time that Holdpoint sends a question again, .NET's client must get it under
// another id. Holdpoint must read an answer with such an id like an answer with the published id.
func TestRetoldIDs(t *testing.T) {
	t.Parallel()
	p := asks(question, ended, custom)
	l := listen(t, dotnet)
	retold := l.WithRetoldIDs(p)
	id := agui.View(retold.Interrupts[0].Object).Get("id").Str
	if !strings.HasPrefix(id, "n~x+") || retold.Interrupts[0].ID != "n~x" || string(p.Interrupts[0].Object) != question {
		t.Errorf("%s, and the pause is %s", id, p.Interrupts[0].Object)
	}
	for name, other := range map[string]Listener{"AG-UI 1.0": listen(t, official), "the in-tree one": listen(t, inTree), "the own form": as(l, translate.ShowNative)} {
		if other.WithRetoldIDs(p) != p {
			t.Errorf("%s gets other ids", name)
		}
	}
	for name, c := range map[string]struct{ sent, want string }{
		"the id as it was told again": {id, "n~x"},
		"the published id":            {"n~x", "n~x"},
		"an id of another form":       {"n+01234567", "n+01234567"},
	} {
		body := agui.SetKey([]byte(dotnet), "resume", agui.MustMarshal([]any{map[string]any{"interruptId": c.sent, "status": "resolved"}}))
		in := WithPublishedIDs(listen(t, string(body)).In)
		if in.Resume[0].InterruptID != c.want || agui.View(in.Raw).Get("resume.0.interruptId").Str != c.want {
			t.Errorf("%s: %s in %s", name, in.Resume[0].InterruptID, in.Raw)
		}
	}
}

// TestRefusals checks that the reason of a refusal is in the metadata of RUN_FINISHED and in the
// metadata of each question, and nowhere else.
func TestRefusals(t *testing.T) {
	t.Parallel()
	why := &Refusal{Code: "RESUME_CONFLICT", Text: "no"}
	const refused = `"metadata":{"holdpoint":{"refusal":{"code":"RESUME_CONFLICT","text":"no"}}}`
	plain := agui.NewEvent([]byte(ended))
	l := listen(t, official)
	same(t, []agui.Event{l.WithRefusal(plain, why), l.WithRefusal(plain, nil), as(l, translate.ShowNative).WithRefusal(plain, why)},
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r",`+refused+`}`, ended, ended)
	told := WithRefusal(asks(question, ended), why)
	if got := string(told.Interrupts[0].Object); got != `{"id":"n~x","reason":"approval","message":"Delete it?",`+refused+`}` {
		t.Errorf("a question: %s", got)
	}
	for _, object := range []string{`{"metadata":"x"}`, `{"metadata":{"holdpoint":1}}`} {
		if got := string(withRefusal([]byte(object), why)); got != object {
			t.Errorf("metadata that is not an object is changed: %s", got)
		}
	}
	both := ExplainedQuestions(agui.NewEvent(json.RawMessage(`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a"},{"id":"b"}]}}`)), why)
	if n := agui.View(both.JSON).Get(`outcome.interrupts.#(metadata.holdpoint.refusal.text=="no")#|#`).Int(); n != 2 {
		t.Errorf("%d of two questions say why: %s", n, both.JSON)
	}
}

// TestPublish checks that a question gets the published id and a time at which it expires. If the
// backend sets such a time, it must stay. Otherwise the question gets the time that the operator
// has configured.
func TestPublish(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		object, want string
		expires      time.Time
	}{
		"no time":                {`{"id":"n","reason":"r"}`, `{"id":"n~x","reason":"r"}`, time.Time{}},
		"the operator's time":    {`{"id":"n","reason":"r"}`, `{"id":"n~x","reason":"r","expiresAt":"2026-11-28T12:00:00Z"}`, at},
		"the backend's time":     {`{"id":"n","expiresAt":"2027-01-01T00:00:00Z"}`, `{"id":"n~x","expiresAt":"2027-01-01T00:00:00Z"}`, at},
		"a time that none reads": {`{"id":"n","expiresAt":"soon"}`, `{"id":"n~x","expiresAt":"soon"}`, at},
		"without an id":          {`{"reason":"r"}`, `{"reason":"r","id":"n~x"}`, time.Time{}},
	} {
		i := agui.Interrupt{Native: "n", ID: "n~x", Object: []byte(c.object)}
		PublishID(&i, c.expires)
		if string(agui.Canonical(i.Object)) != string(agui.Canonical([]byte(c.want))) {
			t.Errorf("%s: %s, want %s", name, i.Object, c.want)
		}
	}
}

// TestWithPublishedID: the backend's own event announces a question. In this event, the published
// id must replace the backend's id.
func TestWithPublishedID(t *testing.T) {
	p := &agui.Pause{Interrupts: []agui.Interrupt{{Native: "n", ID: "n~x"}, {Native: "same", ID: "same"}, {ID: "~y"}}}
	for name, c := range map[string][2]string{
		"an object":           {`{"type":"CUSTOM","name":"on_interrupt","value":{"id":"n","a":1}}`, `{"type":"CUSTOM","name":"on_interrupt","value":{"id":"n~x","a":1}}`},
		"a text":              {`{"type":"CUSTOM","name":"on_interrupt","value":"{\"id\":\"n\"}"}`, `{"type":"CUSTOM","name":"on_interrupt","value":"{\"id\":\"n~x\"}"}`},
		"another question":    {`{"type":"CUSTOM","name":"on_interrupt","value":{"id":"m"}}`, ""},
		"no id":               {`{"type":"CUSTOM","name":"on_interrupt","value":{"a":1}}`, ""},
		"published as it was": {`{"type":"CUSTOM","name":"on_interrupt","value":{"id":"same"}}`, ""},
		"no object":           {`{"type":"CUSTOM","name":"on_interrupt","value":"n"}`, ""},
		"another event":       {`{"type":"CUSTOM","name":"progress","value":{"id":"n"}}`, ""},
	} {
		want := c[1]
		if want == "" {
			want = c[0]
		}
		if got := WithPublishedID([]byte(c[0]), p); string(got) != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
