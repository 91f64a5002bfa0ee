package agno

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// plain is the run of an exchange without answers.
func plain(d *Dialect, r *translate.Request) *run { return &run{d: d, r: r.Plain()} }

// resume begins the exchange with the answers. It brings those and the results of the client's own
// tools alone.
func (d *Dialect) resume(r *translate.Request) (translate.Out, translate.Run, error) {
	if len(r.Answers) != len(r.Pause.Interrupts) || len(r.Answers) == 0 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	s := &resumed{}
	var list []agui.Message
	for n, i := range r.Pause.Interrupts {
		k, ok := keptOf(i)
		if !ok {
			return translate.Out{}, nil, kit.Unreadable()
		}
		content, no, err := said(k.Kind, r.Answers[n])
		if err != nil {
			return translate.Out{}, nil, err
		}
		if !no && k.Twice {
			return translate.Out{}, nil, agui.Errorf(agui.ApprovalAmbiguous, "several calls have the id %q of interrupt %q, and agno would give all of them this answer. Deny or cancel it", k.Call, i.ID)
		}
		if !no && asksAgain(r, i) {
			return translate.Out{}, nil, agui.Errorf(agui.ApprovalAmbiguous, "call %q of interrupt %q has the id of an earlier call with other arguments, and agno may run that one. Deny or cancel it", k.Call, i.ID)
		}
		reply := kit.ToolReply{ID: i.ID, Call: k.Call, Content: content}
		m := reply.Message()
		if no {
			m = agui.ParseMessage(agui.SetString(m.JSON, "error", denied))
		}
		list = append(list, m)
		s.asked, s.no, s.replies = append(s.asked, k), append(s.no, no), append(s.replies, reply)
	}
	// agno rejects a call without a result.
	results, err := kit.ClientResults(r, clientsOf(r.Pause), slices.Contains(s.no, false))
	if err != nil {
		return translate.Out{}, nil, err
	}
	calls := kit.CallsOf(s.replies)
	beside := kit.WithoutMessages(kit.NotOn(r.New, calls), results)
	body := agui.SetKey(agui.DeleteKey(r.Input.Raw, "resume"), "messages", agui.MessageList(append(list, results...)))
	out := translate.Out{Body: kit.BodyWithoutCommand(r.Input, body), Resumes: true, TakesNew: len(beside) == 0}
	return out, &run{d: d, r: r.With(r.Input, beside), resume: s}, nil
}

// asksAgain says whether an earlier question of the thread was about a call of the same id with
// other arguments. Its run may wait at agno still.
func asksAgain(r *translate.Request, i agui.Interrupt) bool {
	for _, p := range r.Ended {
		for _, before := range p.Interrupts {
			if before.Native == i.Native && !slices.Equal(before.Calls, i.Calls) {
				return true
			}
		}
	}
	return false
}
