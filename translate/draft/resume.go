package draft

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// resume returns the request with the answers, and its run.
//
// The request also has the new messages (TakesNew). In the drafts a resume is a member of an
// ordinary RunAgentInput, whose messages are the whole history. A typed server reads both. A server
// that reads only resume finds the new messages in the history of the next run. But if the answer
// is a tool message, its call and the answer must be the last messages. Then the new messages are
// sent later.
func (d *Dialect) resume(r *translate.Request) (translate.Out, calls.Run, error) {
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return translate.Out{}, calls.Run{}, kit.Unreadable()
	}
	if !slices.ContainsFunc(r.Pause.Interrupts, func(i agui.Interrupt) bool { return i.Native == "" }) {
		if err := kit.OneForEachID(r.Pause, r.Answers); err != nil {
			return translate.Out{}, calls.Run{}, err
		}
	}
	for n, i := range r.Pause.Interrupts {
		if formOf(r.Pause) != byMessage && nativeID(i) == nil {
			if err := kit.RefuseContested(r.Pause, r.Answers[n]); err != nil {
				return translate.Out{}, calls.Run{}, err
			}
		}
	}
	if formOf(r.Pause) == byMessage {
		out, run, err := d.Start(r)
		out.Body = agui.DeleteKey(out.Body, "protocolVersion")
		return out, run, err
	}
	r = r.With(d.WithoutOldCalls(r), r.NewMessages)
	body := kit.BodyWithoutCommand(r.Input, agui.DeleteKey(r.Input.Raw, "protocolVersion"))
	switch formOf(r.Pause) {
	case byObject:
		if len(r.Answers) != 1 {
			return translate.Out{}, calls.Run{}, kit.Unreadable()
		}
		object, err := d.object(r)
		if err != nil {
			return translate.Out{}, calls.Run{}, err
		}
		body = agui.SetKey(body, "resume", object)
	case byOutcome:
		body = agui.SetKey(body, "resume", kit.ResumeArray(r.Input, r.Pause, r.Answers))
	default:
		list, err := array(r)
		if err != nil {
			return translate.Out{}, calls.Run{}, err
		}
		body = agui.SetKey(body, "resume", list)
	}
	return translate.Out{Body: body, Resumes: true, TakesNew: true}, d.New(r), nil
}

// nativeID returns the backend's id of the interrupt as JSON, or nil if the backend sent no id.
func nativeID(i agui.Interrupt) json.RawMessage {
	if kept := privateOf(i); kept.ID != nil {
		return kept.ID
	}
	if i.Native == "" {
		return nil
	}
	return agui.MustMarshal(i.Native)
}

func privateOf(i agui.Interrupt) private { return kit.ReadPrivate[private](i.Private) }

// object returns the resume object of v1. It has no status, so its payload must express a denial or
// a cancel.
func (d *Dialect) object(r *translate.Request) (json.RawMessage, error) {
	i, a := r.Pause.Interrupts[0], r.Answers[0]
	payload := a.Payload
	if a.Status == agui.Cancelled {
		if payload = d.cancelFor(i, r.Valid); payload == nil {
			return nil, agui.Errorf(agui.InvalidPayload, textNoFittingCancel, a.ID)
		}
	}
	return entry(i, "", payload), nil
}

// cancelFor returns the payload that is sent for a cancelled answer. For the approval of a function
// it is the denial, or else the configured value. For other questions it is the configured value,
// or the denial if the schema has the property approved. If there is a schema, it is the first of
// these values that fits the schema. cancelFor returns nil if none fits. The cancel is then
// refused, because a backend could read a missing payload as permission.
func (d *Dialect) cancelFor(i agui.Interrupt, valid func(schema, payload json.RawMessage) error) json.RawMessage {
	schema := i.Schema()
	list := []json.RawMessage{d.cancel}
	switch {
	case privateOf(i).Approval:
		list = []json.RawMessage{json.RawMessage(denied), d.cancel}
	case gjson.GetBytes(schema, "properties.approved").Exists():
		list = append(list, json.RawMessage(denied))
	}
	for _, payload := range list {
		if schema == nil || valid == nil || valid(schema, payload) == nil {
			return payload
		}
	}
	return nil
}

// array returns the resume array of v1.5. Its entries have no metadata, which is newer than v1.5.
// If the backend gave two interrupts the same id, or none, their answers must be equal.
func array(r *translate.Request) (json.RawMessage, error) {
	out := []byte{'['}
	sent := map[string]string{}
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		payload := a.Payload
		if a.Status == agui.Cancelled {
			payload = nil
		}
		one := entry(i, a.Status, payload)
		id, says := string(nativeID(i)), string(a.Status)+" "+string(agui.Canonical(payload))
		if other, twice := sent[id]; twice && other != says {
			return nil, agui.Errorf(agui.InvalidPayload, textTwinIDs, len(r.Answers))
		}
		sent[id] = says
		out = kit.AppendElement(out, one)
	}
	return append(out, ']'), nil
}

func entry(i agui.Interrupt, status agui.Status, payload json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	if id := nativeID(i); id != nil {
		out = kit.AppendMember(out, `"interruptId"`, string(id))
	}
	if status != "" {
		out = kit.AppendText(out, "status", string(status))
	}
	if payload != nil {
		out = kit.AppendMember(out, `"payload"`, string(payload))
	}
	return append(out, '}')
}
