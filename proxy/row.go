package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// row takes the frames in memory that differ from the last piece of a text in the text alone,
// without a look at each as an event. It returns false if the next frame is none. What it does with
// them is what frame would have done: a test compares the two.
func (b *body) row() bool {
	if b.phase != reading {
		return false
	}
	n := b.r.transcript.TakeRow(b.frames.Ahead(), b.r.h.opts.MaxFrameBytes, b.passes)
	if n == 0 {
		return false
	}
	from := b.frames.Pos()
	b.frames.Skip(n)
	b.out.Passed(from)
	return true
}

// passes says whether an event of the type goes to the client as it came, and nobody but the
// transcript learns of it.
func (b *body) passes(t agui.Type) bool {
	if t == agui.CallArgs && b.r.known != nil {
		return false // it may be of a call that the client has already
	}
	p, ok := b.r.exchange.Run.(translate.Passer)
	return ok && p.Passes(t)
}
