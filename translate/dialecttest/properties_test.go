package dialecttest_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/dialecttest/ask"
)

// A wrong is a faulty dialect: at the end of each run it returns an error that is not an
// *agui.RunError.
type wrong struct{ *ask.Dialect }

func (w wrong) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, run, err := w.Dialect.Begin(r)
	return out, wrongRun{run}, err
}

type wrongRun struct{ translate.Run }

func (wrongRun) End(e translate.End) (translate.Result, error) {
	return translate.Result{Finish: e.Event}, errors.New("kaput")
}

// An output is a *testing.T that does not fail. It collects its output in the field text.
type output struct {
	*testing.T
	text strings.Builder
}

func (o *output) Logf(format string, args ...any) {
	fmt.Fprintf(&o.text, format+"\n", args...)
}

func (o *output) Errorf(format string, args ...any) { o.Logf(format, args...) }

// TestFailureIsReadable checks what CheckThread prints when a random thread fails. It must print
// the file of the scenario, and the requests and the frames as texts.
func TestFailureIsReadable(t *testing.T) {
	nofailfile := flag.Lookup("rapid.nofailfile")
	before := nofailfile.Value.String()
	if err := nofailfile.Value.Set("true"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nofailfile.Value.Set(before) }()
	request := `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"go"}]}`
	frame := `{"type":"TOOL_CALL_START","toolCallId":"q1","toolCallName":"ask","parentMessageId":"m1"}`
	all := []dialecttest.Scenario{{
		Path: "testdata/ask/approve.txtar",
		Turns: []dialecttest.Turn{{Request: []byte(request), Answers: []dialecttest.Answer{
			dialecttest.Stream(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, frame, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`),
		}}},
	}}
	printed := &output{T: t}
	rapid.Check(printed, func(rt *rapid.T) {
		dialecttest.CheckThread(rt, func(dialecttest.Scenario) translate.Dialect {
			d, err := ask.New(struct{}{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return wrong{d}
		}, all)
	})
	text := printed.text.String()
	for _, want := range []string{
		"refused without a code: kaput",
		"testdata/ask/approve.txtar",
		"the client sends " + request,
		"the backend sends\n" + `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\ndata: " + frame + "\n",
		"the client gets\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not print %q", want)
		}
	}
	for _, raw := range []string{"0x", `\"type\"`, "Turns:"} {
		if strings.Contains(text, raw) {
			t.Errorf("it prints %q", raw)
		}
	}
	if t.Failed() {
		t.Logf("it prints\n%s", text)
	}
}
