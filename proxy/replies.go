package proxy

import (
	"cmp"
	"iter"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/translate"
)

// A reply is a decision in a message, and what the record knows of it.
type reply struct {
	translate.Reply
	pause        *agui.Pause // whose question it answers, nil if none is known
	answer       agui.Answer // to that
	call         string      // that the message is on, "" if it names none
	wasAnswer    bool        // that pause ended well, with this answer
	isAnswer     bool        // it is an answer of this request
	repeatsEntry bool        // it says what an entry of the request's resume array says
}

// carried says whether it is in the record, now or before.
func (d *reply) carried() bool { return d.isAnswer || d.repeatsEntry || d.wasAnswer }

// counts says whether it may stand at the end of a request: it answers, or it is a part of the
// history. An answer to an earlier question is neither if a backend would take it for an answer
// there.
func (d *reply) counts() bool {
	return d.isAnswer || d.repeatsEntry || d.wasAnswer && (d.Kept || d.Past)
}

// replies are the decisions in a request's messages, in the order of those.
type replies []reply

// endInStray says whether the request ends in a decision on a question that nobody knows. If a
// person's words or an answer to a known question follow the decision, it is of another day and is
// taken out. Words in the same message do not follow it. names is the call that it names, if that
// can be told.
func (list replies) endInStray(in *agui.RunInput, open *agui.Pause) (is bool, names string) {
	last := -1
	for here := range list.places() {
		if slices.ContainsFunc(here, func(d reply) bool { return d.counts() }) {
			continue
		}
		for n := range here {
			d := &here[n]
			// Beside entries one that comes too late, or is the answer to an earlier question, only
			// repeats: what counts is what those say. It is taken out.
			late := d.wasAnswer || d.Past && d.pause != nil && d.pause == open
			if !d.Asked || late && len(in.Resume) > 0 {
				continue
			}
			if d.At > last {
				last, names = d.At, ""
			}
			names = cmp.Or(names, d.Names)
		}
	}
	return last >= 0 && last >= list.lastSaid(in.Messages), names
}

// markRepeatedEntries marks the replies that nothing is known of and that stand in a message which
// repeats an entry of the request's resume array, as CopilotKit's does. A dialect may read such a
// message as a decision on another call than the one by which its backend asks: ADK asks by a call
// of its own about the call that the client was told. What counts is what the entry says.
func (r *run) markRepeatedEntries() {
	if len(r.replies) == 0 || len(r.in.Resume) == 0 {
		return
	}
	named := map[string]bool{}
	for _, e := range r.in.Resume {
		named[e.InterruptID] = true
	}
	var repeats []contract.Repeats
	for _, p := range r.pauses() {
		if slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return named[i.ID] }) {
			repeats = append(repeats, contract.RepeatsOf(p, r.in.Resume))
		}
	}
	for n := range r.replies {
		d := &r.replies[n]
		m := r.in.Messages[d.At]
		if d.pause == nil && !d.Unclear && slices.ContainsFunc(repeats, func(of contract.Repeats) bool { return of.Has(m) }) {
			d.repeatsEntry, d.answer.Message = true, agui.See(m)
		}
	}
}

// places are the replies by the messages that they stand in, in order.
func (list replies) places() iter.Seq[[]reply] {
	return func(yield func([]reply) bool) {
		for from := 0; from < len(list); {
			to := from + 1
			for to < len(list) && list[to].At == list[from].At {
				to++
			}
			if !yield(list[from:to]) {
				return
			}
			from = to
		}
	}
}

// repliesAt is where the decisions at a place stand among all.
func (list replies) repliesAt(place int) (from, to int) {
	by := func(d reply, place int) int { return d.At - place }
	from, _ = slices.BinarySearchFunc(list, place, by)
	to, _ = slices.BinarySearchFunc(list, place+1, by)
	return from, to
}

// lastSaid is the place of the last message that says something or answers what was asked. It is -1
// if there is no such message.
func (list replies) lastSaid(messages []agui.Message) int {
	for at := len(messages) - 1; at >= 0; at-- {
		from, to := list.repliesAt(at)
		switch here := list[from:to]; {
		case slices.ContainsFunc(here, func(d reply) bool { return d.counts() }):
			return at
		case messages[at].Role != "user":
		case len(here) == 0 || here[0].Rest != nil:
			return at
		}
	}
	return -1
}

// carriers are the messages with an answer to the pause at hand or to an earlier one. others are
// not answers of this request. mixed say something else, too.
func (list replies) carriers() (others, mixed []agui.SeenMessage) {
	for here := range list.places() {
		at := slices.IndexFunc(here, func(d reply) bool { return d.carried() })
		if at < 0 {
			continue
		}
		m := here[at].answer.Message
		if !slices.ContainsFunc(here, func(d reply) bool { return d.isAnswer }) {
			others = append(others, m)
		}
		if here[at].Rest != nil {
			mixed = append(mixed, m)
		}
	}
	return others, mixed
}
