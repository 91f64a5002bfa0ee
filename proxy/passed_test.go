package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

const (
	callsDelete = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"delete_file","arguments":"{}"}}]}`
	startDelete = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"delete_file"}`
	endDelete   = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
	noWords     = `{"id":"u8","role":"user","content":"No, stop."}`
	isFine      = `{"id":"a8","role":"assistant","content":"Fine."}`
)

func decided(content string) string {
	return fmt.Sprintf(`{"id":"m1","role":"tool","toolCallId":"c1","content":%q}`, content)
}

func talk(thread, more string, messages ...string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[%s]%s}`, thread, strings.Join(append([]string{oldUser}, messages...), ","), more)
}

// TestDecisionOnAnUnknownRoute: the dialect of a route is unknown, and a message decides on a call.
// If the backend were an Agent Framework that still waits, or any older version of it, it would run
// the call. So Holdpoint must either refuse the request or change the decision.
func TestDecisionOnAnUnknownRoute(t *testing.T) {
	const declares = `,"tools":[{"name":"delete_file","description":"","parameters":{}}]`
	yes := decided(`{"accepted":true}`)
	wrapped := decided(`[{"accepted":true}]`)
	for name, c := range map[string]struct {
		more           string
		messages, want []string // messages that the backend gets; nil: refused
	}{
		"a yes":                       {"", []string{callsDelete, yes}, nil},
		"a no":                        {"", []string{callsDelete, decided(`{"accepted":false}`)}, nil},
		"with steps":                  {"", []string{callsDelete, decided(`{"accepted":true,"steps":[]}`)}, nil},
		"without the call":            {"", []string{yes}, nil},
		"two, one of them a result":   {"", []string{callsDelete, yes, decided(`{"sent":1}`)}, nil},
		"an empty resume beside it":   {`,"resume":[]`, []string{callsDelete, yes}, nil},
		"words behind it":             {"", []string{callsDelete, yes, noWords}, []string{callsDelete, wrapped, noWords}},
		"an answer behind the words":  {"", []string{callsDelete, yes, noWords, isFine, noWords}, []string{callsDelete, wrapped, noWords, isFine, noWords}},
		"with more in it":             {"", []string{callsDelete, decided(`{"accepted":true,"ticket":7}`)}, nil},
		"a word that is true":         {"", []string{callsDelete, decided(`{"accepted":"no"}`)}, nil},
		"a tool's result, and words":  {"", []string{callsDelete, decided(`{"accepted":true,"ticket":7}`), noWords}, []string{callsDelete, decided(`{"accepted":true,"ticket":7}`), noWords}},
		"the result of another shape": {"", []string{callsDelete, decided(`accepted`), noWords}, []string{callsDelete, decided(`accepted`), noWords}},
		"the client's own tool":       {declares, []string{callsDelete, yes}, []string{callsDelete, yes}},
		"and words behind it":         {declares, []string{callsDelete, yes, noWords}, []string{callsDelete, yes, noWords}},
	} {
		t.Run(name, func(t *testing.T) {
			g := realRig(t, "auto", echo, inMemory)
			got := g.do(talk("t", c.more, c.messages...))
			if c.want == nil {
				if g.called() != 0 || !strings.Contains(got, "UNKNOWN_INTERRUPT_ID") || !strings.Contains(got, "new message") {
					t.Errorf("backend called %d times, the client was told\n%s", g.called(), got)
				}
				return
			}
			want := "[" + strings.Join(append([]string{oldUser}, c.want...), ",") + "]"
			if g.called() != 1 || gjson.GetBytes(g.calls[0], "messages").Raw != want {
				t.Errorf("backend got %s\nwant %s\nthe client was told\n%s", g.calls, want, got)
			}
		})
	}
}

// TestDecisionOnACallThatPassed: the client got a call that no family reads as a question, and
// answers it by a tool message. A backend that reads messages (agno) needs this answer. So if this
// process has seen the call on this thread, Holdpoint must send the message unchanged.
func TestDecisionOnACallThatPassed(t *testing.T) {
	result := `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c1","content":"done"}`
	for name, c := range map[string]struct {
		events         []string
		declared, sent string // the tools and the messages of the first request
		thread         string
		passes         bool
	}{
		"seen":               {[]string{started, startDelete, endDelete, finished}, "", "", "t", true},
		"another thread":     {[]string{started, startDelete, endDelete, finished}, "", "", "t2", false},
		"it has its result":  {[]string{started, startDelete, endDelete, result, finished}, "", "", "t", false},
		"it was declared":    {[]string{started, startDelete, endDelete, finished}, `,"tools":[{"name":"delete_file","description":"","parameters":{}}]`, "", "t", false},
		"the run failed":     {[]string{started, startDelete, endDelete, `{"type":"RUN_ERROR","message":"x"}`}, "", "", "t", false},
		"in chunks":          {[]string{started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"delete_file","delta":"{}"}`, finished}, "", "", "t", true},
		"another call":       {[]string{started, strings.ReplaceAll(startDelete, "c1", "c2"), strings.ReplaceAll(endDelete, "c1", "c2"), finished}, "", "", "t", false},
		"only in a history":  {[]string{started, finished}, "", callsDelete, "t", false},
		"the stream was cut": {[]string{started, startDelete, endDelete}, "", "", "t", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) {
				events := []string{started, finished}
				if n == 1 {
					events = c.events
				}
				sendStream(w, streamOf(events...))
			})
			var history []string
			if c.sent != "" {
				history = append(history, c.sent)
			}
			g.do(talk("t", c.declared, history...))
			for _, behind := range [][]string{nil, {noWords}} {
				before := g.called()
				messages := append([]string{callsDelete, decided(`{"accepted":true}`)}, behind...)
				got := g.do(talk(c.thread, "", messages...))
				if refused := g.called() == before; refused != (!c.passes && behind == nil) {
					t.Fatalf("refused: %v, the client was told\n%s", refused, got)
				}
				if g.called() > before {
					untouched := strings.Contains(string(g.calls[before]), decided(`{"accepted":true}`))
					if untouched != c.passes {
						t.Errorf("backend got %s", g.calls[before])
					}
				}
			}
		})
	}
}

// TestCallsThatPassedAreBounded: Holdpoint remembers only a bounded number of calls that it sent to
// clients.
func TestCallsThatPassedAreBounded(t *testing.T) {
	g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, _ int) {
		events := []string{started}
		for n := range 2 * maxOpenCalls {
			events = append(events, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"x"}`, n), fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, n))
		}
		sendStream(w, streamOf(append(events, finished)...))
	})
	for n := range maxPassed/maxOpenCalls + 2 {
		g.do(talk(fmt.Sprint("t", n), ""))
	}
	if n := g.h.memory.leftCalls.Len(); n != maxPassed {
		t.Errorf("%d calls are remembered, of at most %d", n, maxPassed)
	}
}
