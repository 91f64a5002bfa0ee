package draft

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of resume, command.resume, and the
// resume object of clients of the first draft. Tool messages also answer a pause that was asked by
// tool calls; see calls.Table.Replies.
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

// fromObject reads {interruptId?, payload?}. Without an id it answers the first open question, and
// the contract finds that others are unanswered. The member status is newer than this form, but is
// respected if a client sends it.
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
