package store

import (
	"encoding/json"
	"time"

	"holdpoint/internal/agui"
)

// Version is the format of records. There is one until v0.1.0. A record with a higher number is of
// a newer release. Lower numbers are from before any release, and are read the same.
const Version = 4

// State of a record's pause.
type State string

// None: there is no pause. Open: it waits for answers. Claimed: somebody resumes it. InDoubt: it
// was claimed, nobody knows whether the backend acted, and nobody was told so yet.
const (
	None    State = ""
	Open    State = "open"
	Claimed State = "claimed"
	InDoubt State = "in doubt"
)

// How a pause ended.
type How string

// Finished: the resumed run ended, by whatever terminal event. Doubtful: the pause was in doubt,
// and somebody was told so, or nobody came to be told. Lost: the backend did not know the pause any
// more. Withdrawn: the backend went on without an answer. Retired: nobody answered within the
// retention.
const (
	Finished  How = "finished"
	Doubtful  How = "in doubt"
	Lost      How = "lost"
	Withdrawn How = "withdrawn"
	Retired   How = "retired"
)

// A Result says how an earlier pause of the thread ended. It can be replayed until it is a
// tombstone.
type Result struct {
	PauseID string   `json:"pauseId"`
	IDs     []string `json:"ids"`              // its published interrupt ids
	Digest  string   `json:"digest,omitempty"` // of the answers, "" if it was not answered
	How     How      `json:"how"`
	ByArray bool     `json:"byArray,omitempty"` // answered by a resume array, so the client reads the outcome
	// Finish is the terminal event that the client got, without its outcome. If a pause followed,
	// Next is its id.
	Finish   json.RawMessage    `json:"finish,omitempty"`
	Next     string             `json:"next,omitempty"`
	Messages json.RawMessage    `json:"messages,omitempty"` // snapshots at the end, nil if not known
	State    json.RawMessage    `json:"state,omitempty"`
	Kept     int                `json:"kept,omitempty"` // how many bytes of them the store keeps, see Snapshots
	Seen     []agui.SeenMessage `json:"seen,omitempty"` // the messages known at the end
	// Pause is the ended pause, by which its answers can still be read. Its snapshots are gone: a
	// replay shows the thread at the end, and two snapshots for each result would double the store.
	Pause *agui.Pause `json:"pause,omitempty"`
	At    time.Time   `json:"at"`
	// Given are the answers, for whoever is shown the record. Nobody decides anything by them. nil:
	// it was not answered, or nobody knows the answers any more.
	Given []GivenAnswer `json:"given,omitempty"`
	// Door is where the end came from, if it was not the chat. By is who ended it there.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// Unseen: the run that ended so had no client, and the chat has not caught up with it; see
	// See.
	Unseen bool `json:"unseen,omitempty"`
	// Receipt is a digest of the arguments of Finish. By it the store recognises a repeated call.
	// Nobody else reads it.
	Receipt string `json:"receipt,omitempty"`
	// Tombstone: the result cannot be replayed any more. It is older than the replay time and every
	// expiresAt of the pause, or the store had no room. PauseID, IDs, How, ByArray, At, Door, By,
	// Receipt and Failed are left. A Sticky pause also keeps Digest and its questions, because the
	// backend does not forget the answer either.
	Tombstone bool `json:"tombstone,omitempty"`
	Failed    bool `json:"failed,omitempty"` // of a tombstone: it ended in doubt or in RUN_ERROR
}

// GivenAnswer is an answer as a result keeps it.
type GivenAnswer struct {
	ID     string      `json:"id"` // of the interrupt
	Status agui.Status `json:"status"`
	Says   string      `json:"says,omitempty"`   // approved or denied, where the dialect knew
	Edited bool        `json:"edited,omitempty"` // the yes was to other arguments than those asked about
	// Payload is the answer's value; nil if there was none, or if it was too large to keep. Digest
	// is that of the answer all the same, see agui.Answer.AnsweredDigest.
	Payload json.RawMessage `json:"payload,omitempty"`
	Digest  string          `json:"digest,omitempty"`
}

// A record keeps its newest results: MaxReplayable that can be replayed, and MaxTombstones beside
// them. Older ones become tombstones. A client that holds a still older id is told that it is
// unknown.
const (
	MaxReplayable = 8
	MaxTombstones = 64
)

// A Record is what the store holds for a thread.
type Record struct {
	Version int         `json:"version"`
	Owner   string      `json:"owner,omitempty"` // "" until the first owner came; see Store.Load
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
	Doubt   *Result   `json:"doubt,omitempty"`
	Results []*Result `json:"results,omitempty"` // newest first, bounded
	Busy    []Busy    `json:"busy,omitempty"`    // runs that go on without their clients, see Occupy
	Outbox  *Outbox   `json:"outbox,omitempty"`
	// Notes are those of a key that is of no thread, newest first; see Remember. A thread has
	// them for calls that its streams left to the client, and for calls whose ids began again.
	Notes []Note `json:"notes,omitempty"`
	// Now is the store's clock at the time of the Load; it is not stored.
	Now time.Time `json:"-"`
}

// Busy is a run of the thread that goes on without its client, until it says that it has ended, or
// its lease lapses.
type Busy struct {
	Token string    `json:"token"`
	Lease time.Time `json:"lease"`
}

// A Note is something to be remembered beside the threads, by an id that its writer makes.
type Note struct {
	ID   string          `json:"id"`
	Text json.RawMessage `json:"text"`
	At   time.Time       `json:"at"` // by the store's clock
	// Leads reports that the note leads to a pause. It is known for as long as a pause that was
	// opened then can be, with what becomes of it.
	Leads bool `json:"leads,omitempty"`
}

// NoteAge is how long notes are known at least.
const NoteAge = 24 * time.Hour

// Bounds of the notes of a key.
const (
	MaxNotes     = 64
	MaxNoteBytes = 8 << 10
)

// MaxBusy is how many runs of a thread can go on without their clients.
const MaxBusy = 16

// A Moment says when snapshots were taken.
type Moment string

// Asked: when the thread paused, until the pause has ended. Ended: at the end of the run that
// resumed it, until the result is a tombstone.
const (
	Asked Moment = "asked"
	Ended Moment = "ended"
)

// Snapshots are what a client is shown of a thread. nil: not known, or not kept.
type Snapshots struct {
	Messages json.RawMessage `json:"messages,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// ResultOf returns the result of the pause that one of the interrupt ids belongs to. It takes the
// first id that is known. It returns nil if none is, and knows nothing of a pause that is open,
// claimed or in doubt.
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
