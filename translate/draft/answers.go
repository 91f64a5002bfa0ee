package draft

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Answers implements translate.Dialect: the entries of resume and command.resume, as from any client; a resume object, as
// from a client of the first draft; and for a pause that was asked by tool calls the tool messages at the end.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if p.Dialect != Name && translate.EchoOf(in) == translate.Mastra {
		return translate.Entries(in), nil // not ours; passes untouched, as the announcement did
	}
	list, err := translate.Answers(in, p)
	if err != nil {
		return nil, err
	}
	if in.ResumeObject != nil {
		one, err := fromObject(in, p)
		switch {
		case err != nil:
			return nil, err
		case p.ID == "":
			list = append(list, one)
		default:
			if list, err = translate.OneSet(list, []agui.Answer{one}); err != nil {
				return nil, err
			}
		}
	}
	told, err := d.fromMessages(in, p)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return told, nil
	}
	for _, t := range told { // beside a resume they are CopilotKit's, and say the same
		at := slices.IndexFunc(list, func(a agui.Answer) bool { return a.ID == t.ID })
		if at < 0 {
			list = append(list, t)
		} else if approves(t.Payload) != (list[at].Status == agui.Resolved && approves(list[at].Payload)) {
			return nil, agui.Errorf(agui.ResumeConflict, "the answer and a tool message beside it say different things")
		}
	}
	return list, nil
}

// fromObject reads {interruptId?, payload?}. Without an id it is for what is open; of several it can answer one only, and
// admit finds the others. A status is younger than the object, but who sends one means it.
func fromObject(in agui.RunInput, p agui.Pause) (agui.Answer, error) {
	a := agui.Answer{Status: agui.Resolved, Native: true}
	ok := true
	gjson.ParseBytes(in.ResumeObject).ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "interruptId" && (v.Type == gjson.String || v.Type == gjson.Number):
			a.ID = v.String()
		case k.Str == "interruptId" && v.Type == gjson.Null, k.Str == "status" && v.Str == string(agui.Resolved), k.Str == "metadata":
		case k.Str == "payload":
			a.Payload = translate.Payload(v)
		case k.Str == "status" && v.Str == string(agui.Cancelled):
			a.Status = agui.Cancelled
		default:
			ok = false
		}
		return ok
	})
	switch i := translate.Named(p, a.ID); {
	case !ok:
		return a, agui.Errorf(agui.InvalidPayload, "resume must be an array of entries, or an object of interruptId and payload")
	case i != nil:
		a.ID = i.ID
	case a.ID == "" && len(p.Interrupts) > 0:
		a.ID = p.Interrupts[0].ID
	}
	if a.Status == agui.Cancelled {
		a.Payload = nil
	}
	return a, nil
}

// fromMessages reads the tool messages at the end of the messages that decide a call that asks. Only there, where the
// backend looks for them: a history keeps the answers to older questions, and the results of calls that were approved. A
// call that the pause does not ask about is none of a question that is open: admit refuses it, for the backend would not.
func (d *Dialect) fromMessages(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	var list []agui.Answer
	for at := len(in.Messages) - 1; at >= 0 && in.Messages[at].Role == "tool"; at-- {
		m := in.Messages[at]
		payload, ok := decision(m)
		if !ok || len(agui.NewMessages([]agui.Message{m}, p.Seen)) == 0 {
			continue
		}
		a := agui.Answer{Status: agui.Resolved, Payload: payload, Native: true, Message: agui.See(m)}
		if i := askedBy(p, m.ToolCallID); i != nil {
			if m.ID == i.ID && i.ID != i.Native {
				continue // what the client was told of an answer, see run.Event
			}
			a.ID = i.ID
		} else if a.ID = m.ToolCallID; !d.asks(in, a.ID) {
			continue
		}
		known := slices.IndexFunc(list, func(other agui.Answer) bool { return other.ID == a.ID })
		switch {
		case known < 0:
			list = append(list, a)
		case approves(list[known].Payload) != approves(a.Payload):
			return nil, agui.Errorf(agui.ResumeConflict, "two tool messages answer interrupt %q in different ways", a.ID)
		}
	}
	return list, nil
}

// askedBy is the interrupt of a pause that was asked by calls which is about the call, nil if none is.
func askedBy(p agui.Pause, callID string) *agui.Interrupt {
	for n := range p.Interrupts {
		if i := &p.Interrupts[n]; i.ToolCallID() == callID && formOf(p) == byMessage {
			return i
		}
	}
	return nil
}

// asks says whether the history has a call of that id of one of the configured tools that is not the client's own.
func (d *Dialect) asks(in agui.RunInput, callID string) bool {
	return slices.ContainsFunc(in.Messages, func(m agui.Message) bool {
		for _, list := range translate.Members(gjson.ParseBytes(m.JSON), "toolCalls") {
			for _, c := range list.Array() {
				name := c.Get("function.name").Str
				if c.Get("id").Str == callID && d.tools.match(name) && !in.Declares(name) {
					return true
				}
			}
		}
		return false
	})
}

// decision is the content of a tool message that approves or denies; a result is none.
func decision(m agui.Message) (json.RawMessage, bool) {
	content := translate.ParseText(gjson.GetBytes(m.JSON, "content"))
	if !content.IsObject() || !content.Get("approved").IsBool() {
		return nil, false
	}
	return json.RawMessage(content.Raw), true
}
