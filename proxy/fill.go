package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/settle"
	"holdpoint/translate"
)

// pull gives what the client is to have next: whole frames, as many as are in memory. They come in
// two parts, and either may be empty. They are valid until the following call. last says that they
// go out with the stream's end. The error is io.EOF.
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
		case !b.claim.Held():
			b.fillGuarded()
		case !b.fillApart():
			if words := b.idleWords(); words != nil {
				return words, nil, false, nil
			}
			<-b.apart.filled
			b.apart.busy = false
		}
	}
	made, row = b.out.Take()
	return made, row, b.phase == over, nil
}

// fill gathers output: at least one frame unless the stream is over.
func (b *body) fill() {
	for b.phase != over {
		switch {
		case b.phase == between:
			if !b.out.Empty() {
				return // what comes next may take its time
			}
			b.next()
			continue
		case b.from.up == nil: // also where the next exchange of the run got no stream
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
	if b.from.pieces != nil {
		return b.piece()
	}
	if b.row() {
		return nil
	}
	if b.from.frames.Ended() && !b.from.frames.Ready() {
		b.out.Settle() // what Next returned is valid no longer than this
	}
	frame, err := b.from.frames.Next()
	if err != nil {
		return b.endStream(frame, err)
	}
	b.frame(frame)
	return nil
}

// ready says that the next step waits for nothing.
func (b *body) ready() bool {
	return b.from.frames != nil && (b.from.frames.Ready() || b.from.frames.Ended()) || b.from.pieces != nil && b.started && b.from.pieces.Ready()
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

// endStream is called with what the frame reader gave at the end of the stream. It returns nil if
// there is more to read.
func (b *body) endStream(rest sse.Frame, err error) error {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// A clean end without the last blank line: the official client reads that frame too.
		b.event(agui.NewEvent(bytes.Clone(data)))
		if b.phase == between {
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
	if b.refused.Type != agui.Unknown {
		if b.concludeRefused(); b.phase != ended {
			return // another exchange follows, perhaps
		}
	}
	if b.phase == ended {
		b.phase.advance(over)
		return
	}
	clean := errors.Is(err, io.EOF)
	broken := fault(b.life.ctx, err)
	var tooLarge *sse.TooLargeError
	switch {
	case broken != nil:
	case errors.As(err, &tooLarge):
		broken = agui.Errorf(agui.FrameTooLarge, textFrameTooLarge)
	case clean:
		broken = agui.Errorf(agui.UpstreamEOF, textNoTerminal)
	default:
		broken = agui.Errorf(agui.UpstreamEOF, textBrokeOff)
	}
	if !clean && !errors.Is(err, context.Canceled) {
		b.judge.log.Warn(logBrokeOff, "err", err)
	}
	b.start()
	b.conclude(settle.End{End: translate.End{Cut: !clean}, Broken: broken})
}

// next sends the next exchange of the run and reads its stream.
func (b *body) next() {
	b.close()
	if b.to != nil {
		b.to.Release() // the next answer may take its time, and nothing waits on the first one's connection any more
	}
	b.exchange.begin()
	if b.exchange.Out.None {
		b.takeResult(answer{end: settle.End{End: translate.End{None: true}}})
		return
	}
	b.send(headerOnly{}) // the client has a header already
}

// fillGuarded is fill. A panic in it ends this run only. A claimed run is translated in a goroutine
// of its own, and net/http does not recover there.
func (b *body) fillGuarded() {
	b.apart.gate.Enter()
	defer b.apart.gate.Leave()
	defer func() {
		if p := recover(); p != nil {
			logPanic(b.judge.log, p)
			b.endPanicked()
		}
	}()
	b.fill()
}

// endPanicked ends the stream of a run that has panicked. What went out of it so far stands, for
// the end closes what is open in it. If that fails too, the stream just ends: the claim's lease
// shows the doubt.
func (b *body) endPanicked() {
	defer func() {
		if p := recover(); p != nil {
			logPanic(b.judge.log, p)
			b.out.Clear()
			b.tell([]agui.Event{internalError().Event()})
		}
	}()
	told := b.terminal
	b.phase.advance(over)
	b.out.Current = nil
	if told != agui.Unknown {
		b.concludes(settle.End{}, true) // the client has its end
		return
	}
	b.start()
	b.tell(b.concludes(settle.End{}, true).events)
}

// fillApart is fill in a goroutine of its own, so that the client's stream can end while the
// upstream of a claimed run is silent. It returns false if that is so; the fill goes on then.
func (b *body) fillApart() bool {
	if b.apart.fills == nil {
		b.apart.fills, b.apart.filled = make(chan struct{}), make(chan struct{}, 1)
		go func(fills <-chan struct{}, filled chan<- struct{}) {
			for range fills {
				b.fillGuarded()
				filled <- struct{}{}
			}
		}(b.apart.fills, b.apart.filled)
	}
	select {
	case <-b.apart.silent: // of a fill before this one
	default:
	}
	b.apart.busy = true
	b.apart.fills <- struct{}{}
	select {
	case <-b.apart.filled:
		b.apart.busy = false
		return true
	case <-b.apart.silent:
		return false
	}
}

// readAlone reads a run on after its client has left, until the outcome is recorded.
func (b *body) readAlone() {
	if b.apart.busy {
		<-b.apart.filled
		b.apart.busy = false
	}
	b.endFills()
	for b.noteUnfinished() {
		b.out.Clear()
		b.fillGuarded()
	}
	b.close()
}

// noteUnfinished says that the end of the run that the client asked for is not known yet. A later
// run of the same stream is not claimed, and does not outlive the client.
func (b *body) noteUnfinished() bool { return b.phase < ended && b.client.laterRuns == 0 }

// Close is called at the end, or when the client has left. It reports whether the run goes on
// alone: readAlone follows then.
func (b *body) Close() (alone bool) {
	if b.apart.busy {
		b.apart.left = true
		return true
	}
	at := b.phase
	switch {
	case at == over:
		b.close()
		b.endFills()
		return false
	case b.life.lasting.Load() && b.noteUnfinished(), b.claim.Held():
		b.apart.left = true
		return true
	}
	b.phase.advance(over)
	b.life.cancel(context.Canceled)
	b.close()
	b.endFills()
	if at == reading || at == between {
		b.report.outcome = "client left"
		_, _ = b.exchange.Run.End(translate.End{Cut: true}) // nobody is there to be told
	}
	return false
}

// endFills ends the goroutine that fills. None is under way.
func (b *body) endFills() {
	if b.apart.fills != nil {
		close(b.apart.fills)
		b.apart.fills = nil
	}
}

// takeResult takes the result of an exchange that was sent.
func (b *body) takeResult(a answer) {
	b.read(a.stream, a.framing)
	b.end = a.end
	if b.phase == between {
		b.phase.advance(reading)
	}
}
