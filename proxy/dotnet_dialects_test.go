package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestDotNetClientBeforeEveryDialect plays the client of the AG-UI .NET SDK, with a backend of each
// family. The backend asks, the client answers, and the chat continues. A provider must be able to
// accept the requests that the backend gets: each result has its call, and no id occurs twice. The
// client must get a result for each call in question, so that it makes up no result.
func TestDotNetClientBeforeEveryDialect(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			for _, yes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v", b.Name(), yes), func(t *testing.T) { dotNetChat(t, b, yes) })
			}
		}
	}
}

func dotNetChat(t *testing.T, b dialecttest.Backend, yes bool) {
	inDotNetChat(t, b, yes, func(c *chatter, app *dotnetclient.Application) {
		c.end = "ask"
		asked := app.Say("delete")
		answered := c.dotNetAnswer(t, app, asked, yes)
		answer := string(c.seen)
		c.goesOnInDotNet(t, app, answer, asked, answered)
		if c.did[1] > 1 || yes != (c.did[1] == 1) {
			t.Errorf("the backend did it %d times", c.did[1])
		}
	})
}

// TestDotNetClientIsAskedAgain: the client loses what it received. If its program sends the
// conversation again, the client must get the question again, under another id and in a run that
// the client can read. If the program repeats its answer, it must get the result.
func TestDotNetClientIsAskedAgain(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			for _, yes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v", b.Name(), yes), func(t *testing.T) { dotNetChatAgain(t, b, yes) })
			}
		}
	}
}

func dotNetChatAgain(t *testing.T, b dialecttest.Backend, yes bool) {
	inDotNetChat(t, b, yes, func(c *chatter, app *dotnetclient.Application) {
		c.end = "ask"
		first := app.Say("delete")
		app.Messages = app.Messages[:1]
		again := app.Again()
		if len(again.Questions) != len(first.Questions) || len(again.Inputs) != len(first.Inputs) {
			t.Fatalf("asked %d and %d, then %d and %d", len(first.Questions), len(first.Inputs), len(again.Questions), len(again.Inputs))
		}
		for n, q := range again.Questions {
			if was := first.Questions[n]; q.ID == was.ID || q.Call.ID != was.Call.ID || q.Call.Name != was.Call.Name || string(q.Call.Arguments) != string(was.Call.Arguments) {
				t.Errorf("asked %+v %+v, and again %+v %+v", was, was.Call, q, q.Call)
			}
		}
		before := slices.Clone(app.Messages)
		c.dotNetAnswer(t, app, again, yes)
		app.Messages = before // as if the program had not seen the end of that run
		answered := c.dotNetAnswer(t, app, again, yes)
		if len(again.Questions) > 0 && len(answered.Results) != 1 {
			t.Errorf("the same answer again gives the results %v", answered.Results)
		}
		c.goesOnInDotNet(t, app, "{}", again, answered)
		if c.told[1] != 1 || c.did[1] > 1 || yes != (c.did[1] == 1) {
			t.Errorf("the backend was told %d times and did it %d times", c.told[1], c.did[1])
		}
	})
}

// TestDotNetClientMakesUpAResult: an answer is lost on its way, and the person writes a new
// message. The client then makes up a result for the call in question. Holdpoint must not read this
// result as an answer. Nothing may run, and the client must get the question again. Its second
// answer must be sent once. The backend must never get the made-up result.
func TestDotNetClientMakesUpAResult(t *testing.T) {
	families := 0
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			for _, yes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v", b.Name(), yes), func(t *testing.T) {
					inDotNetChat(t, b, yes, func(c *chatter, app *dotnetclient.Application) {
						c.end = "ask"
						asked := app.Say("delete")
						if len(asked.Questions) == 0 {
							return // it asks for input, so the client makes up no result
						}
						families++
						lost := &dotnetclient.ApprovalAnswer{ID: asked.Questions[0].ID, Approved: yes, Call: asked.Questions[0].Call}
						app.Messages = append(app.Messages, dotnetclient.NewMessage("user", lost))
						again := app.Say("hurry")
						if c.did[1] > 0 || len(again.Questions) != 1 {
							t.Fatalf("the backend did it %d times, and %d questions are asked", c.did[1], len(again.Questions))
						}
						if sent := string(c.seen); strings.Contains(sent, "hurry") || strings.Contains(sent, "Requested function") {
							t.Errorf("the backend got %s", sent)
						}
						answered := c.dotNetAnswer(t, app, again, yes)
						answer := string(c.seen)
						if strings.Contains(answer, "Requested function") || strings.Contains(answer, "must not be retried") {
							t.Errorf("the answer goes as %s", answer)
						}
						last := app.Say("go on")
						for n, run := range []dotnetclient.Run{again, answered, last} {
							if run.Thrown != nil || len(run.Failures) > 0 {
								t.Errorf("run %d: thrown %v, failures %v", n, run.Thrown, run.Failures)
							}
						}
						if sent := string(c.seen); !strings.Contains(sent, "go on") || strings.Contains(sent, "Requested function") {
							t.Errorf("the last message is %s", sent)
						}
						if c.violation != "" {
							t.Error(c.violation)
						}
						if yes != (c.did[1] == 1) {
							t.Errorf("the backend did it %d times", c.did[1])
						}
					})
				})
			}
		}
	}
	if families == 0 {
		t.Error("no family asks")
	}
}

// inDotNetChat calls does with a program that uses the client of the AG-UI .NET SDK, and with the
// backend behind Holdpoint.
func inDotNetChat(t *testing.T, b dialecttest.Backend, yes bool, does func(*chatter, *dotnetclient.Application)) {
	fewer(t, 1)
	rapid.Check(t, func(rt *rapid.T) { // a chatter needs a rapid.T
		c := newChatter(rt, b, dialects.All())
		server := httptest.NewServer(http.HandlerFunc(c.h.ServeHTTP))
		defer server.Close()
		c.approved[1] = yes
		client := dotnetclient.AGUIClient{Connection: dotnetclient.Connection{URL: server.URL, HTTP: server.Client()}, Invoking: dotnetclient.MEAI1011}
		does(c, &dotnetclient.Application{Client: client, Options: func() *dotnetclient.Options { return &dotnetclient.Options{Thread: "t"} }})
	})
}

// dotNetAnswer answers all questions of the run "asked", and returns the run that sends the answer.
func (c *chatter) dotNetAnswer(t *testing.T, app *dotnetclient.Application, asked dotnetclient.Run, yes bool) dotnetclient.Run {
	c.end = "end"
	switch {
	case len(asked.Questions) > 0:
		return app.Answer(asked.Questions, func(int) bool { return yes })
	case len(asked.Inputs) > 0 && yes:
		return app.Fill(asked.Inputs[0], c.b.Yes)
	case len(asked.Inputs) > 0:
		return app.Fill(asked.Inputs[0], c.b.No)
	}
	t.Fatalf("nothing is asked: %+v", asked)
	return dotnetclient.Run{}
}

// goesOnInDotNet sends one more message. It checks that this run and the given runs end without a
// failure, and that the requests to the backend are valid. answer is the body of the request that
// had the answer.
func (c *chatter) goesOnInDotNet(t *testing.T, app *dotnetclient.Application, answer string, runs ...dotnetclient.Run) {
	c.end = "end"
	for n, run := range append(runs, app.Say("go on")) {
		if run.Thrown != nil || len(run.Failures) > 0 {
			t.Errorf("run %d: thrown %v, failures %v", n, run.Thrown, run.Failures)
		}
	}
	if c.violation != "" {
		t.Error(c.violation)
	}
	for _, body := range []string{answer, string(c.seen)} {
		for _, fault := range providerFaults(body) {
			if told := strings.Contains(c.b.QuestionStream, "TOOL_CALL_START"); told || !strings.HasPrefix(fault, noCall) {
				// If the stream has no call, the backend itself causes this fault: it sends a
				// result without its call.
				t.Errorf("%s: %s", fault, body)
			}
		}
	}
	for _, made := range []string{"Requested function", "Holdpoint:"} {
		if !strings.Contains(string(c.seen), "go on") || strings.Contains(string(c.seen), made) {
			t.Errorf("the last message is %s", c.seen)
		}
	}
}

const noCall = "a result without its call "

// providerFaults returns the faults for which a provider would refuse the messages of a request. If
// the request has only tool messages, the backend keeps the threads itself, and providerFaults
// returns nil.
func providerFaults(body string) []string {
	if len(gjson.Get(body, `messages.#(role!="tool")#`).Array()) == 0 {
		return nil
	}
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
