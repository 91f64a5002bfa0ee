// Package without has a constant for each mechanism that exists only for speed. If the constant is
// true, the build leaves the mechanism out. In builds for users, all constants are false.
//
// `make ablation` builds one binary for each constant, in which only that constant is true, and
// compares it with the ordinary binary. A mechanism stays in the code only if it saves 5 % of CPU
// time in some scenario, or 1 KiB of memory for each waiting stream.
package without

// The benchmark parses these lines. Each has the name of a mechanism, and what a build without it
// does.
const (
	Bursts     = false // connections to the backend use net/http's buffer, of 32 KiB
	BodyWrite  = false // the body of a request is copied to the backend in pieces of 32 kB
	Hold       = false // the header of a stream is sent before its first frames are read
	Gaps       = false // the frames before an event of Holdpoint's own are copied
	MadePool   = false // events of Holdpoint's own are written into new memory
	RowInPlace = false // unchanged frames are copied before they are written
	Rows       = false // each piece of a text is parsed as an event
	Joined     = false // each piece of a text is kept as an event, and not in a row of pieces
	Slabs      = false // what is kept for snapshots is in one slice, which grows
	BurstPool  = false // each read of a burst gets a new buffer
	CopyPool   = false // ReverseProxy allocates a buffer for each answer
	FramePool  = false // frames are read into new buffers
	HugePool   = false // large frames are read into new buffers
	SlabPool   = false // slabs are not reused
)
