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

// nextOutput returns the next output for the client: as many whole frames as are in memory, in two
// parts of which either may be empty. Both are valid until the next call. last reports that the
// stream ends with them. The only error is io.EOF.
func (b *body) nextOutput() (made, row []byte, last bool, err error) {
	if b.reader.streamEnded {
		return nil, nil, false, io.EOF
	}
	b.out.Clear()
	if cap(b.lf) > readAhead {
		b.lf = nil // a huge frame made it grow, and streams live for hours
	}
	for b.out.Empty() {
		switch {
		case b.phase == outputOver:
			return nil, nil, false, io.EOF
		case !b.claim.Held():
			b.fillGuarded()
		case !b.fillConcurrently():
			if words := b.idleEnd(); words != nil {
				return words, nil, false, nil
			}
			<-b.reader.filled
			b.reader.busy = false
		}
	}
	made, row = b.out.Take()
	return made, row, b.phase == outputOver, nil
}

// fill reads from the backend until there is at least one frame of output, or the stream is over.
func (b *body) fill() {
	for b.phase != outputOver {
		switch {
		case b.phase == betweenExchanges:
			if !b.out.Empty() {
				return // send the output first, because the next exchange may take long
			}
			b.next()
			continue
		case b.from.response == nil: // also if the next exchange of the run got no stream
			b.finishUnread()
			return
		}
		if err := b.step(); err != nil {
			b.brokeOff(err)
			return
		}
		if !b.out.Empty() && (!b.ready() || b.out.MadeBytes() >= readAhead) {
			return
		}
	}
}

// step reads the next piece, row of frames or frame of the backend's stream.
func (b *body) step() error {
	if b.from.pieces != nil {
		return b.piece()
	}
	if b.row() {
		return nil
	}
	if b.from.frames.Ended() && !b.from.frames.Ready() {
		b.out.Settle() // what Next returned stays valid only until its next call
	}
	frame, err := b.from.frames.Next()
	if err != nil {
		return b.endStream(frame, err)
	}
	b.frame(frame)
	return nil
}

// ready reports that the next step does not have to wait for the backend.
func (b *body) ready() bool {
	return b.from.frames != nil && (b.from.frames.Ready() || b.from.frames.Ended()) || b.from.pieces != nil && b.started && b.from.pieces.Ready()
}

// finishUnread ends a stream if there is nothing to read from the backend.
func (b *body) finishUnread() {
	b.start()
	if b.knownConclusion != nil {
		b.follow(*b.knownConclusion, agui.Unknown)
		return
	}
	b.end.Cut = !b.end.None && b.end.Status == 0
	b.conclude(b.end)
}

// endStream gets the results of the frame reader at the end of the stream. It returns nil if the
// run continues with another exchange.
func (b *body) endStream(rest sse.Frame, err error) error {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// The stream ended cleanly but without the last blank line. The official client reads that
		// frame too.
		b.event(agui.NewEvent(bytes.Clone(data)))
		if b.phase == betweenExchanges {
			return nil // the frame ended the exchange, and another exchange follows
		}
	}
	return err
}

// brokeOff ends a stream at err: io.EOF, or the reason why the connection broke.
func (b *body) brokeOff(err error) {
	if b.phase == outputOver {
		return
	}
	b.close()
	if b.refused.Type != agui.Unknown {
		if b.concludeRefused(); b.phase != endSent {
			return // another exchange may follow
		}
	}
	if b.phase == endSent {
		b.phase.advance(outputOver)
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

// next sends the next exchange of the run and prepares to read its stream.
func (b *body) next() {
	b.close()
	if b.to != nil {
		b.to.Release() // the next response may take long, and the held header does not wait for it
	}
	b.exchange.begin()
	if b.exchange.Out.None {
		b.takeResult(answer{end: settle.End{End: translate.End{None: true}}})
		return
	}
	b.send(headerOnly{}) // the client has its header already
}

// fillGuarded calls fill, and recovers from a panic, which ends only this run. The goroutine of a
// claimed run needs this, because net/http recovers only in its own goroutines.
func (b *body) fillGuarded() {
	b.reader.gate.Enter()
	defer b.reader.gate.Leave()
	defer func() {
		if p := recover(); p != nil {
			logPanic(b.judge.log, p)
			b.endPanicked()
		}
	}()
	b.fill()
}

// endPanicked ends the stream of a run that has panicked. The output so far is kept, because the
// events that end the stream also close what is open in it. If that panics too, the stream ends
// with an error event only, and the lapse of the claim's lease shows the doubt.
func (b *body) endPanicked() {
	defer func() {
		if p := recover(); p != nil {
			logPanic(b.judge.log, p)
			b.out.Clear()
			b.sendEvents([]agui.Event{internalError().Event()})
		}
	}()
	told := b.terminal
	b.phase.advance(outputOver)
	b.out.Current = nil
	if told != agui.Unknown {
		b.concludes(settle.End{}, true) // the client has the end of its run already
		return
	}
	b.start()
	b.sendEvents(b.concludes(settle.End{}, true).events)
}

// fillConcurrently calls fill in another goroutine, so that the client's stream can end while the
// backend of a claimed run is silent. It returns false if the backend became silent; the fill then
// continues.
func (b *body) fillConcurrently() bool {
	if b.reader.fills == nil {
		b.reader.fills, b.reader.filled = make(chan struct{}), make(chan struct{}, 1)
		go func(fills <-chan struct{}, filled chan<- struct{}) {
			for range fills {
				b.fillGuarded()
				filled <- struct{}{}
			}
		}(b.reader.fills, b.reader.filled)
	}
	select {
	case <-b.reader.silence: // left over from an earlier fill
	default:
	}
	b.reader.busy = true
	b.reader.fills <- struct{}{}
	select {
	case <-b.reader.filled:
		b.reader.busy = false
		return true
	case <-b.reader.silence:
		return false
	}
}

// readAlone reads a run to its end after its client has left, so that the outcome is recorded.
func (b *body) readAlone() {
	if b.reader.busy {
		<-b.reader.filled
		b.reader.busy = false
	}
	b.endFills()
	for b.noteUnfinished() {
		b.out.Clear()
		b.fillGuarded()
	}
	b.close()
}

// noteUnfinished reports that the run that the client started has not ended yet. A later run of the
// same stream has no claim, and does not continue without the client.
func (b *body) noteUnfinished() bool { return b.phase < endSent && b.client.laterRuns == 0 }

// Close ends the body, at the end of the stream or when the client has left. It reports whether the
// run continues without the client: the caller must then call readAlone.
func (b *body) Close() (alone bool) {
	if b.reader.busy {
		b.reader.streamEnded = true
		return true
	}
	at := b.phase
	switch {
	case at == outputOver:
		b.close()
		b.endFills()
		return false
	case b.life.outlivesClient.Load() && b.noteUnfinished(), b.claim.Held():
		b.reader.streamEnded = true
		return true
	}
	b.phase.advance(outputOver)
	b.life.cancel(context.Canceled)
	b.close()
	b.endFills()
	if at == reading || at == betweenExchanges {
		b.report.outcome = "client left"
		_, _ = b.exchange.Run.End(translate.End{Cut: true}) // there is no client to report the result to
	}
	return false
}

// endFills ends the goroutine of fillConcurrently. No fill may be running.
func (b *body) endFills() {
	if b.reader.fills != nil {
		close(b.reader.fills)
		b.reader.fills = nil
	}
}

// takeResult makes the result of a request to the backend the input of the body.
func (b *body) takeResult(a answer) {
	b.read(a.stream, a.framing)
	b.end = a.end
	if b.phase == betweenExchanges {
		b.phase.advance(reading)
	}
}
