package history

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/words"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A cleaning collects what must be removed from the messages of a request before the backend gets
// them.
type cleaning struct {
	removed   map[int]bool // indexes of messages that are removed, except for their Rest
	shortened map[int]*agui.Message
	calls     map[string]bool // calls that are removed, together with all their results
	// stays has those calls with an id in calls that stay, together with their results: a call with
	// the same id that has results, but no decision that is removed
	stays    map[callAt]bool
	strays   map[int]bool   // the indexes of the messages that decide on calls
	places   map[string]int // the index of the latest call with each id, while remaining visits them
	repeats  contract.RepeatFinder
	resuming bool
	// the number of tool messages of each call; nil unless a call has several
	leftovers map[callAt]int
	callOf    map[int]callAt // maps the index of a tool message to its call
	decides   map[int]bool   // the indexes of decisions; nil if leftovers is nil
	// settled maps the index of each answer that stays, because other messages follow it, to the
	// calls that it answers. It is nil if the request resumes a pause.
	settled map[int][]string
}

// Clean returns the messages that the dialect gets. If nothing is removed, it returns the same
// list. resumedPause is the pause that the request resumes, or nil for a run without answers.
// strays is the number of removed messages with a stray decision: a decision about which no
// question of the thread is open.
//
// Decisions are removed, because the dialect adds the answers itself. A decision that the record
// does not know as an answer must not reach the backend. Answers that are already on record stay if
// their dialect says so, unless the messages after them are removed (withoutExposed). Together with
// a stray decision, the calls that it decides are removed, because they would be left without a
// result.
func Clean(v *View, replies Replies, resumedPause *agui.Pause) (list []agui.Message, strays int) {
	c := &cleaning{resuming: resumedPause != nil}
	places := kit.PlacesIn(v.Input.Messages)
	for here := range replies.byMessage() {
		if c.takeReplies(here, &places, resumedPause) {
			strays++
		}
	}
	switch {
	case resumedPause != nil:
		c.repeats = contract.RepeatsOf(resumedPause, v.Input.Resume)
	case v.Show != translate.ShowNative: // with ShowNative, the history has the backend's own form
		if c.countLeftovers(v.Input.Messages); c.leftovers != nil {
			c.repeats = contract.RepeatsIn(v.pauses()...)
			c.decides = map[int]bool{}
			for _, d := range replies {
				c.decides[d.At] = true
			}
		}
	}
	return c.remaining(v.Input.Messages), strays
}

// takeReplies records what must be removed from one message with replies. replies are the replies
// of that message. stray is true if its decision is about a question that is not open.
func (c *cleaning) takeReplies(replies Replies, places *kit.Places, resumedPause *agui.Pause) (stray bool) {
	known := func(is func(Reply) bool) bool { return slices.ContainsFunc(replies, is) }
	taken := resumedPause != nil && known(func(d Reply) bool { return d.IsAnswer || d.RepeatsEntry })
	asked := known(func(d Reply) bool { return d.Decides })
	switch {
	case taken:
	case known(func(d Reply) bool { return d.WasAnswer && d.Keep }):
		if places.Answers(replies[0].At) {
			c.noteSettled(replies)
			return false
		}
		if c.take(replies[0]); places.Repeated {
			return false // another answer to the same call stays
		}
	case !asked && !known(func(d Reply) bool { return d.Pause != nil }):
		return false // the message is the result of a tool that needed no approval
	}
	c.take(replies[0])
	if repeats := resumedPause != nil && known(func(d Reply) bool { return d.Pause == resumedPause }); taken || repeats {
		return false
	}
	if known(func(d Reply) bool { return d.RepeatsEntry && d.Pause == nil }) {
		return false // the call of this reply is not the call that asked the question
	}
	var calls []string // replies of one message may share one list, and both may be very long
	for _, d := range replies {
		if d.Decides && !sameList(d.Calls, calls) {
			calls = d.Calls
			c.takeCalls(calls)
			if c.strays == nil {
				c.strays = map[int]bool{}
			}
			c.strays[d.At] = true
		}
	}
	return asked && !known(func(d Reply) bool { return d.WasAnswer })
}

// noteSettled notes the calls of an answer that a backend would read as a new one at the end of the
// messages. replies are the replies of one message, which stays.
func (c *cleaning) noteSettled(replies Replies) {
	for _, d := range replies {
		if c.resuming || !d.WasAnswer || !d.Keep || !d.TooLate {
			continue
		}
		if c.settled == nil {
			c.settled = map[int][]string{}
		}
		c.settled[d.At] = append(c.settled[d.At], d.Calls...)
	}
}

func (c *cleaning) take(d Reply) {
	if c.removed == nil {
		c.removed, c.shortened = map[int]bool{}, map[int]*agui.Message{}
	}
	c.removed[d.At], c.shortened[d.At] = true, d.Rest
}

func (c *cleaning) takeCalls(ids []string) {
	for _, id := range ids {
		if c.calls == nil {
			c.calls = map[string]bool{}
		}
		c.calls[id] = true
	}
}

// findStays finds the calls that stay although a removed decision is about a call with their id.
func (c *cleaning) findStays(list []agui.Message) {
	last, decided := map[string]int{}, map[callAt]bool{}
	c.stays, c.places = map[callAt]bool{}, map[string]int{}
	for at := range list {
		m := &list[at]
		noteCalls(last, at, m)
		if !kit.IsTool(agui.View(m.JSON)) {
			continue
		}
		for _, id := range kit.AnsweredCalls(agui.View(m.JSON)) {
			place, held := last[id]
			switch of := (callAt{place, id}); {
			case !held || !c.calls[id]:
			case c.strays[at]:
				decided[of] = true
			case !c.isEmptied(at):
				c.stays[of] = true
			}
		}
	}
	for of := range decided {
		delete(c.stays, of)
	}
}

// noteCalls notes that the message at the index at makes its calls.
func noteCalls(last map[string]int, at int, m *agui.Message) {
	if m.Plain {
		return
	}
	for _, call := range kit.Calls(agui.View(m.JSON)) {
		for _, id := range kit.IDsOrNone(call, "id") {
			last[id] = at
		}
	}
}

// sameList reports whether two slices share their memory. It does not compare their elements.
func sameList(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// countLeftovers finds the calls that would still have several tool messages after the cleaning. Of
// these messages, those that only repeat an answer are removed later, until one is left.
func (c *cleaning) countLeftovers(list []agui.Message) {
	count := map[string]int{}
	several := false
	for n := range list {
		if m := &list[n]; m.Role == "tool" && m.ToolCallID != "" && !c.isEmptied(n) {
			count[m.ToolCallID]++
			several = several || count[m.ToolCallID] > 1
		}
	}
	if several {
		c.countByCall(list)
	}
}

// isEmptied reports whether the message at the index at is removed completely.
func (c *cleaning) isEmptied(at int) bool { return c.removed[at] && c.shortened[at] == nil }

// A callAt identifies a call by its id and by the index of its message. The id is not enough,
// because some models repeat ids and each of their calls needs a result. The index is -1 if no
// earlier message makes the call.
type callAt struct {
	place int
	id    string
}

func (c *cleaning) countByCall(list []agui.Message) {
	c.leftovers, c.callOf = map[callAt]int{}, map[int]callAt{}
	last := map[string]int{}
	for n := range list {
		m := &list[n]
		if m.Role == "tool" && m.ToolCallID != "" {
			if c.isEmptied(n) {
				continue
			}
			of := callAt{-1, m.ToolCallID}
			if place, ok := last[of.id]; ok {
				of.place = place
			}
			c.leftovers[of]++
			c.callOf[n] = of
		} else if !m.Plain {
			for _, one := range kit.Calls(agui.View(m.JSON)) {
				last[agui.IDText(one.Get("id"))] = n
			}
		}
	}
}

// isRepeat reports whether a message only repeats an answer, so that it is removed. It must be
// called exactly once for each message, because it counts them.
func (c *cleaning) isRepeat(at int, m *agui.Message) bool {
	if c.resuming {
		return c.repeats.IsRepeat(*m)
	}
	if m.Role != "tool" || c.leftovers[c.callOf[at]] < 2 {
		return false
	}
	if !c.decides[at] && !c.repeats.IsRepeat(*m) {
		return false
	}
	c.leftovers[c.callOf[at]]--
	return true
}

// remaining returns the messages that remain. If all of them remain unchanged, it returns list
// itself.
func (c *cleaning) remaining(list []agui.Message) []agui.Message {
	var kept []agui.Message
	var from []int // the indexes of the kept messages in list; nil if they are not needed
	changed, cut := false, false
	if len(c.calls) > 0 {
		c.findStays(list)
	}
	for at := range list {
		if len(c.calls) > 0 {
			noteCalls(c.places, at, &list[at])
		}
		m, ok := c.remainder(at, list[at])
		same := ok && len(m.JSON) == len(list[at].JSON)
		if !changed && !same {
			kept, changed = slices.Clone(list[:at]), true
		}
		if changed && ok {
			kept = append(kept, m)
		}
		if ok && c.settled != nil {
			from = append(from, at)
		}
		cut = !ok
	}
	switch {
	case !changed:
		return list
	case cut && c.settled != nil:
		return c.withoutExposed(kept, from)
	}
	return kept
}

// withoutExposed returns the list without exposed answers, and without the calls that they answer.
// An answer to an ended question is exposed if it has become one of the last tool messages, because
// the messages after it were removed. The backend would read it as a new answer. from has the
// index of each message of the list in the request.
func (c *cleaning) withoutExposed(list []agui.Message, from []int) []agui.Message {
	for {
		end, calls := len(list), map[string]bool{}
		var results []agui.Message // of other calls, in reverse order
		for end > 0 && kit.IsTool(agui.View(list[end-1].JSON)) {
			end--
			if of, exposed := c.settled[from[end]]; exposed {
				for _, id := range of {
					calls[id] = true
				}
			} else {
				results = append(results, list[end])
			}
		}
		if len(list)-end == len(results) {
			return list
		}
		slices.Reverse(results)
		if list, from = withoutLastCalls(list[:end], from[:end], calls); len(results) > 0 {
			return append(list, results...)
		}
	}
}

// withoutLastCalls removes the last call with each of these ids from the list, which it changes. A
// message without other content is removed, and its index from the parameter from.
func withoutLastCalls(list []agui.Message, from []int, calls map[string]bool) ([]agui.Message, []int) {
	for at := len(list) - 1; at >= 0 && len(calls) > 0; at-- {
		here := map[string]bool{}
		for _, id := range kit.CallIDs(list[at]) {
			if calls[id] {
				here[id] = true
				delete(calls, id)
			}
		}
		if len(here) == 0 {
			continue
		}
		m, rest := kit.MessageWithoutCalls(list[at], here)
		if list[at] = m; !rest {
			list, from = slices.Delete(list, at, at+1), slices.Delete(from, at, at+1)
		}
	}
	return list, from
}

// remainder returns what remains of a message. It returns false if nothing remains.
func (c *cleaning) remainder(at int, m agui.Message) (agui.Message, bool) {
	switch {
	case isQuestionText(&m):
		return m, false // Holdpoint has written this message
	case c.isRepeat(at, &m):
		return m, false
	case c.removed[at] && c.shortened[at] != nil:
		return *c.shortened[at], true
	case c.removed[at], m.Role == "tool" && c.calls[m.ToolCallID] && !c.isKept(m.ToolCallID):
		return m, false
	case len(c.calls) == 0, m.Plain: // a Plain message has no calls
		return m, true
	}
	return kit.EditCalls(m, func(call gjson.Result) json.RawMessage {
		if slices.ContainsFunc(kit.IDsOrNone(call, "id"), func(id string) bool { return c.calls[id] && !c.stays[callAt{at, id}] }) {
			return nil
		}
		return json.RawMessage(call.Raw)
	})
}

// isKept reports whether the latest visited call with the id stays.
func (c *cleaning) isKept(id string) bool {
	place, held := c.places[id]
	return held && c.stays[callAt{place, id}]
}

// isQuestionText reports whether a message is a text with which Holdpoint showed a pause.
func isQuestionText(m *agui.Message) bool {
	_, is := words.QuestionOf(m.ID)
	return is && m.Role == "assistant" && len(kit.Calls(agui.View(m.JSON))) == 0
}
