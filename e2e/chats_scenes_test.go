//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A chatScene is what a person does in one chat. After each scene the person types a message, which
// must be answered, because the chat must not be locked.
type chatScene struct {
	name   string
	graph  string
	own    bool              // it needs a backend of its own
	front  spoil             // spoils the first response to a resume; nil: nothing is spoiled
	kind   string            // the only kind of chat that plays the scene; "": both
	card   string            // the card of CopilotKit, see chat
	env    map[string]string // Holdpoint's settings
	direct bool              // without Holdpoint
	desk   bool              // Holdpoint has a desk
	dead   bool              // the page cannot continue, and shows what is wrong with its card
	play   func(t *testing.T, s *set, c *chat)
	counts map[string]int // how often each tool has run at the end
}

// A set is what a scene uses: its backend, its Holdpoint, and the desk if there is one.
type set struct {
	b   *backend
	h   *holdpoint
	d   *deskAPI // nil without a desk
	up  string   // address of what Holdpoint takes for its backend
	env map[string]string
}

func (s *set) ran(t *testing.T, c *chat, when string, counts map[string]int) {
	t.Helper()
	if l := s.b.ledger(t, c.thread); !maps.Equal(l.Counts, counts) {
		t.Errorf("%s: side effects %v, want %v (nodes %v)", when, l.Counts, counts, l.Nodes)
	}
}

var chatScenes = []chatScene{
	{name: "approve", graph: "approve", counts: map[string]int{"delete": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			s.ran(t, c, "before the answer", nil)
			c.click(t, "approve")
			c.shows(t, "the approval", "The answer was")
			c.asks(t, "the approval", "")
		}},
	{name: "deny", graph: "approve",
		play: func(t *testing.T, _ *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			c.click(t, "deny")
			c.shows(t, "the denial", `{"approved": false}`)
			c.asks(t, "the denial", "")
		}},
	{name: "cancel", graph: "approve",
		play: func(t *testing.T, _ *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			before := c.look(t).Runs
			c.click(t, "cancel")
			c.ran(t, "cancelled", before)
			c.asks(t, "cancelled", "")
		}},
	{name: "two at once", graph: "hitl", counts: map[string]int{"send_email": 1, "delete_file": 1},
		play: func(t *testing.T, _ *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Deleting needs an OK")
			c.click(t, "approve")
			c.shows(t, "the approval", "Done: ")
		}},
	{name: "a refused answer, then the right one", graph: "schema", counts: map[string]int{"copy": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "How many copies?")
			c.do(t, "type", map[string]any{"text": "two"})
			before := c.look(t).Runs
			c.click(t, "answer")
			c.ran(t, "the answer is refused", before)
			c.asks(t, "the answer is refused", "How many copies?")
			v := c.sees(t, "the reason", map[string]any{"refusal": "Nothing was done"})
			if v.Refusal == "" || v.Notice == "" {
				t.Errorf("the card says %q, RUN_FINISHED %q: want the reason in both", v.Refusal, v.Notice)
			}
			s.ran(t, c, "a refused answer", nil)
			c.do(t, "type", map[string]any{"text": "3"})
			c.click(t, "answer")
			c.shows(t, "the right answer", `{"count": 3}`)
		}},
	{name: "a reload while it is open", graph: "approve", counts: map[string]int{"delete": 1},
		play: func(t *testing.T, _ *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			c.do(t, "reload", nil)
			if c.kind == assistantUI {
				c.say(t, "plain hello?") // its page has no history, and a message brings the question back
			}
			c.asks(t, "a reloaded page", "Please confirm")
			c.click(t, "approve")
			c.shows(t, "the approval", "The answer was")
		}},
	{name: "a backend that forgot", graph: "approve", own: true,
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			s.b.server.crash()
			s.b.server.back(t)
			before := c.look(t).Runs
			c.click(t, "approve")
			c.ran(t, "the answer is lost", before)
			c.sees(t, "the reason", map[string]any{"refusal": ""})
			s.ran(t, c, "an answer that was lost", nil)
		}},
	{name: "a restart of Holdpoint", graph: "approve",
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			s.h.kill()
			s.h = restart(t, s.h, s.up, s.env)
			before := c.look(t).Runs
			c.click(t, "approve")
			c.ran(t, "nobody knows the question", before)
			c.sees(t, "the reason", map[string]any{"refusal": ""})
			s.ran(t, c, "an answer that nobody can place", nil)
		}},
	{name: "a cut stream", graph: "approve", front: breaksOffThen, counts: map[string]int{"delete": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			before := c.look(t).Runs
			c.click(t, "approve")
			c.ran(t, "the stream breaks off", before)
			c.asks(t, "the stream breaks off", "")
			c.sees(t, "the reason", map[string]any{"refusal": ""})
			s.ran(t, c, "an answer that arrived", map[string]int{"delete": 1})
		}},
	{name: "the backend turns the answer away", graph: "approve", front: turnsAway, counts: map[string]int{"delete": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			before := c.look(t).Runs
			c.click(t, "approve")
			c.ran(t, "it is turned away", before)
			c.asks(t, "it is turned away", "Please confirm")
			c.sees(t, "the reason", map[string]any{"refusal": "Nothing was done"})
			s.ran(t, c, "it is turned away", nil)
			c.click(t, "approve")
			c.shows(t, "the same answer again", "The answer was")
		}},
	{name: "the backend's answer is lost on its way", graph: "approve", front: failsThen, counts: map[string]int{"delete": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			before := c.look(t).Runs
			c.click(t, "approve")
			c.ran(t, "an HTTP error", before)
			c.asks(t, "an HTTP error", "")
			c.sees(t, "the reason", map[string]any{"refusal": "may or may not"})
		}},
	{name: "a stale tab denies what was approved", graph: "approve", counts: map[string]int{"delete": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Please confirm")
			stale := c.secondTab(t)
			if c.kind == assistantUI {
				stale.say(t, "plain hello?")
			}
			stale.asks(t, "another tab", "Please confirm")
			c.click(t, "approve")
			c.shows(t, "the approval", "The answer was")
			before := stale.look(t).Runs
			stale.click(t, "deny")
			stale.ran(t, "the other tab", before)
			stale.asks(t, "the other tab", "")
			if c.kind == copilotKit { // the other page has no messages of the thread, so it shows none
				stale.shows(t, "the other tab", `The answer was {"approved": true}`)
			}
			stale.sees(t, "the reason", map[string]any{"refusal": ""})
			stale.goesOn(t)
		}},
}

// TestChats plays the scenes in a chat of CopilotKit or assistant-ui in a real browser, with
// Holdpoint and a real LangGraph.
func TestChats(t *testing.T) {
	t.Parallel()
	chats.Do(func() { chats.err = startChats() })
	if chats.err != nil {
		t.Fatal(chats.err)
	}
	shown := need(t, "langgraph", "0.0.47")
	for _, kind := range []string{copilotKit, assistantUI} {
		for _, sc := range slices.Concat(chatScenes, cardScenes, behindScenes) {
			if sc.kind != "" && sc.kind != kind {
				continue
			}
			t.Run(kind+"/"+sc.name, func(t *testing.T) {
				t.Parallel()
				s := &set{b: &backend{name: "0.0.47", mode: "default", server: shown}, env: map[string]string{}}
				maps.Copy(s.env, sc.env)
				if sc.own {
					own, err := startServer(stack{"langgraph", "0.0.47"}, t.TempDir()+"/ledger")
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { own.kill() })
					s.b.server = own
				}
				s.up = s.b.url()
				if sc.front != nil {
					s.up = spoils(t, s.b, sc.front)
				}
				if kind == assistantUI {
					s.env["HOLDPOINT_CORS_ORIGINS"] = chats.pages
				}
				address := s.up
				switch {
				case sc.desk:
					s.d = newDeskOf(t, s.up, s.env)
					s.h, address = s.d.h, s.d.h.address
				case !sc.direct:
					s.h = ownHoldpoint(t, s.up, s.env)
					address = s.h.address
				}
				c := openChat(t, kind, address+"/"+sc.graph, fresh("thread"), sc.card)
				sc.play(t, s, c)
				if !sc.dead {
					c.goesOn(t)
				}
				s.ran(t, c, "in the end", sc.counts)
			})
		}
	}
}

// goesOn checks that the chat is not locked: a message that the person types must be answered. If
// the backend first asks its question again, the person denies it and types another message.
func (c *chat) goesOn(t *testing.T) {
	t.Helper()
	for range 2 {
		said := "plain and typed " + fresh("n")
		before := c.look(t).Runs
		c.say(t, said)
		c.ran(t, "an ordinary message", before)
		v := c.sees(t, "an ordinary message", map[string]any{"answered": "echo: " + said})
		if strings.Contains(v.Chat, "echo: "+said) {
			return
		}
		before = v.Runs
		c.click(t, "deny")
		c.ran(t, "the denial of what was asked again", before)
		c.asks(t, "the denial of what was asked again", "")
	}
	t.Fatalf("an ordinary message was not answered: %s", c.look(t))
}

// A spoil writes the response to a resume in place of the backend. Its argument pass sends the
// request to the backend and returns the backend's whole response.
type spoil func(w http.ResponseWriter, pass func() string)

// breaksOffThen lets the backend complete the run, and sends only the first events of the response.
func breaksOffThen(w http.ResponseWriter, pass func() string) {
	const begins = 3 // events that arrive
	frames := strings.SplitAfterN(pass(), "\n\n", begins+1)
	sendStream(w, strings.Join(frames[:min(begins, len(frames))], ""))
	panic(http.ErrAbortHandler)
}

// turnsAway responds with 401. The backend does not get the request.
func turnsAway(w http.ResponseWriter, _ func() string) {
	http.Error(w, "not you", http.StatusUnauthorized)
}

// failsThen lets the backend complete the run, and responds with 502 instead.
func failsThen(w http.ResponseWriter, pass func() string) {
	pass()
	http.Error(w, "not now", http.StatusBadGateway)
}

// spoils starts a proxy in front of the backend and returns its address. The proxy spoils the first
// response to a resume, and forwards everything else.
func spoils(t *testing.T, b *backend, with spoil) string {
	t.Helper()
	target, err := url.Parse(b.url())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var spoilt atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte(`"approved"`)) || !spoilt.CompareAndSwap(false, true) {
			http.NewResponseController(w).EnableFullDuplex() // see golang/go#40747
			proxy.ServeHTTP(w, r)
			return
		}
		with(w, func() string {
			whole := httptest.NewRecorder()
			proxy.ServeHTTP(whole, r)
			return whole.Body.String()
		})
	}))
	t.Cleanup(front.Close)
	return front.URL
}
