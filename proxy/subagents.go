package proxy

import (
	"encoding/json"

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

// take are the events that wait, with the published ids of p; nil: nothing was asked.
func (s *waitingSubagents) take(p *agui.Pause) []agui.Event {
	list := s.list
	s.list = nil
	if p == nil {
		return list
	}
	published := make(map[string]string, len(p.Interrupts))
	for _, i := range p.Interrupts {
		published[i.Native] = i.ID
	}
	for n, ev := range list {
		list[n] = withInterruptIDs(ev, published)
	}
	return list
}

// withInterruptIDs is the end of a subagent with other ids. An id without another stays.
func withInterruptIDs(ev agui.Event, others map[string]string) agui.Event {
	outcome := agui.View(ev.JSON).Get("outcome")
	ids := outcome.Get("interruptIds")
	if !ids.IsArray() {
		return ev
	}
	var list []json.RawMessage
	ids.ForEach(func(_, id gjson.Result) bool {
		one := json.RawMessage(id.Raw)
		if other, ok := others[id.Str]; ok && id.Type == gjson.String {
			one = agui.MustMarshal(other)
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
