//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/tidwall/gjson"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A receiver is the server to which the webhook sends its events. While down is set, it breaks
// every connection.
type receiver struct {
	*httptest.Server
	down  atomic.Bool
	tries chan struct{}
	took  chan struct{}

	mu     sync.Mutex
	kinds  map[string]string // kind of each event, by its webhook-id
	events map[string]string // kind and thread of each event, by its webhook-id
	wrong  error             // the first error of a signature
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{tries: make(chan struct{}, 100_000), took: make(chan struct{}, 100_000), kinds: map[string]string{}, events: map[string]string{}}
	verify, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if r.down.Load() {
			r.tries <- struct{}{}
			panic(http.ErrAbortHandler) // breaks the connection
		}
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := verify.Verify(body, req.Header); err != nil {
			r.wrong = err
		}
		kind := gjson.GetBytes(body, "type").Str
		r.kinds[req.Header.Get("webhook-id")] = kind
		r.events[req.Header.Get("webhook-id")] = kind + " " + gjson.GetBytes(body, "data.thread").Str
		r.took <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

// waitFor waits up to 30 seconds for a value from the channel.
func waitFor(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
	}
}

// TestWebhookOverAKill: while the receiver of the webhook is down, a question is asked and
// answered. Then Holdpoint is killed, and runs without its webhook for a while. As soon as the
// webhook is set again, every event must arrive with a valid signature.
func TestWebhookOverAKill(t *testing.T) {
	t.Parallel() // a notice that was being sent at the kill is not sent for some seconds
	upstream := httptest.NewServer(&asker{})
	defer upstream.Close()
	r := newReceiver(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(hookSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=bolt://" + filepath.Join(dir, "state.db"),
		"HOLDPOINT_WEBHOOK_URL=" + r.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_WEBHOOK_SECRET_FILE=" + file,
		"HOLDPOINT_DRAIN_DELAY=0s",
	}
	r.down.Store(true)
	p, addr := start(t, environ...)
	id := askedID.FindStringSubmatch(ask(t, addr, "r1", ""))
	if id == nil {
		t.Fatal("no question")
	}
	ask(t, addr, "r2", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1]))
	waitFor(t, r.tries)
	p.Process.Kill()
	p.exit()
	off := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "HOLDPOINT_WEBHOOK_") })
	p, addr = start(t, off...)
	ask(t, addr, "r3", "") // asks another question, without the webhook
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	r.down.Store(false)
	p, _ = start(t, environ...)
	var kinds []string
	for len(kinds) < 2 {
		waitFor(t, r.took)
		r.mu.Lock()
		kinds = nil
		for _, kind := range r.kinds {
			kinds = append(kinds, kind)
		}
		r.mu.Unlock()
	}
	slices.Sort(kinds)
	if want := []string{"interrupt.raised", "interrupt.resolved"}; !slices.Equal(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
	if r.wrong != nil {
		t.Error(r.wrong)
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestWebhookIsInNobodysWay: the receiver of the webhook never answers. This must delay neither a
// run nor the end of the process.
func TestWebhookIsInNobodysWay(t *testing.T) {
	upstream := httptest.NewServer(&asker{})
	defer upstream.Close()
	came, release := make(chan struct{}, 100), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-release
	}))
	defer hook.Close()
	defer close(release)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_WEBHOOK_URL="+hook.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true")
	id := askedID.FindStringSubmatch(ask(t, addr, "r1", ""))
	if id == nil {
		t.Fatal("no question")
	}
	waitFor(t, came)
	if got := ask(t, addr, "r2", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1])); !strings.Contains(got, "success") {
		t.Errorf("the run came to %s", got)
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 { // the receiver has not answered yet
		t.Errorf("exit %d", code)
	}
}

// TestWebhookSettings: a wrong setting of the webhook must be an error at start. The error must not
// contain the webhook's address, which may contain a secret.
func TestWebhookSettings(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.tmpl")
	if err := os.WriteFile(broken, []byte(`{"a":"{{.Thread}}"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"HOLDPOINT_UPSTREAM=http://localhost:1"}
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"WEBHOOK_CONTENT=true"}, "HOLDPOINT_WEBHOOK_CONTENT"},
		{[]string{"WEBHOOK_URL=http://hooks.example.com/t0ken"}, "HOLDPOINT_WEBHOOK_PRIVATE"},
		{[]string{"WEBHOOK_URL=https://169.254.169.254/t0ken", "WEBHOOK_PRIVATE=true"}, "HOLDPOINT_WEBHOOK_URL"},
		{[]string{"WEBHOOK_URL=https://hooks.example.com/t0ken", "WEBHOOK_SECRET=short"}, "HOLDPOINT_WEBHOOK_SECRET"},
		{[]string{"WEBHOOK_URL=https://hooks.example.com/t0ken", "WEBHOOK_EVENTS=run.refused"}, "interrupt.raised"},
		{[]string{"WEBHOOK_URL=https://hooks.example.com/t0ken", "WEBHOOK_TEMPLATE_FILE=" + broken}, "without json"},
	} {
		environ := slices.Clone(base)
		for _, s := range c.set {
			environ = append(environ, "HOLDPOINT_"+s)
		}
		stdout, stderr, code := holdpoint(t, environ, "check")
		if code == 0 || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout+stderr, "t0ken") {
			t.Errorf("%q: exit %d, %s%s", c.set, code, stdout, stderr)
		}
	}
}
