package dialecttest

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/translate"
)

// A CancelTest tests what a dialect sends when the client cancels a lost question. The backend of
// the test checks the ids that it gets.
type CancelTest struct {
	Dialect translate.Dialect
	Request *translate.Request // has the cancel and a new message
	// Answer plays the backend's response to the request body to the run.
	Answer func(run translate.Run, body []byte) translate.Result
	// Waits returns the ids of the questions that the backend waits for.
	Waits   func() []string
	Fate    translate.Fate
	Message string // the text of the new message
}

// Check sends cancels until the backend accepts one, or until the dialect gives up. After a cancel
// that the backend accepted, the new message must follow in a request without an answer.
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
