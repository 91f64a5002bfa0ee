package contract

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// newInput returns the new input of the request: the messages that the open pause p has not seen.
func (c *Case) newInput(p *agui.Pause) []agui.Message { return c.inputAfter(p.SeenMessages, p, nil) }

// inputAfter returns the messages of the request that are not in seenMessages. Messages of the
// assistant do not count as input, because clients rename them. A message does not count either if
// it only answers a question, only repeats an answer to p, or only repeats a result on record.
// ended is the end of p that seenMessages belong to, or nil if p is open.
func (c *Case) inputAfter(seenMessages []agui.SeenMessage, p *agui.Pause, ended *store.Result) []agui.Message {
	list := slices.Clone(agui.NewMessages(c.Input.Messages, seenMessages))
	onlyAnswers := c.OnlyAnswers(p)
	list = slices.DeleteFunc(list, func(m agui.Message) bool { return !isInput(m) || onlyAnswers(m) })
	if c.RecordedResults == nil || !slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role == "tool" }) {
		return list
	}
	return slices.DeleteFunc(list, c.RecordedResults(ended))
}

// OnlyAnswers returns a function that reports whether a message contains an answer and nothing
// else. This is so for an answer that a dialect has read from a message. It is also so for a
// message that repeats an answer to one of the pauses: CopilotKit sends such messages together with
// resume. A nil pause means that the pause is unknown, see RepeatsOf.
func (c *Case) OnlyAnswers(pauses ...*agui.Pause) func(agui.Message) bool {
	repeats := make([]RepeatFinder, len(pauses))
	for n, p := range pauses {
		repeats[n] = RepeatsOf(p, c.Input.Resume)
	}
	answerOnly := c.answerOnly()
	return func(m agui.Message) bool {
		return answerOnly(m) || slices.ContainsFunc(repeats, func(r RepeatFinder) bool { return r.IsRepeat(m) })
	}
}

func isInput(m agui.Message) bool {
	switch m.Role {
	case "assistant", "reasoning", "activity":
		return false
	}
	return true
}

// answerOnly returns a function that reports whether a message contains an answer to the open pause
// or to an earlier one, and no other content.
func (c *Case) answerOnly() func(agui.Message) bool {
	only := map[agui.SeenMessage]bool{}
	for _, a := range c.Answers {
		only[a.Message] = true
	}
	for _, m := range c.RepeatedAnswers {
		only[m] = true
	}
	for _, m := range c.MixedMessages {
		delete(only, m)
	}
	delete(only, agui.SeenMessage{}) // answers that are not messages have the zero value
	// agui.NewSeenMessage hashes the content of a message, so it is called only if some message has
	// an answer.
	return func(m agui.Message) bool { return len(only) > 0 && only[agui.NewSeenMessage(m)] }
}

// bringsNewSince reports whether the request has a new message besides its answers, which name no
// open interrupt. r is the result of the pause that the answers name, or nil if that pause is
// unknown. If the result has the messages of the conversation at its end, the request is compared
// with them. Otherwise only the last message of the request counts: it is not new if it is the
// assistant's. The record does not have the messages of ordinary runs after the pause.
func (c *Case) bringsNewSince(r *store.Result) bool {
	list := slices.DeleteFunc(slices.Clone(c.Input.Messages), c.answerOnly())
	if r == nil && len(c.Record.Results) > 0 {
		r = c.Record.Results[0]
	}
	if len(list) == 0 || !isInput(list[len(list)-1]) {
		return false
	}
	var p *agui.Pause
	var seen []agui.SeenMessage
	if r != nil && !r.Tombstone { // a tombstone has only the questions of its pause
		p, seen = r.Pause, r.SeenMessages
	}
	if len(seen) == 0 {
		return !RepeatsOf(p, c.Input.Resume).IsRepeat(list[len(list)-1])
	}
	return len(c.inputAfter(seen, p, r)) > 0
}
