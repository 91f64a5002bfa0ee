package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// asksByKey returns a rig. In the first runs, its backend sends the events between and then asks
// about call c1. The parameter runs is the number of these runs. The client may answer by a tool
// message for c1.
func asksByKey(t *testing.T, runs int, between ...string) *rig {
	t.Helper()
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= runs {
			sendStream(w, streamOf(append(append([]string{started}, between...), asks)...))
		} else {
			sendStream(w, streamOf(started, finished))
		}
	})
	g.dialect.reads, g.dialect.keys = readsApprovals, []string{"c1"}
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) { return translate.Out{Body: r.Input.Raw}, nil }
	return g
}

func saysOnC1(id string, approved bool) string {
	return fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":"c1","content":"{\"approved\":%v}"}`, id, approved)
}

// TestAReplyThatStoodThere: a history contained a yes before the question was asked. This yes must
// not answer the question, even if its message gets a new id. If the client adds a second yes, or
// changes the decision, the question is answered.
func TestAReplyThatStoodThere(t *testing.T) {
	for name, c := range map[string]struct {
		then []string // follows the user's message in the second request
		sent bool
	}{
		"the same message":                {[]string{saysOnC1("t1", true)}, false},
		"the same under another id":       {[]string{saysOnC1("t2", true)}, false},
		"and with the id of the question": {[]string{saysOnC1("a1", true)}, false},
		"behind other words":              {[]string{newUser, saysOnC1("t1", true)}, false},
		"one more":                        {[]string{saysOnC1("t1", true), saysOnC1("t2", true)}, true},
		"one more under the same id":      {[]string{saysOnC1("t1", true), saysOnC1("t1", true)}, true},
		"another answer":                  {[]string{saysOnC1("t1", false)}, true},
		"another answer behind it":        {[]string{saysOnC1("t1", true), saysOnC1("t2", false)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := asksByKey(t, 1)
			g.do(withMessages(oldUser, saysOnC1("t1", true), askWords))
			got := g.do(withMessages(append([]string{oldUser}, c.then...)...))
			if (g.called() == 2) != c.sent {
				t.Errorf("sent: %v, want %v\n%s", g.called() == 2, c.sent, got)
			}
		})
	}
	t.Run("what the stream told before it asked", func(t *testing.T) {
		told := `{"type":"TOOL_CALL_RESULT","messageId":"told","toolCallId":"c1","content":"{\"approved\":true}"}`
		g := asksByKey(t, 1, told)
		g.do(withMessages(oldUser))
		if got := g.do(withMessages(oldUser, saysOnC1("told", true))); g.called() != 1 {
			t.Errorf("sent: %s", got)
		}
		if g.do(withMessages(oldUser, saysOnC1("told", true), saysOnC1("t2", true))); g.called() != 2 {
			t.Error("an answer of its own was not taken")
		}
	})
	t.Run("the answer to the question before", func(t *testing.T) {
		g := asksByKey(t, 2)
		g.do(withMessages(oldUser))
		g.do(withMessages(oldUser, saysOnC1("t1", true)))
		if g.called() != 2 {
			t.Fatal("the first answer was not taken")
		}
		for _, id := range []string{"t1", "renamed"} {
			if got := g.do(withMessages(oldUser, saysOnC1(id, true))); g.called() != 2 {
				t.Fatalf("sent: %s", got)
			}
		}
		if g.do(withMessages(oldUser, saysOnC1("t1", true), saysOnC1("t2", true))); g.called() != 3 {
			t.Error("an answer of its own was not taken")
		}
	})
	t.Run("in a conversation that is too large to be kept", func(t *testing.T) {
		text := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":%q}`, strings.Repeat("x", 20_000))
		told := `{"type":"TOOL_CALL_RESULT","messageId":"told","toolCallId":"c1","content":"{\"approved\":true}"}`
		g := asksByKey(t, 1, told, text)
		g.h.opts.TranscriptBytes = 10_000
		g.do(withMessages(oldUser))
		if got := g.do(withMessages(oldUser, saysOnC1("told", true))); g.called() != 1 {
			t.Errorf("sent: %s", got)
		}
		if got := g.do(withMessages(oldUser, saysOnC1("t2", true))); g.called() != 2 {
			t.Errorf("an answer of its own was not taken: %s", got)
		}
	})
}

// TestTwoAnswersToOneQuestion: a request has two answers to one question: a resume entry and a
// message, or two messages. If the two decide differently, Holdpoint must refuse them. If they
// decide the same, it must send the entry, because the entry has more detail.
func TestTwoAnswersToOneQuestion(t *testing.T) {
	entry := func(status, payload string) string {
		return resumeWith(`{"interruptId":"n1~id1","status":"` + status + `"` + payload + `}`)
	}
	for name, c := range map[string]struct {
		more     string
		messages []string
		conflict bool
		payload  string // the payload that is sent
	}{
		"a yes beside a yes":           {entry("resolved", `,"payload":{"approved":true,"edited":1}`), []string{saysOnC1("t", true)}, false, `{"approved":true,"edited":1}`},
		"a yes beside a no":            {entry("resolved", `,"payload":{"approved":false}`), []string{saysOnC1("t", true)}, true, ""},
		"a no beside a yes":            {entry("resolved", `,"payload":{"approved":true}`), []string{saysOnC1("t", false)}, true, ""},
		"a yes beside a cancel":        {entry("cancelled", ``), []string{saysOnC1("t", true)}, true, ""},
		"a no beside a cancel":         {entry("cancelled", ``), []string{saysOnC1("t", false)}, false, ""},
		"a yes beside what says less":  {entry("resolved", `,"payload":{"text":"x"}`), []string{saysOnC1("t", true)}, true, ""},
		"a yes beside a word":          {entry("resolved", `,"payload":"x"`), []string{saysOnC1("t", true)}, true, ""},
		"two messages that agree":      {"", []string{saysOnC1("t", true), saysOnC1("u", true)}, false, `{"approved":true}`},
		"the last of those that agree": {"", []string{saysOnC1("t", true), strings.Replace(saysOnC1("u", true), `{\"approved`, `{\"more\":1,\"approved`, 1)}, false, `{"more":1,"approved":true}`},
		"two messages that do not":     {"", []string{saysOnC1("t", false), saysOnC1("u", true)}, true, ""},
		"and words between them":       {"", []string{saysOnC1("t", true), newUser, saysOnC1("u", false)}, true, ""},
		"the last of three says other": {"", []string{saysOnC1("t", true), saysOnC1("u", true), saysOnC1("v", false)}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := asksByKey(t, 1)
			g.dialect.reads = func(m agui.Message, _ agui.Interrupt) string { return gjson.GetBytes(m.JSON, "content").Str }
			var sent json.RawMessage
			g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
				if len(r.Answers) > 0 {
					sent = r.Answers[0].Payload
				}
				return translate.Out{}, nil
			}
			g.do(withMessages(oldUser))
			got := g.do(strings.TrimSuffix(withMessages(append([]string{oldUser}, c.messages...)...), "}") + c.more + "}")
			if conflict := strings.Contains(got, string(agui.ResumeConflict)); conflict != c.conflict || conflict == (g.called() == 2) {
				t.Fatalf("conflict: %v, %d calls\n%s", conflict, g.called(), got)
			}
			if string(sent) != c.payload {
				t.Errorf("sent %s, want %s", sent, c.payload)
			}
		})
	}
}

// TestWhatIsReadInTwoWaysNeverAnswers: two parsers would read a message differently. Such a message
// must not count as an answer, and must not reach the backend.
func TestWhatIsReadInTwoWaysNeverAnswers(t *testing.T) {
	g := pandoRig(t)
	g.do(withMessages(oldUser))
	unclear := pandoSays("t1", "c1", `{"approved":true,"Approved":false}`)
	wantTypes(t, g.do(withMessages(oldUser, unclear)), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	if g.called() != 1 {
		t.Errorf("sent %s", g.calls[1])
	}
}
