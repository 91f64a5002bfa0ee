package sse

import "sync"

const (
	minBuffer = 4 << 10   // of a stream that waits
	maxBuffer = 128 << 10 // of a fast stream; only a frame that needs more gets more
)

// Buffers of these two sizes are used again: a short run needs the one and a fast stream both, from one Read to the next.
var small, large sync.Pool

// borrow returns a buffer of n bytes, with whatever was in it.
func borrow(n int) []byte {
	switch n {
	case minBuffer:
		if b, ok := small.Get().(*[minBuffer]byte); ok {
			return b[:]
		}
	case maxBuffer:
		if b, ok := large.Get().(*[maxBuffer]byte); ok {
			return b[:]
		}
	}
	return make([]byte, n)
}

// giveBack takes a buffer that nobody looks into any more.
func giveBack(b []byte) {
	switch len(b) {
	case minBuffer:
		small.Put((*[minBuffer]byte)(b))
	case maxBuffer:
		large.Put((*[maxBuffer]byte)(b))
	}
}
