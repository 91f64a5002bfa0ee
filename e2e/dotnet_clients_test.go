//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/e2e/scripted"
)

// These tests use .NET's own clients with .NET's own hosts, directly and through a Holdpoint
// without settings. The model of a host is as strict as a real provider: if it refuses a history,
// the chat cannot continue. Each chat has its own backend and path, so that nothing that Holdpoint
// has learned in one chat helps another one.

// A dotnetPair is one version of a client together with one version of a host.
type dotnetPair struct {
	name     string
	client   func(dotnetclient.Connection) dotnetclient.Client
	host     scripted.Line
	wrapping scripted.Wrapping
	program  func(*dotnetclient.Application) // changes the program around the client
	sdk      bool                            // whether the host has the model of the SDK's recordings
}

func dotnetPairs() []dotnetPair {
	sample := func(a *dotnetclient.Application) { a.ToolAnswers, a.DropsThrown = true, true }
	agent := func(a *dotnetclient.Application) { a.DropsThrown = true }
	kept := func(*dotnetclient.Application) {}
	inTree := func(mei dotnetclient.Invoking, reasoning bool) func(dotnetclient.Connection) dotnetclient.Client {
		return func(c dotnetclient.Connection) dotnetclient.Client {
			return dotnetclient.InTreeClient{Connection: c, Invoking: mei, Reasoning: reasoning}
		}
	}
	sdk := func(mei dotnetclient.Invoking, throws bool) func(dotnetclient.Connection) dotnetclient.Client {
		return func(c dotnetclient.Connection) dotnetclient.Client {
			return dotnetclient.AGUIClient{Connection: c, Invoking: mei, ThrowsRunError: throws}
		}
	}
	wrapA := func(make func(dotnetclient.Connection) dotnetclient.Client) func(dotnetclient.Connection) dotnetclient.Client {
		return func(c dotnetclient.Connection) dotnetclient.Client { return dotnetclient.WrapperA{Client: make(c)} }
	}
	old, recent := inTree(dotnetclient.MEAI910, false), inTree(dotnetclient.MEAI108, true)
	first, newest := sdk(dotnetclient.MEAI108, true), sdk(dotnetclient.MEAI1011, false)
	return []dotnetPair{
		{"1208 sample", wrapA(old), scripted.Line1208, scripted.Wrapped, sample, false},
		{"0413 sample", wrapA(inTree(dotnetclient.MEAI108, false)), scripted.Line0413, scripted.Wrapped, sample, false},
		{"0707 sample", wrapA(recent), scripted.Line0707, scripted.Wrapped, sample, false},
		{"0707 sample", wrapA(recent), scripted.LineHead, scripted.Wrapped, sample, false},
		{"0707 client", recent, scripted.Line0707, scripted.Plain, agent, false},
		{"0707 client", recent, scripted.LineHead, scripted.Plain, agent, false},
		{"head sample", wrapA(first), scripted.LineHead, scripted.Wrapped, sample, false},
		{"head client", first, scripted.LineHead, scripted.Plain, agent, false},
		{"new client", newest, scripted.LineNew, scripted.Plain, agent, false},
		{"new sample", wrapA(newest), scripted.LineNew, scripted.Wrapped, sample, false},
		{"sdk sample", func(c dotnetclient.Connection) dotnetclient.Client {
			return dotnetclient.WrapperB{Client: sdk(dotnetclient.MEAI108, false)(c)}
		}, scripted.LineSDK, scripted.WrappedB, kept, true},
		{"sdk client", sdk(dotnetclient.MEAI108, false), scripted.LineSDK, scripted.Plain, kept, true},
	}
}

// A dotnetChat is the chat of one client with one backend.
type dotnetChat struct {
	*dotnetclient.Application
	sdk     bool
	restart func() // moves the client to a Holdpoint without records
	tools   bool
	picks   func() // called while a tool of the client runs, or nil
	faults  []string
	asked   bool // whether the application got a question
	last    dotnetclient.Run
}

// say sends a message. Its words tell the host's model what to do.
func (c *dotnetChat) say(words string) { c.take(c.Say(words)) }

// answer answers the open questions. If the run with the answers asks again, it answers again, at
// most five times in all.
func (c *dotnetChat) answer(approve func(n int) bool) {
	for tries := 0; len(c.last.Questions) > 0 && tries < 5; tries++ {
		c.take(c.Answer(c.last.Questions, approve))
	}
}

func (c *dotnetChat) take(run dotnetclient.Run) {
	c.last, c.asked = run, c.asked || len(run.Questions)+len(run.Inputs) > 0
	if run.Thrown != nil {
		c.faults = append(c.faults, shortly(run.Thrown.Error()))
	}
	for _, f := range run.Failures {
		c.faults = append(c.faults, f.Code)
	}
}

// shortly returns the part of an exception's text that is the same in every run.
func shortly(thrown string) string {
	for _, part := range []string{"Unknown BaseEvent type discriminator: 'CUSTOM'", "Unknown BaseEvent type discriminator: 'MESSAGES_SNAPSHOT'",
		"500 (Internal Server Error)", "is an invalid start of a value", "no matching ToolApprovalResponseContent", "is no open interrupt", "no question of this thread is open", "is open: answer it"} {
		if strings.Contains(thrown, part) {
			return part
		}
	}
	kind, _, _ := strings.Cut(thrown, ":")
	return kind
}

// pick is the tool of the client.
func (c *dotnetChat) pick(json.RawMessage) any {
	if c.picks != nil {
		c.picks()
	}
	return json.RawMessage(`"blue"`)
}

func saying(answer bool) func(int) bool { return func(int) bool { return answer } }

// A dotnetScene is what a person does in a chat, and the tools that may have run in the end.
type dotnetScene struct {
	name string
	does func(c *dotnetChat)
	ran  []string
	lost bool // Holdpoint loses its record: it must not carry out an approval, and the chat must continue
	only bool // only for hosts with the SDK's model
}

func dotnetScenes() []dotnetScene {
	pick := func(c *dotnetChat, sdk, other string) string {
		if c.sdk {
			return sdk
		}
		return other
	}
	const a, b, bob = "delete_file a.txt", "delete_file b.txt", "send_mail bob"
	return []dotnetScene{
		{"approve", func(c *dotnetChat) { c.say("delete a.txt"); c.answer(saying(true)) }, []string{a}, false, false},
		{"deny", func(c *dotnetChat) { c.say("delete a.txt"); c.answer(saying(false)) }, nil, false, false},
		{"two", func(c *dotnetChat) { c.say(pick(c, "two a.txt bob", "both a.txt b.txt")); c.answer(saying(true)) }, []string{a, "second"}, false, false},
		{"two, yes and no", func(c *dotnetChat) {
			c.say(pick(c, "two a.txt bob", "both a.txt b.txt"))
			c.answer(func(n int) bool { return n == 0 })
		}, []string{a}, false, false},
		{"beside a free call", func(c *dotnetChat) { c.say("mixed a.txt"); c.answer(saying(true)) }, []string{a}, false, false},
		{"one after the other", func(c *dotnetChat) { c.say(pick(c, "again a.txt bob", "again a.txt b.txt")); c.answer(saying(true)) }, []string{a, "second"}, false, false},
		{"words before the call", func(c *dotnetChat) { c.say(pick(c, "saydelete a.txt", "text a.txt")); c.answer(saying(true)) }, []string{a}, false, false},
		{"twice in one chat", func(c *dotnetChat) {
			c.say("delete a.txt")
			c.answer(saying(true))
			c.say("delete b.txt")
			c.answer(saying(true))
		}, []string{a, b}, false, false},
		{"the same yes again", func(c *dotnetChat) {
			c.say("delete a.txt")
			questions := c.last.Questions
			c.answer(saying(true))
			if len(questions) > 0 {
				c.take(c.Answer(questions, saying(true)))
			}
		}, []string{a}, false, false},
		{"words instead of an answer", func(c *dotnetChat) { c.say("delete a.txt"); c.say("plain never mind") }, nil, false, false},
		{"a client's tool", func(c *dotnetChat) { c.tools = true; c.say(pick(c, "front x", "client")) }, nil, false, false},
		{"a client's tool beside a gated call", func(c *dotnetChat) { c.tools = true; c.say("frontgate a.txt"); c.answer(saying(false)) }, nil, false, false},
		{"a client's tool beside a gated call, yes", func(c *dotnetChat) { c.tools = true; c.say("frontgate a.txt"); c.answer(saying(true)) }, []string{a}, false, false},
		{"a restart while a client's tool beside a gated call runs", func(c *dotnetChat) {
			c.tools, c.picks = true, c.restart
			c.say("frontgate a.txt")
		}, nil, true, false},
		{"a tool declared", func(c *dotnetChat) { c.tools = true; c.say("delete a.txt"); c.answer(saying(true)) }, []string{a}, false, false},
		{"plain words", func(c *dotnetChat) { c.say("plain one"); c.say("plain two") }, nil, false, false},
		{"a free call", func(c *dotnetChat) { c.say(pick(c, "echo", "free")) }, nil, false, false},
		{"input", func(c *dotnetChat) {
			c.say("input")
			if len(c.last.Inputs) > 0 {
				c.take(c.Fill(c.last.Inputs[0], `{"response":"Ann"}`))
			}
		}, nil, false, true},
		{"a restart, then yes", func(c *dotnetChat) { c.say("delete a.txt"); c.restart(); c.answer(saying(true)) }, []string{a}, true, false},
		{"a restart, then no", func(c *dotnetChat) { c.say("delete a.txt"); c.restart(); c.answer(saying(false)) }, nil, true, false},
	}
}

// A dotnetEnd describes how a chat ended.
type dotnetEnd struct {
	unsafe  bool // an action ran unapproved, or twice
	unasked bool // an action ran, and the application got no question
	dead    bool // the host refuses all further requests of the client, or the client throws
	missing bool // an approved action did not run
	told    bool // the application got an error before the chat continued
	says    string
}

// worse reports whether the chat ended worse than the chat than. An error that the application got
// counts only if than ended without any fault. An approved action that did not run does not count
// if in than an action ran without a question.
func (e dotnetEnd) worse(than dotnetEnd) bool {
	right := than == dotnetEnd{says: than.says}
	return e.unsafe && !than.unsafe || e.dead && !than.dead || e.missing && !than.missing && !than.unasked || right && e.told
}

// play plays a scene at the address, and then sends two ordinary messages. It returns how the chat
// ended.
func (p dotnetPair) play(s dotnetScene, address string, restarted string, keepsThread, through bool, ledger *scripted.Ledger) dotnetEnd {
	var at atomic.Pointer[string]
	at.Store(&address)
	transport := rerouted{&at}
	c := &dotnetChat{sdk: p.sdk, restart: func() { at.Store(&restarted) }}
	c.Application = &dotnetclient.Application{Client: p.client(dotnetclient.Connection{URL: "http://there/", HTTP: &http.Client{Transport: transport}})}
	p.program(c.Application)
	thread := fresh("thread")
	c.Options = func() *dotnetclient.Options {
		o := &dotnetclient.Options{}
		if keepsThread {
			o.Thread = thread
		}
		if c.tools {
			for _, name := range []string{"pick_color", "get_location"} {
				o.Tools = append(o.Tools, dotnetclient.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`), Run: c.pick})
			}
		}
		return o
	}
	s.does(c)
	faults := c.faults
	c.faults = nil
	c.say("plain more")
	c.say("plain and more")
	dead := len(c.faults) > 0 || c.last.Text == ""
	return p.judged(s, c, ledger.Total(), dead, faults, through)
}

// judged returns how the chat ended, from the tools that ran and the errors that the application
// got.
func (p dotnetPair) judged(s dotnetScene, c *dotnetChat, ran map[string]int, dead bool, faults []string, through bool) dotnetEnd {
	allowed := map[string]bool{}
	for _, what := range s.ran {
		if what == "second" {
			what = "delete_file b.txt"
			if p.sdk {
				what = "send_mail bob"
			}
		}
		allowed[what] = true
	}
	maps.DeleteFunc(ran, func(what string, _ int) bool {
		return !strings.HasPrefix(what, "delete_file") && !strings.HasPrefix(what, "send_mail")
	})
	var says []string
	note := func(is bool, what string) bool {
		if is {
			says = append(says, what)
		}
		return is
	}
	var end dotnetEnd
	for _, what := range slices.Sorted(maps.Keys(ran)) {
		end.unasked = end.unasked || !c.asked
		end.unsafe = note(!c.asked || !allowed[what] || ran[what] > 1, fmt.Sprintf("ran %s %d times", what, ran[what])) || end.unsafe
	}
	forgiven := s.lost && through
	short := len(allowed) > len(ran)
	end.missing = note(short && !forgiven, "not all ran")
	end.dead = note(dead, "dead")
	end.told = note(len(faults) > 0 && !forgiven, "told "+strings.Join(slices.Compact(faults), ", "))
	switch end.says = strings.Join(says, "; "); {
	case end.says == "" && short:
		end.says = "the yes is not carried, and the chat goes on"
	case end.says == "":
		end.says = "right"
	}
	return end
}

// A rerouted is an HTTP transport that sends each request to the current address.
type rerouted struct{ address *atomic.Pointer[string] }

// RoundTrip sends the request to the current address.
func (r rerouted) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := http.NewRequest(req.Method, *r.address.Load(), req.Body)
	if err != nil {
		return nil, err
	}
	to.Header, to.ContentLength = req.Header, req.ContentLength
	return http.DefaultTransport.RoundTrip(to)
}

// TestDotNetClients plays every scene with every pair of a client and a host. It plays each scene
// twice: the application keeps a thread, and it keeps none. No chat may end worse through Holdpoint
// than without it. If E2E_DOTNET_TABLE names a file, the test writes a table of the results into
// it.
func TestDotNetClients(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	mux := http.NewServeMux()
	backends := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		handler, _ := mux.Handler(r)
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(backends.Close)
	holdpoint, restarted := ownHoldpoint(t, backends.URL, nil), ownHoldpoint(t, backends.URL, nil)
	rows := map[string]string{}
	worse, unsafe := map[string]bool{}, map[string]bool{}
	var chats sync.WaitGroup
	turns := make(chan struct{}, 8)
	number := 0
	for _, p := range dotnetPairs() {
		for _, s := range dotnetScenes() {
			for _, keeps := range []bool{true, false} {
				if s.only && !p.sdk {
					continue
				}
				key := fmt.Sprintf("%s before %s %s, a new thread each run: %s", p.name, p.host, p.wrapping, s.name)
				if keeps {
					key = fmt.Sprintf("%s before %s %s: %s", p.name, p.host, p.wrapping, s.name)
				}
				number++
				path := fmt.Sprintf("/chat-%d/", number)
				ledger := scripted.NewLedger()
				mu.Lock()
				mux.Handle(path, http.StripPrefix(strings.TrimSuffix(path, "/"), p.host.New(ledger, p.wrapping)))
				mu.Unlock()
				chats.Go(func() {
					turns <- struct{}{}
					defer func() { <-turns }()
					own := scripted.NewLedger()
					bare := httptest.NewServer(p.host.New(own, p.wrapping))
					defer bare.Close()
					direct := p.play(s, bare.URL+"/", bare.URL+"/", keeps, false, own)
					through := p.play(s, holdpoint.address+path, restarted.address+path, keeps, true, ledger)
					mu.Lock()
					defer mu.Unlock()
					worse[key], unsafe[key] = through.worse(direct), through.unsafe
					rows[key] = fmt.Sprintf("| %s | %s | %s |\n", key, direct.says, through.says)
				})
			}
		}
	}
	chats.Wait()
	var table strings.Builder
	table.WriteString("| scene | direct | through |\n|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		table.WriteString(rows[key])
		if worse[key] {
			t.Errorf("worse through Holdpoint: %s", rows[key])
		}
		if unsafe[key] {
			t.Errorf("ran though nobody approved it: %s", rows[key])
		}
	}
	if file := os.Getenv("E2E_DOTNET_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
