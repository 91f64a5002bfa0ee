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

// A Notice is what is to be sent. Nobody here reads its Body.
type Notice struct {
	ID   string          `json:"id"` // the same each time that it is sent
	At   time.Time       `json:"at"` // when the step was done, by the store's clock
	Body json.RawMessage `json:"body"`
}

// Bounds of what a record has to send. A larger notice is not written, and above MaxNotices the
// oldest goes. After NoticeAge one that could not be sent goes. Whoever the engine tells of that
// hears of it as lost.
const (
	MaxNotices     = 32
	MaxNoticeBytes = 16 << 10
	NoticeAge      = 72 * time.Hour
)

// An Outbox is what a record has to send, the oldest first.
type Outbox struct {
	Notices []Notice `json:"notices"`
	// Due is when somebody is to send them. Whoever takes them moves it first, so that nobody else
	// does the same.
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"` // how often in a row the first one was not taken
}
