package phrases

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// history returns the conversation for the backend, with each answer directly after its question.
// changed reports whether it differs from list. An approval is left out if its run failed or is in
// doubt, because a backend without another memory would act on the approval again.
func (d *Dialect) history(list []agui.Message, endedPauses []translate.EndedPause) (_ []agui.Message, changed bool) {
	failed := map[string]bool{}
	for _, p := range endedPauses {
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

// approves reports whether a message is an answer of this dialect, and not plainly the denial.
func (d *Dialect) approves(m agui.Message) bool {
	return isAnswer(m) && gjson.GetBytes(m.JSON, "content").Str != d.no
}

// endsInYes reports whether the last message of the conversation is an approval. If the backend got
// such a history again (when a reply is regenerated, or a client retries), it would act on the
// approval again.
func (d *Dialect) endsInYes(list []agui.Message) bool {
	for _, m := range slices.Backward(list) {
		switch m.Role {
		case "user", "assistant", "tool":
			// A client's own ids may also begin with answerPrefix. An id of this dialect also has a
			// tilde and a random part. Without a tilde, the message is an answer only if it has the
			// words for yes.
			return d.approves(m) && (strings.Contains(m.ID, "~") || gjson.GetBytes(m.JSON, "content").Str == d.yes)
		}
	}
	return false
}

// order returns the messages with each answer directly after its question. A client appends the
// messages of a snapshot to its history. So an answer may follow other messages that the client
// sent together with it. A model would then read an approval as the answer to those messages.
func order(list []agui.Message) (ordered []agui.Message, moved bool) {
	if !slices.ContainsFunc(list, isAnswer) {
		return list, false // most conversations have no answer
	}
	place := make(map[string]int, len(list))
	for n, m := range list {
		if m.Role == "assistant" {
			place[m.ID] = n
		}
	}
	elsewhere := map[int][]agui.Message{} // misplaced answers, keyed by the index of the question
	gone := make([]bool, len(list))
	// last is the index of the last question. near reports that only messages of its run have
	// followed it.
	last, near := -1, false
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

// question returns the index of the assistant message that the answer m belongs to. place maps the
// id of each assistant message to its index. ok is false if m is not an answer, or its question is
// not in the conversation.
func question(m agui.Message, place map[string]int) (at int, ok bool) {
	if !isAnswer(m) {
		return 0, false
	}
	id := strings.TrimPrefix(m.ID, answerPrefix)
	if at, ok = place[id]; ok {
		return at, true // the question kept the backend's id
	}
	if cut := strings.LastIndexByte(id, '~'); cut >= 0 {
		at, ok = place[id[:cut]]
	}
	return at, ok
}

// isOfSameRun reports whether a message that follows a question belongs to the run of the question.
// An example is the result of a call in the question's message.
func isOfSameRun(m agui.Message) bool {
	return m.Role == "tool" || m.Role == "reasoning" || m.Role == "activity"
}
