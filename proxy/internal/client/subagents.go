package client

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Subagents are the ends of subagents that wait for the end of the run. A subagent that waits for
// an answer ends with SUBAGENT_FINISHED. Its outcome names interrupts of the run's end by their ids
// (AG-UI 1.0), and clients relate the two. The published ids are made at that end, so such an event
// waits for it. The ends of other subagents after it wait too, because their order is the
// backend's. The zero value has none.
type Subagents struct {
	ends []agui.Event
	size int // in bytes
}

// maxWaitingSubagents bounds the ends that wait, in bytes. Above it events pass with the backend's
// ids.
const maxWaitingSubagents = 1 << 20

// Hold keeps an event that has to wait, and reports whether it does.
func (s *Subagents) Hold(ev agui.Event) bool {
	if ev.Type != agui.SubagentFinished || s.size > maxWaitingSubagents {
		return false
	}
	if len(s.ends) == 0 && (!ev.Valid() || !agui.View(ev.JSON).Get("outcome.interruptIds").IsArray()) {
		return false
	}
	s.ends = append(s.ends, ev.Clone())
	s.size += len(ev.JSON)
	return true
}

// BeginsAgain reports whether the event begins a subagent whose end waits. The subagent continues
// in the same run, so its end must go out first.
func (s *Subagents) BeginsAgain(ev agui.Event) bool {
	if len(s.ends) == 0 || !ev.Valid() {
		return false
	}
	id := ev.Get("subagentRunId").Str
	return slices.ContainsFunc(s.ends, func(end agui.Event) bool { return end.Get("subagentRunId").Str == id })
}

// Take returns the events that wait, with the published ids of p, and forgets them. p is nil if the
// run asks nothing.
func (s *Subagents) Take(p *agui.Pause) []agui.Event {
	ends := s.ends
	s.ends = nil
	if p == nil || len(ends) == 0 {
		return ends
	}
	published := make(map[string][]string, len(p.Interrupts))
	for _, i := range p.Interrupts {
		published[i.Native] = append(published[i.Native], i.ID)
	}
	for n, ev := range ends {
		ends[n] = withInterruptIDs(ev, published)
	}
	return ends
}

// withInterruptIDs returns the end of a subagent with other ids, by the ids that it has. An id
// without another stays. Native ids may repeat: each use takes the next of the others, and the last
// one stays.
func withInterruptIDs(ev agui.Event, others map[string][]string) agui.Event {
	outcome := agui.View(ev.JSON).Get("outcome")
	ids := outcome.Get("interruptIds")
	if !ids.IsArray() {
		return ev
	}
	var list []json.RawMessage
	ids.ForEach(func(_, id gjson.Result) bool {
		one := json.RawMessage(id.Raw)
		if other := others[id.Str]; len(other) > 0 && id.Type == gjson.String {
			one = agui.MustMarshal(other[0])
			if len(other) > 1 {
				others[id.Str] = other[1:]
			}
		}
		list = append(list, one)
		return true
	})
	return ev.With(agui.SetKey(ev.JSON, "outcome", agui.SetKey([]byte(outcome.Raw), "interruptIds", agui.List(list))))
}
