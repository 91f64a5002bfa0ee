//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// These tests use a page in a real browser (browser/page.mjs), whose HttpAgent sends requests to
// another origin. The page is served from localhost and from 127.0.0.1, which are two origins.
// Holdpoint and the backends listen on other ports, so each of the two pages sends its requests to
// another origin.

// inBrowser has what all of these tests share. The first test that needs it starts it.
var inBrowser struct {
	sync.Once
	err     error
	driver  *driver
	port    int     // port of the server that serves the page
	backend *server // ag-ui-langgraph 0.0.43, which allows the pages of localhost
}

// browsers are the names that the binary of Chromium may have. Each of these binaries can be driven
// by the same remote protocol.
var browsers = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// findBrowser returns the path of the browser. If there is none, it tries to install one.
func findBrowser() (string, error) {
	if own := os.Getenv("E2E_CHROMIUM"); own != "" {
		return own, nil
	}
	find := func() string {
		for _, name := range browsers {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	if path := find(); path != "" {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", errors.New("missing on this machine: chromium (as root, apt-get install chromium; or E2E_CHROMIUM=<its binary>)")
	}
	apt := func(args ...string) error {
		return insist("env", append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	}
	if err := errors.Join(apt("update"), apt("install", "--no-install-recommends", "chromium")); err != nil {
		return "", fmt.Errorf("missing on this machine: chromium, and it could not be installed: %w", err)
	}
	path := find()
	if path == "" {
		return "", errors.New("missing on this machine: chromium, although apt-get installed it")
	}
	return path, nil
}

// installBrowser installs the npm packages that drive the browser, and the browser if it is
// missing. It returns the path of the browser.
var installBrowser = sync.OnceValues(func() (binary string, err error) {
	unlock, err := lockCache()
	if err != nil {
		return "", err
	}
	err = installPackages("browser")
	unlock() // apt, used below, has its own lock
	if err != nil {
		return "", err
	}
	return findBrowser()
})

// needBrowser starts the browser, the server of its page, and a backend that allows the page.
func needBrowser(t *testing.T) {
	t.Helper()
	inBrowser.Do(func() {
		inBrowser.err = func() error {
			binary, err := installBrowser()
			if err != nil {
				return err
			}
			d, first, err := drive("browser", "browser", binary)
			if err != nil {
				return err
			}
			var ready struct{ Port int }
			if err := json.Unmarshal(first, &ready); err != nil || ready.Port == 0 {
				d.kill()
				return fmt.Errorf("%s said %q", d.name, first)
			}
			inBrowser.driver, inBrowser.port = d, ready.Port
			inBrowser.backend, err = allowingBackend()
			return err
		}()
	})
	if inBrowser.err != nil {
		t.Fatal(inBrowser.err)
	}
}

// allowingBackend starts a backend whose CORS settings (Starlette's CORSMiddleware) allow the page
// of localhost.
func allowingBackend() (*server, error) {
	s := &server{stack: stack{"langgraph", "0.0.43"}, args: []string{"--cors", listedPages()}}
	return s, s.start()
}

func listedPages() string   { return fmt.Sprintf("http://localhost:%d", inBrowser.port) }
func unlistedPages() string { return fmt.Sprintf("http://127.0.0.1:%d", inBrowser.port) }

// A screen is what a person sees on the page, and the events and errors of its runs.
type screen struct {
	Question string // the open question
	Approve  bool   // whether there is a button to approve
	Error    string // the code of a RUN_ERROR, or the exception of the library
	Log      string
	Runs     []struct {
		Events []event
		Error  *thrown
	}
	Console []string
}

// A tab is a page in the browser.
type tab struct{ name string }

func (p tab) do(t *testing.T, op string, args map[string]any) screen {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	args["page"] = p.name
	var s screen
	inBrowser.driver.call(t, op, args, &s)
	return s
}

// openTab opens the page in a tab. If beside is not nil, the tab gets the same stored history as
// the tab beside, as for one person with two tabs.
func openTab(t *testing.T, origin, version, address, thread string, beside *tab) (tab, screen) {
	t.Helper()
	p := tab{fresh("page")}
	args := map[string]any{"origin": origin, "version": version, "url": address, "thread": thread, "headers": map[string]string{"Authorization": "Bearer of the page"}}
	if beside != nil {
		args["beside"] = beside.name
	}
	return p, p.do(t, "open", args)
}

func (p tab) say(t *testing.T, text string) screen {
	t.Helper()
	return p.do(t, "say", map[string]any{"text": text})
}

func (p tab) click(t *testing.T, id string) screen {
	t.Helper()
	return p.do(t, "click", map[string]any{"id": id})
}

func (p tab) run(t *testing.T, params map[string]any) screen {
	t.Helper()
	return p.do(t, "run", map[string]any{"params": params})
}

// fetched is what a script of the page can read of a response.
type fetched struct {
	Status      int
	Text, Error string
}

func (p tab) fetch(t *testing.T, address, contentType, credentials, body string) fetched {
	t.Helper()
	var got fetched
	inBrowser.driver.call(t, "fetch", map[string]any{"page": p.name, "url": address, "init": map[string]any{
		"method": "POST", "headers": map[string]string{"Content-Type": contentType}, "credentials": credentials, "body": body,
	}}, &got)
	return got
}

// runOf returns the body of a run with one user message.
func runOf(thread, id, text string) string {
	body, _ := json.Marshal(map[string]any{
		"threadId": thread, "runId": fresh("run"), "state": map[string]any{}, "tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{},
		"messages": []any{map[string]any{"id": id, "role": "user", "content": text}},
	})
	return string(body)
}

// sees checks the question and the error code on the screen. If question is "", no question may be
// shown.
func (s screen) sees(t *testing.T, when, question, code string) {
	t.Helper()
	if !strings.Contains(s.Question, question) || (s.Question == "") != (question == "") || s.Approve != (question != "") || s.Error != code {
		t.Errorf("%s: question %q, error %q; want %q, %q\n%s\n%s", when, s.Question, s.Error, question, code, s.Log, strings.Join(s.Console, "\n"))
	}
}

// only returns the id of the question that the page received last. If the page then received
// several questions or none, the test fails.
func (s screen) only(t *testing.T) string {
	t.Helper()
	var found []event
	for _, r := range s.Runs {
		for _, e := range r.Events {
			if list := e.interrupts(); list != nil {
				found = list
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("the page was told %d questions", len(found))
	}
	return found[0].str("id")
}

// TestAPageOfAnotherOrigin plays a pause, a refusal, a reload, another tab, an approval and its
// replay. There are two ways to allow the page. Either the backend sends CORS headers for it, or
// the backend sends none and HOLDPOINT_CORS_ORIGINS allows the page.
func TestAPageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	quiet := shared.backends[1].server // sends no CORS headers
	for _, setup := range []struct {
		name    string
		backend *server
		env     map[string]string
		clients []string
	}{
		{"allowed by the backend", inBrowser.backend, nil, []string{newest, pinned}},
		{"allowed by the operator", quiet, map[string]string{"HOLDPOINT_CORS_ORIGINS": listedPages()}, []string{newest, pinned}},
		{"all are allowed by the operator", quiet, map[string]string{"HOLDPOINT_CORS_ORIGINS": "*"}, []string{newest}},
	} {
		for _, version := range setup.clients {
			t.Run(setup.name+"/"+version, func(t *testing.T) {
				t.Parallel()
				b := &backend{name: "0.0.43", mode: "default", server: setup.backend}
				h := ownHoldpoint(t, b.url(), setup.env)
				thread := fresh("page-thread")
				p, s := openTab(t, listedPages(), version, h.address+"/approve", thread, nil)
				s.sees(t, "a new page", "", "")
				p.say(t, "go").sees(t, "a pause", "Please confirm", "")

				s = p.run(t, map[string]any{"resume": []entry{resolved(p.do(t, "look", nil).only(t), map[string]any{"approved": true}), resolved("n~nobody", true)}})
				s.sees(t, "an answer to what nobody asked", "Please confirm", "UNKNOWN_INTERRUPT_ID")
				p.do(t, "reload", nil).sees(t, "a reloaded page", "Please confirm", "")
				for credentials, readable := range map[string]bool{"omit": true, "include": setup.env["HOLDPOINT_CORS_ORIGINS"] != "*"} {
					got := p.fetch(t, h.address+"/approve", "application/json", credentials, runOf(thread, "u1", "go"))
					if (got.Error == "") != readable || readable && got.Status != http.StatusOK {
						t.Errorf("a request with credentials: %s: %d %s", credentials, got.Status, got.Error)
					}
				}

				// Another tab has the messages but not the question. It gets the question by the
				// run that it sends when it opens.
				other, s := openTab(t, listedPages(), version, h.address+"/approve", thread, &p)
				s.sees(t, "another tab", "Please confirm", "")
				answer := resolved(s.only(t), map[string]any{"approved": true})

				// A browser that has no stored history opens the thread, and the person types a
				// message at once. The message must be refused, and the question must appear.
				late, s := openTab(t, listedPages(), version, h.address+"/approve", thread, nil)
				s.sees(t, "a page that knows nothing", "", "")
				late.say(t, "something else").sees(t, "a message while a question is open", "Please confirm", "PENDING_INTERRUPTS")

				if l := b.ledger(t, thread); l.Counts["delete"] != 0 {
					t.Errorf("it ran before anybody approved it: %v", l.Counts)
				}
				s = p.click(t, "approve")
				s.sees(t, "the approval", "", "")
				if !strings.Contains(s.Log, "The answer was") {
					t.Errorf("the answer is not shown:\n%s", s.Log)
				}
				other.click(t, "approve").sees(t, "the same approval in another tab", "", "")
				other.run(t, map[string]any{"resume": []entry{answer}}).sees(t, "and once more", "", "")
				p.do(t, "reload", nil).sees(t, "a page that is reloaded at the end", "", "")
				p.say(t, "plain hello").sees(t, "an ordinary message", "", "")
				if l := b.ledger(t, thread); l.Counts["delete"] != 1 {
					t.Errorf("it ran %d times", l.Counts["delete"])
				}
			})
		}
	}
}

// TestAPageAndARestart: Holdpoint is restarted with its store in memory. It forgets the open
// question, and that the backend allows the page. The browser sends no further preflight, because
// it has cached the first one. The page must be able to read the refusal of its answer, and the
// next message must bring the question back.
func TestAPageAndARestart(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, setup := range []struct {
		name    string
		backend *server
		env     map[string]string
	}{
		{"allowed by the backend", inBrowser.backend, map[string]string{}},
		{"allowed by the operator", shared.backends[1].server, map[string]string{"HOLDPOINT_CORS_ORIGINS": listedPages()}},
	} {
		for _, version := range []string{newest, pinned} {
			t.Run(setup.name+"/"+version, func(t *testing.T) {
				t.Parallel()
				b := &backend{name: "0.0.43", mode: "default", server: setup.backend}
				h := ownHoldpoint(t, b.url(), setup.env)
				thread := fresh("page-thread")
				p, _ := openTab(t, listedPages(), version, h.address+"/approve", thread, nil)
				p.say(t, "go").sees(t, "a pause", "Please confirm", "")
				before := preflightsOf(t, setup.backend, h)

				h.kill()
				// While Holdpoint is down, the page gets an error and must keep its open question.
				if s := p.click(t, "approve"); s.Error == "" || s.Question == "" {
					t.Errorf("without Holdpoint: question %q, error %q", s.Question, s.Error)
				}
				again := restart(t, h, b.url(), setup.env)
				s := p.click(t, "approve")
				if s.Error != "UNKNOWN_INTERRUPT_ID" {
					t.Errorf("after a restart the page gets %q\n%s", s.Error, strings.Join(s.Console, "\n"))
				}
				if setup.backend == inBrowser.backend {
					// Holdpoint also asks the backend by a preflight. But only the browser's own
					// preflights list names of headers.
					after := preflightsOf(t, setup.backend, again)[len(before):]
					if i := slices.IndexFunc(after, func(p preflight) bool { return p.Headers != "" }); i >= 0 {
						t.Errorf("the browser has sent a preflight, so this shows nothing: %v", after[i])
					}
					if len(after) != 1 || after[0].Origin != listedPages() {
						t.Errorf("the backend was asked: %v", after)
					}
				}
				// Holdpoint does not know the question. The backend asks again at the next message.
				s.sees(t, "after a restart", "", "UNKNOWN_INTERRUPT_ID")
				p.do(t, "reload", nil).sees(t, "a reloaded page", "", "")
				p.say(t, "plain hello").sees(t, "a message", "Please confirm", "")
				p.click(t, "approve").sees(t, "the approval", "", "")
				if l := b.ledger(t, thread); l.Counts["delete"] != 1 {
					t.Errorf("it ran %d times", l.Counts["delete"])
				}
			})
		}
	}
}

// restart starts a new Holdpoint at the address of the Holdpoint h, which has ended.
func restart(t *testing.T, h *holdpoint, upstream string, env map[string]string) *holdpoint {
	t.Helper()
	with := map[string]string{"HOLDPOINT_LISTEN": strings.TrimPrefix(h.address, "http://")}
	for name, value := range env {
		with[name] = value
	}
	return ownHoldpoint(t, upstream, with)
}

// A preflight is a preflight request that reached the backend.
type preflight struct{ Origin, Host, Headers string }

// preflightsOf returns the preflights that reached the backend through the Holdpoint h.
func preflightsOf(t *testing.T, s *server, h *holdpoint) []preflight {
	t.Helper()
	if s != inBrowser.backend {
		return nil
	}
	var all []preflight
	getJSON(t, s.base()+"/preflights", &all)
	return slices.DeleteFunc(all, func(p preflight) bool { return "http://"+p.Host != h.address })
}

// TestAPageWithoutItsBackend: if the backend cannot be reached, the page must be able to read that
// error, and must still get its open question.
func TestAPageWithoutItsBackend(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, version := range []string{newest, pinned} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s, err := allowingBackend()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.kill)
			b := &backend{name: "0.0.43", mode: "default", server: s}
			h := ownHoldpoint(t, b.url(), nil)
			p, _ := openTab(t, listedPages(), version, h.address+"/approve", fresh("page-thread"), nil)
			q, _ := openTab(t, listedPages(), version, h.address+"/approve", fresh("page-thread"), nil)
			p.say(t, "go").sees(t, "a pause", "Please confirm", "")
			q.say(t, "plain hello").sees(t, "another thread", "", "")
			s.crash()
			p.do(t, "reload", nil).sees(t, "a reloaded page, whose backend has gone", "Please confirm", "")
			q.say(t, "plain hello again").sees(t, "another thread, whose backend has gone", "", "UPSTREAM_UNREACHABLE")
		})
	}
}

// TestAPageThatNobodyAllows: neither the backend nor HOLDPOINT_CORS_ORIGINS allows the page. The
// page must not be able to read any response: neither a forwarded one, nor a refusal, nor a
// question that is sent again. This must hold even if other pages are allowed, and if the request
// needs no preflight.
func TestAPageThatNobodyAllows(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, setup := range []struct {
		name    string
		backend *server
		env     map[string]string
	}{
		{"not by the backend", inBrowser.backend, nil},
		{"not by the operator", inBrowser.backend, map[string]string{"HOLDPOINT_CORS_ORIGINS": "https://app.example.com"}},
		{"and the backend says nothing", shared.backends[1].server, nil},
	} {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			b := &backend{name: "0.0.43", mode: "default", server: setup.backend}
			h := ownHoldpoint(t, b.url(), setup.env)
			address, thread := h.address+"/approve", fresh("page-thread")
			res, err := http.Post(address, "application/json", strings.NewReader(runOf(thread, "u1", "go"))) // this request is from a server, and causes the pause
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			p, _ := openTab(t, unlistedPages(), newest, address, fresh("page-thread"), nil)
			if s := p.say(t, "go"); s.Question != "" || !strings.Contains(s.Error, "fetch") {
				t.Errorf("a run: question %q, error %q", s.Question, s.Error)
			}
			for what, sent := range map[string]string{"a question told again": runOf(thread, "u1", "go"), "a refusal": runOf(thread, "u2", "go on"), "no JSON": `{"threadId":NaN}`} {
				for _, credentials := range []string{"omit", "include"} {
					if got := p.fetch(t, address, "text/plain", credentials, sent); got.Error == "" {
						t.Errorf("%s can be read: %d %s", what, got.Status, got.Text)
					}
				}
			}
			if l := b.ledger(t, thread); l.Counts["delete"] != 0 {
				t.Errorf("it ran: %v", l.Counts)
			}
		})
	}
}
