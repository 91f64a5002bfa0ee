package client

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Subagents holds back the ends of subagents until the end of the run. A subagent that waits for an
// answer ends with SUBAGENT_FINISHED. The outcome of that event names interrupts of the run's end
// by their ids (AG-UI 1.0), and clients match the two. Holdpoint makes the published ids only at
// the end of the run, so the event is held back until then. Later ends of other subagents are held
// back too, so that the backend's order does not change. The zero value is empty.
type Subagents struct {
	ends []agui.Event
	size int // the size of all events in ends, in bytes
}

// maxWaitingSubagents bounds the size of the events that are held back, in bytes. Above this bound,
// events are sent with the backend's ids.
const maxWaitingSubagents = 1 << 20

// Hold holds back an event if necessary, and reports whether it does so.
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

// BeginsAgain reports whether the event begins a subagent whose end is held back. That subagent
// continues in the same run, so its end must be sent before the event.
func (s *Subagents) BeginsAgain(ev agui.Event) bool {
	if len(s.ends) == 0 || !ev.Valid() {
		return false
	}
	id := ev.Get("subagentRunId").Str
	return slices.ContainsFunc(s.ends, func(end agui.Event) bool { return end.Get("subagentRunId").Str == id })
}

// Take removes and returns the events that are held back. It replaces the ids in them by the
// published ids of p. p is nil if the run asks no question.
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

// withInterruptIDs replaces the interrupt ids in the end of a subagent. others maps an id to its
// replacements. An id that others does not contain stays. The backend may use the same id for
// several interrupts. Then each occurrence gets the next replacement, and after the last one the
// last one again.
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
	return ev.WithJSON(agui.SetKey(ev.JSON, "outcome", agui.SetKey([]byte(outcome.Raw), "interruptIds", agui.List(list))))
}
