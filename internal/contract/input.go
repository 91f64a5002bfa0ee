package contract

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// newInput returns the messages of the request that are new input: what seen lacks and a person, a
// tool or an operator said. A message of the assistant is not input: clients rename those. Nor is
// one that only answers, or repeats an answer to p.
func (c *Case) newInput(seen []agui.SeenMessage, p *agui.Pause) []agui.Message {
	list := slices.Clone(agui.NewMessages(c.Input.Messages, seen))
	onlyAnswers := c.OnlyAnswers(p)
	return slices.DeleteFunc(list, func(m agui.Message) bool { return !isInput(m) || onlyAnswers(m) })
}

// OnlyAnswers returns a function that reports whether a message answers a question and says nothing
// else: it repeats an answer to one of the pauses, as CopilotKit's does beside resume, or it is an
// answer that a dialect has read. A nil pause is one that nobody knows; see RepeatsOf.
func (c *Case) OnlyAnswers(pauses ...*agui.Pause) func(agui.Message) bool {
	repeats := make([]Repeats, len(pauses))
	for n, p := range pauses {
		repeats[n] = RepeatsOf(p, c.Input.Resume)
	}
	answerOnly := c.answerOnly()
	return func(m agui.Message) bool {
		return answerOnly(m) || slices.ContainsFunc(repeats, func(r Repeats) bool { return r.Has(m) })
	}
}

func isInput(m agui.Message) bool {
	switch m.Role {
	case "assistant", "reasoning", "activity":
		return false
	}
	return true
}

// answerOnly finds the messages that answer this pause or one before, and say nothing else.
func (c *Case) answerOnly() func(agui.Message) bool {
	only := map[agui.SeenMessage]bool{}
	for _, a := range c.Answers {
		only[a.Message] = true
	}
	for _, m := range c.Settled {
		only[m] = true
	}
	for _, m := range c.Mixed {
		delete(only, m)
	}
	delete(only, agui.SeenMessage{}) // of answers in fields
	// See hashes a message's content, and most requests have no answer in a message at all.
	return func(m agui.Message) bool { return len(only) > 0 && only[agui.See(m)] }
}

// bringsNewSince reports whether the request brings a message beside answers that are for no open
// interrupt. r is how the pause ended that they name, nil if that is not known. Where the record
// knows the messages of that time, it is asked. A history that ends in the assistant's words brings
// nothing: ordinary runs after the pause are not in the record.
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
	if r != nil && !r.Tombstone { // only the questions are left of a tombstone's pause
		p, seen = r.Pause, r.Seen
	}
	if len(seen) == 0 {
		return !RepeatsOf(p, c.Input.Resume).Has(list[len(list)-1])
	}
	return len(c.newInput(seen, p)) > 0
}
