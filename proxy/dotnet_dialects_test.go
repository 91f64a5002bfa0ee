package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestDotNetClientBeforeEveryDialect has the SDK's client for .NET ask, answer and go on, before a
// backend of each family. What the backend gets is judged as a provider would: no result without
// its call, no call and no id twice. The client gets the result of each call that it was asked
// about, so it makes none up.
func TestDotNetClientBeforeEveryDialect(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			for _, yes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v", b.Name(), yes), func(t *testing.T) { dotNetChat(t, b, yes) })
			}
		}
	}
}

// refusesToolCall are the dialects that refuse the one form in which the client can answer.
var refusesToolCall = map[string]bool{"agno": true, "mastra": true}

func dotNetChat(t *testing.T, b dialecttest.Backend, yes bool) {
	fewer(t, 1)
	rapid.Check(t, func(rt *rapid.T) { // the chatter is one of sequences
		c := newChatter(rt, b, dialects.All())
		server := httptest.NewServer(http.HandlerFunc(c.h.ServeHTTP))
		defer server.Close()
		client := dotnetclient.AGUIClient{Connection: dotnetclient.Connection{URL: server.URL, HTTP: server.Client()}, Invoking: dotnetclient.MEAI1011}
		app := dotnetclient.Application{Client: client, Options: func() *dotnetclient.Options { return &dotnetclient.Options{Thread: "t"} }}
		c.approved[1] = yes
		c.end = "ask"
		asked := app.Say("delete")
		c.end = "end"
		var answered dotnetclient.Run
		switch {
		case len(asked.Questions) > 0:
			answered = app.Answer(asked.Questions, func(int) bool { return yes })
		case len(asked.Inputs) > 0:
			payload := b.No
			if yes {
				payload = b.Yes
			}
			answered = app.Fill(asked.Inputs[0], payload)
		default:
			t.Fatalf("nothing is asked: %s", c.got)
		}
		answerText := string(c.seen)
		c.end = "end"
		further := app.Say("go on")
		if refusesToolCall[b.Dialect] {
			if len(answered.Failures) != 1 || answered.Failures[0].Code != "INVALID_PAYLOAD" {
				t.Errorf("the answer is taken: %+v", answered)
			}
			return
		}
		for n, run := range []dotnetclient.Run{asked, answered, further} {
			if run.Thrown != nil || len(run.Failures) > 0 {
				t.Errorf("run %d: thrown %v, failures %v", n, run.Thrown, run.Failures)
			}
		}
		if c.violation != "" {
			t.Error(c.violation)
		}
		if c.did[1] > 1 || yes != (c.did[1] == 1) {
			t.Errorf("the backend did it %d times", c.did[1])
		}
		for _, body := range []string{answerText, string(c.seen)} {
			for _, fault := range providerFaults(body) {
				if told := strings.Contains(b.Asks, "TOOL_CALL_START"); told || !strings.HasPrefix(fault, noCall) {
					t.Errorf("%s: %s", fault, body) // else the backend itself tells a result of a call that it never told
				}
			}
		}
		if !strings.Contains(string(c.seen), "go on") || strings.Contains(string(c.seen), "Requested function") || strings.Contains(string(c.seen), "Holdpoint:") {
			t.Errorf("the next message is %s", c.seen)
		}
	})
}

const noCall = "a result without its call "

// providerFaults are the faults that a provider would find in the messages of a request.
func providerFaults(body string) []string {
	var faults []string
	ids, calls := map[string]bool{}, map[string]bool{}
	for _, m := range gjson.Get(body, "messages").Array() {
		if id := m.Get("id").Str; id != "" {
			if ids[id] {
				faults = append(faults, "two messages have the id "+id)
			}
			ids[id] = true
		}
		for _, c := range m.Get("toolCalls").Array() {
			if calls[c.Get("id").Str] {
				faults = append(faults, "twice the call "+c.Get("id").Str)
			}
			calls[c.Get("id").Str] = true
		}
		if call := m.Get("toolCallId").Str; call != "" && !calls[call] {
			faults = append(faults, noCall+call)
		}
	}
	return faults
}
