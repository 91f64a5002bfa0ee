package dotnetclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of testdata have the requests and responses of real .NET programs (testdata/README.md).
// A port gets the same responses as the real program, and must send the same bytes, except for ids
// that it makes itself.

// A recording is the recording of one chat.
type recording struct {
	name    string
	does    []string // the person's actions, in order
	sent    []string // the requests
	answers []string // the responses, with one event on each line
}

func recordings(t *testing.T) []recording {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	var list []recording
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := recording{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
		for line := range strings.Lines(string(text)) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch kind {
			case "do":
				r.does = append(r.does, rest)
			case ">":
				r.sent, r.answers = append(r.sent, rest), append(r.answers, "")
			case "<":
				r.answers[len(r.answers)-1] += rest + "\n"
			}
		}
		list = append(list, r)
	}
	return list
}

// A player is an HTTP transport that returns the responses of a recording, in their order.
type player struct {
	recording
	got []string
}

// RoundTrip records the request, and returns the next response of the recording.
func (p *player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p.got = append(p.got, string(body))
	if len(p.got) > len(p.answers) {
		return nil, errors.New("one request more than is recorded")
	}
	answer := p.answers[len(p.got)-1]
	var own, recorded struct{ ThreadID string }
	if err := errors.Join(json.Unmarshal(body, &own), json.Unmarshal([]byte(p.sent[len(p.got)-1]), &recorded)); err != nil {
		return nil, err
	}
	answer = strings.ReplaceAll(answer, `"`+recorded.ThreadID+`"`, `"`+own.ThreadID+`"`) // a server returns the thread of the request
	response := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: http.NoBody, Request: req}
	if strings.HasPrefix(answer, "HTTP 500") {
		response.StatusCode = 500
		return response, nil
	}
	answer, cut := strings.CutSuffix(answer, "CUT\n")
	var events bytes.Buffer
	for line := range strings.Lines(answer) {
		if !strings.HasPrefix(line, ":") {
			line = "data: " + line
		}
		fmt.Fprintf(&events, "%s\n", line)
	}
	var stream io.Reader = &events
	if cut {
		stream = io.MultiReader(stream, brokenReader{})
	}
	response.Body = io.NopCloser(stream)
	return response, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// program returns a copy of the program that made the recording. It uses the ports instead of the
// real clients.
func (p *player) program() *Application {
	line, scene, _ := strings.Cut(p.name, "-")
	at := Connection{"http://recorded/", &http.Client{Transport: p}}
	a := &Application{DropsThrown: line != "sdk" && line != "step04"}
	switch line {
	case "1208":
		a.Client = InTreeClient{Connection: at, Invoking: MEAI910}
	case "0707":
		a.Client = InTreeClient{Connection: at, Invoking: MEAI108, Reasoning: true}
	case "head":
		a.Client = AGUIClient{Connection: at, Invoking: MEAI108, ThrowsRunError: true}
	case "new":
		a.Client = AGUIClient{Connection: at, Invoking: MEAI1011}
	case "sdk", "step04":
		a.Client = AGUIClient{Connection: at, Invoking: MEAI108}
	}
	switch {
	case strings.HasPrefix(scene, "client-wrapper"):
		a.Client, a.ToolAnswers = WrapperA{a.Client}, true
	case line == "step04":
		a.Client = WrapperB{a.Client}
	}
	a.Options = func() *Options { return p.options() }
	if strings.HasPrefix(scene, "options-reused") {
		kept := &Options{}
		a.Options = func() *Options { return kept }
	}
	return a
}

// options returns the options of the recorded program: its tools, and its thread if the program
// kept one.
func (p *player) options() *Options {
	var first struct {
		ThreadID string
		Tools    []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(p.sent[0]), &first); err != nil {
		panic(err)
	}
	o := &Options{}
	if !strings.HasPrefix(first.ThreadID, "thread_") {
		o.Thread = first.ThreadID
	}
	for _, tool := range first.Tools {
		o.Tools = append(o.Tools, Tool{tool.Name, tool.Description, tool.Parameters, func(json.RawMessage) any { return json.RawMessage(`"blue"`) }})
	}
	return o
}

// play repeats the person's actions in the recording.
func (p *player) play(a *Application) {
	var last Run
	for _, what := range p.does {
		kind, rest, _ := strings.Cut(what, " ")
		kind, payload, _ := strings.Cut(kind, ":")
		switch {
		case kind == "yes" || kind == "no" || kind == "yesno":
			last = a.Answer(last.Questions, func(n int) bool { return kind == "yes" || kind == "yesno" && n == 0 })
		case kind == "all":
			for len(last.Questions) > 0 && last.Thrown == nil {
				last = a.Answer(last.Questions, func(int) bool { return rest == "yes" })
			}
		case kind == "answer":
			last = a.Fill(last.Inputs[0], payload)
		case what == "the same request again":
			kept := a.Messages
			for kept[len(kept)-1].Role != "user" {
				kept = kept[:len(kept)-1]
			}
			a.Messages = kept
			last = a.Again()
		default:
			last = a.Say(what)
		}
	}
}

var ownIDs = regexp.MustCompile(`\b(thread_|run_)?[0-9a-f]{32}\b|\b(thread_|run_)[0-9A-Za-z]{24}\b`)

// numbered joins the requests into one text, and replaces the ids that the client made with
// numbers, in the order in which the ids first appear.
func numbered(requests []string) string {
	numbers := map[string]string{}
	return ownIDs.ReplaceAllStringFunc(strings.Join(requests, "\n"), func(id string) string {
		if numbers[id] == "" {
			prefix, _, _ := strings.Cut(id, "_")
			numbers[id] = fmt.Sprintf("#%d(%d)", len(numbers)+1, len(id)-len(prefix))
		}
		return numbers[id]
	})
}

func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := &player{recording: r}
			p.play(p.program())
			if got, want := numbered(p.got), numbered(r.sent); got != want {
				t.Errorf("sent\n%s\nwant\n%s", got, want)
			}
		})
	}
}
