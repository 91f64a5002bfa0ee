package proxy

import (
	"net/http"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// TestStreamThatBeginsWithAnErrorIsBegun: the first event of the backend's stream is RUN_ERROR. If
// Holdpoint adds events, it must send RUN_STARTED before them.
func TestStreamThatBeginsWithAnErrorIsBegun(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(`{"type":"RUN_ERROR","message":"kaput","code":"OWN"}`))
	}, func(o *Options) { o.Client = ClientBoth })
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		res := translate.Result{}
		if e.Event.Type == agui.RunErrored {
			res = translate.Result{Finish: e.Event.Clone(), Fate: translate.Untouched}
		}
		return res, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED CUSTOM RUN_FINISHED+interrupt RUN_ERROR:OWN")
}

// TestStateOfAnotherDayIsNotTold: a page has continued with other runs, and then sends an old
// answer. The refusal of this answer must not bring back an older state.
func TestStateOfAnotherDayIsNotTold(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, streamOf(started, `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`, finished))
		}
	})
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	known := g.do(input("t", "r3", resumeWith(yes("n9~id9"))))
	wantTypes(t, known, "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	later := `{"threadId":"t","runId":"r4","state":{"n":2},"messages":[` + oldUser + `,{"id":"later","role":"assistant","content":"Done since."}]` + resumeWith(yes("n9~id9")) + `}`
	wantTypes(t, g.do(later), "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
}

// TestRefusalOfAnExchangeThatAsks: the backend is another Holdpoint, and it reports a refusal. If
// the dialect also finds questions, they must still reach the client.
func TestRefusalOfAnExchangeThatAsks(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","metadata":{"holdpoint":{"refusal":{"code":"X","mayHaveRun":true}}}}`,
			`{"type":"RUN_ERROR","message":"kaput","code":"X"}`))
	})
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		if e.Event.Type != agui.RunErrored {
			return translate.Result{}, nil
		}
		return translate.Result{
			Finish: agui.FinishedEvent("t", "r"), Failed: true,
			Asked: translate.AskedPause{Interrupts: []agui.Interrupt{{Native: "n2", Object: []byte(`{"reason":"confirmation"}`)}}},
		}, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt RUN_ERROR:RESUME_IN_DOUBT")
}
