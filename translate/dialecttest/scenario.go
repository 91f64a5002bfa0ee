package dialecttest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A Scenario is a folder of testdata: what one thread sent and got, turn by turn.
type Scenario struct {
	Dir         string
	Environment map[string]string
	Turns       []Turn
}

// A Turn is a request of the client, and the backend's answers to it, one for each exchange.
type Turn struct {
	Request []byte
	Answers []Answer
}

// An Answer is what a backend sends back.
type Answer struct {
	Status    int
	MediaType string
	Body      string
	Cut       bool // the connection breaks behind it
}

// Scenarios returns those of a dialect, or of a folder pattern such as *. testdata is the path of
// the folder with all of them.
func Scenarios(t testing.TB, testdata, dialect string) []Scenario {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(testdata, dialect, "*", "scenario.txt"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no scenarios of %s: %v", dialect, err)
	}
	var list []Scenario
	for _, file := range dirs {
		s := Scenario{Dir: filepath.Dir(file), Environment: map[string]string{}}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			set, isSet := strings.CutPrefix(strings.TrimSpace(line), "env: ")
			if name, value, is := strings.Cut(set, "="); isSet && is {
				if strings.HasSuffix(name, "_FILE") {
					value = filepath.Join(s.Dir, value)
				}
				s.Environment[name] = value
			}
		}
		for n := 1; ; n++ {
			request, err := os.ReadFile(filepath.Join(s.Dir, fmt.Sprintf("%d.request.json", n)))
			if err != nil {
				break
			}
			s.Turns = append(s.Turns, Turn{Request: bytes.TrimSpace(request), Answers: s.answers(n)})
		}
		list = append(list, s)
	}
	return list
}

func (s Scenario) answers(turn int) (list []Answer) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%d.upstream.sse", turn)
		if n > 1 {
			name = fmt.Sprintf("%d.upstream-%d.sse", turn, n)
		}
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return list
		}
		list = append(list, readAnswer(string(text)))
	}
}

const ok = 200

// readAnswer reads the file of an answer: a stream; or "HTTP 429", header lines, an empty line and
// the body.
func readAnswer(text string) Answer {
	a := Answer{Status: ok, MediaType: eventStream}
	if strings.HasPrefix(text, "HTTP ") {
		head, body, _ := strings.Cut(text, "\n\n")
		a.MediaType, text = "", body
		for line := range strings.Lines(head) {
			if status, is := strings.CutPrefix(line, "HTTP "); is {
				a.Status, _ = strconv.Atoi(strings.TrimSpace(status)) // 0 is an answer that never came
			}
			if name, value, is := strings.Cut(line, ":"); is && strings.EqualFold(name, "Content-Type") {
				a.MediaType, _, _ = strings.Cut(strings.TrimSpace(value), ";")
			}
		}
	}
	a.Body, a.Cut = strings.CutSuffix(text, "<cut>")
	return a
}

// Events returns the data of the frames of an event stream of AG-UI.
func (a Answer) Events() (list []string) {
	for _, p := range Pieces(translate.Frames, a.Body) {
		if agui.ValidJSON(p.Data) {
			list = append(list, string(p.Data))
		}
	}
	return list
}

// Stream returns an answer in AG-UI.
func Stream(events ...string) Answer {
	return Answer{Status: ok, MediaType: eventStream, Body: frames(events...)}
}
