package langgraph

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func newDialect(t testing.TB, o Options) *Dialect {
	t.Helper()
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pausedBy returns the pause at the end of a run with the stream. Its ids have the proxy's form:
// <native>~r1, <native>~r2, and so on.
func pausedBy(t testing.TB, d *Dialect, stream ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, d, stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	return dialecttest.WithIDs(p.Result.Asked.Pause(Name))
}

func playPlain(t testing.TB, d *Dialect, stream ...string) dialecttest.Played {
	t.Helper()
	l := &dialecttest.Log{}
	_, run, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.Play(run, l, stream...)
}

// input returns the input of a run. The parameter more contains additional members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","state":{},"messages":[{"id":"u1","role":"user","content":"hi"}],"tools":[],"context":[]`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

// resumeWith passes an input to Answers, checks the answers as the proxy does, and calls Begin.
func resumeWith(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	return dialecttest.Resume(d, p, in, &dialecttest.Log{}, change...)
}

// sent returns the value of command.resume in a request.
func sent(out translate.Out) string {
	return gjson.GetBytes(out.Body, "forwardedProps.command.resume").Raw
}

// custom returns an on_interrupt CUSTOM event as the adapters send it. The parameter value is JSON.
// A string is sent as it is, any other value as JSON in a string.
func custom(id, value string) string {
	text := dialecttest.Quoted(value)
	if value[0] == '"' {
		text = value
	}
	if id == "" {
		return `{"type":"CUSTOM","name":"on_interrupt","value":` + text + `}`
	}
	return `{"type":"CUSTOM","name":"on_interrupt","value":` + text + `,"rawEvent":{"id":"` + id + `","value":` + value + `}}`
}

const (
	idA = "95b93ade5d71718992515f7daf83c1ce"
	idB = "bc8330c993d06f6b8e466319c908be0d"

	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"01a1f73c-f93c"}`
	failed   = `{"type":"RUN_ERROR","message":"kaput"}`
	stepAsk  = `{"type":"STEP_STARTED","stepName":"ask"}`
	stepEnd  = `{"type":"STEP_FINISHED","stepName":"ask"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	messages = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"}]}`

	// These are the values of the questions that the recorded graphs asked.
	approval = `{"question":"Delete 3 files?","files":["a","b","c"],"message":"Please confirm"}`
	jsHITL   = `{"actionRequests":[{"name":"send_email","args":{"to":"bob@x.org","body":"hi"},"description":"Tool execution requires approval"}],"reviewConfigs":[{"actionName":"send_email","allowedDecisions":["approve","edit","reject"]}]}`
	pyHITL   = `{"action_requests":[{"name":"send_email","args":{"to":"bob@example.org","body":"hi"},"description":"Send it?"},{"name":"delete_file","args":{"path":"/tmp/x"},"description":"Deleting needs an OK"}],"review_configs":[{"action_name":"send_email","allowed_decisions":["approve","edit","reject"]},{"action_name":"delete_file","allowed_decisions":["approve","reject"]}]}`
	inboxOne = `{"action_request":{"action":"send_email","args":{"to":"bob@example.org"}},"config":{"allow_ignore":true,"allow_respond":true,"allow_edit":true,"allow_accept":true},"description":"Send this mail?"}`
	kitText  = `{"__copilotkit_interrupt_value__":"What is your name?","__copilotkit_messages__":[{"type":"ai","id":"ck-1","content":"What is your name?","tool_calls":[]}]}`
	kitTool  = `{"__copilotkit_interrupt_value__":{"action":"book","args":{"seat":1}},"__copilotkit_messages__":[{"type":"ai","id":"ck-1","tool_calls":[{"id":"fresh","name":"book"}]}]}`

	pyCalls = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"ai-1","role":"assistant","content":"","toolCalls":[{"id":"call-1-1","type":"function","function":{"name":"send_email","arguments":"{\"to\": \"bob@example.org\", \"body\": \"hi\"}"}},{"id":"call-1-2","type":"function","function":{"name":"delete_file","arguments":"{\"path\": \"/tmp/x\"}"}}]}]}`
)

// withOutcome returns a RUN_FINISHED with an interrupt outcome.
func withOutcome(interrupts ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(interrupts, ",") + `]}}`
}

// adapters returns an interrupt of an outcome as Python's adapter sends it, with its nulls (run
// against 0.0.43).
func adapters(id, raw, more string) string {
	return `{"id":"` + id + `","reason":"langgraph:interrupt"` + more + `,"metadata":{"langgraph":{"raw":` + raw + `,"ns":null,"resumable":null,"when":null}}}`
}
