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

// A stream may leave a call to the client to answer. The process notes each such call of a thread.
// The record notes those of the client's own tools too, if it outlives the process: then another
// replica knows them, and a restart does not lose them.

// LeftPrefix begins the ids of the notes of a record that hold the LeftHashes of such calls.
const LeftPrefix = "left "

// A ThreadCall is a hash of a thread's key and the id of a call: clients choose both. It also tells
// whether the call is of one of the client's tools.
type ThreadCall [16]byte

// NewThreadCall returns the hash of a call. own reports that the call is of one of the client's
// tools.
func NewThreadCall(thread store.Key, call string, own bool) ThreadCall {
	kind := byte('p')
	if own {
		kind = 'o'
	}
	sum := sha256.Sum256(append(append([]byte(thread), kind), call...)) // keys have one length
	return ThreadCall(sum[:16])
}

// LeftHash returns what a note holds of a call of the client's own tools.
func LeftHash(thread store.Key, call string) string {
	hash := NewThreadCall(thread, call, true)
	return hex.EncodeToString(hash[:])
}

// leftCalls returns the LeftHashes of the calls that the record has noted.
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

// isLeft reports whether a stream of the thread left a call of the client's own tools to it. noted
// are the leftCalls of the record.
func (v *View) isLeft(call string, noted map[string]bool) bool {
	return v.Memory.Passed(call, true) || noted[LeftHash(v.Thread, call)]
}

// A call that the record knows to have asked is held, whoever claims it. But ids of some models
// repeat: the thread's stream may begin a call of that id again, of a tool of the client's. The
// record notes that, so that each replica knows it, and what the client says on the later call is
// its own.
//
// The earlier question must have been answered. A backend that still waits for it may take the
// message for its answer (RAN agno 2.9.0 and 3.1.10: of two paused runs it goes on with the older).

// ReusedNote returns the id of the note that a call of a pause's questions began again.
func ReusedNote(pauseID, call string) string {
	sum := sha256.Sum256([]byte(pauseID + "\n" + call))
	return "reused " + ids.Hex(sum[:16])
}

// AskedBy returns the newest pause of the record whose questions a message answers that names the
// call, and how it ended. It is nil if there is none.
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

// isReused reports whether a tool message at a place is on a later call than the one that asked
// under the same id: the request claims the nearest call before it for the client, and the thread's
// stream has begun that call.
func isReused(rec *store.Record, claims *kit.ClaimedCalls, at int, call string) bool {
	p, result := AskedBy(rec, call)
	if result == nil || result.How != store.Finished || contract.EndedBadly(result) {
		return false
	}
	id := ReusedNote(p.ID, call)
	return slices.ContainsFunc(rec.Notes, func(n store.Note) bool { return n.ID == id }) && claims.OwnBefore(at, call)
}
