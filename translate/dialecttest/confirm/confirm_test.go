package confirm_test

import (
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/dialecttest/confirm"
)

const body = `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"go"}]`

var stream = []string{
	`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"s1","toolCallName":"confirm_step","parentMessageId":"m1"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"s1","delta":"{\"step\":\"Deploy?\",\"target\":\"eu-1\"}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"s1"}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
}

func newDialect(t *testing.T) *confirm.Dialect {
	t.Helper()
	d, err := confirm.New(struct{}{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// asked plays the stream, and returns the pause with its question.
func asked(t *testing.T, d translate.Dialect) (agui.Pause, *dialecttest.Log) {
	t.Helper()
	in := dialecttest.Input(t, body+"}")
	log := dialecttest.NewLog(in.Messages)
	_, run, err := d.Begin(&translate.Request{Input: in, Transcript: log})
	if err != nil {
		t.Fatal(err)
	}
	p := dialecttest.Play(run, log, stream...)
	pause := dialecttest.WithIDs(p.Result.Asked.Pause(confirm.Name))
	if p.Err != nil || len(pause.Interrupts) != 1 || gjson.GetBytes(pause.Interrupts[0].Object, "message").Str != "Deploy?" {
		t.Fatalf("%v, asked %s", p.Err, agui.MustMarshal(pause))
	}
	return pause, log
}

// TestAnswersAreSent checks which word the backend gets for each payload. An unclear payload must
// be refused.
func TestAnswersAreSent(t *testing.T) {
	d := newDialect(t)
	pause, log := asked(t, d)
	for payload, want := range map[string]string{
		`true`: "ACCEPT", `{"approved":true}`: "ACCEPT",
		`false`: "REJECT", `{"approved":false}`: "REJECT", "": "REJECT",
		`"ACCEPT"`: "", `{"approved":"yes"}`: "", `{"approved":true,"approved":false}`: "", `{}`: "", `"later"`: "",
	} {
		in := dialecttest.Input(t, body+","+dialecttest.ResumeArray(dialecttest.Entry("s1~r1", payload))+"}")
		out, _, err := dialecttest.Resume(d, pause, in, log)
		if code := dialecttest.Code(err); (want == "") != (code == agui.InvalidPayload) || gjson.GetBytes(out.Body, "messages.0.content").Str != want {
			t.Errorf("%q: %v, sent %s", payload, err, out.Body)
		}
	}
}

// TestRepliesAreRead checks which tool messages are decisions, and which decision each of them is.
// Harmless must change them so that the backend does not read them as decisions.
func TestRepliesAreRead(t *testing.T) {
	d := newDialect(t)
	pause, log := asked(t, d)
	for content, want := range map[string]string{
		"ACCEPT": "ACCEPT", " accept\n": "ACCEPT", "REJECT": "REJECT", "Reject": "REJECT",
		"ACCEPTED": "", "They ACCEPT it.": "", `["ACCEPT"]`: "", `{"approved":true}`: "", "deleted a.txt": "", "": "",
	} {
		message := `{"id":"x","role":"tool","toolCallId":"s1","content":` + dialecttest.Quoted(content) + `}`
		m := agui.ParseMessage([]byte(message))
		if decides := d.Decides(m, true, ""); decides != (want != "") {
			t.Errorf("%q decides: %v", content, decides)
		}
		if d.Decides(d.Harmless(m), true, "") {
			t.Errorf("%q is still a decision in %s", content, d.Harmless(m).JSON)
		}
		in := dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[`+message+`]}`)
		out, _, err := dialecttest.Resume(d, pause, in, log)
		if sent := gjson.GetBytes(out.Body, "messages.0.content").Str; (err != nil) != (want == "") || sent != want {
			t.Errorf("%q: %v, sent %q", content, err, sent)
		}
	}
}

// TestProperties checks the rules that all dialects must keep.
func TestProperties(t *testing.T) {
	turn := dialecttest.Turn{Request: []byte(body + "}"), Answers: []dialecttest.Answer{dialecttest.Stream(stream...)}}
	answered := 0
	rapid.Check(t, func(rt *rapid.T) {
		answered += dialecttest.CheckThread(rt, func(dialecttest.Scenario) translate.Dialect { return newDialect(t) },
			[]dialecttest.Scenario{{Turns: []dialecttest.Turn{turn, turn}}})
	})
	if answered == 0 {
		t.Error("no question was answered")
	}
}
