// Package without says which of the mechanisms that exist for speed only a build leaves out. A
// build that anybody runs leaves out none.
//
// `make ablation` builds one binary for each constant, with that one true, and compares it with the
// ordinary one. A mechanism stays while it brings 5 % of CPU time in some scenario, or 1 KiB for a
// stream that waits. Its figure stands beside it, as what `make ablation` says without it.
package without

// The benchmark reads these lines: a name, and what there is without it.
const (
	Bursts     = false // connections to the backend have net/http's buffer, of 32 KiB
	Hold       = false // the header of a stream goes out before its first frames have come
	Gaps       = false // the row before an event that was made is copied
	MadePool   = false // what is made goes into new memory
	RowInPlace = false // frames that pass are copied before they are written
	Rows       = false // each piece of a text is looked at as an event
	Joined     = false // each piece of a text is kept as an event, and there are no rows
	Slabs      = false // what is kept for snapshots lies in one slice that grows
	BurstPool  = false // each read of a burst has a new buffer
	CopyPool   = false // ReverseProxy makes a buffer for each answer
	FramePool  = false // frames are read into new buffers
	HugePool   = false // large frames are read into new buffers
	SlabPool   = false // slabs are not used again
)
