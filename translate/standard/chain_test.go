package standard

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func mastraCall(n string) string {
	return `{"id":"run::c` + n + `","reason":"mastra:tool_suspend","toolCallId":"c` + n + `","metadata":{"mastra":{"runId":"run"}}}`
}

// A chainPlay is the result of exchanges that send one answer each.
type chainPlay struct {
	sent []string // "interruptId=payload", for each exchange
	res  translate.Result
}

// playChain answers several of Mastra's questions, the nth with the number n. The parameter ends
// contains the end of each exchange.
func playChain(t *testing.T, questions int, more string, ends ...translate.End) chainPlay {
	t.Helper()
	var asks, entries []string
	for n := range questions {
		asks = append(asks, mastraCall(string(rune('1'+n))))
	}
	p := pausedBy(t, asks...)
	for n, i := range p.Interrupts {
		// the entries are in reverse order
		entries = append([]string{dialecttest.Entry(i.ID, string(rune('1'+n)))}, entries...)
	}
	in := parse(t, dialecttest.ResumeArray(entries...)+more)
	out, run, err := resume(t, p, in)
	if err != nil {
		t.Fatal(err)
	}
	var c chainPlay
	for n, end := range ends {
		list := gjson.GetBytes(out.Body, "resume").Array()
		if len(list) != 1 || !out.Resumes {
			t.Fatalf("exchange %d: %+v %s", n+1, out, out.Body)
		}
		c.sent = append(c.sent, list[0].Get("interruptId").Str+"="+list[0].Get("payload").Raw)
		c.res, err = run.End(end)
		if err != nil {
			t.Fatal(err)
		}
		if c.res.Next == nil {
			if n != len(ends)-1 {
				t.Fatalf("it ended after exchange %d: %+v", n+1, c.res)
			}
			break
		}
		out, run = c.res.Next.Out, c.res.Next.Run
	}
	return c
}

func (c chainPlay) asked() string {
	var list []string
	for _, i := range c.res.Asked.Interrupts {
		list = append(list, i.Native)
		if i.ID != "" {
			list = append(list, "has an id")
		}
	}
	return strings.Join(list, " ")
}

// TestAnswersOneByOne: Mastra reads only one answer of a request. So each answer must be sent in an
// exchange of its own.
func TestAnswersOneByOne(t *testing.T) {
	at := func(s string) translate.End { return translate.End{Event: dialecttest.Event(s)} }
	fails := func(code string) translate.End {
		return at(`{"type":"RUN_ERROR","message":"m","code":"` + code + `"}`)
	}
	bare, cut, refused := at(finished), translate.End{Cut: true}, translate.End{Refused: true, Status: 429}
	const a, b, d = "run::c1=1", "run::c2=2", "run::c3=3"
	for name, c := range map[string]struct {
		questions   int
		ends        []translate.End
		sent, asked string
		fate        translate.Fate
		failed      bool
	}{
		"two":                                      {2, []translate.End{bare, bare}, a + " " + b, "", 0, false},
		"three":                                    {3, []translate.End{bare, bare, bare}, a + " " + b + " " + d, "", 0, false},
		"the last asks":                            {2, []translate.End{bare, at(outcome(mastraCall("2")))}, a + " " + b, "run::c2", 0, false},
		"the first asks, the second goes":          {2, []translate.End{at(outcome(mastraCall("1"))), bare}, a + " " + b, "run::c1", 0, false},
		"both ask":                                 {2, []translate.End{at(outcome(mastraCall("1"))), at(outcome(mastraCall("2")))}, a + " " + b, "run::c1 run::c2", 0, false},
		"one asks twice":                           {2, []translate.End{at(outcome(mastraCall("1"))), at(outcome(mastraCall("1"), mastraCall("9")))}, a + " " + b, "run::c1 run::c9", 0, false},
		"what is answered then is not asked":       {2, []translate.End{at(outcome(mastraCall("2"))), bare}, a + " " + b, "", 0, false},
		"the first is cut":                         {2, []translate.End{cut}, a, "run::c2", 0, true},
		"the first fails":                          {3, []translate.End{fails("")}, a, "run::c2 run::c3", 0, true},
		"the first is refused: all stays":          {2, []translate.End{refused}, a, "", 0, false},
		"the first fails before it did anything":   {2, []translate.End{fails("INVALID_PAYLOAD")}, a, "", translate.Untouched, false},
		"the first is lost, and so are all":        {2, []translate.End{fails("UNKNOWN_INTERRUPT_ID")}, a, "", translate.Lost, false},
		"the second is cut":                        {3, []translate.End{bare, cut}, a + " " + b, "run::c3", 0, true},
		"the second is refused: it is open":        {3, []translate.End{bare, refused}, a + " " + b, "run::c2 run::c3", 0, true},
		"the second fails before it did anything":  {3, []translate.End{bare, fails("INVALID_PAYLOAD")}, a + " " + b, "run::c2 run::c3", translate.Untouched, true},
		"the last is cut":                          {2, []translate.End{bare, cut}, a + " " + b, "", 0, false},
		"the last is refused: it is open":          {2, []translate.End{bare, refused}, a + " " + b, "run::c2", 0, true},
		"the first asks, and the second is cut":    {2, []translate.End{at(outcome(mastraCall("1"))), cut}, a + " " + b, "run::c1", 0, true},
		"the second is lost, the rest may be open": {3, []translate.End{bare, fails("UNKNOWN_INTERRUPT_ID")}, a + " " + b, "run::c3", translate.Lost, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := playChain(t, c.questions, "", c.ends...)
			if sent := strings.Join(got.sent, " "); sent != c.sent {
				t.Errorf("sent %s, want %s", sent, c.sent)
			}
			if asked := got.asked(); asked != c.asked || got.res.Fate != c.fate || got.res.Failed != c.failed || got.res.Next != nil {
				t.Errorf("asked %q, want %q: %+v", asked, c.asked, got.res)
			}
			if strings.Contains(c.asked, "c") && (got.res.Backend != mastra || got.res.Finish.Type != agui.RunFinished || gjson.GetBytes(got.res.Finish.JSON, "outcome").Exists()) {
				t.Errorf("%+v", got.res)
			}
		})
	}
}

// TestMessageAfterAnswersOneByOne checks that a new message is sent only after the last answer.
func TestMessageAfterAnswersOneByOne(t *testing.T) {
	p := pausedBy(t, mastraCall("1"), mastraCall("2"))
	in := parse(t, dialecttest.ResumeArray(dialecttest.Entry("run::c1~r1", `1`), dialecttest.Entry("run::c2~r2", `2`)))
	in.Messages = append(in.Messages, agui.ParseMessage([]byte(`{"id":"u9","role":"user","content":"And hurry."}`)))
	in = in.WithMessages(in.Messages)
	ids := byte('0')
	r := &translate.Request{
		Input: in, Pause: p, NewMessages: in.Messages, Transcript: dialecttest.NewLog(in.Messages),
		Answers: []agui.Answer{{ID: "run::c1~r1", Status: agui.Resolved, Payload: []byte(`1`)}, {ID: "run::c2~r2", Status: agui.Resolved, Payload: []byte(`2`)}},
		NewID:   func() string { ids++; return "own" + string(ids) },
	}
	out, run, err := new(Dialect).Begin(r)
	if err != nil || !out.TakesNew || len(out.UnsentMessages) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	for n, want := range []string{"run::c1 ", "run::c2 ", " u9"} {
		if got := gjson.GetBytes(out.Body, "resume.0.interruptId").Str + " " + idsOf(out.Body); got != want {
			t.Errorf("exchange %d: %s", n+1, out.Body)
		}
		if got := gjson.GetBytes(out.Body, "runId").Str; got != "own"+string(rune('1'+n)) {
			t.Errorf("exchange %d goes under %s", n+1, got)
		}
		res, err := run.End(translate.End{Event: dialecttest.Event(finished)})
		if err != nil || (res.Next == nil) != (n == 2) {
			t.Fatalf("%+v %v", res, err)
		}
		if res.Next != nil {
			out, run = res.Next.Out, res.Next.Run
		}
	}
}
