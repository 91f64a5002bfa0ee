package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// TestRefusalForAPageOfAnotherHoldpoint: the backend is another Holdpoint, the inner one, which
// sees the Origin of a page. So it sends no RUN_ERROR after its interrupts, but a refusal in the
// metadata. The client of the outer Holdpoint must get the refusal as a RUN_ERROR, with the same
// question as before.
func TestRefusalForAPageOfAnotherHoldpoint(t *testing.T) {
	const refused = `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation"}]},` +
		`"metadata":{"holdpoint":{"refusal":{"code":"INVALID_PAYLOAD","text":"No.","detail":"it does not fit"}}}}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, streamOf(started, refused))
		default:
			sendStream(w, streamOf(started, hello, finished))
		}
	})
	g.do(input("t", "r1", ""))
	got := g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:INVALID_PAYLOAD")
	if !strings.Contains(got, `"id":"n1~id1"`) {
		t.Errorf("another question: %s", got)
	}
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestReplayWhileAnotherQuestionIsOpen: a client repeats its answers to the first question after
// the thread has asked a second question. It must get the second question. If it got only the end
// of the first one, it would forget the second.
func TestReplayWhileAnotherQuestionIsOpen(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 2 {
			sendStream(w, streamOf(started, hello, finished))
			return
		}
		sendStream(w, streamOf(started, asks))
	})
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]}`)
	got := g.do(input("t", "r4", resumeWith(yes("n1~id1"))))
	if !strings.Contains(got, `"id":"n1~id2"`) || g.called() != 3 {
		t.Errorf("%d calls: %s", g.called(), got)
	}
}
