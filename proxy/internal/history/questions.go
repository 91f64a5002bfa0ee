package history

import (
	"cmp"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// An askedPause is a pause with indexes, by which the question that a reply answers is found.
type askedPause struct {
	pause    *agui.Pause
	result   *store.Result    // how the pause ended; nil if it is open
	byKey    map[string][]int // maps a key that replies use to the indexes of interrupts
	runCalls map[string]bool  // the calls that run if they are approved
	// how many replies of each kind from before the question were not seen yet
	earlier map[earlierReply]int
	digests map[string]string // the digests of the pause's answers; nil until needed
}

// An earlierReply identifies a reply that was already in the messages before the question was
// asked.
type earlierReply struct{ key, answerDigest string }

func newAsked(p *agui.Pause, result *store.Result) askedPause {
	a := askedPause{pause: p, result: result, byKey: map[string][]int{}, runCalls: map[string]bool{}}
	for n, i := range p.Interrupts {
		for _, c := range i.Calls {
			a.runCalls[c.ID] = c.ID != ""
		}
		for _, key := range i.Keys {
			a.byKey[key] = append(a.byKey[key], n)
		}
		if len(i.Keys) > 0 && !slices.Contains(i.Keys, i.ID) {
			a.byKey[i.ID] = append(a.byKey[i.ID], n)
		}
	}
	if len(p.EarlierReplies) > 0 {
		a.earlier = make(map[earlierReply]int, len(p.EarlierReplies))
		for _, s := range p.EarlierReplies {
			a.earlier[earlierReply{s.Key, s.AnswerDigest}] = s.Times
		}
	}
	return a
}

// answer returns the answer that the reply one, in the message m, gives to a question of the pause.
// isPast is true if the reply is too late to count as an answer. ok is false if the reply answers
// none of the pause's questions.
func (a *askedPause) answer(reader translate.HistoryReader, m agui.Message, one translate.Reply) (answer agui.Answer, isPast, ok bool) {
	if a.pause.Dialect != one.Dialect || one.Unclear {
		return answer, false, false
	}
	timely := one
	timely.TooLate = false
	for _, n := range a.byKey[one.Key] {
		i := &a.pause.Interrupts[n]
		if answer, ok = reader.AnswerIn(m, timely, *i); !ok {
			continue
		}
		if one.TooLate {
			_, could := reader.AnswerIn(m, one, *i)
			isPast = !could
		}
		answer.ID, answer.Native = i.ID, true
		return answer, isPast, true
	}
	return answer, false, false
}

// readsTwice reports whether the answer in a tool message is ambiguous: its text is JSON that
// contains a key twice, and readers differ in which value counts. If the question does not ask for
// a yes or a no, two keys that only look alike are allowed. The answer to such a question is not
// checked at all if it is part of the history (isPast).
func (a *askedPause) readsTwice(m agui.Message, question string, isPast bool) bool {
	i := a.pause.Interrupt(question)
	decision := i != nil && (i.Yes != nil || i.No != nil)
	place := agui.KeysOfData
	if decision {
		place = agui.KeysOfAnswer
	}
	return (decision || !isPast) && kit.CheckText(agui.View(m.JSON).Get("content"), place) != nil
}

// isEarlierReply reports whether the reply was already in the messages before the pause asked. It
// counts each such reply once.
func (a *askedPause) isEarlierReply(one translate.Reply, answer agui.Answer) bool {
	if a.earlier[earlierReply{key: one.Key}] > 0 && a.pause.HasMessage(answer.Message) {
		return true
	}
	key := earlierReply{one.Key, contract.DigestOf(answer)}
	if a.earlier[key] == 0 {
		return false
	}
	a.earlier[key]--
	return true
}

// endedWith reports whether the pause ended with this answer.
func (a *askedPause) endedWith(answer agui.Answer) bool {
	if a.digests == nil {
		a.digests = store.UnmarshalAnswers(a.result.Digest)
	}
	return a.digests[answer.ID] == contract.DigestOf(answer)
}

// askedPauses returns the pauses that replies may answer: those of the thread, the newest first,
// and then the linked pauses.
func (v *View) askedPauses() []askedPause {
	var list []askedPause
	if p := v.Record.Pause; p != nil {
		list = append(list, newAsked(p, nil))
	}
	for _, result := range v.Record.Results {
		if result.Pause != nil {
			list = append(list, newAsked(result.Pause, result))
		}
	}
	for _, one := range v.LinkedPauses {
		list = append(list, newAsked(one.Pause, one.Result))
	}
	return list
}

// PriorReplies returns replies to the questions of p that exist before p asks them. They are in the
// messages of received, the request as the client sent it, or in shown, the messages of the stream.
// If whole is false, shown is not complete. Then it counts as if each question had one earlier
// reply.
func PriorReplies(reader translate.HistoryReader, p *agui.Pause, received *agui.RunInput, shown []agui.Message, whole bool) (_ []agui.EarlierReply, err error) {
	defer dialect.CatchPanic("Replies", &err)
	if reader == nil || !HasKeys(p) {
		return nil, nil
	}
	a := newAsked(p, nil)
	found := map[earlierReply]int{}
	look := func(list []agui.Message) {
		in := *received
		in.Messages = list
		here := map[earlierReply]int{}
		for one := range reader.Replies(in, p.Dialect) {
			if answer, _, ok := a.answer(reader, list[one.At], one); ok {
				key := earlierReply{one.Key, contract.DigestOf(answer)}
				here[key]++
				found[key] = max(found[key], here[key])
			}
		}
	}
	look(received.Messages)
	if whole {
		look(shown)
	} else {
		for key := range a.byKey {
			found[earlierReply{key: key}] = 1
		}
	}
	list := make([]agui.EarlierReply, 0, len(found))
	for key, times := range found {
		list = append(list, agui.EarlierReply{Key: strings.Clone(key.key), AnswerDigest: key.answerDigest, Times: times})
	}
	slices.SortFunc(list, func(a, b agui.EarlierReply) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.AnswerDigest, b.AnswerDigest))
	})
	return list, nil
}

// HasKeys reports whether the pause has a question that a message can answer.
func HasKeys(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}
