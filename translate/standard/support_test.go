package standard

import (
	"errors"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	text     = `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	schema   = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
)

func outcome(interrupts ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","x":1.0,"outcome":{"type":"interrupt","interrupts":[` + strings.Join(interrupts, ",") + `]}}`
}

func parse(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

// play plays a stream to a run and returns its result. The test fails if any event except the
// terminal one was changed.
func play(t testing.TB, run translate.Run, l *dialecttest.Log, stream ...string) translate.Result {
	t.Helper()
	p := dialecttest.Play(run, l, stream...)
	if err := errors.Join(p.Err, p.ChangedEvent()); err != nil {
		t.Fatal(err)
	}
	return p.Result
}

// plain plays a stream to a run without answers and returns its result.
func plain(t testing.TB, stream ...string) translate.Result {
	t.Helper()
	l := &dialecttest.Log{}
	out, run, err := new(Dialect).Begin(&translate.Request{Input: parse(t, ``), Transcript: l})
	if err != nil || out.Body != nil || out.Resumes {
		t.Fatalf("%+v %v", out, err)
	}
	return play(t, run, l, stream...)
}

// pausedBy returns the pause of a run that ends with these interrupts. Its ids have the proxy's
// form: <native>~r1, <native>~r2, and so on.
func pausedBy(t testing.TB, interrupts ...string) agui.Pause {
	t.Helper()
	return dialecttest.WithIDs(plain(t, started, outcome(interrupts...)).Asked.Pause(Name))
}

// resume answers a pause as the proxy does: Begin is not called with unknown or incomplete answers.
func resume(t testing.TB, p agui.Pause, in agui.RunInput) (translate.Out, translate.Run, error) {
	t.Helper()
	return dialecttest.Resume(new(Dialect), p, in, dialecttest.NewLog(in.Messages))
}
