package dialecttest

import (
	"bytes"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/scenario"
	"holdpoint/translate"
)

// A Scenario has the requests and the responses of one thread of testdata, turn by turn.
type Scenario struct {
	Path        string // the path of its file
	Environment map[string]string
	Turns       []Turn
}

// GoString returns only the path. rapid prints a drawn value by GoString, and CheckThread prints
// the turns that it plays.
func (s Scenario) GoString() string { return "the scenario " + s.Path }

// A Turn is a request of the client, and the backend's responses to it, one for each exchange.
type Turn struct {
	Request []byte
	Answers []Answer
}

// An Answer is an HTTP response of a backend.
type Answer struct {
	Status    int
	MediaType string
	Body      string
	Cut       bool // the connection breaks off after Body
}

// Scenarios returns the scenarios of a dialect. The parameter dialect may also be a pattern of
// folders such as *. The parameter testdata is the path of the folder with all scenarios.
func Scenarios(t testing.TB, testdata, dialect string) []Scenario {
	t.Helper()
	all, err := scenario.List(testdata, dialect)
	if err != nil {
		t.Fatal(err)
	}
	var list []Scenario
	for _, one := range all {
		s := Scenario{Path: one.Path}
		if s.Environment, err = one.WithFiles(t.TempDir); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= one.Turns; n++ {
			turn := Turn{Request: bytes.TrimSpace(one.Part(scenario.Request(n)))}
			for _, part := range one.Answers(n) {
				turn.Answers = append(turn.Answers, answerOf(scenario.ReadAnswer(part)))
			}
			s.Turns = append(s.Turns, turn)
		}
		list = append(list, s)
	}
	return list
}

const ok = 200

func answerOf(r scenario.Response) Answer {
	a := Answer{Status: r.Status, MediaType: eventStream, Body: string(r.Body), Cut: r.Cut}
	if r.Header != nil {
		a.MediaType, _, _ = strings.Cut(strings.Join(r.Header["Content-Type"], ""), ";")
	}
	return a
}

// Events returns the data of the frames of an AG-UI event stream. It leaves out frames that are not
// valid JSON.
func (a Answer) Events() (list []string) {
	for _, p := range Pieces(translate.Frames, a.Body) {
		if agui.ValidJSON(p.Data) {
			list = append(list, string(p.Data))
		}
	}
	return list
}

// Stream returns a response with an AG-UI event stream of these events.
func Stream(events ...string) Answer {
	return Answer{Status: ok, MediaType: eventStream, Body: frames(events...)}
}
