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

// An askedPause is a pause, indexed to find the questions that replies answer.
type askedPause struct {
	pause    *agui.Pause
	result   *store.Result        // how it ended; nil if it is open
	byKey    map[string][]int     // indexes of its interrupts by the keys that replies use
	runCalls map[string]bool      // the calls that an approval runs
	earlier  map[earlierReply]int // number of such replies that have not been met yet
	digests  map[string]string    // digests of its answers; nil until needed
}

// An earlierReply identifies a reply that the messages had before the question was asked.
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

// answer returns the answer that a reply gives to a question of the pause. past reports that the
// reply is too late to count as an answer. ok is false if it answers no question.
func (a *askedPause) answer(reader translate.HistoryReader, m agui.Message, one translate.Reply) (answer agui.Answer, past, ok bool) {
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
			past = !could
		}
		answer.ID, answer.Native = i.ID, true
		return answer, past, true
	}
	return answer, false, false
}

// readsTwice reports whether the text of a tool message that answers a question is JSON with a key
// twice, so that readers differ in which value counts. In a text that is not a decision, keys that
// only look alike are allowed, and if it is part of the history (past) it is not checked.
func (a *askedPause) readsTwice(m agui.Message, question string, past bool) bool {
	i := a.pause.Interrupt(question)
	decision := i != nil && (i.Yes != nil || i.No != nil)
	place := agui.KeysOfData
	if decision {
		place = agui.KeysOfAnswer
	}
	return (decision || !past) && kit.CheckText(agui.View(m.JSON).Get("content"), place) != nil
}

// isEarlierReply reports whether the messages had the reply before the pause asked. Each such reply
// is counted once.
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

// askedPauses returns the pauses that replies may answer: those of the thread, newest first, then
// the linked ones.
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

// PriorReplies returns the replies to the questions of p that exist before p asks. They are in the
// messages of came, the request as the client sent it, and in shown, the messages of the stream.
// whole reports that shown is complete; if it is not, each question counts as having one earlier
// reply.
func PriorReplies(reader translate.HistoryReader, p *agui.Pause, came *agui.RunInput, shown []agui.Message, whole bool) (_ []agui.EarlierReply, err error) {
	defer dialect.CatchPanic("Replies", &err)
	if reader == nil || !HasKeys(p) {
		return nil, nil
	}
	a := newAsked(p, nil)
	found := map[earlierReply]int{}
	look := func(list []agui.Message) {
		in := *came
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
	look(came.Messages)
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

// HasKeys reports whether a message can answer a question of the pause.
func HasKeys(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}
