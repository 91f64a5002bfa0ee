//go:build e2e

package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/e2e/scripted"
	happens "holdpoint/internal/event"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
	"holdpoint/translate/standard"
)

// A codeRun plays a run that ends with a certain code of docs/contract.md. play returns the client
// and the report of that run.
type codeRun struct {
	code  string
	name  string // describes the run, if a code has several
	play  func(t *testing.T, version string) (*client, report)
	right func(id string) entry // the answer to a question that is asked again; nil: an approval

	// waits: true means that the backend may still wait for an answer after the run with the code.
	// The backend may then ask its question again instead of replying to the next message.
	waits bool
	// locked is the client version that itself refuses further runs of the thread after this code.
	// A new client must be able to continue.
	locked string
}

// notRun lists the codes that no run in this package can cause. The value is the reason.
var notRun = map[string]string{
	"CLIENT_LEFT":      "no client here reads on behind a connection that it has half closed: TestClientThatShutsItsSendingSide of proxy",
	"THREAD_FORBIDDEN": "no run of a stranger gets through, which is the point: TestAnothersThread",
}

// TestEveryCode: a run ends with one of the codes of docs/contract.md, and the client then sends an
// ordinary message. The message must be answered, even if the client does not cancel the questions
// that it still has in its list. If a question is asked again, the test answers it first.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	for _, run := range codeRuns {
		name := run.code
		if run.name != "" {
			name += "/" + run.name
		}
		for _, version := range []string{newest, pinned} {
			t.Run(name+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				c, r := run.play(t, version)
				if got := toldCode(r); got != run.code {
					t.Fatalf("told %q, want %s:\n%s", got, run.code, strings.Join(summary(r), "\n"))
				}
				if run.locked == version {
					c = c.another(t)
					c.pending, r.Pending = nil, nil
				}
				c.getsThrough(t, r, run)
			})
		}
	}
}

// getsThrough sends an ordinary message after a run that ended with a code. r is the report of that
// run. The message must be answered in the end. If questions are asked again, getsThrough answers
// them first.
func (c *client) getsThrough(t *testing.T, r report, run codeRun) {
	t.Helper()
	right := run.right
	if right == nil {
		right = accept
	}
	answerAll := func() {
		for range 4 {
			if len(r.Pending) == 0 {
				return
			}
			r = c.run(t, step{resume: c.answers(right)})
			if r.Error != nil {
				t.Fatalf("the answer to what was asked again: the client threw %s", r.Error.Message)
			}
		}
		t.Fatalf("after four answers the client still waits:\n%s", strings.Join(summary(r), "\n"))
	}
	answerAll()
	for range 2 {
		said := "plain and simple " + fresh("n")
		r = c.run(t, step{say: said})
		if r.Error != nil {
			t.Fatalf("an ordinary message: the client threw %s", r.Error.Message)
		}
		if c.echoed(said) {
			return
		}
		if !run.waits || len(r.Pending) == 0 {
			break
		}
		answerAll()
		if c.echoed(said) {
			return
		}
		run.waits = false
	}
	t.Fatalf("an ordinary message was not answered:\n%s", strings.Join(summary(r), "\n"))
}

// toldCode returns the code with which a run ended. The code may be in a RUN_ERROR or in the
// metadata of RUN_FINISHED.
func toldCode(r report) string {
	if len(r.Wire) != 1 {
		return ""
	}
	if code := r.Wire[0].code(); code != "" {
		return code
	}
	for _, e := range r.Wire[0].of("RUN_FINISHED") {
		if code := refusalOf(e).str("code"); code != "" {
			return code
		}
	}
	return ""
}

// refusalOf returns metadata.holdpoint.refusal of an event or an interrupt. If there is no such
// member, it returns metadata.holdpoint.
func refusalOf(e event) event {
	metadata, _ := e["metadata"].(map[string]any)
	ours, _ := metadata["holdpoint"].(map[string]any)
	if refusal, ok := ours["refusal"].(map[string]any); ok {
		return refusal
	}
	return ours
}

// TestEveryCodeHasARun: each code in the section "Codes of runs" of docs/errors.md must have a
// codeRun in this package, or a reason in notRun.
func TestEveryCodeHasARun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Codes of runs\n")
	table, _, _ = strings.Cut(table, "\n## ")
	named, run := map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		named[row[1]] = true
	}
	for _, r := range codeRuns {
		run[r.code] = true
		if !named[r.code] {
			t.Errorf("%s is run and not in docs/errors.md", r.code)
		}
	}
	if len(named) < 20 {
		t.Fatalf("docs/errors.md names %d codes: has its table changed?", len(named))
	}
	for code := range named {
		if run[code] == (notRun[code] != "") {
			t.Errorf("%s: run %t, reason against it %q", code, run[code], notRun[code])
		}
	}
}

// Helpers of the runs above.

// A desk is a scripted backend (scripted.Asker) together with the Holdpoint in front of that
// backend. It is not the desk of approvers.
type desk struct {
	*scripted.Asker
	up string
	h  *holdpoint
}

func newDesk(t *testing.T, env map[string]string) *desk {
	t.Helper()
	d := &desk{Asker: &scripted.Asker{}}
	server := httptest.NewServer(d.Asker)
	t.Cleanup(server.Close)
	if d.up = server.URL; env == nil {
		env = smallFrames
	}
	d.h = ownHoldpoint(t, d.up, env)
	return d
}

func (d *desk) client(t *testing.T, version string) *client {
	t.Helper()
	return newClient(t, shared.through, version, d.h.address+"/", fresh("thread"), nil)
}

// asked returns a client whose thread waits for the answers to n questions.
func (d *desk) asked(t *testing.T, version, scene string, n int) *client {
	t.Helper()
	c := d.client(t, version)
	if r := c.run(t, step{say: scene}); len(r.Pending) != n {
		t.Fatalf("%d questions, want %d:\n%s", len(r.Pending), n, strings.Join(summary(r), "\n"))
	}
	return c
}

// spoiled returns a play for a codeRun. In it the client approves a question, and the spoiler
// damages the backend's stream of the run with the answer.
func spoiled(with scripted.Spoiler) func(*testing.T, string) (*client, report) {
	return func(t *testing.T, version string) (*client, report) {
		t.Helper()
		d := newDesk(t, nil)
		d.Spoil(with)
		c := d.asked(t, version, "go", 1)
		r := c.run(t, step{resume: c.answers(accept)})
		if did := d.Did(c.thread); did != 1 {
			t.Errorf("what was approved ran %d times", did)
		}
		return c, r
	}
}

// instead returns a spoiler that discards the backend's stream, and calls the function end to write
// the response.
func instead(end func(w http.ResponseWriter, r *http.Request)) scripted.Spoiler {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) { end(w, r) }
}

// tellsStrands returns a play for a codeRun. In it a scripted native Strands agent asks a question,
// the client approves it, and the agent responds with frames.
func tellsStrands(contentType string, frames ...string) func(*testing.T, string) (*client, report) {
	return func(t *testing.T, version string) (*client, report) {
		t.Helper()
		server := httptest.NewServer(scripted.StrandsAsker(contentType, frames...))
		t.Cleanup(server.Close)
		h := ownHoldpoint(t, server.URL, map[string]string{"HOLDPOINT_DIALECT": "strands"})
		c := newClient(t, shared.through, version, h.address+"/", fresh("thread"), nil)
		if r := c.run(t, step{say: "go"}); len(r.Pending) != 1 {
			t.Fatalf("no question:\n%s", strings.Join(summary(r), "\n"))
		}
		return c, c.run(t, step{resume: c.answers(func(id string) entry { return resolved(id, "y") })})
	}
}

var errFault = errors.New("a fault of the test's")

// A faultyStore is a store whose reads return an error while fails is set.
type faultyStore struct {
	store.Store
	fails *atomic.Bool
}

func (f faultyStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if f.fails.Load() {
		return store.Record{}, errFault
	}
	return f.Store.Load(ctx, key, owner)
}

// A faultySink returns an error for every event while fails is set.
type faultySink struct{ fails *atomic.Bool }

func (f faultySink) Take(*happens.Event) error {
	if f.fails.Load() {
		return errFault
	}
	return nil
}

// A faultyDialect refuses every run while fails is set.
type faultyDialect struct {
	translate.Dialect
	fails *atomic.Bool
}

func (f faultyDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if f.fails.Load() {
		return translate.Out{}, nil, errFault
	}
	return f.Dialect.Begin(r)
}

// faulty returns a play for a codeRun, with a Holdpoint in this process. wrap replaces a part of
// the options with a part that fails while fails is set. The play sets fails while the client sends
// its answer.
func faulty(wrap func(o *proxy.Options, fails *atomic.Bool)) func(*testing.T, string) (*client, report) {
	return func(t *testing.T, version string) (*client, report) {
		t.Helper()
		backend := httptest.NewServer(&scripted.Asker{})
		t.Cleanup(backend.Close)
		upstream, err := url.Parse(backend.URL)
		if err != nil {
			t.Fatal(err)
		}
		dialect, err := standard.New(struct{}{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := proxy.Options{Upstream: upstream, Dialect: dialect, Store: memory.New(memory.Options{})}
		var fails atomic.Bool
		wrap(&o, &fails)
		h, err := proxy.New(o)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		c := newClient(t, shared.through, version, server.URL+"/", fresh("thread"), nil)
		if r := c.run(t, step{say: "go"}); len(r.Pending) != 1 {
			t.Fatalf("no question:\n%s", strings.Join(summary(r), "\n"))
		}
		fails.Store(true)
		defer fails.Store(false)
		return c, c.run(t, step{resume: c.answers(accept)})
	}
}

// away returns a proxy that can take a backend offline, and a desk: the backend with a Holdpoint in
// front of it. While the backend is offline, the function ends handles its requests. If ends is
// nil, connections are refused during that time.
func away(t *testing.T, ends func(w http.ResponseWriter, r *http.Request)) (*front, *desk) {
	t.Helper()
	d := &desk{Asker: &scripted.Asker{}}
	server := httptest.NewServer(d.Asker)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{ends: ends, proxy: &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}}
	f.listen(t, "127.0.0.1:0")
	t.Cleanup(func() { f.server.Close() })
	d.up = "http://" + f.address
	d.h = ownHoldpoint(t, d.up, nil)
	return f, d
}
