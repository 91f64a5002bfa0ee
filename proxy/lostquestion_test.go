package proxy

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// TestUnusedAnswerIsReported: the run with the answer to a question ended in an error. Then the
// client sends this answer again, together with a new message. The backend must get the message.
// The end of the run must say that the answer was not used.
func TestUnusedAnswerIsReported(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
		case 3:
			sendStream(w, streamOf(started, hello, finished))
		default:
			sendStream(w, streamOf(started, asks))
		}
	})
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	beside := func(id string) string {
		return `{"threadId":"t","runId":"r3","messages":[` + oldUser + `,{"id":"` + id + `","role":"user","content":"And?"}]` + resumeWith(yes("n1~id1")) + `}`
	}
	for n, want := range []string{"RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED", "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt"} {
		got := g.do(beside([]string{"u8", "u9"}[n]))
		wantTypes(t, got, want)
		if why := finishOf(t, got).Get("metadata.holdpoint.refusal"); agui.Code(why.Get("code").Str) != agui.ResumeInDoubt {
			t.Errorf("told %s", why.Raw)
		}
	}
	if g.called() != 4 {
		t.Errorf("called %d times", g.called())
	}
}

// TestQuestionThatOnlyAClientNames: the record of a question is gone, but a request names the
// question's id. If the dialect of the backend is known, the backend must get a no under that id:
// when the client cancels, or before a message that would lock the thread. If the dialect is
// unknown, the backend must get nothing.
func TestQuestionThatOnlyAClientNames(t *testing.T) {
	const (
		native = "hook:beforeToolCall:g1:myapp-approval"
		id     = native + "~AAAAAAAAAAAA"
		no     = `[{"interruptId":"` + native + `","status":"resolved","payload":"n"}]`
	)
	const asking = `{"id":"a8","role":"assistant","content":"May I?"}`
	answer := func(status string) string {
		return `,"resume":[{"interruptId":"` + id + `","status":"` + status + `","payload":true}]`
	}
	cancel := `,"resume":[{"interruptId":"` + id + `","status":"cancelled"}]`
	for name, c := range map[string]struct {
		dialect  string
		requests []string
		sent     []string // the resume of each request to the backend
	}{
		"a cancel":                    {"aws-strands", []string{talk("t", cancel, asking)}, []string{no}},
		"a cancel, twice":             {"aws-strands", []string{talk("t", cancel, asking), talk("t", cancel, asking)}, []string{no}},
		"a cancel beside a message":   {"aws-strands", []string{talk("t", cancel, asking, noWords)}, []string{no, ""}},
		"an approval, then a message": {"aws-strands", []string{talk("t", answer("resolved"), asking), talk("t", "", asking, noWords)}, []string{no, ""}},
		"a message alone":             {"aws-strands", []string{talk("t", "", asking, noWords)}, []string{""}},
		"the message after it":        {"aws-strands", []string{talk("t", answer("resolved"), asking), talk("t", "", asking, noWords), talk("t", "", asking, noWords, `{"id":"u9","role":"user","content":"And?"}`)}, []string{no, "", ""}},
		"of another thread":           {"aws-strands", []string{talk("other", answer("resolved")), talk("t", "", asking, noWords)}, []string{""}},
		"auto, a cancel":              {"auto", []string{talk("t", cancel, asking)}, nil},
		"auto, a message":             {"auto", []string{talk("t", answer("resolved"), asking), talk("t", "", asking, noWords)}, []string{""}},
		"another dialect":             {"agui", []string{talk("t", answer("resolved"), asking), talk("t", cancel, asking), talk("t", "", asking, noWords)}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTurnRig(t, c.dialect, nil)
			var sent []string
			for _, request := range c.requests {
				g.do(request)
			}
			for n := range g.called() {
				sent = append(sent, g.sent(n).Get("resume").Raw)
			}
			if !slices.Equal(sent, c.sent) {
				t.Errorf("sent %q, want %q", sent, c.sent)
			}
		})
	}
}

// TestManyLostQuestionsOfOthers: many questions that another process saved are lost at the backend.
// The log must say once that the agents behind the replicas must share their threads. Lost
// questions that the same process saved must not count.
func TestManyLostQuestionsOfOthers(t *testing.T) {
	serve := func(w http.ResponseWriter, r *http.Request, n int) {
		stream := asks
		if body, _ := io.ReadAll(r.Body); gjson.GetBytes(body, "resume").Exists() {
			stream = finished
		}
		sendStream(w, streamOf(started, stream))
	}
	lost := func(d *fakeDialect) {
		d.end = func(_ int, e translate.End) (translate.Result, error) {
			return translate.Result{Fate: translate.Lost}, nil
		}
	}
	const says = "another Holdpoint process has kept"
	one := newRig(t, serve)
	two := newRig(t, serve, func(o *Options) { o.Store = one.store })
	answers := func(g *rig, thread string) {
		t.Helper()
		told := one.do(input(thread, "r1", ""))
		_, id, _ := strings.Cut(told, `"interrupts":[{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		g.dialect.end = nil
		lost(g.dialect)
		if told := g.do(input(thread, "r2", resumeWith(yes(id)))); !strings.Contains(told, "BACKEND_LOST_INTERRUPT") {
			t.Fatalf("not lost: %s", told)
		}
		one.dialect.end = nil
	}
	for n := range manyLost + 2 {
		answers(one, fmt.Sprint("own", n))
		if strings.Contains(one.logs.String(), says) {
			t.Fatal("it takes a question of its own for another's")
		}
	}
	for n := range manyLost + 2 {
		answers(two, fmt.Sprint("t", n))
		want := 0
		if n+1 >= manyLost {
			want = 1
		}
		if got := strings.Count(two.logs.String(), says); got != want {
			t.Errorf("after %d lost questions it is said %d times", n+1, got)
		}
	}
}
