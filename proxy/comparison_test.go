package proxy

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/dialects"
)

// A countedRecognizer is a Finder that counts the runs that it looks at.
type countedRecognizer struct {
	translate.Finder
	runs atomic.Int32
}

func (c *countedRecognizer) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	c.runs.Add(1)
	return c.Finder.Begin(r)
}

// TestHintOfAnotherDialect: if a stream is in another dialect than the configured one, the log must
// report this once. If the configured dialect is right, Holdpoint must stop comparing the dialects
// after the first question.
func TestHintOfAnotherDialect(t *testing.T) {
	const asks = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"q\":1}","rawEvent":{"id":"95b93ade5d71718992515f7daf83c1ce","value":{"q":1}}}`
	// A stream of AGUI.Server, a .NET host. Every dialect that reads the interrupt outcome could
	// read its questions.
	dotNet := []string{
		started,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm","parentMessageId":"m1","rawEvent":{"contents":[{"$type":"toolApprovalRequest","toolCall":{"$type":"functionCall","name":"rm","arguments":{},"callId":"c1"},"requestId":"ficc_c1"}]}}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"ficc_c1","reason":"tool_call","message":"Approval required for tool call: rm","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}]}}`,
	}
	another := slices.Clone(dotNet)
	another[4] = strings.Replace(another[4], `"id":"ficc_c1"`, `"id":"ficc_c1~AAAAAAAAAAAA"`, 1)
	for name, c := range map[string]struct {
		named  string
		stream []string
		hints  int
		runs   int32 // how many of the two runs are compared
	}{
		"AGUI.Server before agui":              {"agui", dotNet, 1, 2},
		"AGUI.Server before request-approval":  {"request-approval", dotNet, 1, 2},
		"AGUI.Server before its own":           {"agent-framework", dotNet, 0, 1},
		"another Holdpoint before AGUI.Server": {"agui", another, 0, 1},
		"another framework's":                  {"agno", []string{started, asks, finished}, 1, 2},
		"its own":                              {"langgraph", []string{started, asks, finished}, 0, 1},
		"nobody is asked":                      {"agno", []string{started, finished}, 0, 2},
		"it breaks off":                        {"agno", []string{started}, 0, 2},
		"a call of an unknown kind":            {"langgraph", []string{started, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"x"}`, `{"type":"TOOL_CALL_END","toolCallId":"c"}`, finished}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			list := dialects.All()
			named, err := list.New(c.named, nil)
			if err != nil {
				t.Fatal(err)
			}
			found, err := list.Recognizer(c.named)
			if err != nil {
				t.Fatal(err)
			}
			recognizer := &countedRecognizer{Finder: found}
			g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, streamOf(c.stream...))
			}, func(o *Options) {
				o.Dialect, o.Recognizer = named, recognizer
			})
			for _, thread := range []string{"t", "t2"} {
				res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input(thread, "r", "")))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			log := g.logs.String()
			if n := len(regexp.MustCompile(`this backend asks in the dialect [a-z-]+, and HOLDPOINT_DIALECT=`+c.named).FindAllString(log, -1)); n != c.hints {
				t.Errorf("%d hints, want %d:\n%s", n, c.hints, log)
			}
			if n := recognizer.runs.Load(); n != c.runs {
				t.Errorf("%d runs were compared, want %d", n, c.runs)
			}
		})
	}
}
