package intake

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestBodyRoom checks that a waiting body gets the memory that another body returns. One address
// must not get more memory than its share.
func TestBodyRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyRoom(1000, 300)
		a, b, c := &bodyHold{room: room, from: 1}, &bodyHold{room: room, from: 2}, &bodyHold{room: room}
		want := func(err error, status int) {
			t.Helper()
			var refused *Refusal
			if got := errors.As(err, &refused); got != (status != 0) || got && (refused.Status != status || refused.RetryAfter != 1) {
				t.Error(err)
			}
		}
		want(a.reserve(t.Context(), 300), 0)
		began := time.Now()
		want(a.reserve(t.Context(), 1), 503)
		want((&bodyHold{room: room, from: 1}).reserve(t.Context(), 1), 503)
		if waited := time.Since(began); waited != 2*roomWait {
			t.Errorf("waited %v", waited)
		}
		want(b.reserve(t.Context(), 300), 0)
		want(c.reserve(t.Context(), 400), 0)
		go func() {
			time.Sleep(roomWait / 2)
			a.giveBack()
		}()
		want(c.reserve(t.Context(), 100), 0)
		b.giveBack()
		c.giveBack()
		c.giveBack()
		if room.taken != 0 || len(room.from) != 0 {
			t.Errorf("%+v", room)
		}
	})
}
