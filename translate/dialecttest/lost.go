package dialecttest

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/translate"
)

// A CancelTest is a test of the cancel of a lost question at a backend that checks its ids.
type CancelTest struct {
	Dialect translate.Dialect
	Request *translate.Request // the request with the cancel and another message
	// Answer plays the backend's answer to a request.
	Answer func(run translate.Run, body []byte) translate.Result
	// Waits returns the ids that the backend waits for.
	Waits   func() []string
	Fate    translate.Fate
	Message string // the text of the message
}

// Check sends the cancel until the backend accepts it or cannot accept any. If it accepts the
// cancel, the message must follow without an answer.
func (f CancelTest) Check(t testing.TB) {
	t.Helper()
	var res translate.Result
	out, run, err := f.Dialect.Begin(f.Request)
	for err == nil && out.Resumes {
		if res = f.Answer(run, out.Body); res.Next == nil {
			break
		}
		out, run = res.Next.Out, res.Next.Run
	}
	if err != nil {
		t.Fatal(err)
	}
	if free := len(f.Waits()) == 0; free != (f.Fate != translate.Lost) || free == out.Resumes || res.Fate != f.Fate {
		t.Errorf("waits for %v, sent %s, fate %v, %s", f.Waits(), out.Body, res.Fate, res.Finish.JSON)
	}
	if !out.Resumes && (!strings.Contains(string(out.Body), f.Message) || gjson.GetBytes(out.Body, "resume").Exists()) {
		t.Errorf("the message went so: %s", out.Body)
	}
}
