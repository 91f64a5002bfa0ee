package aguiserver

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Stream collects the approval requests of one exchange.
type Stream struct{ asked []approvalRequest }

// Note reads an event of a tool call, and notes its approval request. It must be called before the
// event is emitted.
func (s *Stream) Note(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		if a, ok := requestIn(ev); ok && !slices.ContainsFunc(s.asked, a.equals) {
			s.asked = append(s.asked, a)
		}
	case agui.CallResult:
		// a call with a result was approved by the application itself
		if len(s.asked) > 0 && ev.Valid() {
			id := ev.Get("toolCallId").Str
			s.asked = slices.DeleteFunc(s.asked, func(a approvalRequest) bool { return a.Call.ID == id })
		}
	}
}

// Repeats reports whether the event repeats an event of a call that the host has sent already,
// because a workflow around the agent asks about the same call. The event must then be dropped.
// Otherwise clients would merge the two calls with the same id, and join their arguments.
func (s *Stream) Repeats(ev agui.Event) bool {
	if len(s.asked) == 0 {
		return false
	}
	a, ok := requestIn(ev)
	return ok && slices.ContainsFunc(s.asked, func(b approvalRequest) bool {
		return a.Call.ID == b.Call.ID && (isAround(a.ID, b.ID) || isAround(b.ID, a.ID))
	})
}

// Passes reports whether Note ignores all events of the type.
func (s *Stream) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		return false
	case agui.CallResult:
		return len(s.asked) == 0
	}
	return true
}

func (a approvalRequest) equals(b approvalRequest) bool {
	return a.ID == b.ID && a.Call.ID == b.Call.ID
}

// keptPause is the part of a pause's private state that this package writes. The askedCall of each
// question is stored in its interrupt.
type keptPause struct {
	// Siblings are the other calls of the batch, which need no approval. The host runs them only if
	// the answer approves them too.
	Siblings []approvalRequest `json:"siblings,omitempty"`
}

type privateForm struct {
	Dotnet *keptPause `json:"dotnet,omitempty"`
}

// Paused returns the pause that ended a run, and the run's terminal event without the outcome. It
// returns false if the host requested no approval. The pause has the interrupts of the outcome. It
// also has the requests that the outcome lacks because the client declared tools.
func (s *Stream) Paused(r *translate.Request, finish agui.Event) (translate.AskedPause, agui.Event, bool) {
	list := withoutInner(kit.Outcome(finish))
	if len(list) == 0 && !hasSucceeded(finish) {
		return translate.AskedPause{}, agui.Event{}, false
	}
	calls := shownCalls(r)
	var open []agui.Interrupt
	var told []approvalRequest
	for _, i := range list {
		a, ok := s.approval(i, calls)
		if !ok {
			open = append(open, inputInterrupt(i, calls))
			continue
		}
		told = append(told, a)
		open = append(open, a.interrupt(kit.WithoutMembers(i, "id"), calls))
	}
	var kept keptPause
	for _, a := range s.asked {
		switch {
		case slices.ContainsFunc(told, func(b approvalRequest) bool { return b.Call.ID == a.Call.ID && isOf(b.ID, a.ID) }):
		case slices.ContainsFunc(slices.Concat(told, s.asked), func(b approvalRequest) bool { return isAround(b.ID, a.ID) }):
		case r.Input.Declares(a.Call.Name): // the client runs this tool itself
		case a.free:
			kept.Siblings = append(kept.Siblings, a)
		default:
			told = append(told, a)
			open = append(open, a.interrupt(a.object(), calls))
		}
	}
	if len(told) == 0 && !slices.ContainsFunc(list, looksLikeOurs) {
		return translate.AskedPause{}, agui.Event{}, false
	}
	asked, clean := pauseOf(open, kept, finish)
	return asked, clean, true
}

// withoutInner returns the interrupts without those that a workflow's question wraps (see
// isAround).
func withoutInner(list []gjson.Result) []gjson.Result {
	return slices.DeleteFunc(list, func(i gjson.Result) bool {
		return slices.ContainsFunc(list, func(o gjson.Result) bool { return isAround(o.Get("id").Str, i.Get("id").Str) })
	})
}

// hasSucceeded reports whether the run ended without an outcome, or with the outcome success.
func hasSucceeded(finish agui.Event) bool {
	outcome := finish.Get("outcome")
	return finish.Valid() && (!outcome.Exists() || outcome.Type == gjson.Null || outcome.Get("type").Str == "success")
}

// Inputs returns the pause of an interrupt outcome without approvals. The host's generic interrupts
// have no sign by which they could be recognized.
func Inputs(r *translate.Request, finish agui.Event) (translate.AskedPause, agui.Event, bool) {
	var open []agui.Interrupt
	calls := shownCalls(r)
	for _, i := range kit.Outcome(finish) {
		open = append(open, inputInterrupt(i, calls))
	}
	if len(open) == 0 {
		return translate.AskedPause{}, agui.Event{}, false
	}
	asked, clean := pauseOf(open, keptPause{}, finish)
	return asked, clean, true
}

func pauseOf(interrupts []agui.Interrupt, state keptPause, finish agui.Event) (translate.AskedPause, agui.Event) {
	asked := translate.AskedPause{Interrupts: interrupts, Private: agui.MustMarshal(privateForm{&state}), NativeFinish: slices.Clone(finish.JSON)}
	return asked, kit.WithoutOutcome(finish)
}

func shownCalls(r *translate.Request) []agui.Call {
	if r.Transcript == nil {
		return nil
	}
	return r.Transcript.Calls()
}

// approval returns the approval request for an interrupt of the outcome. It takes the request from
// the stream. If the stream has none, it makes one from the interrupt and the call that the client
// has.
func (s *Stream) approval(i gjson.Result, calls []agui.Call) (approvalRequest, bool) {
	id, call := i.Get("id").Str, i.Get("toolCallId").Str
	for _, a := range s.asked {
		if isOf(id, a.ID) && (call == "" || a.Call.ID == call) {
			a.ID = id
			return a, true
		}
	}
	at := slices.IndexFunc(calls, func(c agui.Call) bool { return c.ID == call })
	if !looksLikeOurs(i) || at < 0 || i.Get("message").Str != messageStart+calls[at].Name {
		return approvalRequest{}, false
	}
	args := []byte(calls[at].Args)
	if !agui.ValidJSON(args) {
		return approvalRequest{}, false
	}
	a := approvalRequest{ID: id, Call: askedCall{ID: call, Name: calls[at].Name, Args: kit.Payload(gjson.ParseBytes(args))}}
	return a, a.Call.Args == nil || gjson.ParseBytes(a.Call.Args).IsObject()
}

// isOf reports whether an interrupt with this id is about the host's request. The id is the
// request's own, or the id that a second Holdpoint in front of the host published for it.
func isOf(id, request string) bool {
	native, published := kit.NativeID(id)
	return id == request || published && native == request
}

// object returns the interrupt as the host itself would send it.
func (a approvalRequest) object() []byte {
	return kit.Question{Reason: "tool_call", Message: messageStart + a.Call.Name, Call: a.Call.ID, Schema: kit.ApprovalSchema}.Object()
}

// interrupt returns an interrupt with this object. It has a toolCallId only if the client has
// exactly this call under that id, because ids may repeat and nobody must approve a call that was
// not shown. If the client does not have the call, the interrupt's metadata contain it.
func (a approvalRequest) interrupt(object []byte, calls []agui.Call) agui.Interrupt {
	if !gjson.GetBytes(object, "responseSchema").IsObject() {
		object = agui.SetKey(object, "responseSchema", []byte(kit.ApprovalSchema))
	}
	if !ofWorkflow(a.ID) { // it is not tested what a workflow does with an edit
		object = offerEdits(object)
	}
	var about []agui.AskedCall // nil: the package proxy takes the call from the transcript
	if a.Call.isAmong(calls) {
		object = agui.SetString(object, "toolCallId", a.Call.ID)
		if gjson.GetBytes(object, "reason").Type != gjson.String {
			object = agui.SetString(object, "reason", "tool_call")
		}
	} else {
		object = agui.SetString(agui.DeleteKey(object, "toolCallId"), "reason", "confirmation")
		if !gjson.GetBytes(object, "metadata").IsObject() {
			object = agui.DeleteKey(object, "metadata")
		}
		object = agui.SetKey(object, "metadata.agent_framework.toolCall", agui.MustMarshal(a.Call))
		// the id would name another call
		about = []agui.AskedCall{{Name: a.Call.Name, Args: string(a.Call.Args)}}
	}
	return agui.Interrupt{Native: a.ID, Object: object, Private: agui.MustMarshal(a.Call), Calls: about}
}

// offerEdits returns the interrupt with a schema that offers edited arguments. It changes nothing
// if the schema already does, or has no properties. The host does not offer edits, but it runs a
// call with the arguments in the answer.
func offerEdits(object []byte) []byte {
	properties := gjson.GetBytes(object, "responseSchema.properties")
	if !properties.IsObject() || properties.Get("editedArgs").Exists() {
		return object
	}
	return agui.SetKey(object, "responseSchema.properties.editedArgs", []byte(`{"type":"object"}`))
}

// isAmong reports whether calls has a call with the same id, name and arguments.
func (c askedCall) isAmong(calls []agui.Call) bool {
	return slices.ContainsFunc(calls, func(shown agui.Call) bool {
		args := []byte(shown.Args)
		if len(args) == 0 {
			args = []byte("null")
		}
		want := c.Args
		if want == nil {
			want = json.RawMessage("null")
		}
		return shown.ID == c.ID && shown.Name == c.Name && agui.ValidJSON(args) && bytes.Equal(agui.Canonical(args), agui.Canonical(want))
	})
}

// inputInterrupt returns an interrupt that does not ask for an approval. It keeps the members that
// the host sent, with two exceptions: members at which a client fails, and the id of a call that
// the client lacks.
func inputInterrupt(i gjson.Result, calls []agui.Call) agui.Interrupt {
	object := kit.WithoutMembers(i, "id")
	call := gjson.GetBytes(object, "toolCallId")
	if call.Exists() && !slices.ContainsFunc(calls, func(c agui.Call) bool { return c.ID == call.Str }) {
		object = agui.DeleteKey(object, "toolCallId")
	}
	reason := gjson.GetBytes(object, "reason")
	if reason.Type != gjson.String || reason.Str == "tool_call" && !gjson.GetBytes(object, "toolCallId").Exists() {
		object = agui.SetString(object, "reason", "input_required")
	}
	return agui.Interrupt{Native: i.Get("id").Str, Object: object}
}
