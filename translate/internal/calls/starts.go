package calls

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
)

// Starts notes which calls a stream begins. Ids of some models repeat, and a client makes one call
// of two with one id. It keeps hashes of the ids, because a copy of each would cost more.
type Starts struct {
	begun map[uint64]int // how often a call began since its last result
	last  []uint64       // the calls that began since the model last spoke, or a call had its result
}

// seed is the hashes' seed.
var seed = maphash.MakeSeed()

func hashOf(call string) uint64 { return maphash.String(seed, call) }

// callOf returns the hash of the call that an event is of.
func callOf(ev agui.Event) uint64 { return hashOf(agui.View(ev.JSON).Get("toolCallId").Str) }

// Note looks at an event.
func (s *Starts) Note(ev agui.Event) {
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
func (s *Starts) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallResult:
		return false
	case agui.TextContent, agui.TextChunk:
		return len(s.last) == 0
	}
	return true
}

// Twice reports whether several calls that wait for a result have the id.
func (s *Starts) Twice(call string) bool { return s.begun[hashOf(call)] > 1 }

// Last reports whether a call of the id began behind the model's last words and the last result.
func (s *Starts) Last(call string) bool { return slices.Contains(s.last, hashOf(call)) }
