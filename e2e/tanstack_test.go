//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Tests of TanStack AI. They use its own client, with its own server and with other backends.

// tanstackDriver is a process with real chats of @tanstack/ai-client. All tests share it.
var tanstackDriver struct {
	sync.Once
	*driver
	err error
}

// tanstackServer returns the server of @tanstack/ai. It also starts the driver, which uses the
// packages of this server.
func tanstackServer(t *testing.T) *server {
	t.Helper()
	s := need(t, "tanstack", "0.58.0")
	tanstackDriver.Do(func() { tanstackDriver.driver, _, tanstackDriver.err = drive("tanstack", "tanstack") })
	if tanstackDriver.err != nil {
		t.Fatal(tanstackDriver.err)
	}
	return s
}

// A tanstackChat is one ChatClient in the driver.
type tanstackChat struct {
	client, thread, address string
	more                    map[string]any
}

// A tanstackPage is the state of a chat's page after an action.
type tanstackPage struct {
	Sent  []map[string]any
	Cards []struct {
		Kind, ID, Message, ToolName string
		CanResolve                  bool
		Args, Schema                any
		Metadata                    map[string]any
		Errors                      []string
	}
	Refused, Texts       []string
	Threw, Error, Status string
}

func newTanStackChat(t *testing.T, address string, more map[string]any) *tanstackChat {
	t.Helper()
	c := &tanstackChat{thread: fresh("tanstack"), address: address, more: more}
	c.open(t)
	return c
}

// open creates a new ChatClient for the thread, as a page does when it is loaded.
func (c *tanstackChat) open(t *testing.T) tanstackPage {
	t.Helper()
	c.client = fresh("chat")
	args := map[string]any{"url": c.address, "threadId": c.thread}
	for k, v := range c.more {
		args[k] = v
	}
	return c.do(t, "new", args)
}

func (c *tanstackChat) do(t *testing.T, op string, args map[string]any) tanstackPage {
	t.Helper()
	all := map[string]any{"client": c.client}
	for k, v := range args {
		all[k] = v
	}
	var page tanstackPage
	tanstackDriver.call(t, op, all, &page)
	return page
}

// asked sends the message say, and expects one card of each of these kinds.
func (c *tanstackChat) asked(t *testing.T, say string, kinds ...string) tanstackPage {
	t.Helper()
	page := c.do(t, "say", map[string]any{"text": say})
	page.shows(t, kinds...)
	return page
}

func (p tanstackPage) shows(t *testing.T, kinds ...string) {
	t.Helper()
	var got []string
	for _, card := range p.Cards {
		if got = append(got, card.Kind); !card.CanResolve {
			t.Errorf("a card without controls: %+v", card)
		}
	}
	if !slices.Equal(got, kinds) {
		t.Fatalf("cards %q, want %q (threw %q, error %q)", got, kinds, p.Threw, p.Error)
	}
}

// A tanstackClick is what a person does with one card.
type tanstackClick struct {
	how     string
	payload any
}

func (c *tanstackChat) clicks(t *testing.T, clicks ...tanstackClick) tanstackPage {
	t.Helper()
	var list []map[string]any
	for _, one := range clicks {
		list = append(list, map[string]any{"how": one.how, "payload": one.payload})
	}
	return c.do(t, "answer", map[string]any{"answers": list})
}

// goesOn sends the message say. The reply must be the text want, and no card may be shown.
func (c *tanstackChat) goesOn(t *testing.T, say, want string) {
	t.Helper()
	page := c.do(t, "say", map[string]any{"text": say})
	if len(page.Cards) > 0 || page.Threw != "" || page.Error != "" || len(page.Texts) == 0 || page.Texts[len(page.Texts)-1] != want {
		t.Errorf("the next message: %+v", page)
	}
}

// ran checks that exactly these actions ran on the thread. An action is the name of the tool,
// followed by its arguments if the backend records them.
func (c *tanstackChat) ran(t *testing.T, b *backend, want ...string) {
	t.Helper()
	got := []string{}
	for _, e := range b.ledger(t, c.thread).Effects {
		if e.Args != nil {
			e.Name += " " + text(e.Args)
		}
		got = append(got, e.Name)
	}
	want = append([]string{}, want...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("what ran: %q, want %q", got, want)
	}
}

var (
	clickYes    = tanstackClick{how: "yes"}
	clickNo     = tanstackClick{how: "no"}
	clickCancel = tanstackClick{how: "cancel"}
)

func clickGives(payload any) tanstackClick { return tanstackClick{"give", payload} }

const (
	toolApproval = "tool-approval"
	generic      = "generic"
)

// eachTanStack runs test with TanStack's own server: without Holdpoint, and behind a Holdpoint for
// each value of HOLDPOINT_CLIENT.
func eachTanStack(t *testing.T, test func(t *testing.T, b *backend, address, form string)) {
	t.Helper()
	s := tanstackServer(t)
	b := &backend{name: "tanstack", mode: "chat", server: s}
	for _, form := range []string{"direct", "auto", "outcome", "native", "both"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			address := b.url()
			if form != "direct" {
				address = ownHoldpoint(t, b.url(), map[string]string{"HOLDPOINT_CLIENT": form}).address
			}
			test(t, b, address+"/agent", form)
		})
	}
}

// TestTanStackApprovals: an approved action must run once, and other actions must not run. The
// cards must be the same as without Holdpoint, and the next message must be answered.
func TestTanStackApprovals(t *testing.T) {
	t.Parallel()
	eachTanStack(t, func(t *testing.T, b *backend, address, form string) {
		edited := tanstackClick{"edit", map[string]any{"path": "c.txt"}}
		for name, c := range map[string]struct {
			tools, say string
			cards      []string
			clicks     []tanstackClick
			want       []string
		}{
			"yes":                  {"zod", "delete a.txt", []string{toolApproval}, []tanstackClick{clickYes}, []string{deleteA}},
			"no":                   {"zod", "delete a.txt", []string{toolApproval}, []tanstackClick{clickNo}, nil},
			"cancel":               {"zod", "delete a.txt", []string{toolApproval}, []tanstackClick{clickCancel}, nil},
			"edited":               {"zod", "delete a.txt", []string{toolApproval}, []tanstackClick{edited}, []string{`delete_file {"path":"c.txt"}`}},
			"two, yes and no":      {"zod", "delete a.txt, delete b.txt", []string{toolApproval, toolApproval}, []tanstackClick{clickYes, clickNo}, []string{deleteA}},
			"a page without tools": {"none", "delete a.txt", []string{generic}, []tanstackClick{clickYes}, []string{deleteA}},
			"its no":               {"none", "delete a.txt", []string{generic}, []tanstackClick{clickNo}, nil},
			"of the application":   {"zod", "confirm it", []string{generic}, []tanstackClick{clickGives(map[string]any{"sure": true})}, []string{`confirmed {"what":"it"}`}},
			"beside the page's":    {"pick", "delete a.txt, pick red", []string{toolApproval}, []tanstackClick{clickYes}, []string{deleteA}},
		} {
			t.Run(name, func(t *testing.T) {
				chat := newTanStackChat(t, address, map[string]any{"tools": c.tools})
				chat.asked(t, c.say, c.cards...)
				page := chat.clicks(t, c.clicks...)
				if len(page.Cards) > 0 || page.Threw+page.Error != "" {
					t.Fatalf("after the answer: %+v", page)
				}
				chat.ran(t, b, c.want...)
				chat.goesOn(t, "hello", "echo: hello")
				chat.ran(t, b, c.want...)
				if c.tools == "pick" && !contains(text(b.ledger(t, chat.thread).Seen), `picked`) {
					t.Errorf("the model saw no result of the page's tool: %v", text(b.ledger(t, chat.thread).Seen))
				}
			})
		}
		if form == "direct" {
			return
		}
		t.Run("an answer sent twice", func(t *testing.T) {
			chat := newTanStackChat(t, address, map[string]any{"tools": "zod"})
			chat.asked(t, "delete a.txt", toolApproval)
			chat.clicks(t, clickYes)
			chat.do(t, "again", nil)
			chat.ran(t, b, deleteA)
			chat.goesOn(t, "hello", "echo: hello")
			chat.ran(t, b, deleteA)
		})
		t.Run("a wrong answer, then the right one", func(t *testing.T) {
			chat := newTanStackChat(t, address, map[string]any{"tools": "none"})
			chat.asked(t, "delete a.txt", generic)
			page := chat.clicks(t, clickGives(map[string]any{"approved": "yes"}))
			chat.ran(t, b)
			page.shows(t, generic) // the card must have controls, as a card of the current run does
			if form != "native" && !contains(text(page.Cards[0].Metadata["holdpoint"]), "INVALID_PAYLOAD") {
				t.Errorf("the card does not say why: %v", page.Cards[0].Metadata)
			}
			chat.clicks(t, clickYes)
			chat.ran(t, b, deleteA)
			chat.goesOn(t, "hello", "echo: hello")
		})
		t.Run("a page that was loaded again", func(t *testing.T) {
			chat := newTanStackChat(t, address, map[string]any{"tools": "zod", "storage": fresh("storage")})
			chat.asked(t, "delete a.txt", toolApproval)
			chat.open(t).shows(t, toolApproval)
			if page := chat.clicks(t, clickYes); len(page.Cards) > 0 || page.Error != "" {
				t.Errorf("%+v", page)
			}
			chat.ran(t, b, deleteA)
			chat.goesOn(t, "hello", "echo: hello")
		})
		// The server stores nothing, and a new page without storage has no history to send.
		t.Run("a page that has forgotten", func(t *testing.T) {
			chat := newTanStackChat(t, address, map[string]any{"tools": "zod"})
			chat.asked(t, "delete a.txt", toolApproval)
			chat.open(t).shows(t)
			chat.asked(t, "hello", toolApproval)
			if page := chat.clicks(t, clickYes); !strings.Contains(page.Error, "does not know") {
				t.Errorf("told %q", page.Error)
			}
			chat.ran(t, b)
			chat.goesOn(t, "hello", "echo: hello")
			chat.ran(t, b)
		})
	})
}

// TestTanStackBeforeOtherBackends: TanStack's client shows controls for a question only if the
// question's metadata has TanStack's binding. Other backends do not send this binding, so Holdpoint
// must add it.
func TestTanStackBeforeOtherBackends(t *testing.T) {
	t.Parallel()
	tanstackServer(t)
	graphs := &backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}
	outcome := &backend{name: "0.0.47", mode: "outcome", server: graphs.server}
	pydantic := need(t, "pydanticai", "2.68.0")
	stateless := &backend{name: "pydantic-ai", mode: "stateless", server: pydantic}
	for name, c := range map[string]struct {
		b              *backend
		agent          string
		tools, say     string
		cards          []string
		clicks         []tanstackClick
		want           []string
		next, answered string
	}{
		"a graph, yes":                  {graphs, "approve", "none", "go", []string{generic}, []tanstackClick{clickGives(map[string]any{"approved": true})}, []string{"delete"}, "plain hello", "echo: plain hello"},
		"a graph, no":                   {graphs, "approve", "none", "go", []string{generic}, []tanstackClick{clickNo}, nil, "plain hello", "echo: plain hello"},
		"a graph, cancel":               {graphs, "approve", "none", "go", []string{generic}, []tanstackClick{clickCancel}, nil, "plain hello", "echo: plain hello"},
		"two calls of a graph":          {graphs, "hitl", "none", "go", []string{generic, generic}, []tanstackClick{clickNo, clickYes}, []string{"delete_file"}, "plain hello", "echo: plain hello"},
		"two calls, the page knows one": {outcome, "hitl", "zod", "go", []string{generic, toolApproval}, []tanstackClick{clickNo, clickYes}, []string{"delete_file"}, "plain hello", "echo: plain hello"},
		"pydantic-ai, yes":              {stateless, "agent", "none", "delete a.txt", []string{generic}, []tanstackClick{clickYes}, []string{deleteA}, "plain hello", "echo: plain hello"},
		"pydantic-ai, no":               {stateless, "agent", "none", "delete a.txt, delete b.txt", []string{generic, generic}, []tanstackClick{clickNo, clickYes}, []string{deleteB}, "plain hello", "echo: plain hello"},
		"pydantic-ai, edited": {stateless, "agent", "none", "delete a.txt", []string{generic},
			[]tanstackClick{clickGives(map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})}, []string{`delete_file {"path":"c.txt"}`}, "plain hello", "echo: plain hello"},
		"pydantic-ai, cancel": {stateless, "agent", "none", "delete a.txt", []string{generic}, []tanstackClick{clickCancel}, nil, "plain hello", "echo: plain hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, c.b.url(), nil)
			chat := newTanStackChat(t, h.address+"/"+c.agent, map[string]any{"tools": c.tools})
			chat.asked(t, c.say, c.cards...)
			page := chat.clicks(t, c.clicks...)
			if len(page.Cards) > 0 || page.Threw+page.Error != "" {
				t.Fatalf("after the answer: %+v", page)
			}
			chat.ran(t, c.b, c.want...)
			chat.goesOn(t, c.next, c.answered)
			chat.ran(t, c.b, c.want...)
		})
	}
	t.Run("a wrong answer, then the right one", func(t *testing.T) {
		t.Parallel()
		h := ownHoldpoint(t, stateless.url(), nil)
		chat := newTanStackChat(t, h.address+"/agent", map[string]any{"tools": "none"})
		chat.asked(t, "delete a.txt", generic)
		page := chat.clicks(t, clickGives("maybe"))
		chat.ran(t, stateless)
		page.shows(t, generic)
		chat.clicks(t, clickYes)
		chat.ran(t, stateless, deleteA)
	})
	t.Run("an edit where none is allowed, then a yes", func(t *testing.T) {
		t.Parallel()
		h := ownHoldpoint(t, outcome.url(), nil)
		chat := newTanStackChat(t, h.address+"/hitl", map[string]any{"tools": "zod"})
		chat.asked(t, "go", generic, toolApproval)
		page := chat.clicks(t, clickNo, tanstackClick{"edit", map[string]any{"path": "c.txt"}})
		chat.ran(t, outcome)
		page.shows(t, generic, toolApproval)
		if !contains(text(page.Cards[1].Metadata["holdpoint"]), "INVALID_PAYLOAD") {
			t.Errorf("the card does not say why: %v", page.Cards[1].Metadata)
		}
		chat.clicks(t, clickNo, clickYes)
		chat.ran(t, outcome, "delete_file")
		chat.goesOn(t, "plain hello", "echo: plain hello")
	})
	t.Run("without Holdpoint", func(t *testing.T) {
		t.Parallel()
		chat := newTanStackChat(t, stateless.url()+"/agent", map[string]any{"tools": "none"})
		page := chat.do(t, "say", map[string]any{"text": "delete a.txt"})
		if len(page.Cards) != 1 || page.Cards[0].Kind != "unbound" || page.Cards[0].CanResolve {
			t.Errorf("the client draws controls by itself: %+v", page.Cards)
		}
	})
}

// TestTanStackAtTheDesk: a question of TanStack's server is decided at the desk (the web page of
// approvers). The desk must show the call, without TanStack's binding. If the chat declares no
// tools, Holdpoint sends the decision to the server at once. If the chat declares tools, the chat's
// next request sends the decision.
func TestTanStackAtTheDesk(t *testing.T) {
	t.Parallel()
	s := tanstackServer(t)
	b := &backend{name: "tanstack", mode: "chat", server: s}
	d := newDeskOf(t, b.url())
	for _, tools := range []string{"none", "zod"} {
		for decision, want := range map[string][]string{"approve": {deleteA}, "deny": nil} {
			t.Run(decision+"/"+tools, func(t *testing.T) {
				chat := newTanStackChat(t, d.h.address+"/agent", map[string]any{"tools": tools})
				chat.asked(t, "delete a.txt", map[string]string{"none": generic, "zod": toolApproval}[tools])
				approval := d.waiting(t, chat.thread)
				q := approval["questions"].([]any)[0].(map[string]any)
				if shown := text(q); !contains(shown, `"arguments":{"path":"a.txt"},`) || contains(shown, "tanstack:") || contains(shown, "SchemaHash") {
					t.Errorf("the desk shows %s", shown)
				}
				whole := d.call(t, http.StatusOK, "GET", fmt.Sprint("/v1/approvals/", approval["id"]), nil)
				if may := whole["questions"].([]any)[0].(map[string]any)["may"].(map[string]any); may["edit"] != true {
					t.Errorf("the desk offers no edit: %v", may)
				}
				d.decide(t, approval, 0, decision, nil)
				if tools == "none" {
					if end := d.ended(t, approval); end["how"] != "finished" {
						t.Fatalf("it ended so: %v", end)
					}
					chat.ran(t, b, want...)
				}
				page := chat.clicks(t, map[string]tanstackClick{"approve": clickYes, "deny": clickNo}[decision])
				if len(page.Cards) > 0 || page.Error != "" {
					t.Errorf("the same answer in the chat: %+v", page)
				}
				chat.ran(t, b, want...)
				chat.goesOn(t, "hello", "echo: hello")
				chat.ran(t, b, want...)
			})
		}
	}
}
