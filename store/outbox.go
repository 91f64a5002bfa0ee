package store

import (
	"encoding/json"
	"time"
)

// A notice is a message about what happened to a pause, for receivers outside of Holdpoint. The
// step that makes notices writes them into the record, and they stay there until they are sent. So
// a crash loses none of them, and they need no second transaction.
//
// A step writes its notices only if it changes the record, and in the same transaction as that
// change. Notices never affect the result of a step.

// A Notice is a message to be sent. The store does not interpret Body.
type Notice struct {
	ID   string          `json:"id"` // the same in each attempt to send it
	At   time.Time       `json:"at"` // time of the step, by the store's clock
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
	// Due is when the notices have to be sent. A sender first moves Due forward, so that no other
	// sender sends the notices too.
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"` // number of failed attempts to send the first notice
}
