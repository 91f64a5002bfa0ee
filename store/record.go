package store

import (
	"encoding/json"
	"time"

	"holdpoint/internal/agui"
)

// Version is the version of the format of records. It stays the same until v0.1.0. A record with a
// higher number was written by a newer release. A record with a lower number was written before the
// first release, and is read in the same way.
const Version = 4

// A State is the state of a record's pause.
type State string

// None: the record has no pause. Open: the pause waits for answers. Claimed: a run sends the
// answers of the pause. InDoubt: the pause was claimed, it is not known whether the backend acted
// on the answers, and no client was told of this yet.
const (
	None    State = ""
	Open    State = "open"
	Claimed State = "claimed"
	InDoubt State = "in doubt"
)

// An EndKind says how a pause ended.
type EndKind string

// Finished: the run with the answers ended, with any terminal event. Doubtful: the pause was in
// doubt, and a client was told of this, or no client asked for the pause in time. Lost: the backend
// no longer had the pause. Withdrawn: the backend continued without an answer. Retired: the pause
// got no answer within the retention.
const (
	Finished  EndKind = "finished"
	Doubtful  EndKind = "in doubt"
	Lost      EndKind = "lost"
	Withdrawn EndKind = "withdrawn"
	Retired   EndKind = "retired"
)

// A Result says how an earlier pause of the thread ended. It can be replayed until it becomes a
// tombstone.
type Result struct {
	PauseID string   `json:"pauseId"`
	IDs     []string `json:"ids"` // the interrupt ids that clients have got
	// digest of the answers, "" if the pause got no answer
	Digest  string  `json:"digest,omitempty"`
	EndKind EndKind `json:"how"`
	// the answer was a resume array, so the client reads the outcome
	ByArray bool `json:"byArray,omitempty"`
	// Finish is the terminal event that the client got, without its outcome. Next is the id of the
	// pause with which the run ended, "" if it asked no question.
	Finish json.RawMessage `json:"finish,omitempty"`
	Next   string          `json:"next,omitempty"`
	// the messages at the end of the run, nil if they are not known; State likewise
	Messages      json.RawMessage `json:"messages,omitempty"`
	State         json.RawMessage `json:"state,omitempty"`
	SnapshotBytes int             `json:"kept,omitempty"` // size of the stored snapshots in bytes, see Snapshots
	// the messages that were known at the end of the run
	SeenMessages []agui.SeenMessage `json:"seen,omitempty"`
	// Pause is the ended pause, which is needed to read answers to it. It has no snapshots, because
	// a replay shows the thread at the end of the run, and a second pair of snapshots for each
	// result would double the size of the store.
	Pause *agui.Pause `json:"pause,omitempty"`
	At    time.Time   `json:"at"`
	// GivenAnswers are the answers to the pause, for people who read the record. No decision
	// depends on them. GivenAnswers is nil if there was no answer, or if the answers are no longer
	// known.
	GivenAnswers []GivenAnswer `json:"given,omitempty"`
	// Door is the door by which the pause was ended, "" if it was the chat. By is the person who
	// ended it by another door.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// EndUnseen means that the run with this result had no client, and that the chat has not got
	// its end yet. The step See clears it.
	EndUnseen bool `json:"unseen,omitempty"`
	// Receipt is a digest of the step Finish. By it the store recognizes a repeated Finish. It has
	// no other use.
	Receipt string `json:"receipt,omitempty"`
	// Tombstone means that the result can no longer be replayed: it is older than the replay time
	// and every expiresAt of the pause, or the store had no room. Only PauseID, IDs, EndKind,
	// ByArray, At, Door, By, Receipt and Failed are kept. If the pause has KeepsFirstAnswer, Digest
	// and the questions of the pause are kept too, because the backend remembers the answer too.
	Tombstone bool `json:"tombstone,omitempty"`
	// set only in a tombstone: the pause ended in doubt or with RUN_ERROR
	Failed bool `json:"failed,omitempty"`
}

// A GivenAnswer is one answer, as a result keeps it.
type GivenAnswer struct {
	ID      string      `json:"id"` // the id of the interrupt
	Status  agui.Status `json:"status"`
	Verdict string      `json:"says,omitempty"`   // "approved" or "denied", if the dialect could tell
	Edited  bool        `json:"edited,omitempty"` // the answer approved other arguments than those of the question
	// Payload is the value of the answer. It is nil if the answer has no value, or if the value was
	// too large to keep. Digest covers the value even if Payload is nil, see
	// agui.Answer.AnsweredDigest.
	Payload json.RawMessage `json:"payload,omitempty"`
	Digest  string          `json:"digest,omitempty"`
}

// A record keeps its newest results: MaxReplayable results that can be replayed, and MaxTombstones
// tombstones. Older results become tombstones, and older tombstones are dropped. The ids of a
// dropped tombstone are unknown.
const (
	MaxReplayable = 8
	MaxTombstones = 64
)

// A Record is what the store has for a thread.
type Record struct {
	Version int `json:"version"`
	// "" until an owner has used the thread, see Store.Load
	Owner string      `json:"owner,omitempty"`
	State State       `json:"state,omitempty"`
	Pause *agui.Pause `json:"pause,omitempty"` // nil only if State is None
	// Token, Digest and Lease are those of the claim. If Lease has lapsed, Load returns the pause
	// as InDoubt. If a Finish with the result Doubtful has ended the claim, Lease is the time of
	// that Finish. While the pause is Open, Token is that of the claim that was released last.
	Token  string    `json:"token,omitempty"`
	Digest string    `json:"digest,omitempty"`
	Lease  time.Time `json:"lease,omitzero"`
	// Doubt is the result with which a Finish has left the pause InDoubt. Otherwise it is nil, even
	// if the pause is in doubt because the lease has lapsed.
	Doubt     *Result    `json:"doubt,omitempty"`
	Results   []*Result  `json:"results,omitempty"` // newest first; their number is limited
	Occupants []Occupant `json:"busy,omitempty"`    // runs that continue without their clients, see Occupy
	Outbox    *Outbox    `json:"outbox,omitempty"`
	// Notes are the notes of the key, newest first, see Remember. The notes of a thread are about
	// calls that its streams left to the client, about calls whose ids were used again, and about
	// other facts that the thread remembers. If a key is not that of a thread, its record has only
	// notes.
	Notes []Note `json:"notes,omitempty"`
	// Now is the store's clock at the time of the Load. It is not stored.
	Now time.Time `json:"-"`
}

// An Occupant is a run of the thread that continues without its client. It is removed when the run
// reports its end or when its lease lapses.
type Occupant struct {
	Token string    `json:"token"`
	Lease time.Time `json:"lease"`
}

// A Note is a fact that is remembered under an id. The writer of the note chooses the id.
type Note struct {
	ID   string          `json:"id"`
	Text json.RawMessage `json:"text"`
	At   time.Time       `json:"at"` // by the store's clock
	// RefersToPause means that the note refers to a pause. Such a note is kept for as long as that
	// pause and its result may be kept, if the pause was opened when the note was written.
	RefersToPause bool `json:"leads,omitempty"`
}

// NoteAge is the minimum time for which notes are kept.
const NoteAge = 24 * time.Hour

// These are the limits for the notes of a key. MaxNoteBytes limits the text of one note.
const (
	MaxNotes     = 64
	MaxNoteBytes = 8 << 10
)

// MaxBusy is how many runs of a thread may continue without their clients at the same time.
const MaxBusy = 16

// A Moment says when snapshots were taken.
type Moment string

// AtPause: when the thread paused. These snapshots are kept until the pause has ended. AtEnd: at
// the end of the run that sent the answers. These snapshots are kept until the result becomes a
// tombstone.
const (
	AtPause Moment = "asked"
	AtEnd   Moment = "ended"
)

// Snapshots are the messages and the state of a thread, as a client gets them. Each is nil if it is
// unknown or was not kept.
type Snapshots struct {
	Messages json.RawMessage `json:"messages,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// PauseByID returns the pause with the id, which may have ended. It returns nil if the record does
// not have the pause, or has only its tombstone.
func (r *Record) PauseByID(id string) *agui.Pause {
	if r.Pause != nil && r.Pause.ID == id {
		return r.Pause
	}
	for _, result := range r.Results {
		if result.PauseID == id && !result.Tombstone {
			return result.Pause
		}
	}
	return nil
}

// ResultOf returns the result of the pause that has one of the interrupt ids. If several ids are
// known, the first of them counts. It returns nil if no id is known. It does not look at a pause
// that is open, claimed or in doubt.
func (r *Record) ResultOf(interruptIDs ...string) *Result {
	if len(r.Results) == 0 {
		return nil
	}
	places := make(map[string]int, len(interruptIDs))
	for n := len(interruptIDs) - 1; n >= 0; n-- {
		places[interruptIDs[n]] = n
	}
	var found *Result
	first := len(interruptIDs)
	for _, result := range r.Results {
		for _, id := range result.IDs {
			if n, ok := places[id]; ok && n < first {
				found, first = result, n
			}
		}
	}
	return found
}
