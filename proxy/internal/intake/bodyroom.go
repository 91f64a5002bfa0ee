package intake

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// smallBody is the largest size of a small body. Small bodies may use all of the memory, and
	// larger bodies three quarters of it. So clients that send large bodies slowly do not block
	// small bodies.
	smallBody = 64 << 10
	// roomWait is the longest time that a body waits for memory. A burst of requests is over
	// sooner.
	roomWait = time.Second
)

// A BodyRoom is the memory for all request bodies that are being read. It may be used by several
// goroutines at once.
type BodyRoom struct {
	limit, share int64 // share limits the bytes of one client address

	mu    sync.Mutex
	taken int64
	from  map[uint64]int64 // bytes taken for each Intake.AddressHash
	freed chan struct{}    // closed when memory is given back; nil if no body waits
}

// NewBodyRoom returns a BodyRoom of limit bytes. One client address may use at most share bytes.
func NewBodyRoom(limit, share int64) *BodyRoom { return &BodyRoom{limit: limit, share: share} }

// A bodyHold is the part of a BodyRoom that one body has reserved.
type bodyHold struct {
	room  *BodyRoom
	from  uint64 // hash of the client address; 0 if shares do not apply
	bytes int64
}

// roomForLarge returns how many bytes the large bodies may use together.
func (r *BodyRoom) roomForLarge() int64 { return r.limit - r.limit/4 }

// maxBytes returns how many bytes this body could reserve if it were the only body.
func (h *bodyHold) maxBytes() int64 {
	if h.from != 0 {
		return min(h.room.roomForLarge(), h.room.share)
	}
	return h.room.roomForLarge()
}

// reserve reserves n more bytes, and waits if necessary. It fails after roomWait, or when ctx is
// done.
func (h *bodyHold) reserve(ctx context.Context, n int64) error {
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

// try reserves n bytes if they are available, and returns nil. Otherwise it returns a channel that
// is closed when another attempt makes sense.
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

// giveBack returns all memory that the body has reserved.
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
