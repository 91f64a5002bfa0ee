package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

const (
	askingCall = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"tool_call","toolCallId":"c1"}]}}`
	callOfC1   = `{"id":"c1","type":"function","function":{"name":"rm","arguments":"{\"path\":\"a\"}"}}`
	evilOfC1   = `{"id":"c1","type":"function","function":{"name":"rm","arguments":"{\"path\":\"/\"}"}}`
)

func callEvents(id, name string, pieces ...string) []string {
	list := []string{fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":%q,"toolCallName":%q,"parentMessageId":"m1"}`, id, name)}
	for _, p := range pieces {
		list = append(list, fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":%s}`, id, agui.MustMarshal(p)))
	}
	return append(list, fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q}`, id))
}

// asksFor returns a rig whose first run streams these events and then asks about call c1. Its
// dialect sends the messages of each request to the backend, because a backend that keeps no
// threads acts on them.
func asksFor(t *testing.T, events []string, change ...func(*Options)) *rig {
	t.Helper()
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(append(append([]string{started}, events...), askingCall)...))
		} else {
			sendStream(w, streamOf(started, finished))
		}
	}, change...)
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) { return translate.Out{Body: r.Input.Raw}, nil }
	return g
}

func calling(id string, calls ...string) string {
	return fmt.Sprintf(`{"id":%q,"role":"assistant","toolCalls":[%s]}`, id, strings.Join(calls, ","))
}

// TestTheCallThatWasShownGoesToTheBackend: when a question is answered, the backend must get the
// call that the person saw, whatever the client's messages contain instead.
func TestTheCallThatWasShownGoesToTheBackend(t *testing.T) {
	const refused = "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:APPROVAL_UNCERTAIN"
	other := `{"id":"c9","type":"function","function":{"name":"wipe","arguments":"{}"}}`
	activity := func(calls string) string {
		return `{"id":"x","role":"activity","activityType":"pydantic_ai_enqueued_messages","content":{"messages":[{"id":"y","role":"assistant","toolCalls":[` + calls + `]}]}}`
	}
	for name, c := range map[string]struct {
		messages []string
		sent     []string // messages that the backend must get; nil if the resume must be refused
		warns    bool
	}{
		"as it was":                     {[]string{calling("m1", callOfC1)}, []string{calling("m1", callOfC1)}, false},
		"no messages":                   {[]string{}, []string{}, false},
		"other arguments":               {[]string{calling("m1", evilOfC1)}, []string{calling("m1", callOfC1)}, true},
		"another message id":            {[]string{calling("m7", evilOfC1)}, []string{calling("m7", callOfC1)}, true},
		"another call beside it":        {[]string{calling("m1", evilOfC1, other)}, []string{calling("m1", callOfC1, other)}, true},
		"in an activity":                {[]string{activity(evilOfC1)}, []string{activity(callOfC1)}, true},
		"once as it was, once not":      {[]string{calling("m1", callOfC1), calling("m2", evilOfC1)}, nil, false},
		"twice as it was":               {[]string{calling("m1", callOfC1, callOfC1)}, nil, false},
		"as it was, and in an activity": {[]string{calling("m1", callOfC1), activity(callOfC1)}, nil, false},
		"two ids in one call":           {[]string{activity(strings.Replace(evilOfC1, `{"id"`, `{"ID":"c1","id"`, 1))}, nil, false},
		"two functions in one call":     {[]string{activity(strings.Replace(callOfC1, `"function":`, `"Function":{"name":"wipe"},"function":`, 1))}, nil, false},
		"calls that are not asked":      {[]string{calling("m1", callOfC1), calling("m2", other), calling("m3", other)}, []string{calling("m1", callOfC1), calling("m2", other), calling("m3", other)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := asksFor(t, callEvents("c1", "rm", `{"path":`, `"a"}`))
			g.do(input("t", "r1", ""))
			body := func(entry string) string {
				return fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, strings.Join(c.messages, ","), resumeWith(entry))
			}
			got := g.do(body(yes("n1~id1")))
			warned := strings.Contains(g.logs.String(), "differ from those that were shown")
			if warned != c.warns || strings.Contains(g.logs.String(), "path") {
				t.Errorf("warned: %v\n%s", warned, g.logs.String())
			}
			if c.sent == nil {
				wantTypes(t, strings.ReplaceAll(got, "MESSAGES_SNAPSHOT ", ""), refused)
				if g.called() != 1 {
					t.Fatalf("the backend was called %d times", g.called())
				}
				// the chat continues
				wantTypes(t, g.do(body(no("n1~id1"))), "RUN_STARTED RUN_FINISHED")
				return
			}
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
			if sent := gjson.GetBytes(g.calls[1], "messages").Raw; sent != "["+strings.Join(c.sent, ",")+"]" {
				t.Errorf("sent %s\nwant [%s]", sent, strings.Join(c.sent, ","))
			}
		})
	}
}

// TestArgumentsCutInAPair: a backend may cut the arguments between the halves of a surrogate pair,
// and send them with other members that differ from event to event. The call must go back as the
// client has it.
func TestArgumentsCutInAPair(t *testing.T) {
	g := asksFor(t, []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"path\":\"\ud83d","timestamp":1}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\ude00\"}","timestamp":2}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	})
	g.do(input("t", "r1", ""))
	shown := strings.Replace(callOfC1, `"a\"`, `"😀\"`, 1)
	g.do(fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, calling("m1", shown), resumeWith(yes("n1~id1"))))
	if sent := gjson.GetBytes(g.calls[1], "messages.0").Raw; sent != calling("m1", shown) {
		t.Errorf("sent %s", sent)
	}
}

// TestAnIDThatRepeatsIsTheLaterCall: two calls have the same id. A question about this id must be
// about the later call.
func TestAnIDThatRepeatsIsTheLaterCall(t *testing.T) {
	g := asksFor(t, append(callEvents("c1", "ls", `{}`), callEvents("c1", "rm", `{"path":"a"}`)...))
	g.do(input("t", "r1", ""))
	g.do(fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, calling("m1", evilOfC1), resumeWith(yes("n1~id1"))))
	if sent := gjson.GetBytes(g.calls[1], "messages.0").Raw; sent != calling("m1", callOfC1) {
		t.Errorf("sent %s", sent)
	}
}

// TestASnapshotSaysWhatWasShown: a stream contains a call, and then a snapshot in which the same
// call has other arguments. The question must be about the call as it is in the last snapshot,
// because the client shows that.
func TestASnapshotSaysWhatWasShown(t *testing.T) {
	events := append(callEvents("c1", "rm", `{"path":"?"}`), `{"type":"MESSAGES_SNAPSHOT","messages":[`+calling("m1", callOfC1)+`]}`)
	g := asksFor(t, events)
	g.do(input("t", "r1", ""))
	g.do(fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, calling("m1", evilOfC1), resumeWith(yes("n1~id1"))))
	if sent := gjson.GetBytes(g.calls[1], "messages.0").Raw; sent != calling("m1", callOfC1) {
		t.Errorf("sent %s", sent)
	}
}

// TestACallThatIsTooLargeIsNotApproved: the call of a question is too large for the record, so
// Holdpoint cannot know what a yes would run. It must refuse a yes and accept a no, and the thread
// must not be locked.
func TestACallThatIsTooLargeIsNotApproved(t *testing.T) {
	small := func(o *Options) { o.TranscriptBytes = 100_000 }
	const refused = "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:APPROVAL_UNCERTAIN"
	deny := strings.Replace(yes("n1~id1"), `true`, `{"approved":false}`, 1)
	piece := strings.Repeat("x", 10_000)
	var pieces []string
	for range 20 {
		pieces = append(pieces, piece)
	}
	for name, answer := range map[string]string{"denied": deny, "cancelled": no("n1~id1")} {
		t.Run(name, func(t *testing.T) {
			g := asksFor(t, callEvents("c1", "rm", pieces...), small)
			g.do(input("t", "r1", ""))
			wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), refused)
			wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), refused)
			wantTypes(t, g.do(input("t", "r4", resumeWith(answer))), "RUN_STARTED RUN_FINISHED")
			wantTypes(t, g.do(input("t", "r5", "")), "RUN_STARTED RUN_FINISHED")
		})
	}
	t.Run("a long conversation is no large call", func(t *testing.T) {
		events := []string{`{"type":"TEXT_MESSAGE_START","messageId":"m0","role":"assistant"}`}
		for range 20 {
			events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m0","delta":%q}`, piece))
		}
		events = append(events, `{"type":"TEXT_MESSAGE_END","messageId":"m0"}`)
		for _, order := range [][]string{append(events, callEvents("c1", "rm", `{"path":`, `"a"}`)...), append(callEvents("c1", "rm", `{"path":`, `"a"}`), events...)} {
			g := asksFor(t, order, small)
			g.do(input("t", "r1", ""))
			got := g.do(fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, calling("m1", evilOfC1), resumeWith(yes("n1~id1"))))
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
			if sent := gjson.GetBytes(g.calls[1], "messages.0").Raw; sent != calling("m1", callOfC1) {
				t.Errorf("sent %s", sent)
			}
		}
	})
}

// TestAPauseWithoutCallsIsResumed: a record of an older version has no calls. Holdpoint must resume
// its pause as the older version did.
func TestAPauseWithoutCallsIsResumed(t *testing.T) {
	g := asksFor(t, callEvents("c1", "rm", `{}`))
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		if !e.Event.Get("outcome").Exists() {
			return translate.Result{Finish: e.Event.Clone()}, nil
		}
		i := agui.Interrupt{Native: "n1", Object: []byte(`{"reason":"tool_call","toolCallId":"c1"}`), Calls: []agui.AskedCall{}}
		return translate.Result{Finish: agui.NewEvent([]byte(finished)), Asked: translate.AskedPause{Interrupts: []agui.Interrupt{i}}}, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":[%s]%s}`, calling("m1", evilOfC1), resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED")
	if sent := gjson.GetBytes(g.calls[1], "messages.0").Raw; sent != calling("m1", evilOfC1) {
		t.Errorf("sent %s", sent)
	}
}
