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

// A Reply is a decision in a message, together with what the record knows of it.
type Reply struct {
	translate.Reply
	Pause        *agui.Pause // the pause whose question it answers, or nil if none is known
	Answer       agui.Answer // its answer to that question
	Call         string      // the id of the call that the message is about, or "" if it names none
	WasAnswer    bool        // the pause has ended without an error, with this answer
	IsAnswer     bool        // the reply counts as an answer of this request
	RepeatsEntry bool        // the reply repeats an entry of the request's resume array
}

// isRecorded reports whether the reply is an answer of this request or of an earlier one.
func (d *Reply) isRecorded() bool { return d.IsAnswer || d.RepeatsEntry || d.WasAnswer }

// counts reports whether a request may end with the reply, because it is an answer or a part of the
// history. An answer to an earlier question counts only if no backend would read it as a new answer
// in that position.
func (d *Reply) counts() bool {
	return d.IsAnswer || d.RepeatsEntry || d.WasAnswer && (d.Keep || d.TooLate)
}

// Replies are the replies in the messages of a request, in the order of the messages.
type Replies []Reply

// ReadReplies finds the replies in the messages of the request, and finds the pauses of the view
// that they answer. The list contains each reply that decides on a call that needs an approval, and
// each reply whose question is on record. Replies to a question that was never asked matter too,
// because some backends believe a message that says that something was approved.
func ReadReplies(v *View) Replies {
	reader := v.Dialect.Reader
	if reader == nil || len(v.Input.Messages) == 0 {
		return nil
	}
	var list Replies
	pauses := v.askedPauses()
	known := func(key string) bool {
		return slices.ContainsFunc(pauses, func(a askedPause) bool { return a.byKey[key] != nil })
	}
	var claims *kit.ClaimedCalls // nil until needed
	var left map[string]bool     // nil until needed
	isTurnResult := v.turnResults()
	for one := range reader.Replies(*v.Input, v.KnownDialect) {
		is := known(one.Key)
		if is && len(v.Record.Notes) > 0 {
			if claims == nil {
				claims = kit.ClaimsOf(*v.Input)
			}
			if isReused(v.Record, claims, one.At, one.Key) {
				continue // it is the result of the client's own call
			}
		}
		if one.DecidesUnlessLeft && left == nil {
			left = leftCalls(v.Record)
		}
		one.Decides = one.Decides || one.DecidesIfKnown && is || one.DecidesUnlessResult && !isResult(pauses, one) || one.DecidesUnlessLeft && !v.isLeft(one.Key, left)
		if one.Decides && !is && isTurnResult(v.Input.Messages[one.At]) {
			continue
		}
		if one.Decides || is {
			list = append(list, Reply{Reply: one})
		}
	}
	slices.SortStableFunc(list, func(a, b Reply) int { return a.At - b.At })
	if len(list) > 0 {
		v.relateReplies(list, pauses)
	}
	return list
}

// relateReplies sets in each reply the question that it answers. It also sets whether the pause of
// that question has ended without an error, with this answer.
func (v *View) relateReplies(list Replies, pauses []askedPause) {
	var told map[string]bool // nil until needed
	at, seen, isTold, looked := -1, agui.SeenMessage{}, false, false
	for n := range list {
		d := &list[n]
		m := v.Input.Messages[d.At]
		d.Call = m.ToolCallID
		if d.At != at { // computed once for each message, because one may have very many replies
			at, seen, looked = d.At, agui.NewSeenMessage(m), false
		}
		a := d.relateToPause(v.Dialect.Reader, m, seen, pauses)
		if a == nil || a.result == nil || a.result.EndKind != store.Finished {
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

// relateToPause finds the newest pause with a question that the reply answers, and sets it in the
// reply. It returns that pause, or nil if there is none.
func (d *Reply) relateToPause(reader translate.HistoryReader, m agui.Message, seen agui.SeenMessage, pauses []askedPause) *askedPause {
	for n := range pauses {
		a := &pauses[n]
		// a backend could read it as a decision, even after the question has ended
		if d.Unclear && a.byKey[d.Key] != nil {
			d.Decides = true
			return nil
		}
		answer, past, ok := a.answer(reader, m, d.Reply)
		answer.Message = seen
		if !ok || a.isEarlierReply(d.Reply, answer) {
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

// toldAnswerMessages returns the tool messages that contained answers to calls when they were sent
// to the client, in canonical form. The text of such a message may differ from the answer itself.
func (v *View) toldAnswerMessages() map[string]bool {
	set := map[string]bool{}
	for _, result := range v.Record.Results {
		if result.Pause == nil || result.EndKind != store.Finished {
			continue
		}
		calls := map[string]bool{}
		for _, i := range result.Pause.Interrupts {
			calls[i.ToolCallID()] = true
		}
		agui.View(v.endedMessages(result)).ForEach(func(_, m gjson.Result) bool {
			if call := agui.IDText(m.Get("toolCallId")); call != "" && calls[call] {
				set[string(agui.Canonical([]byte(m.Raw)))] = true
			}
			return true
		})
	}
	return set
}

// isResult reports whether a pause of the reply's dialect asked about the call that the reply
// names.
func isResult(pauses []askedPause, one translate.Reply) bool {
	return slices.ContainsFunc(pauses, func(a askedPause) bool { return a.pause.Dialect == one.Dialect && a.runCalls[one.Key] })
}

// EndInStray reports whether the request ends in a decision on a question that is not on record. If
// later text of a person, or an answer to a known question, follows the decision, the decision is
// old and is removed instead. Text in the same message does not count as later. names is the call
// that the decision is about, or "" if that is not known.
func (list Replies) EndInStray(in *agui.RunInput, open *agui.Pause) (is bool, names string) {
	last := -1
	for here := range list.byMessage() {
		if slices.ContainsFunc(here, func(d Reply) bool { return d.counts() }) {
			continue
		}
		for n := range here {
			d := &here[n]
			// A reply that is too late, or that answers an earlier question, only repeats something
			// if the request has entries in resume. Then the entries count, and the reply is
			// removed.
			late := d.WasAnswer || d.TooLate && d.Pause != nil && d.Pause == open
			if !d.Decides || late && len(in.Resume) > 0 {
				continue
			}
			if d.At > last {
				last, names = d.At, ""
			}
			names = cmp.Or(names, d.CallID)
		}
	}
	return last >= 0 && last >= list.LastSaid(in.Messages), names
}

// markRepeatedEntries marks replies whose message repeats an entry of the request's resume array,
// as CopilotKit's does, and whose question is not known. A dialect may read such a message as a
// decision on another call than the one of its question. For example, ADK asks about the call that
// the client was shown by a call of its own. The entry counts, and not the message.
func (v *View) markRepeatedEntries(list Replies) {
	if len(list) == 0 || len(v.Input.Resume) == 0 {
		return
	}
	named := map[string]bool{}
	for _, e := range v.Input.Resume {
		named[e.InterruptID] = true
	}
	var repeats []contract.RepeatFinder
	for _, p := range v.pauses() {
		if slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return named[i.ID] }) {
			repeats = append(repeats, contract.RepeatsOf(p, v.Input.Resume))
		}
	}
	for n := range list {
		d := &list[n]
		m := v.Input.Messages[d.At]
		if d.Pause == nil && !d.Unclear && slices.ContainsFunc(repeats, func(of contract.RepeatFinder) bool { return of.IsRepeat(m) }) {
			d.RepeatsEntry, d.Answer.Message = true, agui.NewSeenMessage(m)
		}
	}
}

// Unanswered returns a copy of the replies in which no reply is marked as an answer of this
// request.
func (list Replies) Unanswered() Replies {
	out := slices.Clone(list)
	for n := range out {
		out[n].IsAnswer, out[n].RepeatsEntry = false, false
	}
	return out
}

// byMessage iterates over the messages with replies, in order. It yields the replies of each
// message.
func (list Replies) byMessage() iter.Seq[Replies] {
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

// repliesAt returns the replies in the message at the index place.
func (list Replies) repliesAt(place int) Replies {
	by := func(d Reply, place int) int { return d.At - place }
	from, _ := slices.BinarySearchFunc(list, place, by)
	to, _ := slices.BinarySearchFunc(list, place+1, by)
	return list[from:to]
}

// LastSaid returns the index of the last message that contains text of a person or an answer to a
// question. It returns -1 if there is none.
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

// Carriers returns messages that contain answers. others are those that contain no answer of this
// request, but an answer to an earlier question. mixed are those that also contain something else.
func (list Replies) Carriers() (others, mixed []agui.SeenMessage) {
	for here := range list.byMessage() {
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
