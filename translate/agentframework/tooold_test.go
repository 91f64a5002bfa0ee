package agentframework

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestQuestionsThatAreTooOld: if a run asks as only versions before 1.0.0rc7 do, the client must
// not get the question. The run ends in an error with the required version, and each call gets a
// result. After that, the path is known to speak the dialect.
func TestQuestionsThatAreTooOld(t *testing.T) {
	bare := events([]string{started}, toolCall("a", "rm", `{"path":"a"}`), []string{asks("a", "a")})
	for name, c := range map[string]struct {
		more   string
		stream []string
		says   string // the calls that get a result
	}{
		"1.0.0b251223":                   {"", append(bare, finished), "a"},
		"1.0.0b260114 to b260219":        {"", asking(finished, "", "a"), "a"},
		"the same, two":                  {"", asking(finished, "", "a", "b"), "a b"},
		"1.0.0b260225 to b260311, two":   {"", asking(withList("b"), "", "a", "b"), "a b"},
		"an empty list":                  {"", asking(withList(), "", "a"), "a"},
		"an outcome of success":          {"", asking(`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`, "", "a"), "a"},
		"a tool that the request has":    {`"tools":[{"name":"rm"}]`, append(bare, finished), ""},
		"confirm_changes that is known":  {`"tools":[{"name":"confirm_changes"}]`, asking(finished, "", "a"), "a"},
		"a tool of the model's provider": {"", []string{started, asks("a", "a"), finished}, "a"},
		"a workflow":                     {"", events([]string{started}, requests("q", "str", `"?"`), []string{finished}), ""},
		"an approval and a predicted":    {"", events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), bare[1:], []string{finished}), "a w"},
	} {
		t.Run(name, func(t *testing.T) {
			warned := 0
			d, err := New(struct{}{}, func(string, ...any) { warned++ })
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				l := dialecttest.LogOf(user)
				_, run, err := d.Begin(&translate.Request{Input: input(t, c.more), Transcript: l})
				if err != nil {
					t.Fatal(err)
				}
				p := play(t, run, l, c.stream...)
				if res := p.Result; len(res.Asked.Interrupts) > 0 || res.Finish.Get("code").Str != string(CodeTooOld) || !strings.Contains(res.Finish.Get("message").Str, "1.0.0rc7 or later") ||
					res.DetectedDialect != Name || res.Backend != python || res.Fate != translate.Finished {
					t.Errorf("%+v", res)
				}
				var told []string
				for _, ev := range p.All() {
					if ev.Type == agui.CallResult && ev.Get("content").Str == resultNotRun {
						told = append(told, ev.Get("toolCallId").Str)
					}
				}
				if got := strings.Join(told, " "); len(strings.Fields(c.says)) != len(told) || !sameWords(got, c.says) {
					t.Errorf("results of %q, want %q", got, c.says)
				}
				if strings.Contains(p.Text(), "function_approval_request") {
					t.Errorf("the question is told: %s", p.Text())
				}
			}
			if warned != 1 {
				t.Errorf("warned %d times", warned)
			}
		})
	}
}

func sameWords(a, b string) bool {
	for _, word := range strings.Fields(a) {
		if !strings.Contains(" "+b+" ", " "+word+" ") {
			return false
		}
	}
	return true
}

// TestQuestionThatIsTooOldBehindAnAnswer: 1.0.0b260225 to b260311 can first ask about one call in
// the form of 1.0.0rc7, and then ask in their own form. The second question must be refused as too
// old.
func TestQuestionThatIsTooOldBehindAnAnswer(t *testing.T) {
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	stream := asking(withList("c"), "", "b", "c")
	got := resumed(t, p, l, entries(p, yes), append([]string{started, result("a", "done")}, stream[1:]...)...)
	if len(got.Result.Asked.Interrupts) > 0 || got.Result.Finish.Get("code").Str != string(CodeTooOld) || strings.Count(got.Text(), resultNotRun) != 2 {
		t.Errorf("%+v\n%s", got.Result, got.Text())
	}
}

// TestQuestionThatIsTooOldInItsOwnForm: a client gets the questions in the backend's own form, so
// it has already seen the question that is too old. The run must end in the error CodeTooOld all
// the same, without an open question.
func TestQuestionThatIsTooOldInItsOwnForm(t *testing.T) {
	l := &dialecttest.Log{}
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l, Show: translate.ShowNative})
	if err != nil {
		t.Fatal(err)
	}
	stream := asking(finished, "", "a")
	p := play(t, run, l, stream...)
	if len(p.All()) != len(stream)-1 || len(p.Result.Asked.Interrupts) > 0 || p.Result.Finish.Get("code").Str != string(CodeTooOld) {
		t.Errorf("%+v\n%s", p.Result, p.Text())
	}
}
