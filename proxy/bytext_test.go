package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy"
)

const (
	inTree = "run_0d66c3ca00004ab4b96e8b2898de1e9a"
	sdk    = "run_OZLVt2DmBrMeqZz7wpQrf3r5"
)

// inTreeSays returns the body of a request of the in-tree client (the client in agent-framework's
// own sources). A string that begins with { is a message in JSON. Any other string is the text of a
// user message.
func inTreeSays(run string, messages ...string) []byte {
	list := make([]string, len(messages))
	for n, m := range messages {
		if list[n] = m; m[0] != '{' {
			list[n] = fmt.Sprintf(`{"name":null,"id":"u%d","role":"user","content":%q}`, n, m)
		}
	}
	return fmt.Appendf(nil, `{"threadId":"t","runId":%q,"messages":[%s],"context":[]}`, run, strings.Join(list, ","))
}

// questionTexts returns the texts by which Holdpoint shows questions in a stream, and the types of
// all other events.
func questionTexts(events []agui.Event) (texts, types []string) {
	for _, ev := range events {
		switch {
		case !strings.HasPrefix(ev.Get("messageId").Str, "holdpoint-question-"):
			types = append(types, string(ev.Type))
		case ev.Type == agui.TextContent:
			texts = append(texts, ev.Get("delta").Str)
		}
	}
	return texts, types
}

// TestQuestionByText: a client cannot answer questions in any form. It must get the question as a
// text, and the record must keep the question. If the client repeats its request, or sends a result
// of its own tool, the question must stay open. The person's next message must cancel it.
func TestQuestionByText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scenario string
		native   bool   // the operator has configured the backend's own form
		names    string // what the text must name
		cancels  string // what the backend must get
	}{
		{"agent-framework/dotnet-cancel", false, `delete_file with {"filename":"report-draft.txt"}`, `"approved":false`},
		{"agent-framework/dotnet-cancel", true, `delete_file with {"filename":"report-draft.txt"}`, `"approved":false`},
		{"langgraph/deny-py-0.0.43", false, "Please confirm", `"resume"`},
		{"adk/cancel", false, "delete_file", `"confirmed\":false`},
		{"tool-call/cancel", false, "", ""},
	} {
		t.Run(fmt.Sprint(test.scenario, test.native), func(t *testing.T) {
			t.Parallel()
			s := scenarioNamed(t, test.scenario)
			st := newStage(t, s, delivery{})
			defer st.close()
			st.handler = st.options(func(o *proxy.Options) {
				o.Client = proxy.ClientAuto
				if test.native {
					o.Client = proxy.ClientNative
				}
			})
			st.begin(1)
			texts, types := questionTexts(eventsIn(st.post(inTreeSays(inTree, "go"))))
			if len(texts) != 1 || !strings.Contains(texts[0], test.names) || !strings.Contains(texts[0], "at the desk, or in another client") {
				t.Fatalf("told %q", texts)
			}
			if !test.native && (slices.Contains(types, "CUSTOM") || slices.Contains(types, "MESSAGES_SNAPSHOT")) {
				t.Errorf("told %v", types)
			}
			toldID := ""
			for _, ev := range eventsIn(st.post(inTreeSays(inTree, "go"))) {
				if ev.Type == agui.TextStart {
					toldID = strings.Clone(ev.Get("messageId").Str)
				}
			}
			if again, _ := questionTexts(eventsIn(st.post(inTreeSays(inTree, "go")))); !slices.Equal(again, texts) {
				t.Errorf("told again %q", again)
			}
			own := `{"toolCallId":"c9","error":null,"id":"c9","role":"tool","content":"1"}`
			if got := string(st.post(inTreeSays(inTree, "go", own))); !strings.Contains(got, "PENDING_INTERRUPTS") && !strings.Contains(got, "UNKNOWN_INTERRUPT_ID") {
				t.Errorf("a result of the client's tool: %s", got)
			}
			if record := st.record(); !strings.Contains(string(record), `"open"`) {
				t.Fatalf("the question does not stand: %s", record)
			}
			told := `{"name":null,"toolCalls":null,"id":"` + toldID + `","role":"assistant","content":"told"}`
			st.begin(2)
			got := string(st.post(inTreeSays(inTree, "go", told, "never mind")))
			if strings.Contains(got, "PENDING_INTERRUPTS") {
				t.Fatalf("the thread is locked: %s", got)
			}
			sent := slices.Concat(st.backend.sent...)
			if !strings.Contains(string(sent), test.cancels) || strings.Contains(string(sent), "holdpoint-question") {
				t.Errorf("the backend got %s", sent)
			}
		})
	}
}

// TestQuestionByTextOnAnotherThread: the in-tree client uses a new thread for each run, unless its
// program keeps a thread. Its history contains the text of the question, and the id of this text
// message names the question. The person's next message arrives on a new thread. It must cancel the
// question, but only once, and the client must see the id of the new thread.
//
// A repeated request, a result of a client's tool, a message that precedes the text, or a client
// that can answer must not cancel the question.
func TestQuestionByTextOnAnotherThread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scenario string
		cancels  string // what the backend must get
		asking   bool   // the backend must get it on the thread that asked
	}{
		{"agent-framework/dotnet-cancel", `"approved":false`, false},
		{"langgraph/deny-py-0.0.43", `"resume"`, true},
		{"adk/cancel", `"confirmed\":false`, true},
		{"tool-call/cancel", "", true},
	} {
		t.Run(test.scenario, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, scenarioNamed(t, test.scenario), delivery{})
			defer st.close()
			ids := 0
			st.handler = st.options(func(o *proxy.Options) {
				o.Client = proxy.ClientAuto
				o.NewID = func() string { ids++; return fmt.Sprintf("AAAAAAAAAA%02d", ids) }
			})
			st.begin(1)
			asked := eventsIn(st.post(inTreeSays(inTree, "go")))
			toldID := ""
			for _, ev := range asked {
				if ev.Type == agui.TextStart && strings.HasPrefix(ev.Get("messageId").Str, "holdpoint-question-") {
					toldID = strings.Clone(ev.Get("messageId").Str)
				}
			}
			key, threads := st.kept.key, 1
			says := func(messages ...string) string {
				threads++
				body := strings.Replace(string(inTreeSays(inTree, messages...)), `"threadId":"t"`, fmt.Sprintf(`"threadId":"t%d"`, threads), 1)
				return string(st.post([]byte(body)))
			}
			told := `{"name":null,"toolCalls":null,"id":"` + toldID + `","role":"assistant","content":"told"}`
			own := `{"toolCallId":"c9","error":null,"id":"c9","role":"tool","content":"1"}`
			stands := func(what string) {
				t.Helper()
				st.kept.key = key
				if record := st.record(); !strings.Contains(string(record), `"open"`) {
					t.Fatalf("%s: the question does not stand: %s", what, record)
				}
			}
			says("go", told)
			stands("a repeat")
			says("go", told, own)
			stands("a result of the client's tool")
			says("go", "never mind", told)
			stands("words before the text")
			other := `{"threadId":"other","runId":"r9","messages":[{"id":"u0","role":"user","content":"go"},{"id":"` + toldID + `","role":"assistant","content":"told"},{"id":"u2","role":"user","content":"never mind"}]}`
			st.post([]byte(other))
			stands("another client")

			st.begin(2)
			before := len(st.backend.sent)
			got := says("go", told, "never mind")
			if strings.Contains(got, "PENDING_INTERRUPTS") || strings.Contains(got, "UNKNOWN_INTERRUPT_ID") {
				t.Fatalf("the message is refused: %s", got)
			}
			st.kept.key = key
			if record := st.record(); strings.Contains(string(record), `"open"`) {
				t.Errorf("the question still stands: %s", record)
			}
			for _, ev := range eventsIn([]byte(got)) {
				if thread := ev.Get("threadId").Str; thread != "" && thread != fmt.Sprintf("t%d", threads) {
					t.Errorf("the client is told the thread %s", thread)
				}
			}
			sent := st.backend.sent[before:]
			if all := string(slices.Concat(sent...)); !strings.Contains(all, test.cancels) || strings.Contains(all, "holdpoint-question") {
				t.Errorf("the backend got %s", all)
			}
			if len(sent) > 0 {
				if got := gjson.GetBytes(sent[0], "threadId").Str; (got == "t") != test.asking {
					t.Errorf("the backend got the cancel on thread %s", got)
				}
			}
		})
	}
}

// TestQuestionByTextOrNot checks which clients get a question as a text.
func TestQuestionByTextOrNot(t *testing.T) {
	t.Parallel()
	const declared = `,"tools":[{"name":"get_user_location"},{"name":"get_weather"}]`
	body := func(run, user, more string) string {
		return fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[%s]%s}`, run, user, more)
	}
	inTreeBody := func(more string) string {
		return body(inTree, `{"name":null,"id":"u1","role":"user","content":"go"}`, more+`,"context":[]`)
	}
	sdkBody := func(more string) string { return body(sdk, `{"role":"user","content":"go"}`, more) }
	other := func(more string) string { return body("r1", `{"id":"u1","role":"user","content":"go"}`, more) }
	for _, test := range []struct {
		name, scenario, body  string
		client                proxy.Client
		text, outcome, custom bool
	}{
		{"in-tree, request_approval", "request-approval/native-a", inTreeBody(""), proxy.ClientAuto, false, false, false},
		{"in-tree, AGUI.Server", "agent-framework/dotnet-approve", inTreeBody(""), proxy.ClientAuto, true, true, false},
		{"in-tree, AGUI.Server, a tool declared", "agent-framework/dotnet-tools-declared", inTreeBody(declared), proxy.ClientAuto, true, false, false},
		{"in-tree, LangGraph", "langgraph/approve-py-0.0.43", inTreeBody(""), proxy.ClientAuto, true, false, false},
		{"in-tree, the operator wants the outcome", "langgraph/approve-py-0.0.43", inTreeBody(""), proxy.ClientOutcome, true, true, false},
		{"sdk, LangGraph", "langgraph/approve-py-0.0.43", sdkBody(""), proxy.ClientAuto, false, true, true},
		{"sdk, native, AGUI.Server", "agent-framework/dotnet-approve", sdkBody(""), proxy.ClientNative, false, true, false},
		{"sdk, native, a tool declared", "agent-framework/dotnet-native-tools-declared", sdkBody(declared), proxy.ClientNative, false, true, false},
		{"a version, native, a tool declared", "agent-framework/dotnet-native-tools-declared", other(declared + `,"protocolVersion":"1.0"`), proxy.ClientNative, false, true, false},
		{"unknown, native, a tool declared", "agent-framework/dotnet-native-tools-declared", other(declared), proxy.ClientNative, true, false, false},
		{"unknown, native, LangGraph", "langgraph/approve-py-0.0.43", other(""), proxy.ClientNative, false, false, true},
		{"unknown, LangGraph", "langgraph/approve-py-0.0.43", other(""), proxy.ClientAuto, false, true, true},
		{"unknown, native, request_approval", "request-approval/native-a", other(""), proxy.ClientNative, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, scenarioNamed(t, test.scenario), delivery{})
			defer st.close()
			st.handler = st.options(func(o *proxy.Options) { o.Client = test.client })
			st.begin(1)
			events := eventsIn(st.post([]byte(test.body)))
			texts, types := questionTexts(events)
			last := gjson.ParseBytes(events[len(events)-1].JSON)
			if text, outcome := len(texts) > 0, last.Get("outcome.interrupts").Exists(); text != test.text || outcome != test.outcome || slices.Contains(types, "CUSTOM") != test.custom {
				t.Errorf("text %q, types %v, end %s", texts, types, last.Raw)
			}
			if !strings.Contains(string(st.record()), `"open"`) {
				t.Error("the question is not kept")
			}
		})
	}
}
