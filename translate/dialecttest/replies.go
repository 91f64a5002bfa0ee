package dialecttest

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Answers returns the answers that a request gives to the pause p: first those in its fields, then
// those in its messages. It is a simple version of what the package proxy does. A decision on an
// unknown question becomes an answer whose id is the call that it names, without a payload. If two
// messages answer one question, the last one counts. But if the two contradict each other, the last
// one counts only if its Reply has Replaces.
func Answers(d translate.Dialect, in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := d.Answers(in, p)
	fields := len(list)
	reader, ok := d.(translate.HistoryReader)
	if err != nil || !ok {
		return list, err
	}
	var strays []agui.Answer
	answered := map[int]bool{} // indexes of the messages that answer
	replies := slices.SortedStableFunc(reader.Replies(in, p.Dialect), func(a, b translate.Reply) int { return a.At - b.At })
	for _, reply := range replies {
		a, asked := answer(reader, in.Messages[reply.At], reply, p)
		a.Native, a.Message = true, agui.NewSeenMessage(in.Messages[reply.At])
		switch {
		case a.Status == "" && !reply.TooLate && (reply.Decides || reply.DecidesUnlessResult || reply.DecidesUnlessLeft || asked && reply.Unclear):
			strays = append(strays, agui.Answer{ID: reply.CallID, Status: agui.Resolved, Native: true, Message: a.Message})
		case a.Status != "":
			answered[reply.At] = true
			at := slices.IndexFunc(list, func(b agui.Answer) bool { return a.ID == b.ID })
			switch entry := at < fields; {
			case at < 0:
				list = append(list, a)
			case (entry || !reply.Replaces) && kit.Denies(a) != kit.Denies(list[at]):
				return nil, agui.Errorf(agui.ResumeConflict, "%q is answered twice", a.ID)
			case !entry:
				list[at] = a
			}
		}
	}
	for at, m := range in.Messages {
		if seen := agui.NewSeenMessage(m); answered[at] {
			strays = slices.DeleteFunc(strays, func(a agui.Answer) bool { return a.Message == seen })
		}
	}
	return append(list, strays...), nil
}

// answer returns the answer that the message m gives to a question of the pause p. asked says that
// the reply names a question of p.
func answer(reader translate.HistoryReader, m agui.Message, reply translate.Reply, p agui.Pause) (a agui.Answer, asked bool) {
	for _, i := range p.Interrupts {
		if reply.Dialect != p.Dialect || reply.Key != i.ID && !slices.Contains(i.Keys, reply.Key) {
			continue
		}
		asked = true
		if a, ok := reader.AnswerIn(m, reply, i); ok && !reply.Unclear {
			a.ID = i.ID
			return a, true
		}
	}
	return agui.Answer{}, asked
}
