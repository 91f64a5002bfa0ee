package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A subagent that waits ends with SUBAGENT_FINISHED. Its outcome names interrupts of the run's end
// by their ids (AG-UI 1.0), and clients relate the two. The published ids are made at that end, so
// such an event waits for it. The ends of other subagents behind it wait too: their order is the
// backend's.

// waitingSubagents are the ends of subagents that wait for the run's.
type waitingSubagents struct {
	list []agui.Event
	size int
}

// maxWaitingSubagents bounds what waits, in bytes. Above it events pass with the backend's ids.
const maxWaitingSubagents = 1 << 20

// holds says whether the event waits.
func (s *waitingSubagents) holds(ev agui.Event) bool {
	if ev.Type != agui.SubagentFinished || s.size > maxWaitingSubagents {
		return false
	}
	if len(s.list) == 0 && (!ev.Valid() || !agui.View(ev.JSON).Get("outcome.interruptIds").IsArray()) {
		return false
	}
	s.list = append(s.list, ev.Clone())
	s.size += len(ev.JSON)
	return true
}

// begunAgain says whether the event begins a subagent whose end waits. It goes on in the same run,
// so its end must go out first.
func (s *waitingSubagents) begunAgain(ev agui.Event) bool {
	if len(s.list) == 0 || !ev.Valid() {
		return false
	}
	id := ev.Get("subagentRunId").Str
	return slices.ContainsFunc(s.list, func(end agui.Event) bool { return end.Get("subagentRunId").Str == id })
}

// take are the events that wait, with the published ids of p; nil: nothing was asked.
func (s *waitingSubagents) take(p *agui.Pause) []agui.Event {
	list := s.list
	s.list = nil
	if p == nil || len(list) == 0 {
		return list
	}
	published := make(map[string][]string, len(p.Interrupts))
	for _, i := range p.Interrupts {
		published[i.Native] = append(published[i.Native], i.ID)
	}
	for n, ev := range list {
		list[n] = withInterruptIDs(ev, published)
	}
	return list
}

// withInterruptIDs is the end of a subagent with other ids. An id without another stays. Native ids
// may repeat: each use takes the next of the others, and the last one stays.
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

// endSubagents gives the events that waited. p is what the run asks, nil for nothing.
func (r *run) endSubagents(p *agui.Pause) []agui.Event {
	list := r.subagents.take(p)
	for _, ev := range list {
		r.transcript.Add(ev)
	}
	return list
}

// holdsSubagent says whether an event waits for the run's end.
func (r *run) holdsSubagent(ev agui.Event) bool {
	return r.show != translate.ShowNative && r.subagents.holds(ev)
}
