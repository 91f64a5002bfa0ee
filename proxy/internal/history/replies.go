package history

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

// A Reply is a decision in a message, and what the record knows of it.
type Reply struct {
	translate.Reply
	Pause        *agui.Pause // whose question it answers, nil if none is known
	Answer       agui.Answer // to that
	Call         string      // that the message is on, "" if it names none
	WasAnswer    bool        // that pause ended well, with this answer
	IsAnswer     bool        // it is an answer of this request
	RepeatsEntry bool        // it says what an entry of the request's resume array says
}

// isRecorded reports whether it is in the record, now or before.
func (d *Reply) isRecorded() bool { return d.IsAnswer || d.RepeatsEntry || d.WasAnswer }

// counts reports whether it may stand at the end of a request: it answers, or it is a part of the
// history. An answer to an earlier question is neither if a backend would take it for an answer
// there.
func (d *Reply) counts() bool {
	return d.IsAnswer || d.RepeatsEntry || d.WasAnswer && (d.Keep || d.TooLate)
}

// Replies are the decisions in the messages of a request, in the order of those.
type Replies []Reply

// ReadReplies relates the decisions in the messages of the request to the pauses of the view. Some
// backends take decisions out of the messages, and believe what those say was asked. So each
// decision that is asked for, or that the record knows the question of, is in the list.
func ReadReplies(v *View) Replies {
	reader := v.Dialect.Reader
	if reader == nil || len(v.Input.Messages) == 0 {
		return nil
	}
	var list Replies
	pauses := v.asked()
	known := func(key string) bool {
		return slices.ContainsFunc(pauses, func(a askedPause) bool { return a.byKey[key] != nil })
	}
	var claims *kit.ClaimedCalls // nil until it is needed
	var left map[string]bool     // nil until it is needed
	for one := range reader.Replies(*v.Input, v.Spoken) {
		is := known(one.Key)
		if is && len(v.Record.Notes) > 0 {
			if claims == nil {
				claims = kit.ClaimsOf(*v.Input)
			}
			if isReused(v.Record, claims, one.At, one.Key) {
				continue // what the client says on its own call
			}
		}
		if one.DecidesUnlessLeft && left == nil {
			left = leftCalls(v.Record)
		}
		one.Decides = one.Decides || one.DecidesIfKnown && is || one.DecidesUnlessResult && !isResult(pauses, one) || one.DecidesUnlessLeft && !v.isLeft(one.Key, left)
		if one.Decides || is {
			list = append(list, Reply{Reply: one})
		}
	}
	slices.SortStableFunc(list, func(a, b Reply) int { return a.At - b.At })
	if len(list) > 0 {
		v.relate(list, pauses)
	}
	return list
}

// relate finds for each of some replies the question that it answers, and whether that pause ended
// well with this answer.
func (v *View) relate(list Replies, pauses []askedPause) {
	var told map[string]bool // nil until it is needed
	at, seen, isTold, looked := -1, agui.SeenMessage{}, false, false
	for n := range list {
		d := &list[n]
		m := v.Input.Messages[d.At]
		d.Call = m.ToolCallID
		if d.At != at { // a message may hold very many
			at, seen, looked = d.At, agui.See(m), false
		}
		a := d.relate(v.Dialect.Reader, m, seen, pauses)
		if a == nil || a.result == nil || a.result.How != store.Finished {
			continue
		}
		if d.WasAnswer = a.endedWith(d.Answer); !d.WasAnswer {
			if told == nil {
				told = v.toldAnswerMessages()
			}
			if !looked {
				looked, isTold = true, told[string(agui.Canonical(m.JSON))]
			}
			d.WasAnswer = isTold
		}
	}
}

// relate finds the newest pause whose question the reply answers, and how that ended.
func (d *Reply) relate(reader translate.HistoryReader, m agui.Message, seen agui.SeenMessage, pauses []askedPause) *askedPause {
	for n := range pauses {
		a := &pauses[n]
		if d.Unclear && a.byKey[d.Key] != nil { // some backend takes it for one, also where the question has ended
			d.Decides = true
			return nil
		}
		answer, past, ok := a.answer(reader, m, d.Reply)
		answer.Message = seen
		if !ok || a.precedes(d.Reply, answer) {
			continue
		}
		if a.readsTwice(m, answer.ID, past) {
			d.Decides = true
			return nil
		}
		d.Pause, d.Answer, d.TooLate = a.pause, answer, past
		return a
	}
	return nil
}

// toldAnswerMessages returns the tool messages, canonical, by which the client was told of answers
// to calls that asked. They need not say all that the answers said.
func (v *View) toldAnswerMessages() map[string]bool {
	set := map[string]bool{}
	for _, result := range v.Record.Results {
		if result.Pause == nil || result.How != store.Finished {
			continue
		}
		calls := map[string]bool{}
		for _, i := range result.Pause.Interrupts {
			calls[i.ToolCallID()] = true
		}
		agui.View(v.endedMessages(result)).ForEach(func(_, m gjson.Result) bool {
			if call := m.Get("toolCallId").Str; call != "" && calls[call] {
				set[string(agui.Canonical([]byte(m.Raw)))] = true
			}
			return true
		})
	}
	return set
}

// isResult reports whether a question of the reply's dialect was about the call that it names.
func isResult(pauses []askedPause, one translate.Reply) bool {
	return slices.ContainsFunc(pauses, func(a askedPause) bool { return a.pause.Dialect == one.Dialect && a.about[one.Key] })
}

// EndInStray reports whether the request ends in a decision on a question that nobody knows. If a
// person's words or an answer to a known question follow the decision, it is of another day and is
// taken out. Words in the same message do not follow it. names is the call that it names, if that
// can be told.
func (list Replies) EndInStray(in *agui.RunInput, open *agui.Pause) (is bool, names string) {
	last := -1
	for here := range list.places() {
		if slices.ContainsFunc(here, func(d Reply) bool { return d.counts() }) {
			continue
		}
		for n := range here {
			d := &here[n]
			// Beside entries one that comes too late, or is the answer to an earlier question, only
			// repeats: what counts is what those say. It is taken out.
			late := d.WasAnswer || d.TooLate && d.Pause != nil && d.Pause == open
			if !d.Decides || late && len(in.Resume) > 0 {
				continue
			}
			if d.At > last {
				last, names = d.At, ""
			}
			names = cmp.Or(names, d.Names)
		}
	}
	return last >= 0 && last >= list.LastSaid(in.Messages), names
}

// markRepeatedEntries marks the replies that nothing is known of and that stand in a message which
// repeats an entry of the request's resume array, as CopilotKit's does. A dialect may read such a
// message as a decision on another call than the one by which its backend asks: ADK asks by a call
// of its own about the call that the client was told. What counts is what the entry says.
func (v *View) markRepeatedEntries(list Replies) {
	if len(list) == 0 || len(v.Input.Resume) == 0 {
		return
	}
	named := map[string]bool{}
	for _, e := range v.Input.Resume {
		named[e.InterruptID] = true
	}
	var repeats []contract.Repeats
	for _, p := range v.pauses() {
		if slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return named[i.ID] }) {
			repeats = append(repeats, contract.RepeatsOf(p, v.Input.Resume))
		}
	}
	for n := range list {
		d := &list[n]
		m := v.Input.Messages[d.At]
		if d.Pause == nil && !d.Unclear && slices.ContainsFunc(repeats, func(of contract.Repeats) bool { return of.Has(m) }) {
			d.RepeatsEntry, d.Answer.Message = true, agui.See(m)
		}
	}
}

// Unanswered returns the replies as if none of them was an answer of this request.
func (list Replies) Unanswered() Replies {
	out := slices.Clone(list)
	for n := range out {
		out[n].IsAnswer, out[n].RepeatsEntry = false, false
	}
	return out
}

// places returns the replies by the messages that they stand in, in order.
func (list Replies) places() iter.Seq[Replies] {
	return func(yield func(Replies) bool) {
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

// repliesAt returns the replies in the message at a place.
func (list Replies) repliesAt(place int) Replies {
	by := func(d Reply, place int) int { return d.At - place }
	from, _ := slices.BinarySearchFunc(list, place, by)
	to, _ := slices.BinarySearchFunc(list, place+1, by)
	return list[from:to]
}

// LastSaid returns the place of the last message that says something or answers what was asked. It
// is -1 if there is no such message.
func (list Replies) LastSaid(messages []agui.Message) int {
	for at := len(messages) - 1; at >= 0; at-- {
		switch here := list.repliesAt(at); {
		case slices.ContainsFunc(here, func(d Reply) bool { return d.counts() }):
			return at
		case messages[at].Role != "user":
		case len(here) == 0 || here[0].Rest != nil:
			return at
		}
	}
	return -1
}

// Carriers returns the messages with an answer to the pause at hand or to an earlier one. others
// are not answers of this request. mixed say something else, too.
func (list Replies) Carriers() (others, mixed []agui.SeenMessage) {
	for here := range list.places() {
		at := slices.IndexFunc(here, func(d Reply) bool { return d.isRecorded() })
		if at < 0 {
			continue
		}
		m := here[at].Answer.Message
		if !slices.ContainsFunc(here, func(d Reply) bool { return d.IsAnswer }) {
			others = append(others, m)
		}
		if here[at].Rest != nil {
			mixed = append(mixed, m)
		}
	}
	return others, mixed
}
