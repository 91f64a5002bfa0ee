package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	golden "holdpoint/internal/scenario"
)

// finishOf returns the RUN_FINISHED of a stream.
func finishOf(t *testing.T, stream string) gjson.Result {
	t.Helper()
	for frame := range strings.SplitSeq(stream, "\n\n") {
		if data, _ := strings.CutPrefix(frame, "data: "); gjson.Get(data, "type").Str == string(agui.RunFinished) {
			return gjson.Parse(data)
		}
	}
	t.Errorf("no RUN_FINISHED in %s", stream)
	return gjson.Result{}
}

// TestLastWords: a resumed run fails. Holdpoint must first close the open messages and calls of the
// run, then send the open questions, and then the error.
func TestLastWords(t *testing.T) {
	const (
		text     = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`
		call     = `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`
		thought  = `{"type":"REASONING_START","messageId":"t"}`
		step     = `{"type":"STEP_STARTED","stepName":"s"}`
		subagent = `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"}`
		kaput    = `{"type":"RUN_ERROR","message":"kaput","code":"OWN"}`
	)
	for name, c := range map[string]struct {
		stream []string
		want   string
		text   string
	}{
		"a cut":                   {[]string{started}, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", "The connection to the agent broke off. What was approved may or may not have been done. Please check before you ask for it again."},
		"a cut in a text":         {[]string{started, text}, "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_END RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", ""},
		"a cut in all there is":   {[]string{started, step, subagent, thought, text, call}, "RUN_STARTED STEP_STARTED SUBAGENT_STARTED REASONING_START TEXT_MESSAGE_START TOOL_CALL_START TOOL_CALL_END TEXT_MESSAGE_END REASONING_END SUBAGENT_ERROR STEP_FINISHED RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", ""},
		"the backend's own error": {[]string{started, step, kaput}, "RUN_STARTED STEP_STARTED STEP_FINISHED RUN_FINISHED RUN_ERROR:OWN", "The agent has ended with an error. What was approved may or may not have been done. Please check before you ask for it again."},
		"an error comes first":    {[]string{kaput}, "RUN_STARTED RUN_FINISHED RUN_ERROR:OWN", ""},
		"nothing comes":           {nil, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, asks))
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if len(c.stream) > 0 {
					sendStream(w, streamOf(c.stream...))
				}
			})
			g.do(input("t", "r1", ""))
			got := g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
			wantTypes(t, got, c.want)
			finish := finishOf(t, got)
			if why := finish.Get("metadata.holdpoint.refusal"); c.text != "" && why.Get("text").Str != c.text || why.Get("mayHaveRun").Bool() != (strings.HasSuffix(c.want, "EOF") || strings.HasSuffix(c.want, "OWN")) {
				t.Errorf("told %s", why.Raw)
			}
			if finish.Get("runId").Str != "r2" || finish.Get("threadId").Str != "t" {
				t.Errorf("finish %s", finish.Raw)
			}
			g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]}`)
			if g.called() != 3 {
				t.Errorf("the next message did not reach the backend: %d calls", g.called())
			}
		})
	}
}

// TestWhatAnswersNothingEndsAsItDid: an ordinary run fails with an error of the backend. The client
// must get this error unchanged.
func TestWhatAnswersNothingEndsAsItDid(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(`{"type":"RUN_ERROR","message":"kaput"}`))
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_ERROR")
}

// TestRefusalIsInWhatIsAskedAgain: Holdpoint refuses an answer and sends the questions again. Each
// question must contain the reason of the refusal. The record must not keep the reason.
func TestRefusalIsInWhatIsAskedAgain(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, strings.Replace(asksTwo, `"id":"n1"`, `"id":"n1","metadata":{"own":1}`, 1)))
	})
	first := finishOf(t, g.do(input("t", "r1", "")))
	got := finishOf(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))))
	why := got.Get("metadata.holdpoint.refusal").Raw
	want := `{"code":"PARTIAL_RESUME","text":"Please answer all open questions. Nothing was done.","detail":"resume leaves interrupt \"n2~id2\" open (answered 1 of 2)"}`
	if why != want {
		t.Errorf("got %s\nwant %s", why, want)
	}
	for n, i := range got.Get("outcome.interrupts").Array() {
		if i.Get("metadata.holdpoint.refusal").Raw != want {
			t.Errorf("interrupt %d: %s", n, i.Raw)
		}
	}
	if got.Get("outcome.interrupts.0.metadata.own").Raw != "1" {
		t.Errorf("its own metadata is gone: %s", got.Raw)
	}
	again := finishOf(t, g.do(input("t", "r3", "")))
	if again.Get("outcome").Raw != first.Get("outcome").Raw {
		t.Errorf("a reload is told\n%s\nwant\n%s", again.Raw, first.Raw)
	}
}

// TestPageIsToldInTheInterruptsAlone: if a RUN_ERROR follows interrupts, assistant-ui (react-ag-ui
// 0.0.57) removes its card. So a page must not get this RUN_ERROR. The interrupts must contain the
// refusal.
func TestPageIsToldInTheInterruptsAlone(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	page := func(body string) string {
		_, got := g.from("http://page", http.MethodPost, "/", body)
		return got
	}
	got := page(input("t", "r2", `,"resume":[]`))
	wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt")
	if code := finishOf(t, got).Get("outcome.interrupts.0.metadata.holdpoint.refusal.code").Str; code != "PARTIAL_RESUME" {
		t.Errorf("code %q", code)
	}
	wantTypes(t, page(input("other", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	wantTypes(t, g.do(input("t", "r4", `,"resume":[]`)), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PARTIAL_RESUME")
}

// TestHTTPErrorsOnAResume: CopilotKit 1.74 and assistant-ui lock if a resume gets an HTTP error, or
// a RUN_ERROR without questions. So if the backend responds to a resume with an error, the client
// must get the open questions before the error. The headers of the backend must stay. A redirect
// must reach the client, which follows it.
func TestHTTPErrorsOnAResume(t *testing.T) {
	for status, want := range map[int]string{
		401: "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS", 404: "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS",
		429: "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS", 409: "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS",
		503: "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", 307: "",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n != 2 {
					asksOnce(w, r, n)
					return
				}
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(status)
				io.WriteString(w, "secret")
			})
			g.do(input("t", "r1", ""))
			res, got := g.from("", http.MethodPost, "/", input("t", "r2", resumeWith(yes("n1~id1"))))
			if want == "" {
				if res.StatusCode != status {
					t.Errorf("status %d", res.StatusCode)
				}
				return
			}
			wantTypes(t, got, want)
			if res.StatusCode != http.StatusOK || res.Header.Get("Retry-After") != "7" || strings.Contains(got, "secret") {
				t.Errorf("%d %v %s", res.StatusCode, res.Header, got)
			}
		})
	}
}

// TestGoldenEndsUnlock: in all scenarios, each request with an answer must end in a RUN_FINISHED
// that contains the open questions.
func TestGoldenEndsUnlock(t *testing.T) {
	ends := 0
	list, err := golden.List("../testdata", "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for turn := 1; turn <= s.Turns; turn++ {
			request, want := s.Part(golden.Request(turn)), s.Part(golden.Want(turn))
			answers := len(gjson.GetBytes(request, "resume").Array()) > 0 || gjson.GetBytes(request, "forwardedProps.command.resume").Exists()
			if !json.Valid(request) || !answers || bytes.HasPrefix(want, []byte("HTTP ")) {
				continue
			}
			ends++
			if !bytes.Contains(want, []byte(`"type":"RUN_FINISHED"`)) {
				t.Errorf("%s, turn %d ends in\n%s", s.Name, turn, lastData(string(want)))
			}
		}
	}
	if ends < 100 {
		t.Errorf("%d ends were looked at", ends)
	}
}
