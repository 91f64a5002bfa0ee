package ask_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/dialecttest/ask"
)

// These expressions find the stream and the answers in docs/new-dialect.md.
var (
	event  = regexp.MustCompile(`(?m)^data: (\{.*\})$`)
	answer = regexp.MustCompile("`(\\{\"approved\":\\w+\\})`")
)

func shown(t *testing.T) (stream, answers []string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/new-dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range event.FindAllStringSubmatch(string(text), -1) {
		stream = append(stream, m[1])
	}
	for _, m := range answer.FindAllStringSubmatch(string(text), -1) {
		answers = append(answers, m[1])
	}
	if len(stream) < 2 || len(answers) != 2 {
		t.Fatalf("the document shows the stream %q and the answers %q", stream, answers)
	}
	return stream, answers
}

const body = `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"go"}]`

// TestExample checks that the stream in docs/new-dialect.md becomes a question, and that an answer
// is sent as that page describes.
func TestExample(t *testing.T) {
	stream, answers := shown(t)
	d, err := ask.New(struct{}{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := dialecttest.Input(t, body+"}")
	log := dialecttest.NewLog(in.Messages)
	out, run, err := d.Begin(&translate.Request{Input: in, Transcript: log})
	if err != nil || out.Body != nil {
		t.Fatalf("%+v %v", out, err)
	}
	p := dialecttest.Play(run, log, stream...)
	asked := dialecttest.WithIDs(p.Result.Asked.Pause(ask.Name))
	if p.Err != nil || len(asked.Interrupts) != 1 || asked.Interrupts[0].ID != "q1~r1" || gjson.GetBytes(asked.Interrupts[0].Object, "message").Str != "Pay?" {
		t.Fatalf("%v, asked %s", p.Err, agui.MustMarshal(asked))
	}
	for payload, want := range map[string]string{`true`: answers[0], `{"approved":false}`: answers[1], "": `{"approved":false,"cancelled":true}`} {
		in := dialecttest.Input(t, body+","+dialecttest.ResumeArray(dialecttest.Entry("q1~r1", payload))+"}")
		out, _, err := dialecttest.Resume(d, asked, in, log)
		if sent := gjson.ParseBytes(out.Body); err != nil || sent.Get("messages.0.content").Str != want || sent.Get("messages.0.toolCallId").Str != "q1" || sent.Get("messages.#").Int() != 1 || sent.Get("resume").Exists() || !out.Resumes {
			t.Errorf("%q: %v, sent %s", payload, err, out.Body)
		}
	}
}

// TestProperties checks that the example dialect follows the rules for all dialects.
func TestProperties(t *testing.T) {
	stream, _ := shown(t)
	turn := dialecttest.Turn{Request: []byte(body + "}"), Answers: []dialecttest.Answer{dialecttest.Stream(stream...)}}
	made := func(dialecttest.Scenario) translate.Dialect {
		d, err := ask.New(struct{}{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	answered := 0
	rapid.Check(t, func(t *rapid.T) {
		answered += dialecttest.CheckThread(t, made, []dialecttest.Scenario{{Turns: []dialecttest.Turn{turn, turn}}})
	})
	if answered == 0 {
		t.Error("no question was answered")
	}
}

// TestSampleScenario reads the sample of testdata/README.md as a scenario. Its stream asks, and its
// second request answers that question.
func TestSampleScenario(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(text), "TestSampleScenario -->\n```text\n")
	sample, _, ok := strings.Cut(sample, "```\n")
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/ask", 0o755); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.WriteFile(dir+"/ask/approve.txtar", []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	turns := dialecttest.Scenarios(t, dir, "ask")[0].Turns
	d, err := ask.New(struct{}{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := dialecttest.Input(t, string(turns[0].Request))
	log := dialecttest.NewLog(in.Messages)
	_, run, err := d.Begin(&translate.Request{Input: in, Transcript: log})
	if err != nil {
		t.Fatal(err)
	}
	p := dialecttest.Play(run, log, turns[0].Answers[0].Events()...)
	asked := dialecttest.WithIDs(p.Result.Asked.Pause(ask.Name))
	answer := strings.Replace(string(turns[1].Request), "q1~id1", "q1~r1", 1) // WithIDs makes other ids than proxy
	out, run, err := dialecttest.Resume(d, asked, dialecttest.Input(t, answer), log)
	if p.Err != nil || err != nil || gjson.GetBytes(out.Body, "messages.0.content").Str != `{"approved":true}` {
		t.Fatalf("%v %v, sent %s", p.Err, err, out.Body)
	}
	if p := dialecttest.Play(run, log, turns[1].Answers[0].Events()...); p.Err != nil || !strings.Contains(p.Text(), "It is paid.") {
		t.Errorf("%v, the client gets %s", p.Err, p.Text())
	}
}
