package phrases

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// history returns the conversation for the backend. Each answer is in its place. An approval whose
// run failed or is in doubt is left out, because a backend without another memory would act on it
// again.
func (d *Dialect) history(list []agui.Message, ended []translate.EndedPause) (_ []agui.Message, changed bool) {
	failed := map[string]bool{}
	for _, p := range ended {
		for _, i := range p.Interrupts {
			failed[answerPrefix+i.ID] = p.Failed && p.Dialect == Name
		}
	}
	list, changed = order(list)
	goes := func(m agui.Message) bool { return failed[m.ID] && d.approves(m) }
	if slices.ContainsFunc(list, goes) {
		return slices.DeleteFunc(slices.Clone(list), goes), true
	}
	return list, changed
}

// approves reports whether a message is an answer that could be an approval.
func (d *Dialect) approves(m agui.Message) bool {
	return isAnswer(m) && gjson.GetBytes(m.JSON, "content").Str != d.no
}

// endsInYes reports whether an approval is the last message of the conversation. If such a history
// were run again (a regenerated reply, a client that retries), the backend would act on the
// approval again.
func (d *Dialect) endsInYes(list []agui.Message) bool {
	for _, m := range slices.Backward(list) {
		switch m.Role {
		case "user", "assistant", "tool":
			// Ids of clients may begin in the same way. An id of this dialect has a tilde and a random part,
			// or the message has its words.
			return d.approves(m) && (strings.Contains(m.ID, "~") || gjson.GetBytes(m.JSON, "content").Str == d.yes)
		}
	}
	return false
}

// order returns the messages with each answer directly after its question. A client appends the
// messages of a snapshot. So an answer may follow messages that were sent together with it, and a
// model would read an approval as the answer to those.
func order(list []agui.Message) (ordered []agui.Message, moved bool) {
	if !slices.ContainsFunc(list, isAnswer) {
		return list, false // nearly always
	}
	place := make(map[string]int, len(list))
	for n, m := range list {
		if m.Role == "assistant" {
			place[m.ID] = n
		}
	}
	elsewhere := map[int][]agui.Message{} // the answers that are not in their place, by the index of their question
	gone := make([]bool, len(list))
	last, near := -1, false // the last question, and whether only messages of its run have followed it
	for n, m := range list {
		q, ok := question(m, place)
		switch {
		case ok && near && q == last:
		case ok:
			elsewhere[q], gone[n], moved = append(elsewhere[q], m), true, true
			continue
		}
		switch {
		case m.Role == "assistant":
			last, near = n, true
		case !isOfSameRun(m):
			near = false
		}
	}
	if !moved {
		return list, false
	}
	var waiting []agui.Message
	for n, m := range list {
		if len(waiting) > 0 && !isOfSameRun(m) {
			ordered, waiting = append(ordered, waiting...), nil
		}
		if !gone[n] {
			ordered = append(ordered, m)
		}
		waiting = append(waiting, elsewhere[n]...)
	}
	return append(ordered, waiting...), true
}

func isAnswer(m agui.Message) bool { return m.Role == "user" && strings.HasPrefix(m.ID, answerPrefix) }

// question returns the index of the message that an answer belongs to.
func question(m agui.Message, place map[string]int) (at int, ok bool) {
	if !isAnswer(m) {
		return 0, false
	}
	id := strings.TrimPrefix(m.ID, answerPrefix)
	if at, ok = place[id]; ok {
		return at, true // the question's id is the backend's own
	}
	if cut := strings.LastIndexByte(id, '~'); cut >= 0 {
		at, ok = place[id[:cut]]
	}
	return at, ok
}

// isOfSameRun reports whether a message that follows a question belongs to the same run, such as
// the result of a call in the question's message.
func isOfSameRun(m agui.Message) bool {
	return m.Role == "tool" || m.Role == "reasoning" || m.Role == "activity"
}
