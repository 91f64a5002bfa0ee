package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// A caller is a Holdpoint in front of a backend that asks by calls. The backend responds with the
// given streams, one for each request, and with empty runs after the last one.
type caller struct {
	t       *testing.T
	handler http.Handler
	streams [][]string
	sent    []string // the messages of each request to the backend
}

func newCaller(t *testing.T, dialect string, streams ...[]string) *caller {
	t.Helper()
	d, err := dialects.All().New(dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, minted := &caller{t: t, streams: streams}, 0
	b.handler, err = proxy.New(proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "backend", Path: "/"}, Dialect: d, Store: memory.New(memory.Options{}),
		NewID: func() string { minted++; return fmt.Sprintf("id%d", minted) }, Transport: roundTrip(b.answer),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *caller) answer(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.sent = append(b.sent, gjson.GetBytes(body, "messages").Raw)
	var events []string
	if n := len(b.sent); n <= len(b.streams) {
		events = b.streams[n-1]
	}
	stream := `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n"
	for _, ev := range append(events, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`) {
		stream += "data: " + ev + "\n\n"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(stream)), Request: r}, nil
}

// run sends a run with these messages, and returns the stream of the response. more has further
// members of the request body.
func (b *caller) run(more string, messages ...string) string {
	b.t.Helper()
	body := fmt.Sprintf(`{"threadId":"t","runId":"r","protocolVersion":"1.0","tools":[{"name":"show","description":"","parameters":{}}],"messages":[%s]%s}`,
		strings.Join(messages, ","), more)
	got, err := io.ReadAll(serve(b.handler, []byte(body)).Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(got)
}

const ofAgno = `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`

func callEvents(id, name, args, parent string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":%q,"toolCallName":%q,"parentMessageId":%q}`, id, name, parent),
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":%q}`, id, args),
		fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q}`, id),
	}
}

func toolSays(call, content string) string {
	return fmt.Sprintf(`{"id":"x2","role":"tool","toolCallId":%q,"content":%s}`, call, content)
}

// TestWordsOnACallThatHasAsked: a call has asked a question, and the question was answered with a
// no. Then the client sends another tool message for this call. ADK and agno would read any such
// message as an answer, so it must not reach the backend.
func TestWordsOnACallThatHasAsked(t *testing.T) {
	adk := append(callEvents("A", "delete_file", `{}`, "m1"),
		callEvents("B", "adk_request_confirmation", `{"originalFunctionCall":{"id":"A","name":"delete_file","args":{}},"toolConfirmation":{"hint":"ok?","confirmed":false}}`, "m1")...)
	input := callEvents("B", "adk_request_input", `{"interruptId":"B","message":"Publish?","payload":null,"response_schema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}`, "m1")
	agno := append([]string{ofAgno}, callEvents("A", "delete_file", `{}`, "m1")...)
	for name, c := range map[string]struct {
		dialect string
		asks    []string
		id, no  string
		words   string
	}{
		"ADK, any word":        {"adk", adk, "B~id1", `{"confirmed":false}`, toolSays("B", `"hello"`)},
		"ADK, a yes":           {"adk", adk, "B~id1", `{"confirmed":false}`, toolSays("B", `"{\"confirmed\":true}"`)},
		"ADK, in parts":        {"adk", adk, "B~id1", `{"confirmed":false}`, toolSays("B", `[{"type":"text","text":"hello"}]`)},
		"ADK, under two names": {"adk", adk, "B~id1", `{"confirmed":false}`, `{"id":"x2","role":"tool","tool_call_id":"B","toolCallId":"C","content":"hello"}`},
		"ADK, of an input":     {"adk", input, "B~id1", `{"approved":false}`, toolSays("B", `"{\"approved\":true}"`)},
		"agno, a yes":          {"agno", agno, "A~id1", `{"accepted":false}`, toolSays("A", `"{\"accepted\":true}"`)},
		"agno, in a fence":     {"agno", agno, "A~id1", `{"accepted":false}`, toolSays("A", "\"```json\\n{\\\"accepted\\\":true}\\n```\"")},
		"agno, in parts":       {"agno", agno, "A~id1", `{"accepted":false}`, toolSays("A", `[{"type":"text","text":"{\"accepted\":true}"}]`)},
		"agno, with more":      {"agno", agno, "A~id1", `{"accepted":false}`, toolSays("A", `"{\"accepted\":true,\"x\":1}"`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCaller(t, c.dialect, c.asks)
			b.run("", cleanUp)
			b.run(`,"resume":[{"interruptId":"`+c.id+`","status":"resolved","payload":`+c.no+`}]`, cleanUp)
			if len(b.sent) != 2 {
				t.Fatalf("sent %s", b.sent)
			}
			got := b.run("", cleanUp, c.words)
			for _, sent := range b.sent[2:] {
				if strings.Contains(sent, `"x2"`) {
					t.Errorf("the backend got %s, and the client %s", sent, got)
				}
			}
		})
	}
}

// TestResultOfAClientsToolThatSoundsLikeADecision: the result of a client's own tool must be
// forwarded, even if it looks like a decision.
func TestResultOfAClientsToolThatSoundsLikeADecision(t *testing.T) {
	const shows = `{"id":"m1","role":"assistant","toolCalls":[{"id":"S","type":"function","function":{"name":"show","arguments":"{}"}}]}`
	for dialect, content := range map[string]string{"agno": `"{\"accepted\":false}"`, "adk": `"{\"confirmed\":false}"`} {
		b := newCaller(t, dialect, append([]string{ofAgno}, callEvents("S", "show", `{}`, "m1")...))
		b.run("", cleanUp)
		if got := b.run("", cleanUp, shows, toolSays("S", content)); len(b.sent) != 2 || !strings.Contains(b.sent[1], "x2") {
			t.Errorf("%s: sent %s, told %s", dialect, b.sent, got)
		}
	}
}

// TestAgnoAsksAgainUnderTheSameID: some models repeat the ids of calls. So in the run that answers
// a question, the backend may ask a new question under the same call id. The client must get the
// new question.
func TestAgnoAsksAgainUnderTheSameID(t *testing.T) {
	asks := append([]string{ofAgno}, callEvents("A", "delete_file", `{"path":"a"}`, "m1")...)
	ran := append(callEvents("A", "delete_file", `{"path":"a"}`, "m2"), `{"type":"TOOL_CALL_RESULT","messageId":"A","toolCallId":"A","content":"gone"}`)
	next := append([]string{`{"type":"TEXT_MESSAGE_START","messageId":"m3","role":"assistant"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m3"}`},
		callEvents("A", "delete_file", `{"path":"b"}`, "m3")...)
	for yes, more := range map[string][]string{"true": append(ran, next...), "false": next} {
		b := newCaller(t, "agno", asks, more)
		b.run("", cleanUp)
		got := b.run(`,"resume":[{"interruptId":"A~id1","status":"resolved","payload":{"accepted":`+yes+`}}]`, cleanUp)
		if !strings.Contains(got, `"interrupts":[{"id":"A~id2"`) || !strings.Contains(got, `{\"path\":\"b\"}`) {
			t.Errorf("%s: %s", yes, got)
		}
	}
}
