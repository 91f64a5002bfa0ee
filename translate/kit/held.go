package kit

import (
	"maps"
	"slices"

	"holdpoint/internal/agui"
)

// HeldEvents are events that wait for a verdict: those of a call, or of whatever else K names. It
// keeps copies, and knows in which order all of them came.
//
// Max bounds their bytes. Held does not enforce it: who adds looks whether it is Full, and lets
// something go, for a call of which nobody can tell what it is by then is nobody's.
type HeldEvents[K comparable] struct {
	Max int

	of   map[K]*heldEvents
	size int
	turn int
}

type heldEvents struct {
	list  []agui.Event
	turns []int // for each event, its place among all that were held
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

// Size returns how many bytes are held.
func (h *HeldEvents[K]) Size() int { return h.size }

// Full says that more is held than the bound allows.
func (h *HeldEvents[K]) Full() bool { return h.size > h.Max }

// Empty says that nothing is held.
func (h *HeldEvents[K]) Empty() bool { return len(h.of) == 0 }

// Release lets the events of one call go, and returns them in their order. The others stay.
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

// ReleaseAll lets all go, and returns them in the order in which they came.
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
