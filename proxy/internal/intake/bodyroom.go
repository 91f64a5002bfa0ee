package intake

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// smallBody is what every body may have while there is any room. A quarter of all room is for
	// bodies that need no more, so that a client that sends large bodies slowly does not keep
	// others from sending small ones.
	smallBody = 64 << 10
	// roomWait is how long a body waits for room. A burst is over sooner.
	roomWait = time.Second
)

// A BodyRoom is the memory for all request bodies that are being read. It may be used by several
// goroutines at once.
type BodyRoom struct {
	limit, share int64 // share is what one address may have of it

	mu    sync.Mutex
	taken int64
	from  map[uint64]int64 // by Intake.AddressHash
	freed chan struct{}    // closed when some is given back; nil while nobody waits
}

// NewBodyRoom makes a BodyRoom of limit bytes, where one address may have share.
func NewBodyRoom(limit, share int64) *BodyRoom { return &BodyRoom{limit: limit, share: share} }

// A bodyHold is the part of a BodyRoom that one body has.
type bodyHold struct {
	room  *BodyRoom
	from  uint64 // 0: it counts for no address
	bytes int64
}

// roomForLarge returns how much of the room bodies may have that are not small.
func (r *BodyRoom) roomForLarge() int64 { return r.limit - r.limit/4 }

// most returns how much this body could have if it were the only one.
func (h *bodyHold) most() int64 {
	if h.from != 0 {
		return min(h.room.roomForLarge(), h.room.share)
	}
	return h.room.roomForLarge()
}

// take waits for n more bytes. It fails after a while, or when ctx is done.
func (h *bodyHold) take(ctx context.Context, n int64) error {
	var late <-chan time.Time
	for {
		freed := h.try(n)
		if freed == nil {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(roomWait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-freed:
		case <-late:
			full := refuse(http.StatusServiceUnavailable, textNoRoom)
			full.RetryAfter = 1
			return full
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try takes n bytes if there are as many. If not, it returns a channel that is closed when another
// try is worth it.
func (h *bodyHold) try(n int64) (freed <-chan struct{}) {
	r := h.room
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := r.limit
	if h.bytes+n > smallBody {
		limit = r.roomForLarge()
	}
	if r.taken+n > limit || h.from != 0 && r.from[h.from]+n > r.share {
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		return r.freed
	}
	r.taken, h.bytes = r.taken+n, h.bytes+n
	if h.from != 0 {
		if r.from == nil {
			r.from = map[uint64]int64{}
		}
		r.from[h.from] += n
	}
	return nil
}

// giveBack gives all of it back.
func (h *bodyHold) giveBack() {
	if h.bytes == 0 {
		return
	}
	r := h.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= h.bytes
	if h.from != 0 {
		if r.from[h.from] -= h.bytes; r.from[h.from] == 0 {
			delete(r.from, h.from)
		}
	}
	h.bytes = 0
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}
