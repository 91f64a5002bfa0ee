package kit

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// TestAnswersWithoutAPause: the client sends command.resume although the thread has no open
// question. This must count as an answer to an unknown question. An interruptEvent with it changes
// nothing, because the client writes that event itself.
func TestAnswersWithoutAPause(t *testing.T) {
	mastra := `"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c\",\"runId\":\"r\"}"`
	for name, c := range map[string]struct {
		event, dialect string
		want           int
	}{
		"a value":                                {"", "", 1},
		"Mastra's, on a route that nobody knows": {`,"interruptEvent":` + mastra, "", 1},
		"Mastra's on a route of Mastra's":        {`,"interruptEvent":` + mastra, "mastra", 1},
		"Mastra's on a route of LangGraph":       {`,"interruptEvent":` + mastra, "langgraph", 1},
		"Mastra's on another route":              {`,"interruptEvent":` + mastra, "draft", 1},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","forwardedProps":{"command":{"resume":true` + c.event + `}}}`))
			if err != nil {
				t.Fatal(err)
			}
			answers, err := Answers(in, agui.Pause{Dialect: c.dialect})
			if err != nil || len(answers) != c.want {
				t.Errorf("%+v %v, want %d", answers, err, c.want)
			}
		})
	}
}

func TestOneSet(t *testing.T) {
	a := func(payload string) []agui.Answer {
		return []agui.Answer{{ID: "a", Status: agui.Resolved, Payload: []byte(payload)}}
	}
	if got, err := OneSet(a(`{"x":1,"y":2}`), a(`{ "y": 2, "x": 1 }`)); err != nil || string(got[0].Payload) != `{"x":1,"y":2}` {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := OneSet(a("true"), a("false")); err == nil || !strings.Contains(err.Error(), string(agui.ResumeConflict)) {
		t.Error(err)
	}
	if got, _ := OneSet(nil, a("1")); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
