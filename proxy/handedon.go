package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A cleaning is what is taken out of a request's messages before a backend gets them.
type cleaning struct {
	out       map[int]bool // places of messages that go, but for their Rest
	rest      map[int]*agui.Message
	calls     map[string]bool // calls that go, with every result that they have
	repeats   contract.Repeats
	resuming  bool
	leftovers map[callAt]int // how many tool messages a call has, where there are several
	callOf    map[int]callAt // by the place of a tool message
	decides   map[int]bool   // places of decisions, where there are leftovers
}

// cleanPass makes the input of an ordinary run what the dialect gets. The body is written at most
// once.
func (r *run) cleanPass() {
	list := r.clean(nil).of(r.in.Messages)
	r.in = r.in.Rewritten(agui.Rewrite{
		Messages: list, Replaced: changed(list, r.in.Messages),
		NoResume:  r.verdict.Leave&contract.LeaveArray != 0,
		NoCommand: r.verdict.Leave&contract.LeaveCommand != 0,
	})
}

// clean finds what goes. resumed is the pause that the request goes on with, nil for an ordinary
// run.
//
// A decision goes: the dialect puts the answers there itself, and what the record does not know as
// an answer must not reach the backend. What is settled stays if its dialect says so. With a stray
// one the calls go that ask for it: they would be left without a result.
func (r *run) clean(resumed *agui.Pause) *cleaning {
	c := &cleaning{resuming: resumed != nil}
	unknown := 0
	places := kit.PlacesIn(r.in.Messages)
	for n := 0; n < len(r.replies); {
		from, to := r.replies.repliesAt(r.replies[n].At)
		here := r.replies[from:to]
		n = to
		known := func(is func(reply) bool) bool { return slices.ContainsFunc(here, is) }
		taken := resumed != nil && known(func(d reply) bool { return d.isAnswer || d.repeatsEntry })
		asked := known(func(d reply) bool { return d.Asked })
		switch {
		case taken:
		case known(func(d reply) bool { return d.wasAnswer && d.Kept }):
			if places.Answers(here[0].At) {
				continue
			}
			if c.take(here[0]); places.Again {
				continue // its call has the answer that stays
			}
		case !asked && !known(func(d reply) bool { return d.pause != nil }):
			continue // the result of an ordinary tool
		}
		c.take(here[0])
		if repeats := resumed != nil && known(func(d reply) bool { return d.pause == resumed }); taken || repeats {
			continue
		}
		if known(func(d reply) bool { return d.repeatsEntry && d.pause == nil }) {
			continue // its call is another than the one that asks
		}
		var calls []string // all replies in a message may name the same ones, and both may be very many
		for _, d := range here {
			if d.Asked && !sameList(d.Calls, calls) {
				calls = d.Calls
				c.takeCalls(calls)
			}
		}
		if asked && !known(func(d reply) bool { return d.wasAnswer }) {
			unknown++
		}
	}
	if unknown > 0 {
		r.log.Warn("approvals in the history taken out: no question of this thread is open for them", "approvals", unknown)
	}
	switch {
	case resumed != nil:
		c.repeats = contract.RepeatsOf(resumed, r.in.Resume)
	case r.show != translate.ShowNative: // such a client's history is the backend's own
		if c.countLeftovers(r.in.Messages); c.leftovers != nil {
			c.repeats = contract.RepeatsIn(r.pauses()...)
			c.decides = map[int]bool{}
			for _, d := range r.replies {
				c.decides[d.At] = true
			}
		}
	}
	return c
}

// pauses are those of the record, open or ended.
func (r *run) pauses() []*agui.Pause {
	list := []*agui.Pause{}
	if p := r.record.Pause; p != nil {
		list = append(list, p)
	}
	for _, result := range r.record.Results {
		if result.Pause != nil {
			list = append(list, result.Pause)
		}
	}
	for _, one := range r.linked {
		list = append(list, one.pause)
	}
	return list
}

func (c *cleaning) take(d reply) {
	if c.out == nil {
		c.out, c.rest = map[int]bool{}, map[int]*agui.Message{}
	}
	c.out[d.At], c.rest[d.At] = true, d.Rest
}

func (c *cleaning) takeCalls(ids []string) {
	for _, id := range ids {
		if c.calls == nil {
			c.calls = map[string]bool{}
		}
		c.calls[id] = true
	}
}

// sameList says whether two lists are one.
func sameList(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// countLeftovers finds the calls that have several tool messages. Of those the ones go that only
// repeat an answer, until one is left.
func (c *cleaning) countLeftovers(list []agui.Message) {
	count := map[string]int{}
	several := false
	for n := range list {
		if m := &list[n]; m.Role == "tool" && m.ToolCallID != "" {
			count[m.ToolCallID]++
			several = several || count[m.ToolCallID] > 1
		}
	}
	if several {
		c.countByCall(list)
	}
}

// A callAt is a call by the place of its message and its id. Ids of some models repeat, and each of
// their calls needs a result. The place is -1 if there is no such call before.
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
			of := callAt{-1, m.ToolCallID}
			if place, ok := last[of.id]; ok {
				of.place = place
			}
			c.leftovers[of]++
			c.callOf[n] = of
		} else if !m.Plain {
			for _, one := range kit.Calls(agui.View(m.JSON)) {
				last[one.Get("id").Str] = n
			}
		}
	}
}

// repeated says whether a message only repeats an answer. It is asked once of each.
func (c *cleaning) repeated(at int, m *agui.Message) bool {
	if c.resuming {
		return c.repeats.Has(*m)
	}
	if m.Role != "tool" || c.leftovers[c.callOf[at]] < 2 {
		return false
	}
	if !c.decides[at] && !c.repeats.Has(*m) {
		return false
	}
	c.leftovers[c.callOf[at]]--
	return true
}

// of is what is left of some messages; list itself if all is.
func (c *cleaning) of(list []agui.Message) []agui.Message {
	var kept []agui.Message
	changed := false
	for at := range list {
		m, ok := c.left(at, list[at])
		same := ok && len(m.JSON) == len(list[at].JSON)
		if !changed && !same {
			kept, changed = slices.Clone(list[:at]), true
		}
		if changed && ok {
			kept = append(kept, m)
		}
	}
	if !changed {
		return list
	}
	return kept
}

// left is what is left of a message; false: nothing.
func (c *cleaning) left(at int, m agui.Message) (agui.Message, bool) {
	switch {
	case isQuestionText(&m):
		return m, false // Holdpoint's own
	case c.repeated(at, &m):
		return m, false
	case c.out[at] && c.rest[at] != nil:
		return *c.rest[at], true
	case c.out[at], m.Role == "tool" && c.calls[m.ToolCallID]:
		return m, false
	case len(c.calls) == 0, m.Plain: // it has none
		return m, true
	}
	return kit.MessageWithoutCalls(m, c.calls)
}

// changed says whether a list differs from the one that it was made of.
func changed(list, of []agui.Message) bool {
	return len(list) != len(of) || len(list) > 0 && &list[0] != &of[0]
}
