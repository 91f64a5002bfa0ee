package kit

import (
	"maps"
	"slices"

	"holdpoint/internal/agui"
)

// HeldEvents holds events until it is decided what happens to them. The events belong to groups:
// each group has a key of type K, such as the id of a call. HeldEvents keeps copies of the events,
// and remembers the order in which all of them were added.
//
// Max is the maximum number of bytes. HeldEvents does not enforce it: the caller must check Full
// after it adds an event, and then release the events of a group.
type HeldEvents[K comparable] struct {
	Max int

	of   map[K]*heldEvents
	size int
	turn int
}

type heldEvents struct {
	list  []agui.Event
	turns []int // the position of each event among all events that were added
}

// Add holds a copy of the event in the group with the key of.
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

// Size returns the number of bytes of the held events.
func (h *HeldEvents[K]) Size() int { return h.size }

// Full reports whether the held events have more bytes than Max.
func (h *HeldEvents[K]) Full() bool { return h.size > h.Max }

// Empty reports whether no events are held.
func (h *HeldEvents[K]) Empty() bool { return len(h.of) == 0 }

// Release removes the events of the group with the key of, and returns them in order.
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
