package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// A contested is the thread "t" with two ordinary runs that are at the backend at the same time.
// The first run has asked question 1, which the client has seen. The second run asks question 2
// when the test calls let.
type contested struct {
	*rig
	b     dialecttest.Backend
	shown string // published id of question 1
	let   func() string
}

func contest(t *testing.T, b dialecttest.Backend) *contested {
	t.Helper()
	list := dialects.All()
	if errs := list.Read(b.Environment); errs != nil {
		t.Fatal(errs)
	}
	d, err := list.New(b.Dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	arrived, gate := make(chan struct{}), make(chan struct{})
	c := &contested{b: b}
	c.rig = newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		text := b.QuestionStream
		switch n {
		case 1:
			close(arrived)
			<-gate
			text = dialecttest.TextFor(text, 2)
		case 2:
			text = dialecttest.TextFor(text, 1)
		default:
			text = dialecttest.TextFor(b.DeniedStream, n)
		}
		w.Header().Set("Content-Type", b.MediaType)
		_, _ = io.WriteString(w, text)
	}, func(o *Options) { o.Dialect = d })
	late := make(chan string, 1)
	go func() {
		res, err := http.Post(c.front.URL+"/", "application/json", strings.NewReader(input("t", "late", "")))
		if err != nil {
			late <- err.Error()
			return
		}
		defer res.Body.Close()
		got, _ := io.ReadAll(res.Body)
		late <- string(got)
	}()
	let := false
	c.let = func() string { let = true; close(gate); return <-late }
	t.Cleanup(func() {
		if !let {
			c.let()
		}
	})
	<-arrived
	told := c.do(input("t", "r2", ""))
	for _, data := range strings.Split(told, "\n") {
		if id := gjson.Get(strings.TrimPrefix(data, "data: "), "outcome.interrupts.0.id"); id.Exists() {
			c.shown = id.Str
		}
	}
	if c.shown == "" {
		t.Fatalf("nothing is asked: %s", told)
	}
	return c
}

func (c *contested) answer(run, entry string) string {
	return c.do(input("t", run, resumeWith(strings.Replace(entry, "{", `{"interruptId":"`+c.shown+`",`, 1))))
}

// withoutIDs returns a LangGraph backend that sends no RAW events, so that its questions have no
// ids.
func withoutIDs() dialecttest.Backend {
	b := dialecttest.Of("langgraph")[0]
	at := strings.Index(b.QuestionStream, `,"rawEvent"`)
	b.QuestionStream = b.QuestionStream[:at] + b.QuestionStream[at+strings.Index(b.QuestionStream[at:], "}\n\n"):]
	b.Form = "without ids"
	return b
}

// TestAnswersWhileAnotherRunAsks: a thread has two runs, and the first has asked question 1. In
// every family of backends, a yes to question 1 must reach the backend under the id of question 1,
// or must not reach it at all. This must hold while the second run continues, and after it has
// asked question 2. A no or a cancel must end the question, and the thread must be able to
// continue.
func TestAnswersWhileAnotherRunAsks(t *testing.T) {
	var all []dialecttest.Backend
	for _, name := range dialects.All().Names()[1:] {
		all = append(all, dialecttest.Of(name)...)
	}
	draft := dialecttest.Of("draft")[0]
	draft.Form, draft.QuestionStream = "without ids", strings.Replace(draft.QuestionStream, `"id":"int-{n}",`, "", 1)
	for _, b := range append(all, withoutIDs(), draft) {
		if b.Other != nil {
			// This backend runs only one run of a thread at a time, and Holdpoint asks it for its
			// question before each run.
			continue
		}
		unsure := b.Form == "without ids" || b.Form == "announced" || b.Dialect == "phrases" || b.Dialect == "superagent"
		approval, denial := `{"status":"resolved","payload":`+b.Yes+`}`, `{"status":"resolved","payload":`+b.No+`}`
		t.Run(b.Name(), func(t *testing.T) {
			for _, when := range []string{"while it goes on", "when it has asked"} {
				t.Run(when, func(t *testing.T) {
					c := contest(t, b)
					if when == "when it has asked" {
						if got := c.let(); !strings.Contains(got, `"code":"THREAD_BUSY"`) {
							t.Fatalf("the other run got %s", got)
						}
						if rec, err := c.store.Load(t.Context(), recordKey("/", "t"), ""); err != nil || !rec.Pause.Contested {
							t.Fatalf("the record has %+v (%v)", rec.Pause, err)
						}
					}
					got := c.answer("r3", approval)
					if !unsure {
						if c.called() != 3 {
							t.Fatalf("the yes was not handed on: %s", got)
						}
						body := c.calls[2]
						if one, other := b.Reads(body, 1, false), b.Reads(body, 2, true); one != dialecttest.Approves || other != dialecttest.Nothing {
							t.Errorf("the backend hears %v of its question and %v of the other: %s", one, other, body)
						}
						return
					}
					if c.called() != 2 || !strings.Contains(got, `"code":"APPROVAL_AMBIGUOUS"`) || !strings.Contains(got, c.shown) {
						t.Fatalf("the backend was called %d times, and the client got %s", c.called(), got)
					}
					if got := c.answer("r4", denial); c.called() != 3 || strings.Contains(got, "RUN_ERROR") {
						t.Errorf("a denial: %d calls, %s", c.called(), got)
					}
				})
			}
			t.Run("cancelled", func(t *testing.T) {
				c := contest(t, b)
				c.let()
				got := c.answer("r3", `{"status":"cancelled"}`)
				if unsure && (c.called() != 2 || strings.Contains(got, "APPROVAL_AMBIGUOUS")) {
					t.Errorf("a cancel: %d calls, %s", c.called(), got)
				}
				before := c.called()
				got = c.do(`{"threadId":"t","runId":"r4","messages":[` + oldUser + `,{"id":"new","role":"user","content":"more"}]}`)
				if c.called() != before+1 || strings.Contains(got, `"RUN_ERROR"`) {
					t.Errorf("the next message: %d calls, %s", c.called(), got)
				}
			})
		})
	}
}
