package sse

import "sync"

const (
	minBuffer  = 4 << 10   // of a stream that waits
	maxBuffer  = 128 << 10 // of a fast stream; only a frame that needs more gets more
	hugeBuffer = 2 << 20   // the largest that is used again
	growth     = 4
)

// larger is the next size of a buffer. It grows fast, for all of it is copied each time, but no huge frame costs more than
// twice its size.
func larger(size int) int {
	if size >= hugeBuffer {
		return 2 * size
	}
	return max(growth*size, maxBuffer)
}

// pools are the buffers that nobody has, by their sizes: a short run needs the first, a fast stream the second from one Read
// to the next, and a backend's large frames the others for a moment. The collector empties them.
var pools = map[int]*sync.Pool{
	minBuffer:          {},
	maxBuffer:          {},
	maxBuffer * growth: {},
	hugeBuffer:         {},
}

// A buffer is as the pools hold it.
type buffer struct{ b []byte }

// borrow returns a buffer of n bytes, with whatever was in it.
func borrow(n int) *buffer {
	if p := pools[n]; p != nil {
		if b, ok := p.Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{make([]byte, n)}
}

// giveBack takes a buffer that nobody looks into any more. It may be nil.
func giveBack(b *buffer) {
	if b == nil {
		return
	}
	if p := pools[len(b.b)]; p != nil {
		p.Put(b)
	}
}
