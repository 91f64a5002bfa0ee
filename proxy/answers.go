package proxy

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/translate/kit"
)

// requestAnswers are what a request answers.
type requestAnswers struct {
	list   []agui.Answer  // nil if it answers nothing
	unread *agui.RunError // why the answers could not be read
}

// withReplies adds the replies in the request's messages to the answers in its fields. They are to
// one pause; open is the pause that is open, which may be another.
//
// An entry and a reply, or two replies, that contradict each other are refused: one of them is not
// what the person said, and nobody knows which. Of replies that agree the last counts, for the
// person may have said more since. It counts, too, where replies replace each other. If the pause
// has ended, nothing is refused: the history keeps what was said, and none of it is carried out.
func (a *requestAnswers) withReplies(replies replies, pauseID string, open *agui.Pause) {
	if len(replies) == 0 || pauseID == "" || a.unread != nil {
		return
	}
	list := a.list
	places := make(map[string]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		places[list[n].ID] = n
	}
	fields := len(list)
	isOpen := open != nil && open.ID == pauseID
	meanings := map[int]meaning{} // of the list, by places: very many replies may name one entry
	for n := range replies {
		d := &replies[n]
		if d.pause == nil || d.pause.ID != pauseID || d.Past {
			continue
		}
		at, known := places[d.answer.ID]
		if !known {
			places[d.answer.ID] = len(list)
			list = append(list, d.answer)
			d.isAnswer = true
			continue
		}
		before, read := meanings[at]
		if !read {
			before = meaningOf(list[at])
			meanings[at] = before
		}
		says := meaningOf(d.answer)
		switch entry := at < fields; {
		case !isOpen && !before.agrees(says) && (entry || !d.Replaces):
		case entry && !before.agrees(says):
			a.contradict("resume and a message beside it answer interrupt %q differently", d.answer.ID)
			return
		case entry:
			d.repeatsEntry = true
		case !d.Replaces && !before.agrees(says):
			a.contradict("two messages answer interrupt %q, and say different things", d.answer.ID)
			return
		default:
			list[at], meanings[at], d.isAnswer = d.answer, says, true
		}
	}
	a.list = list
}

// contradict drops the answers: it is not known what the person said to an interrupt.
func (a *requestAnswers) contradict(why, interrupt string) {
	a.list, a.unread = nil, agui.Errorf(agui.ResumeConflict, why, agui.Cut(interrupt))
}

// A meaning is what an answer decides, as far as two can be compared.
type meaning struct {
	digest string
	denies bool
	words  map[string]gjson.Type // what it has of true and false; nil if it is no object
}

func meaningOf(a agui.Answer) meaning {
	m := meaning{digest: contract.DigestOf(a), denies: kit.Denies(a)}
	if object := agui.View(a.Payload); object.IsObject() {
		m.words = map[string]gjson.Type{}
		object.ForEach(func(k, v gjson.Result) bool {
			if v.IsBool() {
				m.words[k.Str] = v.Type
			}
			return true
		})
	}
	return m
}

// agrees says whether two answers to one question decide the same: they are equal, both are a clear
// no, or none is and what they both have of true and false is equal.
func (m meaning) agrees(with meaning) bool {
	if m.digest == with.digest {
		return true
	}
	if m.denies || with.denies {
		return m.denies && with.denies
	}
	shared, equal := 0, true
	for word, said := range with.words {
		if is, ok := m.words[word]; ok {
			shared, equal = shared+1, equal && is == said
		}
	}
	return shared > 0 && equal
}
