package calls

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
)

// CallCounts counts the calls that a stream begins. Some models repeat ids, and a client merges two
// calls with one id. It keeps hashes of the ids, because copies would need more memory.
type CallCounts struct {
	begun map[uint64]int // how often a call began since its last result
	last  []uint64       // the calls that began since the last text and the last result
}

// seed is the seed of the hashes.
var seed = maphash.MakeSeed()

func hashOf(call string) uint64 { return maphash.String(seed, call) }

// callOf returns the hash of the id of an event's call.
func callOf(ev agui.Event) uint64 { return hashOf(agui.View(ev.JSON).Get("toolCallId").Str) }

// Note records an event.
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

// Passes reports whether Note does nothing for an event of the type.
func (s *CallCounts) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallResult:
		return false
	case agui.TextContent, agui.TextChunk:
		return len(s.last) == 0
	}
	return true
}

// IsRepeated reports whether several calls with the id have no result yet.
func (s *CallCounts) IsRepeated(call string) bool { return s.begun[hashOf(call)] > 1 }

// IsLast reports whether a call with the id began after the last text and the last result.
func (s *CallCounts) IsLast(call string) bool { return slices.Contains(s.last, hashOf(call)) }
