package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A call that asks for an approval, answers to it, and a user message with an approval.
const (
	askCall  = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"request_approval","arguments":"{\"request\":{\"approval_id\":\"n1\",\"function_name\":\"pay\"}}"}}]}`
	askYes   = `{"id":"t1","role":"tool","toolCallId":"c1","content":"{\"approval_id\":\"n1\",\"approved\":true}"}`
	askNo    = `{"id":"t1","role":"tool","toolCallId":"c1","content":"{\"approval_id\":\"n1\",\"approved\":false}"}`
	askWords = `{"id":"u7","role":"user","content":"And now?"}`
	inOne    = `{"id":"u8","role":"user","content":"","function_approvals":[{"id":"n1","call_id":"c1","name":"pay","approved":true}]}`
)

func withMessages(list ...string) string {
	return `{"threadId":"t","runId":"r","messages":[` + strings.Join(list, ",") + `]}`
}

// readsApprovals reads the tool message m as an answer. It returns the value of "approved" as JSON,
// or "" if m has none. The tests set it as the field reads of the fake dialect.
func readsApprovals(m agui.Message, _ agui.Interrupt) string {
	return gjson.Get(gjson.GetBytes(m.JSON, "content").Str, "approved").Raw
}

func TestApprovalsOfNothing(t *testing.T) {
	for name, c := range map[string]struct {
		body, types string
		sent        string // messages that the backend must get; "" if it must not be called
		warns       bool
	}{
		"a pair at the end":                  {withMessages(oldUser, askCall, askYes), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"a no is refused as well":            {withMessages(oldUser, askCall, askNo), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"function_approvals":                 {withMessages(oldUser, inOne), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"words in the same message":          {withMessages(oldUser, strings.Replace(inOne, `"content":""`, `"content":"And b?"`, 1)), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"a pair of another day":              {withMessages(oldUser, askCall, askYes, askWords), "RUN_STARTED RUN_FINISHED", "[" + oldUser + "," + askWords + "]", true},
		"function_approvals are no words":    {withMessages(oldUser, askCall, askYes, inOne), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"a question that nobody answered":    {withMessages(oldUser, askCall, askWords), "RUN_STARTED RUN_FINISHED", "[" + oldUser + "," + askCall + "," + askWords + "]", false},
		"a tool that the client declares":    {strings.TrimSuffix(withMessages(oldUser, askCall, askYes), "}") + `,"tools":[{"name":"request_approval"}]}`, "RUN_STARTED RUN_FINISHED", "[" + oldUser + "," + askCall + "," + askYes + "]", false},
		"a way on does not open the door":    {strings.TrimSuffix(withMessages(oldUser, askCall, askYes), "}") + resumeWith(no("gone~1")) + "}", "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID", "", false},
		"a way on beside one of another day": {strings.TrimSuffix(withMessages(oldUser, askCall, askYes, askWords), "}") + resumeWith(no("gone~1")) + "}", "RUN_STARTED RUN_FINISHED", "[" + oldUser + "," + askWords + "]", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) })
			wantTypes(t, g.do(c.body), c.types)
			if (g.called() > 0) != (c.sent != "") {
				t.Fatalf("the backend was called %d times", g.called())
			}
			if c.sent != "" && gjson.GetBytes(g.calls[0], "messages").Raw != c.sent {
				t.Errorf("sent %s, want %s", gjson.GetBytes(g.calls[0], "messages").Raw, c.sent)
			}
			if warned := strings.Contains(g.logs.String(), "taken out"); warned != c.warns {
				t.Errorf("warned: %v", warned)
			}
		})
	}
	t.Run("in a body that is no run", func(t *testing.T) {
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) })
		res, got := g.answer(`{"messages":[` + askCall + `,` + askYes + `]}`)
		if res.StatusCode != http.StatusBadRequest || g.called() != 0 || !strings.Contains(got, "is not a run") {
			t.Errorf("%d %s", res.StatusCode, got)
		}
	})
}

// TestAnswerInAMessage: a client that gets the backend's own form answers in a tool message.
func TestAnswerInAMessage(t *testing.T) {
	ask := func(t *testing.T, then string, keys ...string) (*rig, string) {
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				sendStream(w, streamOf(started, asks))
			} else {
				sendStream(w, streamOf(started, then))
			}
		})
		g.dialect.reads, g.dialect.keys = readsApprovals, append(keys, "c1")
		g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
			if r.Pause.ID == "" {
				return translate.Out{}, nil
			}
			return translate.Out{Body: r.Input.Raw}, nil
		}
		g.do(withMessages(oldUser))
		return g, ""
	}
	t.Run("it is taken, and the dialect sees the request without it", func(t *testing.T) {
		g, _ := ask(t, finished)
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED RUN_FINISHED")
		if got := gjson.GetBytes(g.calls[1], "messages").Raw; got != "["+oldUser+","+askCall+"]" {
			t.Errorf("sent %s", got)
		}
		t.Run("the same again is replayed", func(t *testing.T) {
			wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
			if g.called() != 2 {
				t.Errorf("the backend was called %d times", g.called())
			}
		})
		t.Run("another is not", func(t *testing.T) {
			wantTypes(t, g.do(withMessages(oldUser, askCall, askNo)), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
		})
		t.Run("in the history of the next run it stays: it was answered", func(t *testing.T) {
			wantTypes(t, g.do(withMessages(oldUser, askCall, askYes, askWords)), "RUN_STARTED RUN_FINISHED")
			if got := gjson.GetBytes(g.calls[2], "messages").Raw; got != "["+oldUser+","+askCall+","+askYes+","+askWords+"]" {
				t.Errorf("sent %s", got)
			}
		})
	})
	t.Run("a yes where the record has a no is taken for what it is", func(t *testing.T) {
		g, _ := ask(t, finished)
		wantTypes(t, g.do(withMessages(oldUser, askCall, askNo)), "RUN_STARTED RUN_FINISHED")
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
		goesOn := func(n int) {
			t.Helper()
			wantTypes(t, g.do(withMessages(oldUser, askCall, askYes, askWords)), "RUN_STARTED RUN_FINISHED")
			if got := gjson.GetBytes(g.calls[n], "messages").Raw; got != "["+oldUser+","+askWords+"]" {
				t.Errorf("sent %s", got)
			}
		}
		goesOn(2) // the refused yes stays in the client's history, so the next run has it too
		// The dialect cannot read the answer any more, so only the digest in the record shows that
		// the answer is an old one.
		g.dialect.reads = nil
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
		goesOn(3)
	})
	t.Run("a yes behind a no that came as an entry reaches nobody", func(t *testing.T) {
		for name, reads := range map[string]func(agui.Message, agui.Interrupt) string{"by message": readsApprovals, "by entry alone": nil} {
			for _, made := range [][]string{{askCall, askYes}, {inOne}, {askCall, askYes, inOne}} {
				g, _ := ask(t, finished)
				g.dialect.reads = reads
				wantTypes(t, g.do(strings.TrimSuffix(withMessages(oldUser), "}")+resumeWith(no("n1~id1"))+"}"), "RUN_STARTED RUN_FINISHED")
				got := g.do(withMessages(append([]string{oldUser}, made...)...))
				if !strings.Contains(got, `"type":"RUN_ERROR"`) || g.called() != 2 {
					t.Errorf("%s: %s became %s, and the backend was called %d times", name, made, got, g.called())
				}
			}
		}
	})
	t.Run("of the question before it may stand there when the next one is answered", func(t *testing.T) {
		g, _ := ask(t, asks)
		g.dialect.keys = []string{"c2"} // the answer to the next question
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
		next := func(s string) string {
			return strings.NewReplacer(`"c1"`, `"c2"`, `"a1"`, `"a2"`, `"t1"`, `"t2"`).Replace(s)
		}
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes, next(askCall), next(askYes))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
		if got := gjson.GetBytes(g.calls[2], "messages").Raw; got != "["+oldUser+","+askCall+","+askYes+","+next(askCall)+"]" {
			t.Errorf("sent %s", got)
		}
		if strings.Contains(g.do(withMessages(oldUser, askCall, askYes, next(askCall), next(askYes))), "MESSAGES_NOT_TAKEN") {
			t.Error("an old answer counts as a new message")
		}
	})
	t.Run("after a doubt it is never sent again", func(t *testing.T) {
		g, _ := ask(t, hello)
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes)), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED RUN_ERROR:UPSTREAM_EOF")
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes, askWords)), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_ERROR:UPSTREAM_EOF")
		g.do(withMessages(oldUser, askCall, askYes, askWords))
		if got := gjson.GetBytes(g.calls[2], "messages").Raw; got != "["+oldUser+","+askWords+"]" {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("in another form it does not stay, for some backends keep nothing and run it again", func(t *testing.T) {
		const realCall = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{}"}}]}`
		// With finished, the run ends well. With hello, the pause is in doubt.
		for _, end := range []string{finished, hello} {
			g, _ := ask(t, end)
			g.do(withMessages(oldUser, realCall, askYes))
			// If the pause is in doubt, the response to this request reports it.
			g.do(withMessages(oldUser, realCall, askYes, askWords))
			g.do(withMessages(oldUser, realCall, askYes, askWords))
			for _, sent := range g.calls[2:] {
				if got := gjson.GetBytes(sent, "messages").Raw; got != "["+oldUser+","+realCall+","+askWords+"]" {
					t.Errorf("sent %s", got)
				}
			}
		}
	})
	t.Run("nor where the next question is given up", func(t *testing.T) {
		const realCall = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{}"}}]}`
		g, _ := ask(t, asks)
		g.dialect.keys = nil // the next question is answered by resume
		g.do(withMessages(oldUser, realCall, askYes))
		g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
			if r.Pause.ID != "" {
				return translate.Out{}, agui.Errorf(agui.InvalidPayload, "no word for a cancel")
			}
			return translate.Out{Body: r.Input.Raw}, nil
		}
		cancel := func(list ...string) string {
			return strings.TrimSuffix(withMessages(list...), "}") + resumeWith(no("n1~id2")) + "}"
		}
		g.do(cancel(oldUser, realCall, askYes, askWords))
		if len(g.calls) != 3 {
			t.Fatalf("%d calls", len(g.calls))
		}
		if got := gjson.GetBytes(g.calls[2], "messages").Raw; got != "["+oldUser+","+realCall+","+askWords+"]" {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("function_approvals do not stay either, but the words beside them", func(t *testing.T) {
		g, _ := ask(t, finished, "u9")
		both := `{"id":"u9","role":"user","content":"And b?","function_approvals":[{"id":"n1","call_id":"c1","approved":true}]}`
		g.dialect.reads = func(agui.Message, agui.Interrupt) string { return "true" }
		g.do(withMessages(oldUser, both))
		g.do(withMessages(oldUser, both, askWords))
		if got := gjson.GetBytes(g.calls[2], "messages").Raw; got != "["+oldUser+`,{"id":"u9","role":"user","content":"And b?"},`+askWords+"]" {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("beside a new message it stays out of it", func(t *testing.T) {
		g, _ := ask(t, finished)
		var beside []agui.Message
		g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
			beside = r.NewMessages
			return translate.Out{}, nil
		}
		wantTypes(t, g.do(withMessages(oldUser, askCall, askYes, newUser)), "RUN_STARTED RUN_FINISHED")
		if len(beside) != 1 || string(beside[0].JSON) != newUser {
			t.Errorf("new: %v", beside)
		}
	})
}

// TestAnnouncedInPlace: the dialect has sent an event of a question at the event's place in the
// stream. Holdpoint must not send the event a second time at the end. If the question is repeated
// in a later run, the client must get the event again, but not a call that it already has.
func TestAnnouncedInPlace(t *testing.T) {
	const call, more = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"request_approval","parentMessageId":"a1","delta":"{}"}`, `{"type":"CUSTOM","name":"x","value":1}`
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		sendStream(w, streamOf(started, call, more, asks))
	},
		func(o *Options) { o.Client = ClientNative })
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		finish := e.Event.Clone()
		return translate.Result{Finish: finish, Asked: translate.AskedPause{
			NativeShown: true, NativeFinish: finish.JSON, NativeEvents: []json.RawMessage{json.RawMessage(call), json.RawMessage(more)},
			Interrupts: []agui.Interrupt{{Native: "n1", Object: json.RawMessage(`{"reason":"confirmation"}`)}},
		}}, nil
	}
	wantTypes(t, g.do(withMessages(oldUser)), "RUN_STARTED TOOL_CALL_CHUNK CUSTOM RUN_FINISHED+interrupt")
	wantTypes(t, g.do(withMessages(oldUser)), "RUN_STARTED TOOL_CALL_CHUNK CUSTOM RUN_FINISHED+interrupt")
	wantTypes(t, g.do(withMessages(oldUser, askCall)), "RUN_STARTED CUSTOM RUN_FINISHED+interrupt")
	if g.called() != 1 {
		t.Errorf("the backend was called %d times", g.called())
	}
}

// TestPauseOfBeforeNative: a pause was opened before the operator set HOLDPOINT_CLIENT=native, so
// its record does not have the final event in the backend's form. The client must get the question
// in the interrupt outcome.
func TestPauseOfBeforeNative(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, asks)) })
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		finish := e.Event.Clone()
		return translate.Result{Finish: finish.WithJSON(agui.DeleteKey(finish.JSON, "outcome")), Asked: translate.AskedPause{
			Interrupts: []agui.Interrupt{{Native: "n1", Object: json.RawMessage(`{"reason":"confirmation"}`)}},
		}}, nil
	}
	g.do(withMessages(oldUser))
	g.h.opts.Client = ClientNative
	wantTypes(t, g.do(withMessages(oldUser)), "RUN_STARTED RUN_FINISHED+interrupt")
}
