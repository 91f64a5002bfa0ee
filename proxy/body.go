package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// readAhead is how much output is made from frames that are in memory already before it is handed on.
const readAhead = 64 << 10

var done = []byte("[DONE]")

// dataPrefix is how a data line begins that every client reads, see lacksSpace.
const dataPrefix = "data: "

// A body is the answer to a run: it reads the upstream's frames, has them translated, and gives the client's. It is pulled
// by pump. It ends with io.EOF always, whatever the upstream does: the official client takes a truncated stream for success
// and dies of a reset.
type body struct {
	r      *run
	up     io.ReadCloser // nil: there is nothing to read
	frames *sse.Reader   // of AG-UI
	pieces stream.Pieces // of a stream that is not AG-UI; frames is nil then

	out   stream.Output // whole frames for the client
	lf    []byte        // scratch for frames with other line ends
	emits func(agui.Event)

	phase     phase
	end       ending      // of the exchange at hand, where up is nil
	concluded *conclusion // what has come of it already; nil if nothing has yet
	waiting   *savedPause // in the phase held
	started   bool        // RUN_STARTED was told
	terminal  agui.Type   // the last terminal event told, in the phase ended
	chunk     string      // the call that chunks without an id belong to
	laterRuns int         // runs of this stream after the first

	watch *watch
	apart apart
}

// newBody reads up, which may be nil. framing is that of a backend that does not speak AG-UI; Unread means AG-UI.
func newBody(r *run, up io.ReadCloser, framing translate.Framing) *body {
	b := &body{r: r, apart: apart{silent: make(chan struct{}, 1)}}
	b.emits = b.emit
	b.read(up, framing)
	return b
}

// read makes up the stream to read.
func (b *body) read(up io.ReadCloser, framing translate.Framing) {
	b.out.Settle()
	b.up, b.frames, b.pieces = up, nil, nil
	if up == nil {
		return
	}
	if b.watch == nil {
		b.watch = &watch{limit: b.r.h.opts.IdleTimeout, told: b.idled}
	}
	src := b.watch.over(up, b.r.conn)
	if b.r.conn != nil && b.r.out != nil {
		b.r.conn.beforeWait(b.r.out.Release) // the header goes then, if its frames have not come
	}
	if framing != translate.Unread {
		b.pieces = stream.NewPieces(src, framing, b.r.h.opts.MaxFrameBytes)
		return
	}
	b.frames = sse.NewReader(src, b.r.h.opts.MaxFrameBytes)
	b.out.Frames = b.frames
}

// idled ends a silent stream. On a claimed run only the client's: the action may still be running.
func (b *body) idled() {
	if b.r.claimedNow() {
		select {
		case b.apart.silent <- struct{}{}:
		default:
		}
		return
	}
	b.r.life.cancel(errIdle)
}

// pull gives what the client is to have next: whole frames, as many as are in memory, in two parts of which either may be
// empty. They are valid until the following call. last says that they go out with the stream's end. The error is
// io.EOF.
func (b *body) pull() (made, row []byte, last bool, err error) {
	if b.apart.left {
		return nil, nil, false, io.EOF
	}
	b.out.Clear()
	if cap(b.lf) > readAhead {
		b.lf = nil // of a huge frame: streams live for hours
	}
	for b.out.Empty() {
		switch {
		case b.phase == over:
			return nil, nil, false, io.EOF
		case !b.r.claimedNow():
			b.guarded()
		case !b.fillApart():
			b.apart.left = true
			return stream.AppendEvent(nil, fault(b.r.life.ctx, errIdle).Event()), nil, false, nil // all else is the fill's still
		}
	}
	made, row = b.out.Take()
	return made, row, b.phase == over, nil
}

// fill gathers output: at least one frame unless the stream is over.
func (b *body) fill() {
	for b.phase != over {
		switch {
		case b.phase == between || b.phase == held:
			if !b.out.Empty() {
				return // what comes next may take its time
			}
			if b.phase == held {
				b.awaitAnswers()
				return
			}
			b.next()
			continue
		case b.up == nil: // also where the next exchange of the run got no stream
			b.finishUnread()
			return
		}
		if err := b.step(); err != nil {
			b.brokeOff(err)
			return
		}
		if !b.out.Empty() && (!b.ready() || b.out.Made() >= readAhead) {
			return
		}
	}
}

// step takes what the upstream sends next: a piece, a row of frames or a frame.
func (b *body) step() error {
	if b.pieces != nil {
		return b.piece()
	}
	if b.row() {
		return nil
	}
	if b.frames.Ended() && !b.frames.Ready() {
		b.out.Settle() // what Next returned is valid no longer than this
	}
	frame, err := b.frames.Next()
	if err != nil {
		return b.ended(frame, err)
	}
	b.frame(frame)
	return nil
}

// ready says that the next step waits for nothing.
func (b *body) ready() bool {
	return b.frames != nil && (b.frames.Ready() || b.frames.Ended()) || b.pieces != nil && b.started && b.pieces.Ready()
}

// finishUnread ends a stream for which there is nothing to read.
func (b *body) finishUnread() {
	b.start()
	if b.concluded != nil {
		b.follow(*b.concluded, agui.Unknown)
		return
	}
	b.end.Cut = !b.end.None && b.end.Status == 0
	b.conclude(b.end)
}

// start tells a RUN_STARTED of our own if the backend gave none: a client fails a stream that begins otherwise.
func (b *body) start() {
	if b.started {
		return
	}
	b.started = true
	b.out.Event(b.r.startEvent())
}

func (b *body) tell(events []agui.Event) {
	for _, ev := range events {
		b.out.Event(ev)
		if ev.Type.Terminal() {
			b.terminal = ev.Type
		}
	}
}

// conclude ends the exchange at hand. It is the one door to the end of a stream: how that came about
// is told by e.
func (b *body) conclude(e ending) { b.follow(b.r.conclude(e), e.Event.Type) }

// follow does what was concluded. seen is the backend's own end, Unknown if there was none.
func (b *body) follow(c conclusion, seen agui.Type) {
	b.tell(c.events)
	switch {
	case c.next:
		b.phase.advance(between)
	case c.pause != nil:
		b.close()
		b.waiting = c.pause
		b.phase.advance(held)
	case b.up == nil || seen == agui.Unknown || b.pieces != nil:
		b.phase.advance(over) // behind the end of a stream that is not AG-UI there is no second run
	default:
		b.phase.advance(ended)
	}
}

// ended is called with what the frame reader gave at the end of the stream. It returns nil if there is more to read.
func (b *body) ended(rest sse.Frame, err error) error {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// A clean end without the last blank line: the official client reads that frame too.
		b.event(agui.NewEvent(bytes.Clone(data)))
		if b.phase == between || b.phase == held {
			return nil // it ended the exchange, and something follows
		}
	}
	return err
}

// brokeOff is called with what ended the stream: io.EOF, or why it broke off.
func (b *body) brokeOff(err error) {
	if b.phase == over {
		return
	}
	b.close()
	if b.phase == ended {
		b.phase.advance(over)
		return
	}
	clean := errors.Is(err, io.EOF)
	broken := fault(b.r.life.ctx, err)
	var tooLarge *sse.TooLargeError
	switch {
	case broken != nil:
	case errors.As(err, &tooLarge):
		broken = agui.Errorf(agui.FrameTooLarge, "the backend sent a frame over the limit (HOLDPOINT_MAX_FRAME_BYTES)")
	case clean:
		broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream ended without a terminal event")
	default:
		broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream broke off")
	}
	if !clean && !errors.Is(err, context.Canceled) {
		b.r.log.Warn("the backend's stream broke off", "err", err)
	}
	b.start()
	b.conclude(ending{End: translate.End{Cut: !clean}, broken: broken})
}

// next sends the next exchange of the run and reads its stream.
func (b *body) next() {
	b.close()
	if b.r.out != nil {
		b.r.out.Release() // the next answer may take its time, and nothing waits on the first one's connection any more
	}
	b.r.claim.begin(&b.r.exchange.Out)
	if b.r.exchange.Out.None {
		b.answered(answer{end: ending{End: translate.End{None: true}}})
		return
	}
	b.r.send(headerOnly{}) // the client has a header already
}

// answered takes what came of the exchange that next has sent.
func (b *body) answered(a answer) {
	b.read(a.stream, a.framing)
	b.end = a.end
	b.phase.advance(reading)
}

// close gives the upstream back.
func (b *body) close() {
	if b.up != nil {
		b.up.Close()
	}
}

// Close is called at the end, or when the client has left.
func (b *body) Close() {
	if b.apart.busy {
		b.readAlone()
		return
	}
	at := b.phase
	switch {
	case at == over:
		b.close()
		b.endFills()
		return
	case b.r.life.lasting.Load() && at < ended, b.r.claimedNow():
		b.readAlone()
		return
	}
	b.phase.advance(over)
	b.r.life.cancel(context.Canceled)
	b.close()
	b.endFills()
	if at == reading || at == between {
		b.r.outcome = "client left"
		_, _ = b.r.exchange.Run.End(translate.End{Cut: true}) // nobody is there to be told
	}
}
