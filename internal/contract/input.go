package contract

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// newInput returns the new input of the request: the messages that are not in seen. Messages of the
// assistant are not input, because clients rename them. A message that only answers a question, or
// repeats an answer to p, is not input either.
func (c *Case) newInput(seen []agui.SeenMessage, p *agui.Pause) []agui.Message {
	list := slices.Clone(agui.NewMessages(c.Input.Messages, seen))
	onlyAnswers := c.OnlyAnswers(p)
	return slices.DeleteFunc(list, func(m agui.Message) bool { return !isInput(m) || onlyAnswers(m) })
}

// OnlyAnswers returns a function that reports whether a message has an answer to a question and no
// other content. Such a message repeats an answer to one of the pauses, as the messages that
// CopilotKit sends with resume do, or has an answer that a dialect has read. A nil pause stands for
// an unknown one; see RepeatsOf.
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

// answerOnly returns a function that reports whether a message has an answer to this pause or an
// earlier one, and no other content.
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
	delete(only, agui.SeenMessage{}) // the zero value is that of answers in fields
	// agui.NewSeenMessage hashes the content of a message, so it is not called if no message has an
	// answer.
	return func(m agui.Message) bool { return len(only) > 0 && only[agui.NewSeenMessage(m)] }
}

// bringsNewSince reports whether the request has a new message in addition to answers that are for
// no open interrupt. r is the result of the pause that they name, or nil if unknown. If the record
// has the messages of that time, the request is compared with them. Otherwise a history that ends
// with a message of the assistant has nothing new. The record does not have ordinary runs after the
// pause.
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
	return len(c.newInput(seen, p)) > 0
}
