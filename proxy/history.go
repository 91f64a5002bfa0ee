package proxy

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Some backends take decisions out of a request's messages, and believe what those say was asked.
// So the messages are read once for each attempt: each decision in them is related to the record
// here, and clean makes of that what the backend gets. A client behind Holdpoint holds such a
// decision only if it is shown the backend's own form (HOLDPOINT_CLIENT=native), or was told of
// one.

// carried says whether it is in the record, now or before.
func (d *reply) carried() bool { return d.taken || d.repeats || d.settled }

// counts says whether it may stand at the end of a request: it answers, or is a part of the
// history. What a backend would take for an answer there, and has answered an earlier question, is
// neither.
func (d *reply) counts() bool { return d.taken || d.repeats || d.settled && (d.Kept || d.Past) }

// readHistory relates the decisions in the request's messages to the record.
func (r *run) readHistory() []reply {
	reader, ok := r.h.opts.Dialect.(translate.HistoryReader)
	if !ok || len(r.in.Messages) == 0 {
		return nil
	}
	var list []reply
	asked := r.asked()
	known := func(key string) bool {
		return slices.ContainsFunc(asked, func(a asking) bool { return a.byKey[key] != nil })
	}
	for one := range reader.Replies(r.in, r.spoken()) {
		if one.Asked || known(one.Key) {
			list = append(list, reply{Reply: one})
		}
	}
	slices.SortStableFunc(list, func(a, b reply) int { return a.At - b.At })
	if len(list) == 0 {
		return nil
	}
	var told map[string]bool // nil until it is needed
	at, seen, isTold, looked := -1, agui.SeenMessage{}, false, false
	for n := range list {
		d := &list[n]
		m := r.in.Messages[d.At]
		if d.At != at { // a message may hold very many
			at, seen, looked = d.At, agui.See(m), false
		}
		a := d.relate(reader, m, seen, asked)
		if a == nil || a.result == nil || a.result.How != store.Finished {
			continue
		}
		if d.settled = a.said(d.answer); !d.settled {
			if told == nil {
				told = r.told()
			}
			if !looked {
				looked, isTold = true, told[string(agui.Canonical(m.JSON))]
			}
			d.settled = isTold
		}
	}
	return list
}

// relate finds the newest pause whose question the reply answers, and how that ended.
func (d *reply) relate(reader translate.HistoryReader, m agui.Message, seen agui.SeenMessage, asked []asking) *asking {
	for n := range asked {
		a := &asked[n]
		if d.Unclear && a.result == nil && a.byKey[d.Key] != nil {
			d.Asked = true
			return nil
		}
		answer, past, ok := a.answer(reader, m, d.Reply)
		answer.Message = seen
		if !ok || a.stands(d.Reply, answer) {
			continue
		}
		d.pause, d.answer, d.Past = a.pause, answer, past
		return a
	}
	return nil
}

// told are the tool messages, canonical, by which the client was told of answers to calls that
// asked. They need not say all that the answers said.
func (r *run) told() map[string]bool {
	set := map[string]bool{}
	for _, result := range r.record.Results {
		if result.Pause == nil || result.How != store.Finished {
			continue
		}
		calls := map[string]bool{}
		for _, i := range result.Pause.Interrupts {
			calls[i.ToolCallID()] = true
		}
		agui.View(result.Messages).ForEach(func(_, m gjson.Result) bool {
			if call := m.Get("toolCallId").Str; call != "" && calls[call] {
				set[string(agui.Canonical([]byte(m.Raw)))] = true
			}
			return true
		})
	}
	return set
}

// withReplies are the answers of a request to a pause: those in its fields, and the replies in its
// messages. An entry and a reply, or two replies, that contradict each other are refused: one of
// them is not what the person said, and it is not known which. Of replies that agree the last
// counts, for a person may have said more since; so it does where replies replace each other. Where
// the pause has ended nothing is refused: the history keeps what was said, and nothing of it is
// carried out.
func (r *run) withReplies(pauseID string, list []agui.Answer) ([]agui.Answer, *agui.RunError) {
	if len(r.replies) == 0 || pauseID == "" {
		return list, nil
	}
	places := make(map[string]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		places[list[n].ID] = n
	}
	fields := len(list)
	open := r.record.Pause != nil && r.record.Pause.ID == pauseID
	meanings := map[int]meaning{} // of the list, by places: very many replies may name one entry
	for n := range r.replies {
		d := &r.replies[n]
		if d.pause == nil || d.pause.ID != pauseID || d.Past {
			continue
		}
		at, known := places[d.answer.ID]
		if !known {
			places[d.answer.ID] = len(list)
			list = append(list, d.answer)
			d.taken = true
			continue
		}
		before, read := meanings[at]
		if !read {
			before = meaningOf(list[at])
			meanings[at] = before
		}
		says := meaningOf(d.answer)
		switch entry := at < fields; {
		case !open && !before.agrees(says) && (entry || !d.Replaces):
		case entry && !before.agrees(says):
			return nil, agui.Errorf(agui.ResumeConflict, "resume and a message beside it answer interrupt %q differently", agui.Cut(d.answer.ID))
		case entry:
			d.repeats = true
		case !d.Replaces && !before.agrees(says):
			return nil, agui.Errorf(agui.ResumeConflict, "two messages answer interrupt %q, and say different things", agui.Cut(d.answer.ID))
		default:
			list[at], meanings[at], d.taken = d.answer, says, true
		}
	}
	return list, nil
}

// A meaning is what an answer decides, as far as two can be compared.
type meaning struct {
	digest string
	denies bool
	words  map[string]gjson.Type // what it has of true and false; nil if it is no object
}

func meaningOf(a agui.Answer) meaning {
	m := meaning{digest: contract.DigestOf(a), denies: kit.Denies(a)}
	if object := gjson.ParseBytes(a.Payload); object.IsObject() {
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

// endsInStray says whether the request ends in a decision of which nobody knows the question. One
// that a person's words follow, or an answer to what was asked, is of another day: it is taken out.
// Words in the same message do not follow it.
// names is the call that it names, if that can be told.
func (r *run) endsInStray() (is bool, names string) {
	last := -1
	for here := range r.places() {
		if slices.ContainsFunc(here, func(d reply) bool { return d.counts() }) {
			continue
		}
		for n := range here {
			d := &here[n]
			// Beside entries one that comes too late, or is the answer to an earlier question, only
			// repeats: what counts is what those say. It is taken out.
			late := d.settled || d.Past && d.pause != nil && d.pause == r.record.Pause
			if !d.Asked || late && len(r.in.Resume) > 0 {
				continue
			}
			if d.At > last {
				last, names = d.At, ""
			}
			names = cmp.Or(names, d.Names)
		}
	}
	return last >= 0 && last >= r.lastSaid(), names
}

// places are the replies by the messages that they stand in, in order.
func (r *run) places() iter.Seq[[]reply] {
	return func(yield func([]reply) bool) {
		for from := 0; from < len(r.replies); {
			to := from + 1
			for to < len(r.replies) && r.replies[to].At == r.replies[from].At {
				to++
			}
			if !yield(r.replies[from:to]) {
				return
			}
			from = to
		}
	}
}

// repliesAt is where the decisions at a place stand among all.
func (r *run) repliesAt(at int) (from, to int) {
	by := func(d reply, at int) int { return d.At - at }
	from, _ = slices.BinarySearchFunc(r.replies, at, by)
	to, _ = slices.BinarySearchFunc(r.replies, at+1, by)
	return from, to
}

// lastSaid is the place of the last message in which a person says something or answers what was
// asked, -1 if there is none.
func (r *run) lastSaid() int {
	for at := len(r.in.Messages) - 1; at >= 0; at-- {
		from, to := r.repliesAt(at)
		switch here := r.replies[from:to]; {
		case slices.ContainsFunc(here, func(d reply) bool { return d.counts() }):
			return at
		case r.in.Messages[at].Role != "user":
		case len(here) == 0 || here[0].Rest != nil:
			return at
		}
	}
	return -1
}

// carriers are the messages with an answer to the pause at hand or to one before: those that are no
// answers of this request themselves, and those that say something else too.
func (r *run) carriers() (others, mixed []agui.SeenMessage) {
	for here := range r.places() {
		at := slices.IndexFunc(here, func(d reply) bool { return d.carried() })
		if at < 0 {
			continue
		}
		m := here[at].answer.Message
		if !slices.ContainsFunc(here, func(d reply) bool { return d.taken }) {
			others = append(others, m)
		}
		if here[at].Rest != nil {
			mixed = append(mixed, m)
		}
	}
	return others, mixed
}

// decidesOutsideRun says whether a JSON object that is no run holds a decision.
func (h *Handler) decidesOutsideRun(object []byte, path string) bool {
	reader, ok := h.opts.Dialect.(translate.HistoryReader)
	if !ok {
		return false
	}
	for one := range reader.Replies(kit.Loose(object), h.routeDialect(recordPath(path))) {
		if one.Asked {
			return true
		}
	}
	return false
}
