package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// suspends is Mastra's end of a run that asks. The question's id is the run's, as the backend was
// told it.
func suspends(w http.ResponseWriter, r *http.Request, call string) {
	run := runIDIn(r)
	sendStream(w, streamOf(`{"type":"RUN_STARTED","threadId":"t","runId":"`+run+`"}`,
		fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":%q,"outcome":{"type":"interrupt","interrupts":[{"id":"%s::%s","reason":"mastra:tool_suspend","toolCallId":%[3]q}]}}`, run, run, call)))
}

// requestIn reads the run; the rig hands its body on.
func requestIn(r *http.Request) gjson.Result {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return gjson.ParseBytes(body)
}

func runIDIn(r *http.Request) string { return requestIn(r).Get("runId").Str }

// TestRunIDsTowardsMastra: Mastra keeps what waits by run id alone.
func TestRunIDsTowardsMastra(t *testing.T) {
	g := realRig(t, "auto", func(w http.ResponseWriter, r *http.Request, n int) {
		if requestIn(r).Get("resume").Exists() {
			sendStream(w, streamOf(`{"type":"RUN_STARTED","threadId":"x","runId":"`+runIDIn(r)+`"}`, `{"type":"RUN_FINISHED","threadId":"x","runId":"`+runIDIn(r)+`"}`))
			return
		}
		suspends(w, r, fmt.Sprintf("c%d", n))
	})
	first := g.do(input("a", "same", ""))
	second := g.do(input("b", "same", ""))
	if one, two := g.sentRunID(0), g.sentRunID(1); one != "same" || two == "same" {
		t.Errorf("the backend was told %q, then %q", one, two)
	}
	for thread, told := range map[string]string{"a": first, "b": second} {
		if !strings.Contains(told, `"runId":"same"`) || strings.Contains(told, `"runId":"id`) {
			t.Errorf("thread %s was told\n%s", thread, told)
		}
	}
	// Each answer names the run that waits.
	for n, c := range []struct{ thread, told, waits string }{{"b", second, g.sentRunID(1)}, {"a", first, "same"}} {
		_, id, _ := strings.Cut(c.told, `"interrupts":[{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		g.do(input(c.thread, "same", resumeWith(fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":true}`, id))))
		body := g.sent(2 + n)
		if got := body.Get("resume.0.interruptId").Str; !strings.HasPrefix(got, c.waits+"::") || body.Get("runId").Str == "same" {
			t.Errorf("thread %s answers %s", c.thread, body.Raw)
		}
	}
	seen := map[string]bool{}
	for n := 1; n < g.called(); n++ {
		if id := g.sentRunID(n); seen[id] {
			t.Errorf("the backend was told the run id %q twice", id)
		} else {
			seen[id] = true
		}
	}
}

// TestRunsOfOneIDAtOnce: nobody knows yet that Mastra is there, and runs of two threads have one
// id.
func TestRunsOfOneIDAtOnce(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	g := realRig(t, "auto", func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			begun <- struct{}{}
			<-goOn
		}
		echo(w, r, n)
	})
	done := make(chan string, 1)
	go func() { done <- g.do(input("a", "same", "")) }()
	<-begun
	g.do(input("b", "other", ""))
	g.do(input("b", "same", ""))
	g.do(input("a", "same", "")) // a thread's own runs follow one another
	close(goOn)
	<-done
	g.do(input("b", "same", ""))
	for n, want := range []string{"same", "other", "id1", "same", "same"} {
		if got := g.sentRunID(n); got != want {
			t.Errorf("run %d went under %q, want %q", n+1, got, want)
		}
	}
	if n := len(g.h.runIDs.of); n != 0 {
		t.Errorf("%d run ids are left", n)
	}
}

func (g *rig) sent(n int) gjson.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	return gjson.ParseBytes(g.calls[n])
}

func (g *rig) sentRunID(n int) string { return g.sent(n).Get("runId").Str }
