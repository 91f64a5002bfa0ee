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

// An askedPause is a pause in which replies are looked up.
type askedPause struct {
	pause   *agui.Pause
	result  *store.Result        // how it ended; nil: it is open
	byKey   map[string][]int     // the places of its interrupts
	about   map[string]bool      // the calls that a yes lets run
	earlier map[earlierReply]int // how many of those replies are still to be met
	digests map[string]string    // of its answers, nil until it is needed
}

// An earlierReply is a reply that was there before the question was.
type earlierReply struct{ key, says string }

func newAsked(p *agui.Pause, result *store.Result) askedPause {
	a := askedPause{pause: p, result: result, byKey: map[string][]int{}, about: map[string]bool{}}
	for n, i := range p.Interrupts {
		for _, c := range i.Calls {
			a.about[c.ID] = c.ID != ""
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
			a.earlier[earlierReply{s.Key, s.Says}] = s.Times
		}
	}
	return a
}

// answer finds the question that a reply answers, and what it says to it. past reports that it
// cannot be an answer any more.
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

// readsTwice reports whether the text of a tool message that answers a question has a key twice. Of
// two values one reader takes the first, another the last. A text that is not a decision is data:
// its keys may look alike, and it is not looked at where it is a part of the history.
func (a *askedPause) readsTwice(m agui.Message, question string, past bool) bool {
	i := a.pause.Interrupt(question)
	decision := i != nil && (i.Yes != nil || i.No != nil)
	place := agui.KeysOfData
	if decision {
		place = agui.KeysOfAnswer
	}
	return (decision || !past) && kit.CheckText(agui.View(m.JSON).Get("content"), place) != nil
}

// precedes reports whether a reply to the pause was there before it asked, and counts it.
func (a *askedPause) precedes(one translate.Reply, answer agui.Answer) bool {
	if a.earlier[earlierReply{key: one.Key}] > 0 && a.pause.Knows(answer.Message) {
		return true
	}
	key := earlierReply{one.Key, contract.DigestOf(answer)}
	if a.earlier[key] == 0 {
		return false
	}
	a.earlier[key]--
	return true
}

// endedWith reports whether the pause ended with that answer.
func (a *askedPause) endedWith(answer agui.Answer) bool {
	if a.digests == nil {
		a.digests = store.UnmarshalAnswers(a.result.Digest)
	}
	return a.digests[answer.ID] == contract.DigestOf(answer)
}

// asked returns the pauses that replies may be to, the newest of the thread first.
func (v *View) asked() []askedPause {
	var list []askedPause
	if p := v.Record.Pause; p != nil {
		list = append(list, newAsked(p, nil))
	}
	for _, result := range v.Record.Results {
		if result.Pause != nil {
			list = append(list, newAsked(result.Pause, result))
		}
	}
	for _, one := range v.Linked {
		list = append(list, newAsked(one.Pause, one.Result))
	}
	return list
}

// PriorReplies returns the replies to the questions of p that are there before p asks. They are in
// the messages of came, which is the request as the client sent it, and in shown, which are the
// messages that the stream told. whole reports that shown is known; if it is not, the ids of the
// messages have to do.
func PriorReplies(reader translate.HistoryReader, p *agui.Pause, came *agui.RunInput, shown []agui.Message, whole bool) (_ []agui.EarlierReply, err error) {
	defer dialect.Caught("Replies", &err)
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
		list = append(list, agui.EarlierReply{Key: strings.Clone(key.key), Says: key.says, Times: times})
	}
	slices.SortFunc(list, func(a, b agui.EarlierReply) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Says, b.Says))
	})
	return list, nil
}

// HasKeys reports whether a message may answer a question of the pause.
func HasKeys(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}
