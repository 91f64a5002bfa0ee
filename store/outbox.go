package store

import (
	"context"
	"encoding/json"
	"time"
)

// Notices tell others what happened to a pause. They stand in the record, written by the step that
// makes them, until they are sent: so a crash loses none, and it takes no second transaction.
//
// A step writes the notices of its context into the record if it changes the record, and with
// that change or not at all. They ride along in the context because they never decide what a step
// does.

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

// A Taken outbox is what Store.Take gave to its caller.
type Taken struct {
	Notices []Notice
	Tries   int
	Now     time.Time // the store's clock
}

type noticesKey struct{}

// WithNotices returns a context whose step writes the notices. The zero At is the time of the step.
func WithNotices(ctx context.Context, notices ...Notice) context.Context {
	if len(notices) == 0 {
		return ctx
	}
	return context.WithValue(ctx, noticesKey{}, notices)
}

// NoticesOf are those of WithNotices. Engines ask for them.
func NoticesOf(ctx context.Context) []Notice {
	list, _ := ctx.Value(noticesKey{}).([]Notice)
	return list
}
