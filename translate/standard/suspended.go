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
// 	CUSTOM on_interrupt, value (JSON text): {"type":"mastra_suspend","toolCallId","toolName",
// 	  "suspendPayload","args","resumeSchema" (JSON text),"runId"}
//
// and continues after forwardedProps.command
// {"resume":<data>,"interruptEvent":{"toolCallId","runId"}}. 1.0.3 reads no other form.
// resume:false declines the call. Both versions read one answer of each request.
//
// Mastra stores a suspended call under the id of the run that first asked. But 1.0.3 announces the
// id of the current request instead. So if a resumed run asks, its announcement names a run that
// does not wait. An answer to that run would hang, or would reach a run of another thread with the
// same id.

// A suspendedCall identifies a call that waits at Mastra. It is stored in Interrupt.Private.
type suspendedCall struct {
	Run      string `json:"run"`
	Call     string `json:"call"`
	Approval bool   `json:"approval,omitempty"` // a call that asks for an approval (calls.go)
}

// native returns the question's id. It is the id that the outcome of 1.1.x gives the question
// (mastra.ts suspendToInterrupt).
func (s suspendedCall) native() string { return s.Run + "::" + s.Call }

// suspendedOf returns the suspended call that a question is about. ok is false if the question is
// not answered by forwardedProps.command.
func suspendedOf(i *agui.Interrupt) (s suspendedCall, ok bool) {
	if len(i.Private) == 0 || json.Unmarshal(i.Private, &s) != nil {
		return suspendedCall{}, false
	}
	return s, s.Run != "" && s.Call != ""
}

// suspendedRuns has the run ids that an announcement may contain.
type suspendedRuns struct {
	sentRunID  string // the run id that the backend was sent in this exchange, or ""
	firstRunID string // on a resume: the id of the run that first asked
}

// subjectOf returns the call that an announcement is about, with the id of the run that really
// waits. It returns false if the announcement lacks the id of the run or of the call, because an
// answer needs both.
func (s *suspendedRuns) subjectOf(event gjson.Result) (suspendedCall, bool) {
	at := suspendedCall{Run: event.Get("runId").Str, Call: event.Get("toolCallId").Str}
	if s.firstRunID != "" && at.Run == s.sentRunID {
		at.Run = s.firstRunID
	}
	return at, at.Run != "" && at.Call != ""
}

// key returns the id of the run under which Mastra stores a question of the current run.
func (s *suspendedRuns) key() string {
	if s.firstRunID != "" {
		return s.firstRunID
	}
	return s.sentRunID
}

// question returns the question that an announcement asks. Its object is the same as that of an
// outcome.
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

// asksBy returns the text of the question. A tool may suspend with any payload, so asksBy looks for
// a text in it.
func asksBy(event gjson.Result) string {
	payload, asks := event.Get("suspendPayload"), askAnyTool
	if name := event.Get("toolName").Str; name != "" {
		asks = fmt.Sprintf(askTool, name)
	}
	return cmp.Or(payload.Str, kit.FirstText(payload, "message", "question", "prompt", "text", "reason"), asks)
}

// asksToResume returns the text of the question about a suspended call in an outcome.
func asksToResume(interrupt gjson.Result) string { return asksBy(interrupt.Get("metadata.mastra")) }

var _ translate.Describer = (*Dialect)(nil)

// Describe implements translate.Describer. It returns false if the profile of the question has a
// decision.
func (*Dialect) Describe(_ agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	if profileOfInterrupt(i).decision != nil {
		return translate.Subject{}, false
	}
	return kit.SubjectOf(agui.View(i.Object).Get("metadata.mastra")), true
}

// silence is how long Mastra may send nothing after RUN_STARTED if the answer was sent by
// forwardedProps.command. 1.0.3 with the core of that time (1.20.0) never ends the stream if the
// question of the answer is unknown (RAN). But a slow tool also sends nothing for a while. So after
// this time Holdpoint ends only the client's stream, and the run continues.
const silence = 15 * time.Minute

// putEntry returns the body with one entry of the resume array added, in the form that the backend
// of the question reads: in resume, or as forwardedProps.command.
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

// goesByCommand reports whether the answer to a question of the pause is sent as
// forwardedProps.command.
func goesByCommand(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		_, is := suspendedOf(&i)
		return is
	})
}

// takesCommand returns an error if forwardedProps is not an object, because a command cannot be
// written into it then.
func takesCommand(in agui.RunInput) error {
	props := gjson.GetBytes(in.Raw, "forwardedProps")
	if props.Exists() && props.Type != gjson.Null && !props.IsObject() {
		return agui.Errorf(agui.InvalidPayload, textNoForwardedProps)
	}
	return nil
}

// resumedCall returns the run ids for a resume of the pause. body is the request that the backend
// gets.
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

// waitingCall returns the run ids for an ordinary run. body is the request that the backend gets,
// or nil if it is the client's request unchanged.
func waitingCall(r *translate.Request, body []byte) suspendedRuns {
	if body == nil {
		return suspendedRuns{sentRunID: r.Input.RunID}
	}
	return suspendedRuns{sentRunID: gjson.GetBytes(body, "runId").Str}
}
