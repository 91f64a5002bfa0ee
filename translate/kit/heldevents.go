package kit

import (
	"maps"
	"slices"

	"holdpoint/internal/agui"
)

// HeldEvents are events that are held back until a verdict, grouped by their call or by another key
// of type K. It keeps copies, and remembers the order in which all of them were added.
//
// Max is the maximum of their bytes. HeldEvents does not enforce it. The caller checks Full after
// it adds an event, and releases events of a call that still has no verdict.
type HeldEvents[K comparable] struct {
	Max int

	of   map[K]*heldEvents
	size int
	turn int
}

type heldEvents struct {
	list  []agui.Event
	turns []int // for each event, its position among all events that were added
}

// Add keeps a copy of an event.
func (h *HeldEvents[K]) Add(of K, ev agui.Event) {
	if h.of == nil {
		h.of = map[K]*heldEvents{}
	}
	events := h.of[of]
	if events == nil {
		events = &heldEvents{}
		h.of[of] = events
	}
	events.list, events.turns = append(events.list, ev.Clone()), append(events.turns, h.turn)
	h.size += len(ev.JSON)
	h.turn++
}

// Size returns the number of bytes that are held.
func (h *HeldEvents[K]) Size() int { return h.size }

// Full reports whether more bytes are held than Max allows.
func (h *HeldEvents[K]) Full() bool { return h.size > h.Max }

// Empty reports whether no events are held.
func (h *HeldEvents[K]) Empty() bool { return len(h.of) == 0 }

// Release removes the events of one key, and returns them in their order.
func (h *HeldEvents[K]) Release(of K) []agui.Event {
	events := h.of[of]
	if events == nil {
		return nil
	}
	delete(h.of, of)
	for _, ev := range events.list {
		h.size -= len(ev.JSON)
	}
	return events.list
}

// ReleaseAll removes all events, and returns them in the order in which they were added.
func (h *HeldEvents[K]) ReleaseAll() []agui.Event {
	if h.Empty() {
		return nil
	}
	at := map[int]agui.Event{}
	for _, events := range h.of {
		for n, ev := range events.list {
			at[events.turns[n]] = ev
		}
	}
	h.of, h.size = nil, 0
	var list []agui.Event
	for _, turn := range slices.Sorted(maps.Keys(at)) {
		list = append(list, at[turn])
	}
	return list
}
