package calls

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
)

// CallCounts counts the calls that a stream begins. It is needed because some models repeat ids,
// and a client merges two calls with the same id. CallCounts keeps hashes of the ids, because the
// ids themselves would need more memory.
type CallCounts struct {
	begun map[uint64]int // hash of an id → number of calls that began since the id's last result
	last  []uint64       // hashes of the calls that began after the last text and the last result
}

// seed is the seed of the hashes.
var seed = maphash.MakeSeed()

func hashOf(call string) uint64 { return maphash.String(seed, call) }

// callOf returns the hash of the id of the call that an event belongs to.
func callOf(ev agui.Event) uint64 { return hashOf(agui.View(ev.JSON).Get("toolCallId").Str) }

// Note counts the call that the event begins, or resets the counts if the event is a result or a
// text.
func (s *CallCounts) Note(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart:
		if s.begun == nil {
			s.begun = map[uint64]int{}
		}
		call := callOf(ev)
		s.begun[call]++
		s.last = append(s.last, call)
	case agui.CallResult:
		delete(s.begun, callOf(ev))
		s.last = s.last[:0]
	case agui.TextContent, agui.TextChunk:
		s.last = s.last[:0]
	}
}

// Passes reports whether Note ignores events of type t.
func (s *CallCounts) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallResult:
		return false
	case agui.TextContent, agui.TextChunk:
		return len(s.last) == 0
	}
	return true
}

// IsRepeated reports whether several calls with this id have begun since the id's last result.
func (s *CallCounts) IsRepeated(call string) bool { return s.begun[hashOf(call)] > 1 }

// IsLast reports whether a call with the id began after the last text and the last result.
func (s *CallCounts) IsLast(call string) bool { return slices.Contains(s.last, hashOf(call)) }
