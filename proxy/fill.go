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

// nextOutput returns the next output for the client: as many complete frames as are in memory. It
// returns them in two parts, made and row, and either may be empty. Both are valid until the next
// call. isLast is true if the stream ends with them. The only error is io.EOF.
func (b *body) nextOutput() (made, row []byte, isLast bool, err error) {
	if b.reader.streamEnded {
		return nil, nil, false, io.EOF
	}
	b.out.Clear()
	if cap(b.lf) > readAhead {
		b.lf = nil // a huge frame has made it grow, and a stream may last for hours
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

// fill reads from the backend until there is at least one frame of output or the stream is over.
func (b *body) fill() {
	for b.phase != outputOver {
		switch {
		case b.phase == betweenExchanges:
			if !b.out.Empty() {
				return // the output must be sent first, because the next exchange may take long
			}
			b.next()
			continue
		case b.from.response == nil: // also if the run's next exchange got no stream
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

// step reads the next part of the backend's stream: a piece, a row of frames, or one frame.
func (b *body) step() error {
	if b.from.pieces != nil {
		return b.piece()
	}
	if b.row() {
		return nil
	}
	if b.from.frames.Ended() && !b.from.frames.Ready() {
		b.out.Settle() // copies what Next returned, because it is valid only until the next call
	}
	frame, err := b.from.frames.Next()
	if err != nil {
		return b.endStream(frame, err)
	}
	b.frame(frame)
	return nil
}

// ready reports whether the next step can be done without waiting for the backend.
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

// endStream processes what the frame reader returned at the end of the stream: the rest and err. It
// returns err, or nil if the run continues with another exchange.
func (b *body) endStream(rest sse.Frame, err error) error {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// The stream ended cleanly, but the blank line after the last frame is missing. The
		// official client reads that frame too.
		b.event(b.asClientsRead(agui.NewEvent(bytes.Clone(data))))
		if b.phase == betweenExchanges {
			return nil // the frame has ended this exchange, and another one follows
		}
	}
	return err
}

// brokeOff ends the stream because the frame reader returned err. err is io.EOF, or the reason why
// the connection broke.
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

// next sends the next exchange of the run, and prepares to read its stream.
func (b *body) next() {
	b.close()
	if b.to != nil {
		b.to.Release() // sends the header now, because the next response may take long
	}
	b.exchange.begin()
	if b.exchange.Out.None {
		b.takeResult(answer{end: settle.End{End: translate.End{None: true}}})
		return
	}
	b.send(headerOnly{}) // without a header, because the client already has one
}

// fillGuarded calls fill and recovers from a panic, so that a panic ends only this run. The
// goroutine of a claimed run needs this, because net/http recovers only in its own goroutines.
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

// endPanicked ends the stream of a run that has panicked. The output so far is sent, because the
// events that end the stream also close what is open in it. If that panics too, the stream ends
// with only an error event. Then the doubt becomes known when the lease of the claim lapses.
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
		b.concludes(settle.End{}, true) // the client already has the end of its run
		return
	}
	b.start()
	b.sendEvents(b.concludes(settle.End{}, true).events)
}

// fillConcurrently calls fill in another goroutine, so that the client's stream can end while the
// backend of a claimed run is silent. It returns false if the backend has become silent. The fill
// continues even then.
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
	case <-b.reader.silence: // a value that is left from an earlier fill
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

// readAlone reads the stream of a run to its end after the client has left, so that the outcome is
// recorded.
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

// noteUnfinished reports whether the run that the client started has not ended yet. It returns
// false for a later run of the same stream, which has no claim and does not continue without the
// client.
func (b *body) noteUnfinished() bool { return b.phase < endSent && b.client.laterRuns == 0 }

// Close ends the body at the end of the stream, or when the client has left. If alone is true, the
// run continues without the client, and the caller must call readAlone.
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
		// there is no client to whom the result could be reported
		_, _ = b.exchange.Run.End(translate.End{Cut: true})
	}
	return false
}

// endFills ends the goroutine that fillConcurrently has started. It must not be called while a fill
// runs.
func (b *body) endFills() {
	if b.reader.fills != nil {
		close(b.reader.fills)
		b.reader.fills = nil
	}
}

// takeResult makes the body read the result of a request to the backend.
func (b *body) takeResult(a answer) {
	b.read(a.stream, a.framing)
	b.end = a.end
	if b.phase == betweenExchanges {
		b.phase.advance(reading)
	}
}
