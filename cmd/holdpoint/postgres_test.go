//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"holdpoint/internal/test/servers"
	"holdpoint/translate/dialects"
)

// An asker is an AG-UI backend. A run without an answer asks a question, and a run with an answer
// ends. The asker counts all runs and the answers.
type asker struct {
	asked, answers atomic.Int64
	more           string      // additional members of its question
	hangs          atomic.Bool // whether it hangs after it has received an answer
}

func (a *asker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.asked.Add(1)
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}`+"\n\n")
	end := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"input_required","message":"Go on?"` + a.more + `}]}}`
	if strings.Contains(string(body), `"resume"`) {
		if a.answers.Add(1); a.hangs.Load() {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		end = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`
	}
	io.WriteString(w, "data: "+end+"\n\n")
}

// ask sends a run of the thread t, and returns its stream. The parameter rest is JSON that is
// appended to the body, such as `,"resume":[…]`.
func ask(t *testing.T, addr, run, rest string) string {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, run, rest)
	res, err := http.Post("http://"+addr, "application/json", strings.NewReader(body))
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

var askedID = regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`)

func TestAPauseInPostgresSurvives(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	survives(t, server, func(password string) {
		server.Exec(fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", servers.PostgresUser, password))
		server.Exec(fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s'", servers.PostgresUser))
	}, servers.PostgresPassword, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&schema=agents", servers.PostgresUser, server.Addr(), servers.PostgresDatabase))
}

// survives checks that a question in the store outlives two kills of Holdpoint. The store's server
// is stopped when the first process starts, and must be found when it is back. Then the function
// change gives the server another password and ends its connections. The first process asks the
// question and is killed, the second process accepts the answer and is killed, and the third
// process replays the recorded end. The backend must get the answer once.
func survives(t *testing.T, server interface {
	Addr() string
	Stop()
	Restart()
}, change func(password string), secret, store string) {
	t.Helper()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backend := &asker{}
	upstream := httptest.NewServer(backend)
	defer upstream.Close()
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE_PASSWORD_FILE=" + password,
		"HOLDPOINT_STORE=" + store, "HOLDPOINT_NAME=asker", "HOLDPOINT_DESK_TOKEN=" + deskToken,
	}
	c := caller{T: t, at: socket(t), token: deskToken}
	environ = append(environ, "HOLDPOINT_DESK_LISTEN="+c.at)
	server.Stop()
	probes := socket(t)
	p, addr := start(t, append(environ, "HOLDPOINT_ADMIN_LISTEN="+probes)...)
	until(t, probes, "ready", 1, "store: not reached yet")
	until(t, probes, "started", 0, "")
	if got := ask(t, addr, "r0", ""); !strings.Contains(got, "STORE_UNAVAILABLE") || strings.Contains(got, "postgres") || strings.Contains(got, server.Addr()) {
		t.Errorf("without its database: %s", got)
	}
	server.Restart()
	p.wait(t, "the store is there")
	until(t, probes, "ready", 0, "store: ok")
	if secret == redisSecret { // for one engine only, because it takes seconds until a lost server is noticed
		metric(t, probes, "holdpoint_store_up 1")
		server.Stop()
		until(t, probes, "ready", 0, "store: lost since")
		metric(t, probes, "holdpoint_store_up 0")
		server.Restart()
		until(t, probes, "ready", 0, "store: ok")
	}
	for _, step := range []struct {
		password     string
		read, failed float64
	}{{"", 0, 1}, {"changed", 1, 0}} {
		if step.password != "" {
			change(step.password)
		}
		if err := os.WriteFile(password, []byte(step.password), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Process.Signal(syscall.SIGHUP)
		if line := p.wait(t, "reloaded"); line["read"] != step.read || line["failed"] != step.failed {
			t.Errorf("HUP with the password %q: %v", step.password, line)
		}
	}
	question := ask(t, addr, "r1", "")
	id := askedID.FindStringSubmatch(question)
	if id == nil {
		t.Fatalf("no question in %s", question)
	}
	resume := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1])
	waits := c.ok("GET", "/v1/approvals?agent=asker").Get("approvals.0")
	if waits.Get("questions.0.id").Str != id[1] || waits.Get("thread").Str != "t" {
		t.Errorf("the desk lists %s", waits)
	}
	for range 2 {
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.exit()
		p, addr = start(t, environ...)
		if got := ask(t, addr, "r2", resume); !strings.Contains(got, `"type":"success"`) || strings.Contains(got, "RUN_ERROR") {
			t.Errorf("the answer: %s", got)
		}
	}
	if n := backend.answers.Load(); n != 1 {
		t.Errorf("the backend got %d answers, want 1", n)
	}
	if end := c.ok("GET", "/v1/approvals/"+waits.Get("id").Str).Get("end"); end.Get("how").Str != "finished" || end.Get("questions.0.status").Str != "resolved" {
		t.Errorf("the desk shows the end %s", end)
	}
	if askedID.FindStringSubmatch(ask(t, addr, "r3", "")) == nil {
		t.Fatal("no second question")
	}
	waits = c.ok("GET", "/v1/approvals").Get("approvals.0")
	if how := c.ok("DELETE", "/v1/approvals/"+waits.Get("id").Str).Get("end.how").Str; how != "withdrawn" {
		t.Errorf("the thread was freed as %q", how)
	}
	if left := c.ok("GET", "/v1/approvals").Get("approvals.#").Int(); left != 0 {
		t.Errorf("%d threads wait then", left)
	}
}

func TestPostgresConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ store, file, want string }{
		{"postgres://me:hush@db/x", "", ""},
		{"postgresql://me@db/x?sslmode=require", file, ""},
		{"postgres://me:hush@h1,h2/x?schema=a", "", ""},
		{"postgres://me:hush@db/x", file, "it has a password, and HOLDPOINT_STORE_PASSWORD_FILE has one too"},
		{"postgres://me@db/x?password=hush", file, "it has a password"},
		{"postgres://me@db/x", "/nowhere/p", "HOLDPOINT_STORE_PASSWORD_FILE: open /nowhere/p: "},
		{"postgres://me:hush@db/x?sslmode=hush", "", "sslmode"},
		{"postgres://me:hu#sh@db/x", "", "not an address, want one such as postgres://user@host/database"},
		{"memory://", file, "a store of memory:// has no password: leave this out"},
	} {
		environ := []string{upstream, "HOLDPOINT_STORE=" + tt.store}
		if tt.file != "" {
			environ = append(environ, "HOLDPOINT_STORE_PASSWORD_FILE="+tt.file)
		}
		c, err := load(environ, dialects.All())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.store, err, tt.want)
		}
		shown := fmt.Sprint(err)
		for _, s := range c.settings() {
			shown += s.String()
		}
		if strings.Contains(strings.ReplaceAll(shown, "sslmode=hush", ""), "hush") {
			t.Errorf("%s: a password in %s", tt.store, shown)
		}
	}
}

func TestStoreSchema(t *testing.T) {
	for _, tt := range []struct {
		args, store, out, err string
		code                  int
	}{
		{"store schema", "", "CREATE TABLE IF NOT EXISTS holdpoint_threads", "", 0},
		{"store schema", "postgres://me:hush@db/x?schema=agents", `CREATE TABLE IF NOT EXISTS "agents".holdpoint_threads`, "", 0},
		{"store schema", "bolt:///state.db", "", `HOLDPOINT_STORE "bolt:///state.db": not an address of PostgreSQL`, 2},
		{"store", "", "", "holdpoint: store takes one argument, schema", 2},
		{"store data", "", "", `holdpoint: store takes one argument, schema, got ["data"]`, 2},
	} {
		stdout, stderr, code := holdpoint(t, []string{"HOLDPOINT_STORE=" + tt.store}, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stdout, tt.out) || !strings.Contains(stderr, tt.err) || (stderr == "") != (tt.err == "") {
			t.Errorf("%s with %q: exit %d, want %d\nstdout %s\nstderr %s", tt.args, tt.store, code, tt.code, stdout, stderr)
		}
	}
}
