package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
	"holdpoint/translate/toolcall"
)

// realRig returns a rig with a real dialect, selected by its name.
func realRig(t *testing.T, dialect string, serve func(w http.ResponseWriter, r *http.Request, n int), change ...func(*Options)) *rig {
	t.Helper()
	list := dialects.All()
	if dialect == toolcall.Name { // this dialect needs the names of the tools that ask
		if errs := list.Read(map[string]string{"HOLDPOINT_TOOLS": "f=approval"}); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	d, err := list.New(dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, serve, append([]func(*Options){func(o *Options) { o.Dialect = d }}, change...)...)
}

// nativeAt returns options with HOLDPOINT_CLIENT=native. The store and the handler use the clock
// now.
func nativeAt(now *time.Time, replay, ttl time.Duration) func(*Options) {
	clock := func() time.Time { return *now }
	return func(o *Options) {
		o.Client, o.Now, o.InterruptTTL = ClientNative, clock, ttl
		o.Store = memory.New(memory.Options{Entries: 100, ReplayTTL: replay, PauseRetention: 1000 * time.Hour, Now: clock})
	}
}

const pairArgs = `{\"request\":{\"approval_id\":\"f%[1]s\",\"function_name\":\"pay\",\"function_arguments\":{}}}`

// pairAsked returns the event by which the backend of Microsoft's sample asks for an approval.
// pairCall returns the call, and pairSays the answer, as messages that the sample's client keeps.
func pairAsked(call string) string {
	return fmt.Sprintf(`{"type":"TOOL_CALL_CHUNK","toolCallId":"%[1]s","toolCallName":"request_approval","parentMessageId":"p%[1]s","delta":"`+pairArgs+`"}`, call)
}

func pairCall(call string) string {
	return fmt.Sprintf(`{"id":"p%[1]s","role":"assistant","toolCalls":[{"id":"%[1]s","type":"function","function":{"name":"request_approval","arguments":"`+pairArgs+`"}}]}`, call)
}

func pairSays(id, call string, approved bool) string {
	return fmt.Sprintf(`{"id":"%s","role":"tool","toolCallId":"%s","content":"{\"approval_id\":\"f%s\",\"approved\":%v}"}`, id, call, call, approved)
}

func pairResult(call string) string {
	return fmt.Sprintf(`{"id":"res%[1]s","role":"tool","toolCallId":"%[1]s","content":"paid"}`, call)
}

func resultEvent(call string) string {
	return fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"res%[1]s","toolCallId":"%[1]s","content":"paid"}`, call)
}

// approvedIn returns the ids of the calls that the messages in body approve.
func approvedIn(body []byte) (calls []string) {
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		if gjson.Get(m.Get("content").Str, "approved").Bool() {
			calls = append(calls, m.Get("toolCallId").Str)
		}
	}
	return calls
}

// TestNativeApprovalsInARow: many approvals follow one another without a user message between them.
// The record forgets the first of them. The thread must still work.
func TestNativeApprovalsInARow(t *testing.T) {
	for _, dialect := range []string{"auto", "request-approval"} {
		now := time.Now()
		g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				sendStream(w, streamOf(started, pairAsked("c1"), finished))
				return
			}
			sendStream(w, streamOf(started, resultEvent(fmt.Sprintf("c%d", n-1)), pairAsked(fmt.Sprintf("c%d", n)), finished))
		}, nativeAt(&now, time.Hour, 0))
		history := []string{oldUser}
		for n := 1; n <= 12; n++ {
			got := g.do(withMessages(history...))
			if g.called() != n {
				t.Fatalf("%s: request %d: %s", dialect, n, got)
			}
			if n > 1 {
				history = append(history, pairResult(fmt.Sprintf("c%d", n-1)))
				if calls := approvedIn(g.calls[n-1]); len(calls) != 1 || calls[0] != fmt.Sprintf("c%d", n-1) {
					t.Fatalf("%s: request %d approves %v", dialect, n, calls)
				}
			}
			call := fmt.Sprintf("c%d", n)
			history = append(history, pairCall(call), pairSays("t"+call, call, true))
		}
	}
}

// TestNativeOldAnswerToANewQuestion: a later question has the call id of an earlier question. The
// history contains the yes to the earlier question. This yes must not answer the later question,
// even if the record has forgotten the earlier question. A new answer to the later question must be
// accepted.
func TestNativeOldAnswerToANewQuestion(t *testing.T) {
	for _, dialect := range []string{"auto", "request-approval"} {
		now := time.Now()
		g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
			switch n {
			case 1, 3:
				sendStream(w, streamOf(started, pairAsked("c1"), finished))
			default:
				sendStream(w, streamOf(started, finished))
			}
		}, nativeAt(&now, time.Minute, 0))
		g.do(withMessages(oldUser))
		history := []string{oldUser, pairCall("c1"), pairSays("t1", "c1", true)}
		g.do(withMessages(history...))
		now = now.Add(time.Hour)
		history = append(history, askWords)
		wantTypes(t, g.do(withMessages(history...)), "RUN_STARTED TOOL_CALL_CHUNK RUN_FINISHED")
		wantTypes(t, g.do(withMessages(append(history, newUser)...)), "RUN_STARTED RUN_FINISHED RUN_ERROR:PENDING_INTERRUPTS")
		// the page is reloaded
		wantTypes(t, g.do(withMessages(history...)), "RUN_STARTED RUN_FINISHED")
		if g.called() != 3 {
			t.Fatalf("%s: an old answer was taken: %s", dialect, g.calls[3])
		}
		g.do(withMessages(append(history, strings.Replace(pairCall("c1"), `"pc1"`, `"new"`, 1), pairSays("t2", "c1", false))...))
		if g.called() != 4 || len(approvedIn(g.calls[3])) != 0 {
			t.Errorf("%s: %d calls, the last %s", dialect, g.called(), g.calls[g.called()-1])
		}
	}
}

// TestNativeAnswerTooLate: an answer arrived after its question had expired. The client uses the
// backend's own form, so the answer stays in its history. The backend must not get this answer in
// later runs.
func TestNativeAnswerTooLate(t *testing.T) {
	for _, dialect := range []string{"auto", "request-approval"} {
		now := time.Now()
		g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				sendStream(w, streamOf(started, pairAsked("c1"), finished))
				return
			}
			sendStream(w, streamOf(started, finished))
		}, nativeAt(&now, time.Hour, time.Minute))
		g.do(withMessages(oldUser))
		now = now.Add(time.Hour)
		history := []string{oldUser, pairCall("c1"), pairSays("t1", "c1", true)}
		wantTypes(t, g.do(withMessages(history...)), "RUN_STARTED RUN_FINISHED RUN_ERROR:INTERRUPT_EXPIRED")
		wantTypes(t, g.do(withMessages(append(history, askWords)...)), "RUN_STARTED RUN_FINISHED")
		wantTypes(t, g.do(withMessages(append(history, askWords, newUser)...)), "RUN_STARTED RUN_FINISHED")
		if g.called() != 3 || len(approvedIn(g.calls[1])) != 0 || len(approvedIn(g.calls[2])) != 0 {
			t.Errorf("%s: %d calls, the last %s", dialect, g.called(), g.calls[g.called()-1])
		}
	}
}

// TestNewMessagesWithoutApprovals: a request has answers and new messages. One of the new messages
// contains an approval that answers no question. In each request of the run, the backend must get
// the new messages without this approval.
func TestNewMessagesWithoutApprovals(t *testing.T) {
	for dialect, asked := range map[string][]string{
		"agui":             {started, asks},
		"draft":            {started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt","interrupt":{}}`},
		"langgraph":        {started, `{"type":"CUSTOM","name":"on_interrupt","value":"What?"}`, finished},
		"request-approval": {started, pairAsked("c1"), finished},
	} {
		g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				sendStream(w, streamOf(asked...))
				return
			}
			sendStream(w, streamOf(started, finished))
		})
		got := g.do(withMessages(oldUser))
		id := gjson.Get(got[strings.LastIndex(got, `{"type":"RUN_FINISHED"`):], "outcome.interrupts.0.id").Str
		says := `{"id":"u8","role":"user","content":"Go.","function_approvals":[{"id":"n1","call_id":"c1","name":"pay","approved":true}]}`
		got = g.do(strings.TrimSuffix(withMessages(oldUser, says, newUser), "}") + resumeWith(no(id)) + "}")
		if strings.Contains(got, "RUN_ERROR") || g.called() < 2 {
			t.Fatalf("%s: %s", dialect, got)
		}
		whole := ""
		for _, body := range g.calls[1:] {
			whole += string(body)
		}
		if strings.Contains(whole, "function_approvals") || !strings.Contains(whole, "Go.") || !strings.Contains(whole, "never mind") {
			t.Errorf("%s: sent %s", dialect, whole)
		}
	}
}

// TestResumeObjectBesideAnother: a request has an answer, and also a resume object that the dialect
// of the backend does not read. The object may be the person's no, so Holdpoint must not ignore it.
func TestResumeObjectBesideAnother(t *testing.T) {
	for dialect, asked := range map[string][]string{
		"agui":             {started, asks},
		"langgraph":        {started, `{"type":"CUSTOM","name":"on_interrupt","value":"What?"}`, finished},
		"draft":            {started, asks},
		"request-approval": {started, pairAsked("c1"), finished},
		"auto":             {started, asks},
		"agent-framework":  {started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation","metadata":{"agent_framework":{}}}]}}`},
	} {
		g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(asked...)) })
		g.do(withMessages(oldUser))
		got := g.do(strings.TrimSuffix(withMessages(oldUser), "}") + `,"resume":{"payload":false},"forwardedProps":{"command":{"resume":true}}}`)
		if g.called() != 1 || !strings.Contains(got, "RUN_ERROR") {
			t.Errorf("%s: %s\n%s", dialect, types(got), g.calls[len(g.calls)-1])
		}
	}
}
