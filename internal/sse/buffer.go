package sse

import (
	"sync"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

const (
	minBuffer = 4 << 10 // of a stream that waits
	// fastBuffer is for a fast stream whose reader is not a Source. The stream keeps it until its next
	// small Read. TLS and HTTP/2 return at most 16 KiB at once.
	fastBuffer = 32 << 10
	maxBuffer  = 128 << 10 // of a fast Source; only larger frames get more
	hugeBuffer = 2 << 20   // the largest size that is reused
	growth     = 4
)

// larger returns the next size of a buffer. It grows fast, because all bytes are copied each time,
// but a huge frame never costs more than twice its size.
func larger(size int) int {
	if size >= hugeBuffer {
		return 2 * size
	}
	return max(growth*size, maxBuffer)
}

// pools has the free buffers by their sizes: the first is for short runs, the second and third for
// fast streams between two Reads, and the others for large frames for a short time. The garbage
// collector empties the pools. Without them the benchmark blast-1 needs 1.8 times the CPU time, and
// blast-usual 1.5 times; without those above maxBuffer, mixed-raw needs 1.6 times.
var (
	sizes = [...]int{minBuffer, fastBuffer, maxBuffer, maxBuffer * growth, hugeBuffer}
	pools [len(sizes)]sync.Pool
)

// A buffer is an element of pools.
type buffer struct {
	b    []byte
	pool *sync.Pool // nil if the buffer is not reused
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

// giveBack frees a buffer that is not used any more. b may be nil.
func giveBack(b *buffer) {
	if b == nil {
		return
	}
	poison.Bytes(b.b)
	if b.pool != nil {
		b.pool.Put(b)
	}
}
