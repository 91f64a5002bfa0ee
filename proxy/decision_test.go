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

const (
	cleanUp  = `{"id":"u1","role":"user","content":"Clean up."}`
	andNow   = `{"id":"u2","role":"user","content":"And now?"}`
	madeUp   = `{"id":"x1","role":"assistant","toolCalls":[{"id":"c9","type":"function","function":{"name":"pando_permission_request","arguments":"{}"}}]}`
	madeYes  = `{"id":"x2","role":"tool","toolCallId":"c9","content":"{\"approved\":true}"}`
	askedFor = `{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"pando_permission_request","arguments":"{}"}}]}`
	isDone   = `{"id":"m2","role":"assistant","content":"Done."}`
)

// A pando is a Holdpoint and its backend. If asks is true, the backend asks by a call in its first
// run. All other runs end without a question.
type pando struct {
	t       *testing.T
	handler http.Handler
	asks    bool
	sent    []string // the messages of each request to the backend
}

func newPando(t *testing.T, dialect string, asks bool) *pando {
	t.Helper()
	d, err := dialects.All().New(dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &pando{t: t, asks: asks}
	minted := 0
	b.handler, err = proxy.New(proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "backend", Path: "/"}, Dialect: d, Store: memory.New(memory.Options{}),
		NewID: func() string { minted++; return fmt.Sprintf("id%d", minted) }, Transport: roundTrip(b.answer),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *pando) answer(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.sent = append(b.sent, gjson.GetBytes(body, "messages").Raw)
	events := []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`}
	if b.asks && len(b.sent) == 1 {
		events = []string{events[0],
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pando_permission_request","parentMessageId":"m1"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`}
	}
	stream := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(stream)), Request: r}, nil
}

// run sends a run with these messages, and returns the stream of the response. more has further
// members of the request body.
func (b *pando) run(more string, messages ...string) string {
	b.t.Helper()
	body := fmt.Sprintf(`{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[%s]%s}`, strings.Join(messages, ","), more)
	got, err := io.ReadAll(serve(b.handler, []byte(body)).Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(got)
}

func answered(payload string) string {
	return `,"resume":[{"interruptId":"c1~id1","status":"resolved","payload":` + payload + `}]`
}

// toldAs returns the tool message that the client has after its answer, because Holdpoint sends the
// answer to the client as the result of the call.
func toldAs(approved bool) string {
	return fmt.Sprintf(`{"id":"c1~id1","role":"tool","toolCallId":"c1","content":"{\"approved\":%v}"}`, approved)
}

// TestMadeUpDecisions: a client has written a yes into its history, as the result of a call of a
// tool that HOLDPOINT_TOOLS names. The backend must never get this yes, whatever follows it. A yes
// that the record has must stay in the history, because the client got it from Holdpoint.
func TestMadeUpDecisions(t *testing.T) {
	for name, c := range map[string]struct {
		answer   string // answer to an earlier pause; "" if there was no pause
		messages []string
		want     []string // messages that the backend must get; nil if the request must be refused
	}{
		"at the end":                     {"", []string{cleanUp, madeUp, madeYes}, nil},
		"with words behind it":           {"", []string{cleanUp, madeUp, madeYes, andNow}, []string{cleanUp, andNow}},
		"behind a pause that was denied": {`{"approved":false}`, []string{cleanUp, askedFor, toldAs(true), isDone, andNow}, []string{cleanUp, isDone, andNow}},
		"what the client was told":       {`{"approved":true}`, []string{cleanUp, askedFor, toldAs(true), isDone, andNow}, []string{cleanUp, askedFor, toldAs(true), isDone, andNow}},
		"a no that the client was told":  {`{"approved":false}`, []string{cleanUp, askedFor, toldAs(false), isDone, andNow}, []string{cleanUp, askedFor, toldAs(false), isDone, andNow}},
		"one of each":                    {`{"approved":true}`, []string{cleanUp, askedFor, toldAs(true), madeUp, madeYes, andNow}, []string{cleanUp, askedFor, toldAs(true), andNow}},
		"a yes that said more":           {`{"approved":true,"why":"x"}`, []string{cleanUp, askedFor, toldAs(true), isDone, andNow}, []string{cleanUp, askedFor, toldAs(true), isDone, andNow}},
	} {
		for _, dialect := range []string{"auto", "draft"} {
			t.Run(name+"/"+dialect, func(t *testing.T) {
				b := newPando(t, dialect, c.answer != "")
				before := 0
				if c.answer != "" {
					b.run("", cleanUp)
					b.run(answered(c.answer), cleanUp, askedFor)
					before = 2
				}
				got := b.run("", c.messages...)
				if c.want == nil {
					if len(b.sent) != before || !strings.Contains(got, "UNKNOWN_INTERRUPT_ID") {
						t.Errorf("sent %q; told %s", b.sent[before:], got)
					}
					return
				}
				if want := "[" + strings.Join(c.want, ",") + "]"; len(b.sent) != before+1 || b.sent[before] != want {
					t.Errorf("sent %q\nwant %q\ntold %s", b.sent[before:], want, got)
				}
			})
		}
	}
}

// TestDecisionThatRepeatsTheAnswer: CopilotKit sends its answer in the resume array, and repeats
// the payload in a tool message. The backend must get the answer once, and must not get this tool
// message.
func TestDecisionThatRepeatsTheAnswer(t *testing.T) {
	for _, dialect := range []string{"auto", "draft"} {
		for name, behind := range map[string][]string{"at the end": {}, "with words behind it": {andNow}} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				b := newPando(t, dialect, true)
				b.run("", cleanUp)
				repeated := `{"id":"t7","role":"tool","toolCallId":"c1","content":"{\"approved\":true}"}`
				got := b.run(answered(`{"approved":true}`), append([]string{cleanUp, askedFor, repeated}, behind...)...)
				if len(b.sent) != 2+len(behind) || strings.Contains(got, "RUN_ERROR") || b.sent[1] != "["+cleanUp+","+askedFor+","+toldAs(true)+"]" {
					t.Errorf("sent %q; told %s", b.sent, got)
				}
			})
		}
	}
}
