package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A run may end with calls that the client must answer. The process remembers each such call of a
// thread. If the record outlives the process, it also notes the calls of the client's own tools. So
// another replica, or this one after a restart, recognizes the results of these calls.

// LeftPrefix begins the id of each note that contains LeftHashes of calls left to the client.
const LeftPrefix = "left "

// A ThreadCall is a hash of a thread's key, the id of a call, and whether the call is of one of the
// client's tools. It is a hash because clients choose the thread and the id, which may be long.
type ThreadCall [16]byte

// NewThreadCall returns the hash of a call. own is true if the call is of one of the client's
// tools.
func NewThreadCall(thread store.Key, call string, own bool) ThreadCall {
	kind := byte('p')
	if own {
		kind = 'o'
	}
	// unambiguous, because all keys have the same length
	sum := sha256.Sum256(append(append([]byte(thread), kind), call...))
	return ThreadCall(sum[:16])
}

// LeftHash returns the hash that a note contains for a call of the client's own tools.
func LeftHash(thread store.Key, call string) string {
	hash := NewThreadCall(thread, call, true)
	return hex.EncodeToString(hash[:])
}

// leftCalls returns all LeftHashes in the notes of the record.
func leftCalls(rec *store.Record) map[string]bool {
	list := map[string]bool{}
	for _, n := range rec.Notes {
		var hashes []string
		if !strings.HasPrefix(n.ID, LeftPrefix) || json.Unmarshal(n.Text, &hashes) != nil {
			continue
		}
		for _, hash := range hashes {
			list[hash] = true
		}
	}
	return list
}

// isLeft reports whether a stream of the thread left a call of the client's own tools to the
// client. notedIDs is what leftCalls returned for the record.
func (v *View) isLeft(call string, notedIDs map[string]bool) bool {
	return v.Memory.IsLeftToClient(call, true) || notedIDs[LeftHash(v.Thread, call)]
}

// If a call has a question on record, the call needs an approval, whoever claims it. But some
// models repeat ids: the thread's stream may begin another call with the same id, of a tool of the
// client. The record notes this. So each replica accepts the client's result for the later call.
//
// This requires that the earlier question was answered. A backend that still waits for the answer
// could read the message as this answer (RAN agno 2.9.0 and 3.1.10: of two paused runs it continues
// the older one).

// ReusedNote returns the id of a note. The note says that the id of a call with a question was used
// again for another call.
func ReusedNote(pauseID, call string) string {
	sum := sha256.Sum256([]byte(pauseID + "\n" + call))
	return "reused " + ids.Hex(sum[:16])
}

// AskedBy returns the newest pause of the record with a question that a message about the call
// would answer. It also returns how that pause ended, or nil if it is open. If there is no such
// pause, both are nil.
func AskedBy(rec *store.Record, call string) (*agui.Pause, *store.Result) {
	asks := func(p *agui.Pause) bool {
		return p != nil && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return slices.Contains(i.Keys, call) })
	}
	if asks(rec.Pause) {
		return rec.Pause, nil
	}
	for _, result := range rec.Results {
		if asks(result.Pause) {
			return result.Pause, result
		}
	}
	return nil, nil
}

// isReused reports whether the tool message at the index at is about a later call than the one with
// the question under the same id. This is so if the nearest earlier call belongs to a tool that the
// request declares, and the thread's stream has begun that call.
func isReused(rec *store.Record, claims *kit.ClaimedCalls, at int, call string) bool {
	p, result := AskedBy(rec, call)
	if result == nil || result.EndKind != store.Finished || contract.EndedBadly(result) {
		return false
	}
	id := ReusedNote(p.ID, call)
	return slices.ContainsFunc(rec.Notes, func(n store.Note) bool { return n.ID == id }) && claims.OwnBefore(at, call)
}
