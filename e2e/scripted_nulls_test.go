//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// hostingNulls are the members at the end of each event of Agent Framework's hosting of August
// 2026, which is based on AGUI.* after 0.0.5.
const hostingNulls = `,"timestamp":null,"rawEvent":null,"metadata":null}`

// nullsHost is a handler that responds like Agent Framework's hosting of August 2026, with frames
// from a recording. It asks in the first run, and runs approved calls.
func nullsHost(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	in := gjson.ParseBytes(body)
	ids := fmt.Sprintf(`"threadId":%q,"runId":%q`, in.Get("threadId").Str, in.Get("runId").Str)
	list := []string{`{"type":"RUN_STARTED",` + ids + `,"parentRunId":null,"input":null` + hostingNulls}
	call := []string{
		`{"type":"TOOL_CALL_START","parentMessageId":"msg_1","toolCallId":"call_1","toolCallName":"delete_file"` + hostingNulls,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"call_1","delta":"{\"path\":\"f.txt\"}"` + hostingNulls,
		`{"type":"TOOL_CALL_END","toolCallId":"call_1"` + hostingNulls,
	}
	text := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"msg_2","role":"assistant","name":null` + hostingNulls,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_2","delta":"Done"` + hostingNulls, `{"type":"TEXT_MESSAGE_END","messageId":"msg_2"` + hostingNulls,
	}
	outcome := `{"type":"success"}`
	switch {
	case in.Get("resume.0.payload.approved").Bool():
		list = append(append(list, call...), `{"type":"TOOL_CALL_RESULT","messageId":"call_1","toolCallId":"call_1","content":"deleted","role":null`+hostingNulls)
		list = append(list, text...)
	case !strings.Contains(string(body), "plain"):
		list = append(list, call...)
		outcome = `{"type":"interrupt","interrupts":[{"id":"ficc_call_1","reason":"tool_call","message":"Approval required for tool call: delete_file","toolCallId":"call_1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]},"expiresAt":null,"metadata":null}]}`
	default:
		list = append(list, text...)
	}
	list = append(list, `{"type":"RUN_FINISHED",`+ids+`,"result":null,"outcome":`+outcome+`,"usage":null`+hostingNulls)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range list {
		fmt.Fprintf(w, "data: %s\n\n", ev)
	}
}

// TestNullsOfTheDotNetHosting: the host writes unset members as null. Each version of @ag-ui/client
// must be able to read the host's stream through Holdpoint, with and without a question in it.
func TestNullsOfTheDotNetHosting(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(nullsHost))
	t.Cleanup(server.Close)
	h := ownHoldpoint(t, server.URL, nil)
	for _, version := range []string{newest, pinned, oldest} {
		t.Run("client-"+version, func(t *testing.T) {
			c := newClient(t, shared.through, version, h.address+"/", fresh("thread"), nil)
			c.nulls = true
			a := c.run(t, step{say: "plain hello"}).answer(t)
			if a.code() != "" || c.messages[len(c.messages)-1].str("content") != "Done" {
				t.Fatalf("%s\n%v", terminal(a), c.messages)
			}
			c = newClient(t, shared.through, version, h.address+"/", fresh("thread"), nil)
			c.nulls = true
			if a = c.run(t, step{say: "delete f.txt"}).answer(t); len(a.outcome()) != 1 {
				t.Fatalf("nothing is asked: %s", a.Text)
			}
			c.run(t, step{resume: c.answers(accept)}).answer(t)
			if last := c.messages[len(c.messages)-1]; last.str("content") != "Done" {
				t.Errorf("the last message is %v", last)
			}
		})
	}
}
