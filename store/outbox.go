package store

import (
	"encoding/json"
	"time"
)

// Notices tell others what happened to a pause. They stand in the record, written by the step that
// makes them, until they are sent: so a crash loses none, and it takes no second transaction.
//
// A step that brings notices writes them into the record if it changes the record, and with that
// change or not at all. They never decide what a step does.

// A Notice is a message to be sent. The store does not interpret Body.
type Notice struct {
	ID   string          `json:"id"` // the same each time that it is sent
	At   time.Time       `json:"at"` // when the step was done, by the store's clock
	Body json.RawMessage `json:"body"`
}

// Limits of a record's notices. A larger notice is not written, and above MaxNotices the oldest is
// dropped. A notice that could not be sent is dropped after NoticeAge. The engine reports dropped
// notices as lost.
const (
	MaxNotices     = 32
	MaxNoticeBytes = 16 << 10
	NoticeAge      = 72 * time.Hour
)

// An Outbox has a record's notices, oldest first.
type Outbox struct {
	Notices []Notice `json:"notices"`
	// Due is when the notices are to be sent. The sender moves it first, so that no other sends
	// them too.
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"` // how often in a row the first one was not taken
}
