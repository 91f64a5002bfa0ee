package standard

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestChainAsksEachQuestionOnce: the answers are sent one by one (a chain), and the backend repeats
// the open questions after each. If the chain breaks off, each question whose answer was not sent
// must be asked exactly once. If a question were asked twice, one approval would be sent twice.
func TestChainAsksEachQuestionOnce(t *testing.T) {
	again := translate.End{Event: dialecttest.Event(outcome(mastraCall("2"), mastraCall("3")))}
	for name, c := range map[string]struct {
		end  translate.End
		want string
	}{
		"cut":     {translate.End{Cut: true}, "run::c3"},
		"refused": {translate.End{Refused: true, Status: 429}, "run::c3 run::c2"},
	} {
		t.Run(name, func(t *testing.T) {
			if asked := playChain(t, 3, "", again, c.end).asked(); asked != c.want {
				t.Errorf("asked %q, want %q", asked, c.want)
			}
		})
	}
}

// TestChainSendsNoAnswerToAnotherQuestion: an earlier exchange repeats the third question with
// another text. The person approved the old text, so this approval must not be sent.
func TestChainSendsNoAnswerToAnotherQuestion(t *testing.T) {
	other := strings.Replace(mastraCall("3"), `"reason"`, `"message":"Delete everything?","reason"`, 1)
	plain := translate.End{Event: dialecttest.Event(finished)}
	c := playChain(t, 3, "", translate.End{Event: dialecttest.Event(outcome(other))}, plain)
	if len(c.sent) != 2 || c.asked() != "run::c3" {
		t.Errorf("sent %q, asked %q", c.sent, c.asked())
	}
	if again := playChain(t, 3, "", translate.End{Event: dialecttest.Event(outcome(mastraCall("3")))}, plain, plain); len(again.sent) != 3 {
		t.Errorf("the same words: sent %q", again.sent)
	}
}

// TestNoChainForAnotherHoldpoint: another Holdpoint is behind this one. It expects all answers to
// its pause at once, because it sends them one by one itself. So this Holdpoint must not send them
// one by one.
func TestNoChainForAnotherHoldpoint(t *testing.T) {
	minted := func(n string) string { return strings.Replace(mastraCall(n), `::c`+n+`"`, `::c`+n+`~inner`+n+`"`, 1) }
	p := pausedBy(t, minted("1"), minted("2"))
	var entries []string
	for _, i := range p.Interrupts {
		entries = append(entries, dialecttest.Entry(i.ID, `true`))
	}
	out, _, err := resume(t, p, parse(t, dialecttest.ResumeArray(entries...)))
	if err != nil {
		t.Fatal(err)
	}
	if sent := gjson.GetBytes(out.Body, "resume.#.interruptId").Raw; sent != `["run::c1~inner1","run::c2~inner2"]` {
		t.Errorf("sent %s", sent)
	}
}
