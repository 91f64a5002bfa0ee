package draft

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of the resume array, command.resume,
// and the resume object that clients of the first draft send. If a tool call asked the question, a
// tool message can answer it too; see calls.Table.Replies.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	others := in
	others.ResumeObject = nil
	list, err := kit.Answers(others, p)
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
			if list, err = kit.OneSet(list, []agui.Answer{one}); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// fromObject reads the resume object {interruptId?, payload?}. If it has no interruptId, it answers
// the first open question; the package contract then finds that other questions have no answer. The
// member status is newer than this form, but it is read if a client sends it.
func fromObject(in agui.RunInput, p agui.Pause) (agui.Answer, error) {
	a := agui.Answer{Status: agui.Resolved, Native: true}
	ok := true
	gjson.ParseBytes(in.ResumeObject).ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "interruptId" && (v.Type == gjson.String || v.Type == gjson.Number):
			a.ID = v.String()
		case k.Str == "interruptId" && v.Type == gjson.Null, k.Str == "status" && v.Str == string(agui.Resolved), k.Str == "metadata":
		case k.Str == "payload":
			a.Payload = kit.Payload(v)
		case k.Str == "status" && v.Str == string(agui.Cancelled):
			a.Status = agui.Cancelled
		default:
			ok = false
		}
		return ok
	})
	switch i := p.InterruptNamed(a.ID); {
	case !ok:
		return a, agui.Errorf(agui.InvalidPayload, textResumeForm)
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
