package store

import (
	"encoding/json"
	"time"
)

// A notice is a message about a pause, for receivers outside of Holdpoint. The step that makes a
// notice writes it into the record, and the notice stays there until it is sent. So no notice is
// lost in a crash, and no second transaction is needed.
//
// A step writes its notices only if it changes the record, and in the same transaction as that
// change. Notices never affect the result of a step.

// A Notice is a message to be sent. The store does not interpret Body.
type Notice struct {
	ID   string          `json:"id"` // the same id in each attempt to send the notice
	At   time.Time       `json:"at"` // the time of the step, by the store's clock
	Body json.RawMessage `json:"body"`
}

// These are the limits for the notices of a record. A notice of more than MaxNoticeBytes is not
// written. If there are more than MaxNotices, the oldest is dropped. A notice that could not be
// sent is dropped after NoticeAge. The store reports dropped notices as lost.
const (
	MaxNotices     = 32
	MaxNoticeBytes = 16 << 10
	NoticeAge      = 72 * time.Hour
)

// An Outbox has the notices of a record, the oldest first.
type Outbox struct {
	Notices []Notice `json:"notices"`
	// Due is when the notices must be sent. A sender first sets Due to a later time, so that no
	// other sender sends the notices meanwhile.
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"` // number of failed attempts to send the first notice
}
