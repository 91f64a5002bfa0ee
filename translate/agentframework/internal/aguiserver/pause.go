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

// A Stream remembers what the host has asked for in one exchange.
type Stream struct{ asked []approvalRequest }

// Note takes an event of a tool call before it is emitted.
func (s *Stream) Note(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		if a, ok := requestIn(ev); ok && !slices.ContainsFunc(s.asked, a.is) {
			s.asked = append(s.asked, a)
		}
	case agui.CallResult:
		if len(s.asked) > 0 && ev.Valid() { // the application has approved it itself
			id := ev.Get("toolCallId").Str
			s.asked = slices.DeleteFunc(s.asked, func(a approvalRequest) bool { return a.Call.ID == id })
		}
	}
}

// Repeats reports whether an event of a tool call is told again because a workflow around the
// agent asks the same about it. Of two calls with one id clients make one, with the arguments of
// both.
func (s *Stream) Repeats(ev agui.Event) bool {
	if len(s.asked) == 0 {
		return false
	}
	a, ok := requestIn(ev)
	return ok && slices.ContainsFunc(s.asked, func(b approvalRequest) bool {
		return a.Call.ID == b.Call.ID && (isAround(a.ID, b.ID) || isAround(b.ID, a.ID))
	})
}

// Passes reports whether Note learns nothing from any event of the type.
func (s *Stream) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallArgs, agui.CallEnd:
		return false
	case agui.CallResult:
		return len(s.asked) == 0
	}
	return true
}

func (a approvalRequest) is(b approvalRequest) bool { return a.ID == b.ID && a.Call.ID == b.Call.ID }

// A keptPause is what a pause keeps of the host beside its interrupts, each of which keeps its
// askedCall.
type keptPause struct {
	// Siblings are the calls of the same batch that need no approval: the host runs them only if
	// they are approved too.
	Siblings []approvalRequest `json:"siblings,omitempty"`
}

type privateForm struct {
	Dotnet *keptPause `json:"dotnet,omitempty"`
}

// Paused returns the pause with which the host ended a run, and its terminal event without the
// outcome; false if it asked for no approval. To the interrupts of the outcome come the approvals
// that it kept back because tools were declared.
func (s *Stream) Paused(r *translate.Request, finish agui.Event) (translate.AskedPause, agui.Event, bool) {
	list := withoutInner(kit.Outcome(finish))
	if len(list) == 0 && !succeeded(finish) {
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
		open = append(open, a.interrupt(kit.Pruned(i, "id"), calls))
	}
	var kept keptPause
	for _, a := range s.asked {
		switch {
		case slices.ContainsFunc(told, func(b approvalRequest) bool { return b.Call.ID == a.Call.ID && isOf(b.ID, a.ID) }):
		case slices.ContainsFunc(slices.Concat(told, s.asked), func(b approvalRequest) bool { return isAround(b.ID, a.ID) }):
		case r.Input.Declares(a.Call.Name): // the client's own to run
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

// withoutInner returns the interrupts without those that a workflow asks, too.
func withoutInner(list []gjson.Result) []gjson.Result {
	return slices.DeleteFunc(list, func(i gjson.Result) bool {
		return slices.ContainsFunc(list, func(o gjson.Result) bool { return isAround(o.Get("id").Str, i.Get("id").Str) })
	})
}

// succeeded reports whether the run ended without a word of a question.
func succeeded(finish agui.Event) bool {
	outcome := finish.Get("outcome")
	return finish.Valid() && (!outcome.Exists() || outcome.Type == gjson.Null || outcome.Get("type").Str == "success")
}

// Inputs returns the pause of any other interrupt outcome: the host's generic interrupts have no
// sign of their own.
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

func pauseOf(interrupts []agui.Interrupt, kept keptPause, finish agui.Event) (translate.AskedPause, agui.Event) {
	asked := translate.AskedPause{Interrupts: interrupts, Private: agui.MustMarshal(privateForm{&kept}), OwnFinish: slices.Clone(finish.JSON)}
	return asked, kit.WithoutOutcome(finish)
}

func shownCalls(r *translate.Request) []agui.Call {
	if r.Transcript == nil {
		return nil
	}
	return r.Transcript.Calls()
}

// approval returns the request behind an interrupt of the outcome: as the stream showed it, else by
// the looks of the interrupt and the call that the client has seen.
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

// isOf reports whether an interrupt's id tells the host's request: it is the request's, or that of
// a Holdpoint before the host.
func isOf(id, request string) bool {
	native, published := kit.NativeID(id)
	return id == request || published && native == request
}

// object returns the interrupt as the host writes it where it tells one.
func (a approvalRequest) object() []byte {
	return agui.MustMarshal(struct {
		Reason  string          `json:"reason"`
		Message string          `json:"message"`
		Call    string          `json:"toolCallId"`
		Schema  json.RawMessage `json:"responseSchema"`
	}{"tool_call", messageStart + a.Call.Name, a.Call.ID, json.RawMessage(kit.ApprovalSchema)})
}

// interrupt makes an interrupt of the object. It is bound to the call only if that is what the
// client has seen under the id: ids may repeat, and nobody shall approve what he was not shown.
// Else the interrupt says what it is about.
func (a approvalRequest) interrupt(object []byte, calls []agui.Call) agui.Interrupt {
	if !gjson.GetBytes(object, "responseSchema").IsObject() {
		object = agui.SetKey(object, "responseSchema", []byte(kit.ApprovalSchema))
	}
	if !ofWorkflow(a.ID) { // nobody has seen what a workflow makes of an edit
		object = offerEdits(object)
	}
	var about []agui.AskedCall // nil: the one that the client has seen
	if a.Call.seen(calls) {
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
		about = []agui.AskedCall{{Name: a.Call.Name, Args: string(a.Call.Args)}} // the id is another call's
	}
	return agui.Interrupt{Native: a.ID, Object: object, Private: agui.MustMarshal(a.Call), Calls: about}
}

// offerEdits returns an interrupt whose schema offers edited arguments, unless the schema has the
// member already or has no members. The host does not offer them, and runs what an answer says.
func offerEdits(object []byte) []byte {
	properties := gjson.GetBytes(object, "responseSchema.properties")
	if !properties.IsObject() || properties.Get("editedArgs").Exists() {
		return object
	}
	return agui.SetKey(object, "responseSchema.properties.editedArgs", []byte(`{"type":"object"}`))
}

// seen reports whether the client has seen just that call.
func (c askedCall) seen(calls []agui.Call) bool {
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

// inputInterrupt returns an interrupt that asks for something else than an approval: as it came,
// but for what a client fails on, and for a call that the client does not know.
func inputInterrupt(i gjson.Result, calls []agui.Call) agui.Interrupt {
	object := kit.Pruned(i, "id")
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
