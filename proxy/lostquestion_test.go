package proxy

import (
	"net/http"
	"testing"

	"holdpoint/internal/agui"
)

// An answer beside a new message, for a question that ended in an error: the message is answered,
// and the end of its run says that the answer was not taken.
func TestAnswerThatIsNotTakenIsTold(t *testing.T) {
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
