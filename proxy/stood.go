package proxy

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

// An asking is a pause as replies are looked up in it.
type asking struct {
	pause   *agui.Pause
	result  *store.Result     // how it ended; nil: it is open
	byKey   map[string][]int  // the places of its interrupts
	about   map[string]bool   // the calls that a yes lets run
	stood   map[stood]int     // how many of those replies are still to be met
	digests map[string]string // of its answers, nil until it is needed
}

// A stood is a reply that was there before the question was.
type stood struct{ key, says string }

func newAsking(p *agui.Pause, result *store.Result) asking {
	a := asking{pause: p, result: result, byKey: map[string][]int{}, about: map[string]bool{}}
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
	if len(p.Stood) > 0 {
		a.stood = make(map[stood]int, len(p.Stood))
		for _, s := range p.Stood {
			a.stood[stood{s.Key, s.Says}] = s.Times
		}
	}
	return a
}

// answer finds the question that a reply answers, and what it says to it. past: it cannot be an
// answer any more.
func (a *asking) answer(reader translate.HistoryReader, m agui.Message, one translate.Reply) (answer agui.Answer, past, ok bool) {
	if a.pause.Dialect != one.Dialect || one.Unclear {
		return answer, false, false
	}
	timely := one
	timely.Past = false
	for _, n := range a.byKey[one.Key] {
		i := &a.pause.Interrupts[n]
		if answer, ok = reader.AnswerIn(m, timely, *i); !ok {
			continue
		}
		if one.Past {
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
func (a *asking) readsTwice(m agui.Message, question string, past bool) bool {
	i := a.pause.Interrupt(question)
	decision := i != nil && (i.Yes != nil || i.No != nil)
	place := agui.KeysOfData
	if decision {
		place = agui.KeysOfAnswer
	}
	return (decision || !past) && kit.CheckText(agui.View(m.JSON).Get("content"), place) != nil
}

// stands says whether a reply to the pause was there before it asked, and counts it.
func (a *asking) stands(one translate.Reply, answer agui.Answer) bool {
	if a.stood[stood{key: one.Key}] > 0 && a.pause.Knows(answer.Message) {
		return true
	}
	key := stood{one.Key, contract.DigestOf(answer)}
	if a.stood[key] == 0 {
		return false
	}
	a.stood[key]--
	return true
}

// said says whether the pause ended with that answer.
func (a *asking) said(answer agui.Answer) bool {
	if a.digests == nil {
		a.digests = store.UnmarshalAnswers(a.result.Digest)
	}
	return a.digests[answer.ID] == contract.DigestOf(answer)
}

// asked are the thread's pauses, the newest first.
func (r *run) asked() []asking {
	var list []asking
	if p := r.record.Pause; p != nil {
		list = append(list, newAsking(p, nil))
	}
	for _, result := range r.record.Results {
		if result.Pause != nil {
			list = append(list, newAsking(result.Pause, result))
		}
	}
	for _, one := range r.linked {
		list = append(list, newAsking(one.pause, one.result))
	}
	return list
}

// stood are the replies to a pause's questions that are there before it asks: in the messages that
// the client has sent, and in what the stream has told of them.
func (r *run) stood(p *agui.Pause) (_ []agui.StoodReply, err error) {
	defer dialect.Caught("Replies", &err)
	reader, ok := r.h.opts.Dialect.(translate.HistoryReader)
	if !ok || !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 }) {
		return nil, nil
	}
	a := newAsking(p, nil)
	found := map[stood]int{}
	look := func(list []agui.Message) {
		in := *r.request.input
		in.Messages = list
		here := map[stood]int{}
		for one := range reader.Replies(in, p.Dialect) {
			if answer, _, ok := a.answer(reader, list[one.At], one); ok {
				key := stood{one.Key, contract.DigestOf(answer)}
				here[key]++
				found[key] = max(found[key], here[key])
			}
		}
	}
	look(r.request.input.Messages)
	if shown, whole := r.transcript.Messages(); whole {
		list := make([]agui.Message, len(shown))
		for n, m := range shown {
			list[n] = agui.ParseMessage(m)
		}
		look(list)
	} else { // what the stream told is not known: the ids of the messages have to do
		for key := range a.byKey {
			found[stood{key: key}] = 1
		}
	}
	list := make([]agui.StoodReply, 0, len(found))
	for key, times := range found {
		list = append(list, agui.StoodReply{Key: strings.Clone(key.key), Says: key.says, Times: times})
	}
	slices.SortFunc(list, func(a, b agui.StoodReply) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Says, b.Says)) })
	return list, nil
}
