//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// refunder is an AG-UI backend that asks before it makes a refund. The name of the thread decides
// what it does with an answer.
func refunder(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	thread, answered := field(body, "threadId"), strings.Contains(string(body), `"interruptId"`)
	if answered && thread == "given back" && r.Header.Get("X-Chat") == "" {
		// The backend refuses a request that Holdpoint sends by itself, without a request of the
		// chat.
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string) { io.WriteString(w, "data: "+event+"\n\n") }
	send(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	switch {
	case answered && thread == "in doubt":
	case answered:
		send(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	default:
		var list []string
		for _, call := range []string{"c1", "c2"} {
			expires := ""
			if thread == "expired" {
				expires = `,"expiresAt":"2020-01-01T00:00:00Z"`
			}
			send(`{"type":"TOOL_CALL_START","toolCallId":"` + call + `","toolCallName":"refund"}`)
			send(`{"type":"TOOL_CALL_ARGS","toolCallId":"` + call + `","delta":"{\"amount\":100}"}`)
			send(`{"type":"TOOL_CALL_END","toolCallId":"` + call + `"}`)
			list = append(list, `{"id":"`+call+`","reason":"tool_call","toolCallId":"`+call+`"`+expires+`,"responseSchema":{"type":"object","required":["approved"],`+
				`"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"reason":{"type":"string"}}}}`)
			if thread != "in part" {
				break
			}
		}
		send(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}}`)
	}
}

// These constants are payloads of answers. The audit has only a digest of each answer
// (docs/audit.md). In the lines that auditLines returns, a name such as "yes" stands in place of
// the digest.
const (
	auditYes    = `{"approved":true}`
	auditNo     = `{"approved":false}`
	auditWhy    = `{"approved":false,"reason":"too much"}`
	auditEdited = `{"approved":true,"editedArgs":{"amount":5}}`
)

// auditLines returns the lines of an audit, keyed by thread. It leaves out the parts that differ
// each time the test runs.
func auditLines(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	answered := map[string]string{}
	for name, canonical := range map[string]string{
		"yes": `{"payload":` + auditYes + `,"status":"resolved"}`, "no": `{"payload":` + auditNo + `,"status":"resolved"}`,
		"no, too much": `{"payload":` + auditWhy + `,"status":"resolved"}`, "yes, edited": `{"payload":` + auditEdited + `,"status":"resolved"}`,
		"cancel": `{"payload":null,"status":"cancelled"}`,
	} {
		answered[fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(canonical)))] = name
	}
	lines, asked, of := map[string][]string{}, map[string]string{}, map[string]string{}
	for text := range strings.Lines(string(text)) {
		l := gjson.Parse(text)
		said := []string{l.Get("event").Str}
		add := func(name, value string) {
			if value != "" {
				said = append(said, name+value)
			}
		}
		add("", l.Get("code").Str)
		add("at ", l.Get("door").Str)
		add("by ", l.Get("principal").Str)
		for _, i := range l.Get("interrupts").Array() {
			id, _, _ := strings.Cut(i.Get("id").Str, "~")
			said = append(said, "| "+id)
			switch digest, key := i.Get("asked").Str, i.Get("id").Str; {
			case digest == "" && (said[0] == "interrupt.raised" || said[0] == "interrupt.decided"):
				t.Errorf("no digest of what was asked: %s", text)
			case digest != "" && (asked[key] != "" && asked[key] != digest || of[digest] != "" && of[digest] != key):
				t.Errorf("another digest of what was asked: %s", text)
			case digest != "":
				asked[key], of[digest] = digest, key
			}
			add("", i.Get("says").Str)
			if digest := i.Get("answered"); digest.Exists() {
				name := answered[digest.Str]
				if name == "" || (name == "cancel") != (i.Get("status").Str == "cancelled") {
					t.Errorf("the digest of the answer is not known: %s", text)
				}
				add("", "("+name+")")
				if i.Get("edited").Bool() != (name == "yes, edited") || i.Get("edited").Exists() && !i.Get("edited").Bool() {
					t.Errorf("edited arguments: %s", text)
				}
			}
			add("at ", i.Get("door").Str)
			add("by ", i.Get("by").Str)
			add("# ", i.Get("comment").Str)
		}
		lines[l.Get("thread").Str] = append(lines[l.Get("thread").Str], strings.Join(said, " "))
	}
	return lines
}

// TestAuditOfTheDesk: a question can be decided at the desk in several ways. For each way, the
// audit must have exactly the expected lines, in order. They name the door (chat or desk), the
// approver and the digests. The chain must be valid. HOLDPOINT_AUDIT_PAYLOAD must be able to leave
// out the comments.
func TestAuditOfTheDesk(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"false", "none"} {
		t.Run("payload "+payload, func(t *testing.T) {
			t.Parallel()
			upstream := httptest.NewServer(http.HandlerFunc(refunder))
			defer upstream.Close()
			audit, at := filepath.Join(t.TempDir(), "audit.jsonl"), socket(t)
			p, addr := start(t, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_CLIENT=outcome", "HOLDPOINT_DRAIN_DELAY=0s",
				"HOLDPOINT_AUDIT=file://"+audit, "HOLDPOINT_AUDIT_REQUIRED=true", "HOLDPOINT_AUDIT_PAYLOAD="+payload,
				"HOLDPOINT_DESK_LISTEN="+at, "HOLDPOINT_DESK_TOKEN="+deskToken)
			d := auditDesk{caller{T: t, at: at, token: deskToken}, addr}
			d.playAll(audit)
			p.Process.Signal(syscall.SIGTERM)
			if code := p.exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
			if stdout, _, code := holdpoint(t, nil, "audit", "verify", audit); code != 0 || !strings.HasSuffix(stdout, ": whole\n") {
				t.Errorf("audit verify: exit %d: %s", code, stdout)
			}
			got := auditLines(t, audit)
			delete(got, "")
			for thread, want := range auditWant() {
				text := strings.Join(want, "\n")
				if payload == "none" {
					text = strings.ReplaceAll(text, " # by hand", "")
				}
				if lines := strings.Join(got[thread], "\n"); lines != text {
					t.Errorf("%s: the lines are\n%s\nwant\n%s", thread, lines, text)
				}
				delete(got, thread)
			}
			if len(got) > 0 {
				t.Errorf("lines of other threads: %v", got)
			}
		})
	}
}

// An auditDesk decides questions at the desk in all ways that the test knows.
type auditDesk struct {
	caller
	addr string
}

// asks sends a run that pauses, and returns the approval of its question. If credentials is true,
// the request has credentials, and only the chat can send the answer to the backend.
func (d auditDesk) asks(thread string, credentials bool) gjson.Result {
	d.Helper()
	d.run(thread, "", credentials)
	return d.waits(strings.ReplaceAll(thread, " ", "+"))
}

// run sends a request of the chat to Holdpoint, and returns its stream.
func (d auditDesk) run(thread, more string, credentials bool) string {
	d.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, thread, more)
	req, err := http.NewRequest("POST", "http://"+d.addr+"/", strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Chat", "1")
	if credentials {
		req.Header.Set("Authorization", "Bearer x")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

// says sends the desk a decision on question n of the approval, and checks the status of the
// response. The parameter with is the rest of the body. says returns the path of the approval.
func (d auditDesk) says(a gjson.Result, n int, with string, status int) (path string) {
	d.Helper()
	q := a.Get(fmt.Sprintf("questions.%d", n))
	if !strings.Contains(with, `"digest"`) {
		with += fmt.Sprintf(`,"digest":%q`, q.Get("digest").Str)
	}
	path = "/v1/approvals/" + a.Get("id").Str
	if got, body := d.send("POST", path+"/questions/"+q.Get("id").Str, "{"+with+"}"); got != status {
		d.Fatalf("%s: status %d, want %d: %s", with, got, status, body)
	}
	return path
}

func (d auditDesk) frees(a gjson.Result) {
	d.Helper()
	if status, body := d.call("DELETE", "/v1/approvals/"+a.Get("id").Str); status != http.StatusOK {
		d.Fatalf("to free: %d %s", status, body)
	}
}

// playAll decides a question in each way. Each way has a thread of its own, with the name of the
// way.
func (d auditDesk) playAll(audit string) {
	const approve = `"decision":"approve","comment":"by hand"`
	d.becomes(d.says(d.asks("carried", false), 0, approve, 200), "ended")

	d.says(d.asks("carried by the chat", true), 0, approve, 200)
	d.run("carried by the chat", "", true)

	a := d.asks("in part", false)
	d.says(a, 1, `"decision":"deny","comment":"by hand"`, 200)
	d.run("in part", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, a.Get("questions.0.id").Str, auditYes), false)

	d.becomes(d.says(d.asks("denied", false), 0, `"decision":"deny","reason":"too much","comment":"by hand"`, 200), "ended")
	d.becomes(d.says(d.asks("edited", false), 0, `"decision":"answer","payload":`+auditEdited, 200), "ended")
	d.becomes(d.says(d.asks("cancelled", false), 0, `"decision":"cancel"`, 200), "ended")

	a = d.asks("refused", false)
	d.says(a, 0, approve+`,"digest":""`, http.StatusPreconditionRequired)
	d.says(a, 0, approve+`,"digest":"sha256:`+strings.Repeat("0", 64)+`"`, http.StatusPreconditionFailed)
	d.says(a, 0, `"decision":"answer","payload":{"approved":"perhaps"}`, http.StatusUnprocessableEntity)
	d.frees(a)

	a = d.asks("given up", true)
	d.says(a, 0, approve, 200)
	d.says(a, 0, approve, 200) // the same decision a second time
	d.says(a, 0, `"decision":"deny"`, http.StatusConflict)
	d.run("given up", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, a.Get("questions.0.id").Str, auditNo), true)
	d.frees(a)

	a = d.asks("expired", false)
	d.says(a, 0, approve, http.StatusUnprocessableEntity)
	d.becomes(d.says(a, 0, `"decision":"cancel"`, 200), "ended")

	d.becomes(d.says(d.asks("in doubt", false), 0, approve, 200), "doubt")
	d.run("in doubt", "", false)

	// The backend refuses the request that Holdpoint sends by itself. Holdpoint would try again
	// after five seconds, but the chat answers earlier.
	d.says(d.asks("given back", false), 0, approve, 200)
	for !slices.Contains(eventsIn(d.T, audit), "resume.released") {
		time.Sleep(10 * time.Millisecond)
	}
	d.run("given back", "", false)
}

// auditWant returns the expected lines of the audit for each way to decide. The keys are the names
// of the threads, which playAll names after the ways.
func auditWant() map[string][]string {
	const (
		raised   = "interrupt.raised at chat | c1"
		approved = " at desk by operator | c1 approved (yes) # by hand"
		carried  = " at desk | c1 approved (yes) at desk by operator"
		chat     = " at chat | c1 approved (yes) at desk by operator"
		freed    = " at desk by operator | c1"
	)
	// Because HOLDPOINT_AUDIT_REQUIRED is set, the audit has a line before each decision is made.
	decided := func(what string) []string {
		return []string{raised, "interrupt.deciding" + what, "interrupt.decided" + what}
	}
	sent := func(what, end string) []string {
		return []string{"resume.claiming" + what, "resume.claimed" + what, end + what}
	}
	const part = " at chat | c1 approved (yes) | c2 denied (no) at desk by operator"
	return map[string][]string{
		"carried":             slices.Concat(decided(approved), sent(carried, "interrupt.resolved")),
		"carried by the chat": slices.Concat(decided(approved), sent(chat, "interrupt.resolved")),
		"in part": slices.Concat(
			[]string{raised + " | c2", "interrupt.deciding at desk by operator | c2 denied (no) # by hand", "interrupt.decided at desk by operator | c2 denied (no) # by hand"},
			sent(part, "interrupt.resolved"),
		),
		"denied": slices.Concat(
			decided(" at desk by operator | c1 denied (no, too much) # by hand"),
			sent(" at desk | c1 denied (no, too much) at desk by operator", "interrupt.resolved"),
		),
		"edited": slices.Concat(
			decided(" at desk by operator | c1 approved (yes, edited)"),
			sent(" at desk | c1 approved (yes, edited) at desk by operator", "interrupt.resolved"),
		),
		"cancelled": slices.Concat(
			decided(" at desk by operator | c1 (cancel)"), sent(" at desk | c1 (cancel) at desk by operator", "interrupt.cancelled"),
		),
		"expired": slices.Concat(
			decided(" at desk by operator | c1 (cancel)"), sent(" at desk | c1 (cancel) at desk by operator", "interrupt.expired"),
		),
		"refused": {raised, "interrupt.freeing" + freed, "interrupt.withdrawn" + freed},
		// The second decision comes too late. So the audit has the line that is written before a
		// decision is made, and then the refusal.
		"given up": slices.Concat(decided(approved), []string{
			"interrupt.deciding at desk by operator | c1 denied (no)", "resume.refused RESUME_CONFLICT at chat | c1 denied (no)",
			"interrupt.freeing" + freed, "interrupt.withdrawn" + freed,
		}),
		"in doubt": slices.Concat(decided(approved), []string{
			"resume.claiming" + carried, "resume.claimed" + carried, "resume.in_doubt UPSTREAM_EOF" + carried, "run.refused RESUME_IN_DOUBT at chat",
		}),
		"given back": slices.Concat(decided(approved), sent(carried, "resume.released"), sent(chat, "interrupt.resolved")),
	}
}
