package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// row takes the frames in memory that differ from the last piece of a text in the text alone, without a look at each as an
// event. It returns false if the next frame is none. What it does with them is what frame would have done: a test compares
// the two.
func (b *body) row() bool {
	if b.terminal != agui.Unknown {
		return false
	}
	ahead := b.frames.Ahead()
	d := &b.r.transcript.texts
	if !d.begins(ahead) {
		d = &b.r.transcript.args
	}
	if !d.begins(ahead) || !b.passes(d.typ) {
		return false
	}
	n := 0
	for {
		text, end, ok := d.framed(ahead[n:])
		if !ok || end > b.r.h.opts.MaxFrameBytes {
			break
		}
		b.r.transcript.join(d, text)
		n += end
	}
	if n == 0 {
		return false
	}
	b.r.transcript.bound()
	from := b.frames.Pos()
	b.frames.Skip(n)
	b.out.passed(from)
	return true
}

// passes says whether an event of the type goes to the client as it came, and nobody but the transcript learns of it.
func (b *body) passes(t agui.Type) bool {
	if t == agui.CallArgs && b.r.known != nil {
		return false // it may be of a call that the client has already
	}
	p, ok := b.r.exchange.Run.(translate.Passer)
	return ok && p.Passes(t)
}
