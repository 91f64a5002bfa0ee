package standard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// This file translates Mastra without the outcome: @ag-ui/mastra 1.0.3, and 1.1.x with
// emitInterruptOutcome off (RAN 1.0.3 and 1.1.2; mastra.ts run). A suspended call is announced by
//
//	CUSTOM on_interrupt, value (JSON text): {"type":"mastra_suspend","toolCallId","toolName",
//	  "suspendPayload","args","resumeSchema" (JSON text),"runId"}
//
// and continues after forwardedProps.command
// {"resume":<data>,"interruptEvent":{"toolCallId","runId"}}. 1.0.3 reads no other form.
// resume:false declines. Both read one answer of a request.
//
// Mastra stores a suspended call under the id of the run that began. 1.0.3 announces the id of the
// current request instead. So a question of a resumed run names a run that does not wait. An answer
// to that run would hang, or would reach a run of another thread with that id.

// A suspendedCall identifies a call that waits at Mastra. It is stored in Interrupt.Private.
type suspendedCall struct {
	Run      string `json:"run"`
	Call     string `json:"call"`
	Approval bool   `json:"approval,omitempty"` // the call asks for a yes or a no (calls.go)
}

// native returns the id that the outcome of 1.1.x gives the question (mastra.ts
// suspendToInterrupt).
func (s suspendedCall) native() string { return s.Run + "::" + s.Call }

// suspendedOf returns the suspended call of a question that is answered by command. ok is false for
// any other question.
func suspendedOf(i *agui.Interrupt) (s suspendedCall, ok bool) {
	if len(i.Private) == 0 || json.Unmarshal(i.Private, &s) != nil {
		return suspendedCall{}, false
	}
	return s, s.Run != "" && s.Call != ""
}

// suspendedRuns has the run ids that an announcement may name.
type suspendedRuns struct {
	sentRunID  string // the id of the current run that the backend was sent; "" if unknown
	firstRunID string // on a resume: the id of the run that began
}

// subjectOf returns the call that an announcement is about. It returns false if no answer could
// name it.
func (s *suspendedRuns) subjectOf(event gjson.Result) (suspendedCall, bool) {
	at := suspendedCall{Run: event.Get("runId").Str, Call: event.Get("toolCallId").Str}
	if s.firstRunID != "" && at.Run == s.sentRunID {
		at.Run = s.firstRunID
	}
	return at, at.Run != "" && at.Call != ""
}

// key returns the id of the run that waits if the current run asks.
func (s *suspendedRuns) key() string {
	if s.firstRunID != "" {
		return s.firstRunID
	}
	return s.sentRunID
}

// question returns the question of an announcement. Its object is the same as in an outcome.
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

// asksBy returns the question in words. A tool may suspend with any payload.
func asksBy(event gjson.Result) string {
	payload, asks := event.Get("suspendPayload"), askAnyTool
	if name := event.Get("toolName").Str; name != "" {
		asks = fmt.Sprintf(askTool, name)
	}
	return cmp.Or(payload.Str, kit.FirstText(payload, "message", "question", "prompt", "text", "reason"), asks)
}

// asksToResume returns the question of a suspended call in an outcome.
func asksToResume(interrupt gjson.Result) string { return asksBy(interrupt.Get("metadata.mastra")) }

var _ translate.Describer = (*Dialect)(nil)

// Describe implements translate.Describer. It returns false for a backend that expects a decision
// in a form of its own.
func (*Dialect) Describe(_ agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	if profileOfInterrupt(i).decision != nil {
		return translate.Subject{}, false
	}
	return kit.SubjectOf(agui.View(i.Object).Get("metadata.mastra")), true
}

// silence is how long Mastra may send nothing after RUN_STARTED when it was sent an answer by
// command. 1.0.3 with the core of that time (1.20.0) never ends the stream of an answer to an
// unknown question (RAN). But a slow tool is silent too. So only the client's stream ends, and the
// run continues.
const silence = 15 * time.Minute

// putEntry returns the body with one entry of the resume array in the form that the question's
// backend reads.
func putEntry(body []byte, entry gjson.Result, of *agui.Interrupt) []byte {
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

// goesByCommand reports whether an answer of the resume is sent by command.
func goesByCommand(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		_, is := suspendedOf(&i)
		return is
	})
}

// takesCommand returns an error if no command can be written into the request.
func takesCommand(in agui.RunInput) error {
	props := gjson.GetBytes(in.Raw, "forwardedProps")
	if props.Exists() && props.Type != gjson.Null && !props.IsObject() {
		return agui.Errorf(agui.InvalidPayload, textNoForwardedProps)
	}
	return nil
}

// resumedCall returns the run ids of a resume of the pause.
func resumedCall(p agui.Pause, body []byte) suspendedRuns {
	s := suspendedRuns{sentRunID: gjson.GetBytes(body, "runId").Str}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if at, is := suspendedOf(i); is {
			s.firstRunID = at.Run
			break
		}
		if profileOfInterrupt(i).ownRuns {
			s.firstRunID = agui.View(i.Object).Get("metadata.mastra.runId").Str
			break
		}
	}
	return s
}

// waitingCall returns the run ids of an ordinary run.
func waitingCall(r *translate.Request, body []byte) suspendedRuns {
	if body == nil {
		return suspendedRuns{sentRunID: r.Input.RunID}
	}
	return suspendedRuns{sentRunID: gjson.GetBytes(body, "runId").Str}
}
