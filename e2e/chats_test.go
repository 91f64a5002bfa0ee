//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// These tests use chat pages in a real browser: copilotkit/copilotkit.jsx is a page of CopilotKit,
// with CopilotKit's runtime on a server. copilotkit/assistant.jsx is a page of assistant-ui, with
// an HttpAgent in the page.

// chats has what all of these tests share. The first test starts it.
var chats struct {
	sync.Once
	err     error
	driver  *driver
	pages   string // the origin of the pages
	runtime string // the address of CopilotKit's runtime
}

// installChats installs the npm packages of the pages and the browser. It returns the path of the
// browser.
var installChats = sync.OnceValues(func() (binary string, err error) {
	if binary, err = installBrowser(); err != nil {
		return "", err
	}
	unlock, err := lockCache()
	if err != nil {
		return "", err
	}
	defer unlock()
	return binary, installPackages("copilotkit")
})

func startChats() error {
	binary, err := installChats()
	if err != nil {
		return err
	}
	cmd := exec.Command("node", "runtime.mjs")
	cmd.Dir = "copilotkit"
	runtime, err := startProcess("the runtime of CopilotKit", cmd)
	if err != nil {
		return err
	}
	d, first, err := drive("chats", "copilotkit", binary)
	if err != nil {
		return err
	}
	var pages, served struct{ Port int }
	line, _ := runtime.out.ReadBytes('\n')
	if json.Unmarshal(first, &pages) != nil || json.Unmarshal(line, &served) != nil || pages.Port == 0 || served.Port == 0 {
		return fmt.Errorf("the driver said %q, the runtime %q\n%s", first, line, runtime.log.tail(20))
	}
	chats.driver = d
	chats.pages = fmt.Sprintf("http://localhost:%d", pages.Port)
	chats.runtime = fmt.Sprintf("http://127.0.0.1:%d/api/copilotkit", served.Port)
	return nil
}

// A chat is a page of CopilotKit or assistant-ui in a tab. The field address is the address of the
// agent that the page uses.
type chat struct {
	name, kind, address, thread string
	card                        string // another card than the default, see copilotkit/cards.jsx
}

const (
	copilotKit  = "copilotkit"
	assistantUI = "assistant"
)

// A view is what a person sees of a chat, and what the page's client knows.
type view struct {
	Card, Refusal string // the question on the card, and the reason why it is asked again
	Notice        string // the outcome of the last request
	Chat, Draft   string
	State         string
	Pending       []string // ids of the questions that are open for the client
	Runs          int      // number of runs that have begun
	Events        []event
	Errors        []string // errors that the framework reported to the page
	Console       []string
	Came          bool
}

func openChat(t *testing.T, kind, address, thread, card string) *chat {
	t.Helper()
	c := &chat{name: fresh("chat"), kind: kind, address: address, thread: thread, card: card}
	c.open(t, c.args())
	return c
}

// secondTab opens the same thread in another tab of the same browser.
func (c *chat) secondTab(t *testing.T) *chat {
	t.Helper()
	tab := &chat{name: fresh("chat"), kind: c.kind, address: c.address, thread: c.thread, card: c.card}
	args := tab.args()
	args["beside"] = c.name
	tab.open(t, args)
	return tab
}

func (c *chat) args() map[string]any {
	args := map[string]any{"kind": c.kind, "url": c.address, "runtime": chats.runtime, "thread": c.thread}
	if c.card != "" {
		args["card"] = c.card
	}
	return args
}

// open opens the page in a tab. At the end of the test, the tab is closed. If the test has failed,
// a picture of the page is taken first.
func (c *chat) open(t *testing.T, args map[string]any) {
	t.Helper()
	c.do(t, "open", args)
	t.Cleanup(func() {
		if t.Failed() {
			path := filepath.Join(os.TempDir(), "holdpoint-"+strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+".png")
			chats.driver.call(t, "picture", map[string]any{"page": c.name, "path": path}, &struct{}{})
			t.Logf("a picture of the page: %s", path)
		}
		chats.driver.call(t, "close", map[string]any{"page": c.name}, &struct{}{})
	})
}

func (c *chat) do(t *testing.T, op string, args map[string]any) view {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	args["page"] = c.name
	var v view
	chats.driver.call(t, op, args, &v)
	return v
}

func (c *chat) say(t *testing.T, text string) {
	t.Helper()
	c.do(t, "say", map[string]any{"text": text})
}
func (c *chat) click(t *testing.T, id string) { t.Helper(); c.do(t, "click", map[string]any{"id": id}) }

// press presses a button of one question, on a page that shows several questions. The parameter
// button is the name of the button, and the parameter of is the index of the question.
func (c *chat) press(t *testing.T, button string, of int) {
	t.Helper()
	c.do(t, "press", map[string]any{"button": button, "of": of})
}
func (c *chat) look(t *testing.T) view { t.Helper(); return c.do(t, "look", nil) }

// sees waits until the page shows what the parameter what describes. The keys of what are those
// that the driver's function `until` knows.
func (c *chat) sees(t *testing.T, when string, what map[string]any) view {
	t.Helper()
	v := c.do(t, "until", map[string]any{"what": what})
	if !v.Came {
		t.Fatalf("%s: not seen: %v\n%s", when, what, v)
	}
	return v
}

func (c *chat) asks(t *testing.T, when, question string) view {
	t.Helper()
	return c.sees(t, when, map[string]any{"card": question})
}

func (c *chat) shows(t *testing.T, when, text string) view {
	t.Helper()
	return c.sees(t, when, map[string]any{"chat": text})
}

// ran waits until one more run of the page has ended. before is how many runs there were.
func (c *chat) ran(t *testing.T, when string, before int) view {
	t.Helper()
	return c.sees(t, when, map[string]any{"runs": before + 1})
}

func (v view) String() string {
	var told []string
	for _, e := range v.Events {
		if k := e.kind(); strings.HasPrefix(k, "RUN_") {
			b, _ := json.Marshal(e)
			told = append(told, string(b))
		}
	}
	return fmt.Sprintf("card %q, refusal %q, notice %q, state %q, draft %q, pending %v, errors %q\nchat:\n%s\ntold:\n  %s\nconsole:\n  %s",
		v.Card, v.Refusal, v.Notice, v.State, v.Draft, v.Pending, v.Errors, v.Chat, strings.Join(told, "\n  "), strings.Join(v.Console, "\n  "))
}
