package history

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Answers are the answers in a request.
type Answers struct {
	List      []agui.Answer  // nil if the request answers no question
	ReadError *agui.RunError // why the answers could not be read; otherwise nil
}

// Read reads the replies in the messages of the request. It adds those that answer the pause
// pauseID to fields, the answers that the dialect has read from the other parts of the request.
// pauseID is the pause for which fields were read, or "" if that is not known.
func Read(v *View, fields Answers, pauseID string) (Replies, Answers) {
	list := ReadReplies(v)
	answers := fields.mergeReplies(list, pauseID, v.Record.Pause)
	v.markRepeatedEntries(list)
	return list, answers
}

// mergeReplies adds the replies that answer the pause pauseID to the answers of a, and marks those
// replies. open is the pause that is open now. It may be another pause.
//
// If an entry of resume and a reply contradict each other, or if two replies do, the request is
// refused: one of them is not what the person meant, and it is not known which. If replies agree,
// the last one counts, because it may contain more than the earlier ones. The last one also counts
// if its format says that it replaces earlier replies. If the pause has ended, nothing is refused,
// because the history is then only a record of the past, and nothing in it is carried out.
func (a Answers) mergeReplies(replies Replies, pauseID string, open *agui.Pause) Answers {
	if len(replies) == 0 || pauseID == "" || a.ReadError != nil {
		return a
	}
	list := slices.Clone(a.List)
	places := make(map[string]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		places[list[n].ID] = n
	}
	fields := len(list)
	isOpen := open != nil && open.ID == pauseID
	// by index in list; a cache, because very many replies may name one entry
	meanings := map[int]meaning{}
	for n := range replies {
		d := &replies[n]
		if d.Pause == nil || d.Pause.ID != pauseID || d.TooLate {
			continue
		}
		at, known := places[d.Answer.ID]
		if !known {
			places[d.Answer.ID] = len(list)
			list = append(list, d.Answer)
			d.IsAnswer = true
			continue
		}
		before, read := meanings[at]
		if !read {
			before = meaningOf(list[at])
			meanings[at] = before
		}
		says := meaningOf(d.Answer)
		switch entry := at < fields; {
		case !isOpen && !before.agrees(says) && (entry || !d.Replaces):
		case entry && !before.agrees(says):
			return contradiction(textEntryDiffers, d.Answer.ID)
		case entry:
			d.RepeatsEntry = true
		case !d.Replaces && !before.agrees(says):
			return contradiction(textRepliesDiffer, d.Answer.ID)
		default:
			list[at], meanings[at], d.IsAnswer = d.Answer, says, true
		}
	}
	a.List = list
	return a
}

// contradiction returns the refusal of answers that contradict each other. why is a format string
// into which the interrupt's id is inserted.
func contradiction(why, interrupt string) Answers {
	return Answers{ReadError: agui.Errorf(agui.ResumeConflict, why, agui.Shorten(interrupt))}
}

// A meaning is what an answer decides, in a form in which two answers can be compared.
type meaning struct {
	digest string
	denies bool
	// the types of the boolean members; nil if the answer is not an object
	words map[string]gjson.Type
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

// agrees reports whether two answers to a question decide the same. They do if they are equal, or
// if both are a clear no. They also do if neither is a clear no and the boolean members that both
// have are equal.
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

// ReadYesNo returns the answers. It replaces each answer that is one of the agent's own values by
// the yes or the no that it means.
func ReadYesNo(p *agui.Pause, answers []agui.Answer) []agui.Answer {
	list := slices.Clone(answers)
	for n, a := range list {
		if i := p.Interrupt(a.ID); i != nil {
			list[n] = yesno.ReadAnswer(i, a)
		}
	}
	return list
}

// WriteYesNo returns the answers. It replaces each yes and each no by the agent's own value. If
// endOnly is true, it replaces nothing, because the agent is only told to stop waiting.
func WriteYesNo(p *agui.Pause, answers []agui.Answer, endOnly bool) ([]agui.Answer, error) {
	if p == nil || endOnly || !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return i.YesNo != nil }) {
		return answers, nil
	}
	list := make([]agui.Answer, len(answers))
	for n, a := range answers {
		var err error
		if list[n], err = yesno.WriteAnswer(&p.Interrupts[n], a); err != nil {
			return nil, err
		}
	}
	return list, nil
}
