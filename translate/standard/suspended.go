package standard

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Mastra without the outcome: @ag-ui/mastra 1.0.3, and 1.1.x with emitInterruptOutcome off (RAN
// 1.0.3 and 1.1.2; mastra.ts run). A suspended call is announced by
//
//	CUSTOM on_interrupt, value (JSON text): {"type":"mastra_suspend","toolCallId","toolName",
//	  "suspendPayload","args","resumeSchema" (JSON text),"runId"}
//
// and goes on by forwardedProps.command {"resume":<data>,"interruptEvent":{"toolCallId","runId"}}.
// 1.0.3 reads nothing else. resume:false declines. Both take one answer of a request.
//
// Mastra keeps what waits under the id of the run that began. 1.0.3 announces the id of the request
// at hand in its place, so a question that a resumed run asks names a run which does not wait: its
// answer would hang, or meet another thread's run of that id.

// suspendedCall is what waits at Mastra, as Interrupt.Private keeps it.
type suspendedCall struct {
	Run      string `json:"run"`
	Call     string `json:"call"`
	Approval bool   `json:"approval,omitempty"` // it takes a yes or a no (calls.go)
}

// native returns the id that the outcome of 1.1.x gives the question (mastra.ts
// suspendToInterrupt).
func (s suspendedCall) native() string { return s.Run + "::" + s.Call }

// suspendedOf returns what a question is about that is answered by command.
func suspendedOf(i *agui.Interrupt) (s suspendedCall, ok bool) {
	if len(i.Private) == 0 || json.Unmarshal(i.Private, &s) != nil {
		return suspendedCall{}, false
	}
	return s, s.Run != "" && s.Call != ""
}

// suspendedRuns knows which run waits.
type suspendedRuns struct {
	sent  string // the id of the run at hand, as the backend was told it; "" if that is not known
	first string // the id of the run that began, on a resume; else ""
}

// subjectOf returns what an announcement is about. It returns false if no answer could name it.
func (s *suspendedRuns) subjectOf(event gjson.Result) (suspendedCall, bool) {
	at := suspendedCall{Run: event.Get("runId").Str, Call: event.Get("toolCallId").Str}
	if s.first != "" && at.Run == s.sent {
		at.Run = s.first
	}
	return at, at.Run != "" && at.Call != ""
}

// key returns the id of the run that waits if the run at hand asks.
func (s *suspendedRuns) key() string {
	if s.first != "" {
		return s.first
	}
	return s.sent
}

// question returns the question of an announcement. The object is as the outcome has it.
func (s *suspendedRuns) question(event gjson.Result) (agui.Interrupt, bool) {
	at, ok := s.subjectOf(event)
	if !ok || !event.IsObject() {
		return agui.Interrupt{}, false
	}
	o := kit.AppendText([]byte{'{'}, "id", at.native())
	o = kit.AppendText(o, "reason", reasonSuspended)
	o = kit.AppendText(o, "message", asksBy(event))
	o = kit.AppendText(o, "toolCallId", at.Call)
	if schema := kit.ParseText(event.Get("resumeSchema")); schema.IsObject() {
		o = kit.AppendMember(o, `"responseSchema"`, schema.Raw)
	}
	own := agui.SetString([]byte(event.Raw), "runId", at.Run)
	o = append(kit.AppendMember(o, `"metadata"`, `{"mastra":`+string(own)+`}`), '}')
	one, _ := question(gjson.ParseBytes(o))
	one.Private = agui.MustMarshal(at)
	return one, true
}

const (
	reasonSuspended = "mastra:tool_suspend"
	reasonApproval  = "tool_call"
)

// asksBy returns the question in words. A tool says what it likes when it suspends.
func asksBy(event gjson.Result) string {
	payload := event.Get("suspendPayload")
	if payload.Type == gjson.String && payload.Str != "" {
		return payload.Str
	}
	for _, key := range []string{"message", "question", "prompt", "text", "reason"} {
		if said := payload.Get(key); payload.IsObject() && said.Type == gjson.String && said.Str != "" {
			return said.Str
		}
	}
	if name := event.Get("toolName").Str; name != "" {
		return "The tool " + name + " waits for an answer."
	}
	return "A tool waits for an answer."
}

// asksToResume returns the question of a suspended call that came with the outcome.
func asksToResume(interrupt gjson.Result) string { return asksBy(interrupt.Get("metadata.mastra")) }

var _ translate.Describer = (*Dialect)(nil)

// Describe implements translate.Describer. A backend that wants a decision in a form of its own
// does not take any value.
func (*Dialect) Describe(_ agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	if profileOfInterrupt(i).decision != nil {
		return translate.Subject{}, false
	}
	return kit.SubjectOf(agui.View(i.Object).Get("metadata.mastra")), true
}

// silence is how long Mastra may say nothing behind RUN_STARTED when it was sent an answer by
// command. 1.0.3 on a core of that time (1.20.0) never ends the stream of an answer to what it does
// not know any more (RAN). A tool that takes its time is as silent. So nothing is made of it but an
// end of the client's stream, and the run goes on.
const silence = 15 * time.Minute

// put returns the body with one entry of the resume array in the form that the question's backend
// reads.
func put(body []byte, entry gjson.Result, of *agui.Interrupt) []byte {
	at, byCommand := suspendedOf(of)
	if !byCommand {
		return agui.SetKey(body, "resume", []byte("["+entry.Raw+"]"))
	}
	value := "false"
	switch {
	case entry.Get("status").Str == string(agui.Resolved):
		value = entry.Get("payload").Raw
	case at.Approval: // false would leave the call suspended
		value = `{"approved":false}`
	}
	command := kit.AppendMember([]byte{'{'}, `"resume"`, value)
	command = append(kit.AppendMember(command, `"interruptEvent"`, string(agui.MustMarshal(struct {
		Call string `json:"toolCallId"`
		Run  string `json:"runId"`
	}{at.Call, at.Run}))), '}')
	props := []byte("{}")
	if own := gjson.GetBytes(body, "forwardedProps"); own.IsObject() {
		props = []byte(own.Raw)
	}
	return agui.SetKey(agui.DeleteKey(body, "resume"), "forwardedProps", agui.SetKey(props, "command", command))
}

// goesByCommand reports whether an answer of the resume goes by command.
func goesByCommand(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		_, is := suspendedOf(&i)
		return is
	})
}

// takesCommand refuses a request into which no command can be written.
func takesCommand(in agui.RunInput) error {
	props := gjson.GetBytes(in.Raw, "forwardedProps")
	if props.Exists() && props.Type != gjson.Null && !props.IsObject() {
		return agui.Errorf(agui.InvalidPayload, textNoForwardedProps)
	}
	return nil
}

// resumedCall returns what a resume of the pause goes on with.
func resumedCall(p agui.Pause, body []byte) suspendedRuns {
	s := suspendedRuns{sent: gjson.GetBytes(body, "runId").Str}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if at, is := suspendedOf(i); is {
			s.first = at.Run
			break
		}
		if profileOfInterrupt(i).ownRuns {
			s.first = agui.View(i.Object).Get("metadata.mastra.runId").Str
			break
		}
	}
	return s
}

// waitingCall returns what an ordinary run would wait under.
func waitingCall(r *translate.Request, body []byte) suspendedRuns {
	if body == nil {
		return suspendedRuns{sent: r.Input.RunID}
	}
	return suspendedRuns{sent: gjson.GetBytes(body, "runId").Str}
}
