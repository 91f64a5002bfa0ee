package store

import (
	"encoding/json"
	"time"

	"holdpoint/internal/agui"
)

// Version is the format of records. It stays the same until v0.1.0. A record with a higher number
// was written by a newer release. Records with lower numbers were written before the first release,
// and are read in the same way.
const Version = 4

// A State is the state of a record's pause.
type State string

// None: there is no pause. Open: it waits for answers. Claimed: a run resumes it. InDoubt: it was
// claimed, it is unknown whether the backend acted, and no client was told so yet.
const (
	None    State = ""
	Open    State = "open"
	Claimed State = "claimed"
	InDoubt State = "in doubt"
)

// An EndKind is how a pause ended.
type EndKind string

// Finished: the resumed run ended, with any terminal event. Doubtful: the pause was in doubt, and a
// client was told so, or none asked in time. Lost: the backend did not have the pause any more.
// Withdrawn: the backend continued without an answer. Retired: it was not answered within the
// retention.
const (
	Finished  EndKind = "finished"
	Doubtful  EndKind = "in doubt"
	Lost      EndKind = "lost"
	Withdrawn EndKind = "withdrawn"
	Retired   EndKind = "retired"
)

// A Result is how an earlier pause of the thread ended. It can be replayed until it is a tombstone.
type Result struct {
	PauseID string   `json:"pauseId"`
	IDs     []string `json:"ids"`              // the interrupt ids that clients got
	Digest  string   `json:"digest,omitempty"` // of the answers, "" if it was not answered
	EndKind EndKind  `json:"how"`
	ByArray bool     `json:"byArray,omitempty"` // answered by a resume array, so the client reads the outcome
	// Finish is the terminal event that the client got, without its outcome. If a pause followed,
	// Next is its id.
	Finish        json.RawMessage    `json:"finish,omitempty"`
	Next          string             `json:"next,omitempty"`
	Messages      json.RawMessage    `json:"messages,omitempty"` // snapshots at the end, nil if not known
	State         json.RawMessage    `json:"state,omitempty"`
	SnapshotBytes int                `json:"kept,omitempty"` // size of the stored snapshots in bytes, see Snapshots
	SeenMessages  []agui.SeenMessage `json:"seen,omitempty"` // the messages known at the end
	// Pause is the ended pause, which is needed to read its answers. It has no snapshots: a replay
	// shows the thread at its end, and two snapshots for each result would double the store.
	Pause *agui.Pause `json:"pause,omitempty"`
	At    time.Time   `json:"at"`
	// GivenAnswers are the answers, for readers of the record. No decision depends on them. It is nil
	// if there was no answer, or if the answers are no longer known.
	GivenAnswers []GivenAnswer `json:"given,omitempty"`
	// Door is where the pause was ended, or "" for the chat. By is who ended it there.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// EndUnseen means that the run with this result had no client, and that the chat has not got its
	// end yet, see See.
	EndUnseen bool `json:"unseen,omitempty"`
	// Receipt is a digest of the arguments of Finish, by which the store recognizes a repeated
	// call. It has no other use.
	Receipt string `json:"receipt,omitempty"`
	// Tombstone means that the result cannot be replayed any more: it is older than the replay time
	// and every expiresAt of the pause, or the store had no room. PauseID, IDs, EndKind, ByArray, At,
	// Door, By, Receipt and Failed are kept. A Sticky pause also keeps Digest and its questions,
	// because the backend does not forget the answer either.
	Tombstone bool `json:"tombstone,omitempty"`
	Failed    bool `json:"failed,omitempty"` // of a tombstone: whether it ended in doubt or with RUN_ERROR
}

// A GivenAnswer is an answer in a result.
type GivenAnswer struct {
	ID      string      `json:"id"` // of the interrupt
	Status  agui.Status `json:"status"`
	Verdict string      `json:"says,omitempty"`   // approved or denied, if the dialect could tell
	Edited  bool        `json:"edited,omitempty"` // the answer approved other arguments than those of the question
	// Payload is the answer's value, or nil if there was none or it was too large to keep. Digest
	// covers it in either case, see agui.Answer.AnsweredDigest.
	Payload json.RawMessage `json:"payload,omitempty"`
	Digest  string          `json:"digest,omitempty"`
}

// A record keeps its newest results: MaxReplayable that can be replayed, and in addition
// MaxTombstones. Older ones become tombstones. An even older id is unknown.
const (
	MaxReplayable = 8
	MaxTombstones = 64
)

// A Record is the store's content for a thread.
type Record struct {
	Version int         `json:"version"`
	Owner   string      `json:"owner,omitempty"` // "" until the first owner has asked, see Store.Load
	State   State       `json:"state,omitempty"`
	Pause   *agui.Pause `json:"pause,omitempty"` // set unless State is None
	// Token, Digest and Lease belong to the claim. A lapsed Lease reads as InDoubt. If Finish said
	// Doubtful, Lease is the time of that. While the pause is Open, Token is the claim that was
	// released last.
	Token  string    `json:"token,omitempty"`
	Digest string    `json:"digest,omitempty"`
	Lease  time.Time `json:"lease,omitzero"`
	// Doubt is the result with which Finish left the pause InDoubt. It is nil otherwise, also if
	// the lease has lapsed.
	Doubt     *Result    `json:"doubt,omitempty"`
	Results   []*Result  `json:"results,omitempty"` // newest first, bounded
	Occupants []Occupant `json:"busy,omitempty"`    // runs that continue without their clients, see Occupy
	Outbox    *Outbox    `json:"outbox,omitempty"`
	// Notes are the notes of the key, newest first, see Remember. The notes of a thread are about
	// calls that its streams left to the client, and about calls whose ids were used again. A key
	// that is not the key of a thread has nothing but notes.
	Notes []Note `json:"notes,omitempty"`
	// Now is the store's clock at the time of the Load. It is not stored.
	Now time.Time `json:"-"`
}

// An Occupant is a run of the thread that continues without its client, until it reports its end or
// its lease lapses.
type Occupant struct {
	Token string    `json:"token"`
	Lease time.Time `json:"lease"`
}

// A Note is a fact that is remembered under an id which its writer chooses.
type Note struct {
	ID   string          `json:"id"`
	Text json.RawMessage `json:"text"`
	At   time.Time       `json:"at"` // by the store's clock
	// RefersToPause means that the note refers to a pause. Such a note is kept for as long as a pause
	// opened at its time, and its result, can be.
	RefersToPause bool `json:"leads,omitempty"`
}

// NoteAge is the minimum time for which notes are kept.
const NoteAge = 24 * time.Hour

// Limits of the notes of a key.
const (
	MaxNotes     = 64
	MaxNoteBytes = 8 << 10
)

// MaxBusy is how many runs of a thread may continue without their clients.
const MaxBusy = 16

// A Moment is when snapshots were taken.
type Moment string

// AtPause: when the thread paused; kept until the pause has ended. AtEnd: at the end of the run
// that resumed it; kept until the result is a tombstone.
const (
	AtPause Moment = "asked"
	AtEnd   Moment = "ended"
)

// Snapshots are the messages and the state of a thread as a client gets them. A nil one is unknown,
// or was not kept.
type Snapshots struct {
	Messages json.RawMessage `json:"messages,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// ResultOf returns the result of the pause that has one of the interrupt ids: the first id that is
// known counts. It returns nil if none is known. It does not look at a pause that is open, claimed
// or in doubt.
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
