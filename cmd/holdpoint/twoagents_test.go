package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A doubled is the backend of one of the two agents, which ask the same question in different
// dialects. The backend keeps the bodies of the requests that it gets.
type doubled struct {
	question string // the events of a run without an answer, after RUN_STARTED
	answer   string // a text that marks a body with an answer

	mu     sync.Mutex
	bodies []string
}

func (d *doubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	d.bodies = append(d.bodies, string(body))
	d.mu.Unlock()
	events := d.question
	if strings.Contains(string(body), d.answer) {
		events = `data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r"}` + "\n\n"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r"}`+"\n\n"+events)
}

// got returns the bodies of the requests since the previous call of got.
func (d *doubled) got() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.bodies
	d.bodies = nil
	return list
}

// TestTwoAgentsWithOneThread: two agents with different dialects ask a question. Question id,
// thread id and the path / of the backend are the same for both. Neither agent may get the answer
// to the other's question. This must also hold after a restart with the same store, even if the
// routes then have other numbers and paths.
func TestTwoAgentsWithOneThread(t *testing.T) {
	billing := &doubled{
		question: `data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"input_required","message":"Go on?"}]}}` + "\n\n",
		answer:   `"resume":[{"interruptId":"i1"`,
	}
	support := &doubled{
		question: `data: {"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Go on?\"}","rawEvent":{"id":"i1","value":{"message":"Go on?"}}}` + "\n\n" +
			`data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r"}` + "\n\n",
		answer: `"forwardedProps":{"command":{"resume":{"approved":true}}}`,
	}
	address := map[*doubled]string{}
	for _, d := range []*doubled{billing, support} {
		s := httptest.NewServer(d)
		defer s.Close()
		address[d] = s.URL
	}
	kept := "HOLDPOINT_STORE=bolt://" + filepath.ToSlash(t.TempDir()) + "/state.db"
	route := func(n int, path, name, dialect string, d *doubled) []string {
		at := fmt.Sprintf("HOLDPOINT_ROUTES_%d_", n)
		return []string{at + "PATH=" + path, at + "NAME=" + name, at + "DIALECT=" + dialect, at + "UPSTREAM=" + address[d]}
	}
	post := func(at, run, rest string) string {
		t.Helper()
		body := fmt.Sprintf(`{"protocolVersion":"1.0","threadId":"t1","runId":%q,"messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, run, rest)
		res, err := http.Post("http://"+at, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	told := regexp.MustCompile(`"interrupts":\[\{"id":"(i1~[^"]+)"`)
	askedAt := func(at string) string {
		t.Helper()
		text := post(at, "r1", "")
		m := told.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s asks nothing: %s", at, text)
		}
		return m[1]
	}
	yes := func(id string) string {
		return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, id)
	}

	p, addr := start(t, append(append(route(0, "/billing", "billing", "agui", billing), route(1, "/support", "support", "langgraph", support)...), kept)...)
	mine, theirs := askedAt(addr+"/billing"), askedAt(addr+"/support")
	billing.got()
	support.got()
	for at, id := range map[string]string{"/billing": theirs, "/support": mine} {
		if text := post(addr+at, "r2", yes(id)); !strings.Contains(text, `"code":"UNKNOWN_INTERRUPT_ID"`) {
			t.Errorf("%s took the answer to the other's question: %s", at, text)
		}
	}
	if got := append(billing.got(), support.got()...); got != nil {
		t.Errorf("a backend was called: %q", got)
	}
	p.Process.Kill()
	p.exit()

	_, addr = start(t, append(append(route(1, "/money", "billing", "agui", billing), route(0, "/support", "support", "langgraph", support)...), kept)...)
	for _, one := range []struct {
		at, id string
		to     *doubled
	}{{"/money", mine, billing}, {"/support", theirs, support}} {
		if text := post(addr+one.at, "r3", yes(one.id)); strings.Contains(text, "RUN_ERROR") || !strings.Contains(text, "RUN_FINISHED") {
			t.Errorf("%s did not take its answer: %s", one.at, text)
		}
		if got := one.to.got(); len(got) != 1 || !strings.Contains(got[0], one.to.answer) {
			t.Errorf("%s: the backend got %q", one.at, got)
		}
	}
	if got := append(billing.got(), support.got()...); got != nil {
		t.Errorf("a backend was called again: %q", got)
	}
}
