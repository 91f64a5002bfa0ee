//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"testing"
)

// useChatPages starts a server of tanstack/page.jsx, and returns its origin.
func useChatPages(t *testing.T) string {
	t.Helper()
	tanstackServer(t) // installs the packages
	cmd := exec.Command("node", "page.mjs")
	cmd.Dir = "tanstack"
	p, err := startProcess("the page with useChat", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	var served struct{ Port int }
	line, _ := p.out.ReadBytes('\n')
	if json.Unmarshal(line, &served) != nil || served.Port == 0 {
		t.Fatalf("it said %q\n%s", line, p.log.tail(20))
	}
	return fmt.Sprintf("http://localhost:%d", served.Port)
}

// TestUseChat does what a person does on a page with useChat of @tanstack/ai-react. It uses a real
// browser, with TanStack's own server and with a LangGraph backend. At the end of each chat, a
// message must be answered.
func TestUseChat(t *testing.T) {
	t.Parallel()
	chats.Do(func() { chats.err = startChats() })
	if chats.err != nil {
		t.Fatal(chats.err)
	}
	origin := useChatPages(t)
	own := &backend{name: "tanstack", mode: "chat", server: tanstackServer(t)}
	graph := &backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}
	const asked = "delete_file"
	for name, c := range map[string]struct {
		b          *backend
		agent, say string
		tools      bool // the page declares the tool
		question   string
		reload     bool
		press      []string // the text of the button to press for each question
		shows      string
		want       []string
	}{
		"approved":                       {own, "agent", "delete a.txt", true, asked, false, []string{"Approve"}, "done: 1", []string{deleteA}},
		"denied":                         {own, "agent", "delete a.txt", true, asked, false, []string{"Deny"}, "done: 1", nil},
		"cancelled":                      {own, "agent", "delete a.txt", true, asked, false, []string{"Cancel"}, "", nil},
		"one of two":                     {own, "agent", "delete a.txt, delete b.txt", true, asked, false, []string{"Deny", "Approve"}, "done: 2", []string{deleteB}},
		"loaded again, then approved":    {own, "agent", "delete a.txt", true, asked, true, []string{"Approve"}, "done: 1", []string{deleteA}},
		"loaded again, then denied":      {own, "agent", "delete a.txt", true, asked, true, []string{"Deny"}, "done: 1", nil},
		"no tools, approved":             {own, "agent", "delete a.txt", false, asked, false, []string{"Approve"}, "done: 1", []string{deleteA}},
		"no tools, loaded again, denied": {own, "agent", "delete a.txt", false, asked, true, []string{"Deny"}, "done: 1", nil},
		"a graph, approved":              {graph, "approve", "go", false, "Please confirm", false, []string{"Approve"}, "The answer was", []string{"delete"}},
		"a graph, denied":                {graph, "approve", "go", false, "Please confirm", false, []string{"Deny"}, "The answer was", nil},
		"a graph, loaded again":          {graph, "approve", "go", false, "Please confirm", true, []string{"Approve"}, "The answer was", []string{"delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, c.b.url(), map[string]string{"HOLDPOINT_CORS_ORIGINS": origin})
			page := &chat{name: fresh("chat"), kind: "tanstack", thread: fresh("tanstack")}
			config, err := json.Marshal(map[string]any{"url": h.address + "/" + c.agent, "thread": page.thread, "tools": c.tools})
			if err != nil {
				t.Fatal(err)
			}
			page.open(t, map[string]any{"at": origin + "/#" + url.PathEscape(string(config))})
			effects := &tanstackChat{thread: page.thread}
			page.say(t, c.say)
			page.asks(t, "a pause", c.question)
			if c.reload {
				page.do(t, "reload", nil)
				page.asks(t, "a page that was loaded again", c.question)
			}
			effects.ran(t, c.b)
			for n, button := range c.press {
				page.press(t, button, n)
			}
			page.asks(t, "the answer", "")
			page.shows(t, "the answer", c.shows)
			effects.ran(t, c.b, c.want...)
			page.goesOn(t)
			if v := page.look(t); len(v.Errors) > 0 || v.Notice != "" {
				t.Errorf("the page was told an error: %s", v)
			}
			effects.ran(t, c.b, c.want...)
		})
	}
}
