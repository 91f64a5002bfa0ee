package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestTwoAnswersToOneQuestion: a request answers one question twice. In every family of backends
// the request must be refused, for each pair of forms of the answer and for each id of the
// question. The question must stay open. Then a request with a single answer must be accepted once.
func TestTwoAnswersToOneQuestion(t *testing.T) {
	fewer(t, 1)
	eachAsker(func(name string, b dialecttest.Backend) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := newChatter(t, b, dialects.All())
				c.send("", "ask")
				if c.pending == "" {
					return // auto does not recognize the question (Mastra)
				}
				c.answersTwice()
				c.answer(c.pending, rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "answer"), false, "end")
				c.goesOn()
				c.check()
			})
		})
	})
}

// answersTwice sends requests with two answers to the open question. It checks that the backend
// gets neither answer.
func (c *chatter) answersTwice() {
	native, _, _ := strings.Cut(c.pending, "~")
	entry := func(id, payload string) string {
		return fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":%s}`, id, payload)
	}
	no := fmt.Sprintf(`{"interruptId":%q,"status":"cancelled"}`, c.pending)
	yes, unlike := entry(c.pending, c.b.Yes), entry(c.pending, c.b.No)
	resume := func(entries ...string) string { return `,"resume":[` + strings.Join(entries, ",") + `]` }
	for name, more := range map[string]string{
		"a yes and a no":                 resume(yes, unlike),
		"a no and a yes":                 resume(unlike, yes),
		"a yes and a cancel":             resume(yes, no),
		"a cancel and a yes":             resume(no, yes),
		"a yes, twice":                   resume(yes, yes),
		"a no, and a yes by another id":  resume(unlike, entry(native, c.b.Yes)),
		"a yes by another id, and a no":  resume(entry(native, c.b.Yes), unlike),
		"a no, and a yes in the command": resume(unlike) + `,"forwardedProps":{"command":{"resume":` + c.b.Yes + `}}`,
		"a cancel, and a yes there":      resume(no) + `,"forwardedProps":{"command":{"resume":` + c.b.Yes + `}}`,
		"a no, and a yes by id there":    resume(unlike) + fmt.Sprintf(`,"forwardedProps":{"command":{"resume":{%q:%s}}}`, native, c.b.Yes),
		"two in the command":             fmt.Sprintf(`,"forwardedProps":{"command":{"resume":{%q:%s,%q:%s}}}`, c.pending, c.b.No, native, c.b.Yes),
		"two in an object":               fmt.Sprintf(`,"resume":{"interrupts":[{"id":%q,"value":%s},{"id":%q,"value":%s}]}`, native, c.b.No, native, c.b.Yes),
	} {
		if native == "" && strings.Contains(name, "id") {
			continue
		}
		c.seen = nil
		body := fmt.Sprintf(`{"threadId":"t","runId":"r2","messages":%s%s}`, agui.MessageList(c.history), more)
		rec := httptest.NewRecorder()
		c.h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if refused := rec.Code == http.StatusBadRequest || strings.Contains(rec.Body.String(), `"RUN_ERROR"`); !refused || c.seen != nil {
			c.t.Fatalf("%s: status %d %s, the backend got %s", name, rec.Code, rec.Body, c.seen)
		}
	}
}
