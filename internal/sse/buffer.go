package sse

import (
	"sync"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

const (
	minBuffer = 4 << 10 // for a stream that waits for data
	// fastBuffer is for a fast stream whose reader is not a Source. The stream uses this size until
	// its next small Read. TLS and HTTP/2 return at most 16 KiB from one Read.
	fastBuffer = 32 << 10
	maxBuffer  = 128 << 10 // for a fast Source; only a larger frame gets more
	hugeBuffer = 2 << 20   // the largest size that pools contain
	growth     = 4
)

// larger returns the next size for a buffer of this size. The size grows by a large factor, because
// all bytes are copied each time. From hugeBuffer on it only doubles, so that a huge frame never
// costs more than twice its size.
func larger(size int) int {
	if size >= hugeBuffer {
		return 2 * size
	}
	return max(growth*size, maxBuffer)
}

// pools contain the free buffers, one pool for each size. The first size is for short runs. The
// second and third are for fast streams between two Reads. The others are for large frames, for a
// short time. The garbage collector empties the pools. Without the pools the benchmark blast-1
// needs 1.8 times the CPU time, and blast-usual 1.5 times. Without the pools above maxBuffer,
// mixed-raw needs 1.6 times.
var (
	sizes = [...]int{minBuffer, fastBuffer, maxBuffer, maxBuffer * growth, hugeBuffer}
	pools [len(sizes)]sync.Pool
)

// A buffer is a buffer that a Reader borrows. It returns to its pool after use.
type buffer struct {
	b    []byte
	pool *sync.Pool // the pool to which the buffer returns; nil if it is not reused
}

// borrow returns a buffer of n bytes with undefined content.
func borrow(n int) *buffer {
	for i, size := range sizes {
		if n != size || without.FramePool || without.HugePool && size > maxBuffer {
			continue
		}
		if b, ok := pools[i].Get().(*buffer); ok {
			return b
		}
		return &buffer{make([]byte, n), &pools[i]}
	}
	return &buffer{b: make([]byte, n)}
}

// giveBack returns b to its pool. b must not be used after that. b may be nil.
func giveBack(b *buffer) {
	if b == nil {
		return
	}
	poison.Bytes(b.b)
	if b.pool != nil {
		b.pool.Put(b)
	}
}
