package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
)

const finished = `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n\n"
const started = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n"

func examine(t *testing.T, body string) *Report {
	t.Helper()
	a, err := Read(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Examine(t.Context(), a, Options{ProtocolVersion: "1.0"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWhatIsNoStream: if the server's response is not a complete stream of a backend, the report
// must say why.
func TestWhatIsNoStream(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Verdict
		says string
	}{
		"nothing":        {"", NoStream, "empty"},
		"text":           {"hello there", CannotTranslate, "nothing in it is an event"},
		"HTML":           {"<!doctype html><html></html>", CannotTranslate, "nothing in it is an event"},
		"bytes":          {"\x00\x01\xff\xfe\x80", CannotTranslate, "nothing in it is an event"},
		"JSON":           {`{"detail":"no"}`, CannotTranslate, "nothing in it is an event"},
		"other SSE":      {"data: {\"a\":1}\n\ndata: [DONE]\n\n", CannotTranslate, "nothing in it is an event"},
		"no end":         {started, CannotTranslate, "UPSTREAM_EOF"},
		"huge frame":     {started + "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"delta\":\"" + strings.Repeat("a", maxFrame) + "\"}\n\n" + finished, CannotTranslate, "HOLDPOINT_MAX_FRAME_BYTES"},
		"plain":          {started + finished, Plain, ""},
		"CRLF":           {strings.ReplaceAll(started+finished, "\n", "\r\n"), Plain, ""},
		"curl -i":        {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: uvicorn\r\n\r\n" + started + finished, Plain, ""},
		"curl -i, h2":    {"HTTP/2 200 \r\ncontent-type: text/event-stream\r\n\r\n" + started + finished, Plain, ""},
		"curl -i, 401":   {"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n{}", NoStream, "-header"},
		"protobuf":       {"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.ag-ui.event+proto\r\n\r\n\x00\x00\x00\x05abcde", CannotTranslate, "protobuf"},
		"half a header":  {"HTTP/1.1 200 OK\r\nContent-", CannotTranslate, "nothing in it is an event"},
		"deep":           {started + "data: " + strings.Repeat("[", 100000) + "\n\n" + finished, Plain, ""},
		"two types":      {started + `data: {"type":"RUN_FINISHED","type":"CUSTOM"}` + "\n\n", CannotTranslate, ""},
		"error at once":  {`data: {"type":"RUN_ERROR","message":"secret"}` + "\n\n", Plain, ""},
		"finished twice": {started + finished + finished, Plain, ""},
	} {
		r := examine(t, c.body)
		if all := strings.Join(r.Failures, "\n"); r.Verdict != c.want || !strings.Contains(all, c.says) || c.want == Plain && all != "" {
			t.Errorf("%s: %s, cannot %q", name, r.Verdict, r.Failures)
		}
	}
}

// TestNothingOfThePayloadIsTold: the report, as text and as JSON, must contain no text from the
// stream and no control characters.
func TestNothingOfThePayloadIsTold(t *testing.T) {
	const secret = "hunter2"
	evil := "\\u001b[2J\\u202eevil\\u0007" + strings.Repeat("x", 500)
	body := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: \x1b[31mred\r\n\r\n" + started +
		`data: {"type":"TEXT_MESSAGE_START","messageId":"` + secret + `","role":"assistant"}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"` + secret + `","delta":"` + secret + `"}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_END","messageId":"` + secret + `"}` + "\n\n" +
		`data: {"type":"CUSTOM","name":"` + evil + `","value":"` + secret + `"}` + "\n\n" +
		`data: {"type":"` + evil + `"}` + "\n\n" +
		`data: {"type":"TOOL_CALL_START","toolCallId":"` + secret + `","toolCallName":"` + evil + `"}` + "\n\n" +
		`data: {"type":"TOOL_CALL_ARGS","toolCallId":"` + secret + `","delta":"` + secret + `"}` + "\n\n" +
		`data: {"type":"TOOL_CALL_END","toolCallId":"` + secret + `"}` + "\n\n" +
		`data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"` + secret +
		`","reason":"shall I tell ` + secret + `?","message":"` + secret + `","toolCallId":"` + secret + `","metadata":{"` + secret + `":1}}]}}` + "\n\n"
	r := examine(t, body)
	if r.Verdict != CanTranslate || len(r.Questions) != 1 || r.Questions[0].Reason != "(free text)" {
		t.Fatalf("%+v", r)
	}
	var words bytes.Buffer
	if err := r.Print(&words); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{words.String(), string(asJSON)} {
		if strings.Contains(out, secret) || strings.Contains(out, strings.Repeat("x", 100)) {
			t.Errorf("a payload is told: %s", out)
		}
		for _, c := range out {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("character %U is told", c)
			}
		}
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("err %v", err)
	}
	a, err := Read(io.MultiReader(strings.NewReader(started), iotest.ErrReader(broken)))
	if err != nil || !a.Incomplete || string(a.Body) != started {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = Read(io.LimitReader(endless{}, MaxBytes+100))
	if err != nil || !a.Incomplete || len(a.Body) != MaxBytes {
		t.Errorf("%d bytes, cut %v, %v", len(a.Body), a.Incomplete, err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestTools: a client may declare a tool that has the name of a tool by which backends ask, such as
// request_approval. A call of the client's tool is not a question.
func TestTools(t *testing.T) {
	a := Answer{Body: stored(t, "request-approval/approve-b/1.upstream.sse")}
	for tools, want := range map[string]Verdict{"": CanTranslate, `[{"name":"request_approval","description":"","parameters":{}}]`: Plain} {
		o := Options{ProtocolVersion: "1.0"}
		if tools != "" {
			o.Tools = []byte(tools)
		}
		r, err := Examine(t.Context(), a, o)
		if err != nil || r.Verdict != want {
			t.Errorf("tools %q: %v, %+v", tools, err, r)
		}
	}
	if _, err := Examine(t.Context(), a, Options{Dialect: "nonsense"}); err == nil {
		t.Error("a dialect that there is not is taken")
	}
}

// TestOldCards: a client that sends no protocol version may be CopilotKit, whose older cards read
// the event by which the backend itself announces a question. If the backend sends this event, the
// report must name the setting that keeps these cards working.
func TestOldCards(t *testing.T) {
	for name, c := range map[string]struct {
		recording, version string
		want               bool
	}{
		"LangGraph, no version":       {"langgraph/hitl-py-0.0.43", "", true},
		"LangGraph, a version":        {"langgraph/hitl-py-0.0.43", "1.0", false},
		"no announcement, no version": {"request-approval/approve-b", "", false},
		"nobody is asked, no version": {"contract/frontend-tool", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Examine(t.Context(), Answer{Body: stored(t, c.recording+"/1.upstream.sse")}, Options{ProtocolVersion: c.version})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(r.Notes, "\n"), "HOLDPOINT_CLIENT=native"); got != c.want {
				t.Errorf("noted %v, want %v: %q", got, c.want, r.Notes)
			}
		})
	}
}
