package awsstrands

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	success  = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"}}`
	spoken   = `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	hash     = "75a96266-45d2-581c-8a6f-043e472e1763"
	pyID     = "v1:before_tool_call:A:" + hash
	tsID     = "hook:beforeToolCall:A:myapp-approval"
)

// The interrupts of the adapters. They are recorded, but have other ids.
const (
	tsHook = `{"id":"` + tsID + `","reason":"confirmation","message":"{\"paths\":[\"a\"]}","metadata":{"strandsName":"myapp-approval"}}`
	tsTool = `{"id":"tool:A:ask_user","reason":"Which env?","message":"Which env?","metadata":{"strandsName":"ask_user"}}`
	tsAll  = `{"id":"hook:beforeTools:myapp-batch","reason":"confirmation","metadata":{"strandsName":"myapp-batch"}}`
	pyHook = `{"id":"` + pyID + `","reason":"myapp-approval","metadata":{"reason":{"paths":["a"]}}}`
	pyTool = `{"id":"v1:tool_call:A:` + hash + `","reason":"ask_user","metadata":{"reason":"Which env?"}}`
	pyGate = `{"id":"` + pyID + `","reason":"tool_call","message":"Approve call to delete_files?","toolCallId":"A","responseSchema":` + kit.ApprovalSchema +
		`,"metadata":{"tool_name":"delete_files","tool_input":{"paths":["a"]}}}`
)

func outcome(interrupts ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(interrupts, ",") + `]},"usage":[1]}`
}

func failed(code string) string { return `{"type":"RUN_ERROR","message":"m","code":"` + code + `"}` }

func callOf(id, name string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func resultOf(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + id + `","toolCallId":"` + id + `","content":"done"}`
}

func parse(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","protocolVersion":"1.0"`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

func dialect(t testing.TB, rules string) *Dialect {
	t.Helper()
	var o Options
	if rules != "" {
		var err error
		if o.Rules, err = strandsapi.ParseRules([]byte(`{"interrupts":[` + rules + `]}`)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play plays a stream to a run, and fails the test if any event except the terminal one was
// changed.
func play(t testing.TB, run translate.Run, l *dialecttest.Log, stream ...string) translate.Result {
	t.Helper()
	p := dialecttest.Play(run, l, stream...)
	if err := errors.Join(p.Err, p.ChangedEvent()); err != nil {
		t.Fatal(err)
	}
	return p.Result
}

// ask returns the pause of a run with these interrupts. The run has the calls A of delete_files and
// B of list_files.
func ask(t testing.TB, interrupts ...string) agui.Pause {
	t.Helper()
	in := parse(t, `"messages":[{"id":"u1","role":"user","content":"one"}]`)
	l := dialecttest.NewLog(in.Messages)
	_, run, err := dialect(t, "").Begin(&translate.Request{Input: in, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	stream := slices.Concat([]string{started, state}, callOf("A", "delete_files"), callOf("B", "list_files"), []string{state, outcome(interrupts...)})
	p := dialecttest.WithIDs(play(t, run, l, stream...).Asked.Pause(Name))
	p.Messages = json.RawMessage(`[{"id":"u1","role":"user","content":"one"},{"id":"m1","role":"assistant","toolCalls":[` + toolCall("A") + "," + toolCall("B") + `]}]`)
	return p
}

func toolCall(id string) string {
	return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}`
}

func entryOf(id, payload string) string {
	e := `{"interruptId":` + string(agui.MustMarshal(id)) + `,"status":`
	switch payload {
	case "":
		return e + `"resolved"}`
	case "cancelled":
		return e + `"cancelled"}`
	}
	return e + `"resolved","payload":` + payload + `}`
}

// resume answers a pause in the steps in which proxy does: Answers, ordering the answers, checking
// the schema, Begin.
func resume(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, ended ...translate.EndedPause) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := d.Answers(in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	for _, a := range answers {
		i := p.Interrupt(a.ID)
		if i != nil && i.Schema() != nil && !a.OwnForm && a.Status == agui.Resolved && !gjson.GetBytes(a.Payload, "approved").IsBool() {
			return translate.Out{}, nil, agui.Errorf(agui.InvalidPayload, "schema")
		}
	}
	return dialecttest.ResumeWith(d, p, in, answers, dialecttest.NewLog(in.Messages), func(r *translate.Request) {
		r.EndedPauses, r.NewMessages = ended, agui.NewMessages(in.Messages, seenOf(p))
	})
}

func seenOf(p agui.Pause) []agui.SeenMessage {
	var list []agui.SeenMessage
	for _, m := range gjson.ParseBytes(p.Messages).Array() {
		list = append(list, agui.NewSeenMessage(agui.ParseMessage([]byte(m.Raw))))
	}
	return list
}
