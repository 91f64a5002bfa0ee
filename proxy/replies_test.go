package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/hostile"
)

// payRig returns a rig. Its backend is an Agent Framework that asks about calls of the tool pay.
// Its client gets questions in the backend's own form.
func payRig(t *testing.T, streams ...[]string) *rig {
	now := time.Now()
	return realRig(t, "agent-framework", func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= len(streams) {
			sendStream(w, streamOf(append([]string{started}, streams[n-1]...)...))
			return
		}
		sendStream(w, streamOf(started, finished))
	}, nativeAt(&now, time.Hour, 0))
}

func payCall(id string) string {
	return fmt.Sprintf(`{"type":"TOOL_CALL_CHUNK","toolCallId":"%[1]s","toolCallName":"pay","parentMessageId":"p%[1]s","delta":"{\"to\":\"a\"}"}`, id)
}

func payMessage(id string) string {
	return fmt.Sprintf(`{"id":"p%[1]s","role":"assistant","toolCalls":[{"id":"%[1]s","type":"function","function":{"name":"pay","arguments":"{\"to\":\"a\"}"}}]}`, id)
}

func payAsks(calls ...string) string {
	var list []string
	for _, id := range calls {
		list = append(list, fmt.Sprintf(`{"id":%[1]q,"reason":"tool_call","toolCallId":%[1]q,"responseSchema":{"type":"object","properties":{"accepted":{"type":"boolean"},"to":{"type":"string"}},"required":["accepted"],"additionalProperties":false},"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":%[1]q,"name":"pay","arguments":{"to":"a"}}}}}`, id))
	}
	return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}}`
}

// TestASecondThought: Holdpoint refused a message with an answer, because it left another question
// open. The message stays in the client's history. If the person then answers the same question
// again, the new answer must count. Otherwise the question could never be answered.
func TestASecondThought(t *testing.T) {
	for name, c := range map[string]struct{ before, now, want string }{
		"a no for a yes": {`{"accepted":true}`, `{"accepted":false}`, `{"accepted":false}`},
		"a yes for a no": {`{"accepted":false}`, `{"accepted":true}`, `{"accepted":true}`},
		"another yes":    {`{"accepted":true,"to":"b"}`, `{"accepted":true,"to":"c"}`, `{"accepted":true,"to":"c"}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := payRig(t, []string{payCall("c1"), payCall("c2"), payAsks("c1", "c2")})
			g.do(withMessages(oldUser))
			history := []string{oldUser, payMessage("c1"), payMessage("c2"), pandoSays("t1", "c1", c.before)}
			if got := g.do(withMessages(history...)); !strings.Contains(got, "PARTIAL_RESUME") {
				t.Fatal(got)
			}
			got := g.do(withMessages(append(history, pandoSays("t2", "c1", c.now), pandoSays("t3", "c2", `{"accepted":true}`))...))
			if g.called() != 2 {
				t.Fatal(got)
			}
			if sent := gjson.GetBytes(g.calls[1], `resume.#(interruptId=="c1").payload`).Raw; sent != c.want {
				t.Errorf("sent %s, want %s", sent, c.want)
			}
		})
	}
}

// TestAnEarlierAnswerBesideEntries: a message answered the first question, and it is still the last
// message when a resume entry answers the second question. Holdpoint must not refuse this message
// as a decision on an unknown question.
func TestAnEarlierAnswerBesideEntries(t *testing.T) {
	g := payRig(t, []string{payCall("c1"), payAsks("c1")}, []string{resultEvent("c1"), payAsks("c2")})
	g.do(withMessages(oldUser))
	body := strings.TrimSuffix(withMessages(oldUser, payMessage("c1"), pandoSays("t1", "c1", `{"accepted":true}`)), "}")
	g.do(body + resumeWith(`{"interruptId":"c1","status":"resolved","payload":{"accepted":true}}`) + "}")
	got := g.do(body + resumeWith(`{"interruptId":"c2","status":"resolved","payload":{"accepted":false}}`) + "}")
	if g.called() != 3 {
		t.Fatal(got)
	}
	if sent := gjson.GetBytes(g.calls[2], "messages").Raw; strings.Contains(sent, "accepted") {
		t.Errorf("sent %s", sent)
	}
}

// TestRepliesInLinearTime: a request has many messages, or large ones. Holdpoint must not read a
// message again for each other message.
func TestRepliesInLinearTime(t *testing.T) {
	const many = 40_000
	approvals := `"function_approvals":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x","approved":true},`, many), ",") + `]`
	begin := hostile.ProcessorTime(t)
	g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) })
	if got := g.do(withMessages(oldUser, pandoCall("a"), `{"id":"u3","role":"user","content":"x",`+approvals+`}`, newUser)); g.called() != 1 {
		t.Fatal(got)
	}
	g = payRig(t, []string{payCall("c1"), payAsks("c1")})
	g.do(withMessages(oldUser))
	list := []string{oldUser, payMessage("c1")}
	for n := range 3000 {
		list = append(list, pandoSays(fmt.Sprint("t", n), "c1", `{"accepted":true}`))
	}
	entry := `{"interruptId":"c1","status":"resolved","payload":{"accepted":true,"to":"` + strings.Repeat("x", 1_000_000) + `"}}`
	if got := g.do(strings.TrimSuffix(withMessages(list...), "}") + resumeWith(entry) + "}"); g.called() != 2 {
		t.Fatal(got)
	}
	// This takes some 0.5 s. If the work were quadratic, it would take a minute.
	if took := hostile.ProcessorTime(t) - begin; took > hostile.Limit {
		t.Error(took)
	}
}

// TestTheThreadsOwnDialect: a question is open on a thread. Meanwhile, a backend of another dialect
// has asked on another thread of the same path. Decisions on the first thread must be read in the
// dialect of the question that is open there.
func TestTheThreadsOwnDialect(t *testing.T) {
	const (
		others = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Delete?\"}"}`
		stray  = `{"id":"m9","role":"tool","toolCallId":"c9","content":"{\"accepted\":true}"}`
	)
	now := time.Now()
	for name, c := range map[string]struct {
		behind string // follows the decision on a call without a question
		calls  int
	}{
		"at the end":        {"", 2},
		"with words behind": {"," + newUser, 3}, // with a text after it, the decision is removed
	} {
		t.Run(name, func(t *testing.T) {
			g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) {
				sendStream(w, streamOf([][]string{{started, payCall("c1"), payAsks("c1")}, {started, others, finished}, {started, finished}}[n-1]...))
			}, nativeAt(&now, time.Hour, 0))
			g.do(withMessages(oldUser))
			g.do(strings.Replace(withMessages(oldUser), `"t"`, `"another"`, 1))
			if spoken := g.h.memory.routeDialect("/"); spoken != "langgraph" {
				t.Fatalf("the path speaks %q", spoken)
			}
			body := strings.TrimSuffix(withMessages(oldUser, payMessage("c1"), payMessage("c9"), stray+c.behind), "}")
			got := g.do(body + resumeWith(`{"interruptId":"c1","status":"resolved","payload":{"accepted":true}}`) + "}")
			if g.called() != c.calls {
				t.Fatalf("the backend was called %d times, the client was told\n%s", g.called(), got)
			}
			if sent := gjson.GetBytes(g.calls[c.calls-1], "messages").Raw; strings.Contains(sent, `"m9"`) {
				t.Errorf("sent %s", sent)
			}
		})
	}
}
