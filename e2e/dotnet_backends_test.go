//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/e2e/dotnetclient"
)

// These tests use the client in Agent Framework's own repository for .NET (the in-tree client) with
// backends of other frameworks. These backends send events at which that client throws: CUSTOM,
// steps, RAW and snapshots.

// TestInTreeClientsBeforeOtherBackends: the agent asks a question in a chat of the in-tree client.
// The client must get the question as a text, and its next message must cancel the question.
// Nothing may run, the client must never throw, and the chat must be answered.
func TestInTreeClientsBeforeOtherBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b          *backend
		agent, say string
	}{
		"LangGraph":             {&backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}, "approve", "go"},
		"LangGraph, by outcome": {&backend{name: "0.0.47", mode: "outcome", server: need(t, "langgraph", "0.0.47")}, "approve", "go"},
		"pydantic-ai":           {&backend{name: "pydantic-ai", mode: "stateless", server: need(t, "pydanticai", "2.68.0")}, "agent", "delete a.txt"},
		"AG2, in chunks":        {&backend{name: "AG2", mode: "held", server: need(t, "ag2", "1.2.1")}, "agent", "delete a.txt"},
		"agno":                  {&backend{name: "agno", mode: "default", server: need(t, "agno", "3.1.10")}, "agui", "delete a.txt"},
	} {
		h := ownHoldpoint(t, c.b.url(), nil)
		for line, reasoning := range map[string]bool{"2026-04": false, "2026-07": true} {
			t.Run(name+"/"+line, func(t *testing.T) {
				t.Parallel()
				thread := fresh("dotnet")
				at := dotnetclient.Connection{URL: h.address + "/" + c.agent, HTTP: http.DefaultClient}
				app := &dotnetclient.Application{
					Client:      dotnetclient.InTreeClient{Connection: at, Invoking: dotnetclient.MEAI108, Reasoning: reasoning},
					Options:     func() *dotnetclient.Options { return &dotnetclient.Options{Thread: thread} },
					DropsThrown: true,
				}
				says := func(words, want string) {
					t.Helper()
					run := app.Say(words)
					if run.Thrown != nil || len(run.Failures) > 0 {
						t.Fatalf("%s: %v %v", words, run.Thrown, run.Failures)
					}
					if !strings.Contains(run.Text, want) {
						t.Fatalf("%s: the chat says %q, want %q", words, run.Text, want)
					}
				}
				says(c.say, "This program cannot answer that.")
				said := "plain hello " + fresh("n")
				says(said, said)
				says(said, said)
				if l := c.b.ledger(t, thread); len(l.Effects) > 0 {
					t.Errorf("ran though nobody approved it: %v", l.Effects)
				}
			})
		}
	}
}

// TestQuestionsAsTextsOnNewThreads: the in-tree client uses a new thread for each run, unless its
// program keeps a thread. So if it gets a question as a text, it does not return to the question's
// thread. Its next message must cancel the question and be answered, and nothing may run. If no
// message follows, the question must stay open. A client that has the question's thread can still
// answer it, and an approved action must run once.
func TestQuestionsAsTextsOnNewThreads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b          *backend
		agent, say string
	}{
		"LangGraph":   {&backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}, "approve", "go"},
		"pydantic-ai": {&backend{name: "pydantic-ai", mode: "stateless", server: need(t, "pydanticai", "2.68.0")}, "agent", "delete a.txt"},
		"agno":        {&backend{name: "agno", mode: "default", server: need(t, "agno", "3.1.10")}, "agui", "delete a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, c.b.url(), nil)
			threads := &sentThreads{}
			app := &dotnetclient.Application{
				Client: dotnetclient.InTreeClient{
					Connection: dotnetclient.Connection{URL: h.address + "/" + c.agent, HTTP: &http.Client{Transport: threads}},
					Invoking:   dotnetclient.MEAI108,
				},
				DropsThrown: true,
			}
			says := func(words, want string) {
				t.Helper()
				run := app.Say(words)
				if run.Thrown != nil || len(run.Failures) > 0 || !strings.Contains(run.Text, want) {
					t.Fatalf("%s: the chat says %q, want %q: %v %v", words, run.Text, want, run.Thrown, run.Failures)
				}
			}
			const text = "If it is not answered before your next message, that message cancels it."
			says(c.say, text)
			for range 2 {
				said := "plain hello " + fresh("n")
				says(said, said)
			}
			says(c.say, text)  // another question, on another thread
			app.Messages = nil // a new chat, so nothing cancels the last question
			says(c.say, text)
			if len(threads.list) != 5 || threads.list[0] == threads.list[1] || threads.list[0] == threads.list[3] {
				t.Fatalf("the client does not take new threads: %v", threads.list)
			}
			for _, thread := range threads.list {
				if l := c.b.ledger(t, thread); len(l.Effects) > 0 {
					t.Errorf("ran though nobody approved it: %v", l.Effects)
				}
			}
			var cancelled []string
			for _, m := range threads.messages[3] {
				var text struct{ ID string }
				if json.Unmarshal([]byte(m), &text) == nil && strings.HasPrefix(text.ID, "holdpoint-question-") {
					cancelled = append(cancelled, strings.TrimPrefix(text.ID, "holdpoint-question-"))
				}
			}
			gone := &handChat{t: t, address: h.address + "/" + c.agent, thread: threads.list[0], messages: threads.messages[0]}
			if _, told := gone.run(`"tools":[],"context":[],"state":{},"forwardedProps":{},` + entries(cancelled, yesEntry)); !strings.Contains(told, "RESUME_CONFLICT") {
				t.Errorf("a yes to the question that the next message has cancelled is told %s", told)
			}
			last := &handChat{t: t, address: h.address + "/" + c.agent, thread: threads.list[4], messages: threads.messages[4]}
			_, told := last.run(`"tools":[],"context":[],"state":{},"forwardedProps":{}`)
			for _, line := range strings.Split(told, "\n") { // the client stores the messages that it gets
				var ev struct {
					Type     string
					Messages []json.RawMessage
				}
				if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &ev) == nil && ev.Type == "MESSAGES_SNAPSHOT" {
					last.messages = nil
					for _, m := range ev.Messages {
						last.messages = append(last.messages, string(m))
					}
				}
			}
			if len(last.asked) != 1 {
				t.Fatalf("the question of the last thread does not stand: %s", last.text)
			}
			asked := last.asked
			for range 2 {
				if _, told := last.run(`"tools":[],"context":[],"state":{},"forwardedProps":{},` + entries(asked, yesEntry)); strings.Contains(told, `"RUN_ERROR"`) {
					t.Errorf("told %s", told)
				}
			}
			if l := c.b.ledger(t, threads.list[0]); len(l.Effects) > 0 {
				t.Errorf("the cancelled action ran %d times", len(l.Effects))
			}
			if l := c.b.ledger(t, threads.list[4]); len(l.Effects) != 1 {
				t.Errorf("the approved action ran %d times", len(l.Effects))
			}
		})
	}
}

// A sentThreads is an HTTP transport that records the thread and the messages of each request.
type sentThreads struct {
	list     []string
	messages [][]string
}

// RoundTrip records the request and sends it.
func (s *sentThreads) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		ThreadID string
		Messages []json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	var messages []string
	for _, m := range in.Messages {
		messages = append(messages, string(m))
	}
	s.list, s.messages = append(s.list, in.ThreadID), append(s.messages, messages)
	return http.DefaultTransport.RoundTrip(r)
}

// TestAGUIClientBeforePythonBackends: AGUI.Client sends a user's messages without ids. Most Python
// backends refuse such a request. The refusal must have the same text with and without Holdpoint,
// and nothing may run. If the application sets the ids itself, its first message must work as it
// does without Holdpoint. Agent Framework requires no ids. There a question must be asked through
// Holdpoint, and an approved action must run once, although nothing runs without Holdpoint.
func TestAGUIClientBeforePythonBackends(t *testing.T) {
	t.Parallel()
	type place struct {
		b          *backend
		agent, say string
		refuses    int // the HTTP status for a request without ids, 0 if the backend requires none
	}
	at := func(framework, version, mode string) *backend {
		return &backend{name: framework + " " + version, mode: mode, server: need(t, framework, version)}
	}
	places := []place{
		{at("langgraph", "0.0.47", "default"), "approve", "go", http.StatusUnprocessableEntity},
		{at("langgraph", "0.0.47", "outcome"), "approve", "go", http.StatusUnprocessableEntity},
		{at("pydanticai", "2.68.0", "stateless"), "agent", "delete a.txt", http.StatusUnprocessableEntity},
		{at("agno", "3.1.10", "default"), "agui", "delete a.txt", http.StatusUnprocessableEntity},
		{at("adk", "0.11.0", "outcome"), "agent", "delete a.txt", http.StatusUnprocessableEntity},
		{at("ag2", "1.2.1", "held"), "agent", "delete a.txt", http.StatusBadRequest},
		{at("crewai", "1.0.0", "outcome"), "gate", "go", http.StatusUnprocessableEntity},
	}
	for _, s := range shared.strandsPy {
		places = append(places, place{&backend{name: "strands " + s.version, mode: "agui", server: s}, "gate", "delete a.txt", http.StatusUnprocessableEntity})
	}
	for _, b := range shared.agents {
		if b.mode == "default" {
			places = append(places, place{b, "approve", "go", 0})
		}
	}
	for _, p := range places {
		t.Run(p.b.name+"/"+p.b.mode, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, p.b.url(), nil)
			begin := func(address string, newID func() string) (*dotnetclient.Application, string, *lastAnswer) {
				thread, saw := fresh("dotnet"), &lastAnswer{}
				return &dotnetclient.Application{
					Client: dotnetclient.AGUIClient{
						Connection: dotnetclient.Connection{URL: address + "/" + p.agent, HTTP: &http.Client{Transport: saw}},
						Invoking:   dotnetclient.MEAI108,
					},
					Options: func() *dotnetclient.Options { return &dotnetclient.Options{Thread: thread} },
					NewID:   newID,
				}, thread, saw
			}
			addresses := []string{p.b.url(), h.address}
			if p.refuses > 0 {
				var said [2]string
				for n, address := range addresses {
					app, thread, saw := begin(address, nil)
					if app.Say(p.say); saw.status != p.refuses {
						t.Errorf("%s: HTTP %d: %s", address, saw.status, saw.body)
					}
					if said[n] = saw.body; len(p.b.ledger(t, thread).Effects) > 0 {
						t.Errorf("%s: it ran", address)
					}
				}
				if said[0] != said[1] {
					t.Errorf("direct %s\nthrough %s", said[0], said[1])
				}
				var statuses, asked [2]int
				for n, address := range addresses {
					app, _, saw := begin(address, func() string { return fresh("m") })
					asked[n] = len(app.Say(p.say).Questions)
					statuses[n] = saw.status
				}
				if statuses[0] != statuses[1] || asked[1] < asked[0] {
					t.Errorf("with ids: HTTP %d and %d questions direct, HTTP %d and %d through", statuses[0], asked[0], statuses[1], asked[1])
				}
				return
			}
			for n, address := range addresses {
				app, thread, _ := begin(address, nil)
				asked := app.Say(p.say).Questions
				if len(asked) > 0 {
					app.Answer(asked, func(int) bool { return true })
				}
				effects := len(p.b.ledger(t, thread).Effects)
				if n == 0 && effects > 0 {
					t.Errorf("direct it runs %d times", effects)
				}
				if n == 0 {
					continue
				}
				if words := app.Say("plain hello"); len(asked) != 1 || effects != 1 || !strings.Contains(words.Text, "hello") || words.Thrown != nil {
					t.Errorf("%d questions, %d effects, then %q, %v", len(asked), effects, words.Text, words.Thrown)
				}
			}
		})
	}
}

// A lastAnswer is an HTTP transport that keeps the status and the body of the last response.
type lastAnswer struct {
	status int
	body   string
}

// RoundTrip sends the request and keeps the response.
func (l *lastAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(res.Body)
	if closed := res.Body.Close(); err == nil {
		err = closed
	}
	l.status, l.body = res.StatusCode, string(all)
	res.Body = io.NopCloser(strings.NewReader(l.body))
	return res, err
}
