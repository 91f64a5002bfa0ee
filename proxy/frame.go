package proxy

import (
	"bytes"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/translate"
)

// frame processes one frame of the backend's stream.
func (b *body) frame(f sse.Frame) {
	b.framesRead++
	lf := f.Raw
	b.out.Current = lf
	if f.HasCR() {
		b.lf = f.AppendLF(b.lf[:0])
		lf, b.out.Current = b.lf, nil
	}
	data, ok := f.Data(nil)
	switch {
	case !ok && b.out.Current != nil:
		b.countComment(lf)
		b.out.Pass()
	case !ok:
		b.countComment(lf)
		b.out.Bytes(lf)
	case len(data) > 0 && data[0] != '{' && bytes.Equal(bytes.TrimSpace(data), doneMark):
		b.out.Bytes(sse.Frame{Raw: lf}.AppendOther(nil))
	default:
		ev := agui.Event{Type: agui.PeekType(data), JSON: data, Frame: lf}
		switch ev.Type {
		case agui.RunStarted, agui.RunFinished, agui.RunErrored, agui.Custom:
			if !ev.Valid() {
				if b.phase == reading && tooDeepToRead(ev) {
					b.giveUp(agui.Errorf(agui.FrameTooLarge, textTooDeep, agui.MaxDepth))
					b.out.Current = nil
					return
				}
				ev.Type = agui.Unknown // passed unread: the client reports what is wrong with it
			} else if ev.Type == agui.RunFinished {
				if last := agui.LastOf(data, "outcome"); len(last) != len(data) {
					ev = ev.WithJSON(last) // Holdpoint then judges the same copy of outcome that the client will read
				}
			}
		}
		if !bytes.HasPrefix(lf, []byte(dataPrefix)) {
			ev.Edited = ev.Edited || lacksSpace(lf)
		}
		if b.judge.show != translate.ShowNative {
			ev = ev.WithoutNulls()
		}
		b.event(ev)
	}
	b.out.Current = nil
	poison.Bytes(b.lf)
}

// countComment counts a frame that has no event. The second half of a line end does not count as a
// frame.
func (b *body) countComment(lf []byte) {
	if len(bytes.Trim(lf, "\n")) == 0 {
		b.framesRead--
		return
	}
	b.out.Count.Passed++
}

// tooDeepToRead reports whether an event that is nested too deep to be read may contain a question:
// the client would read the question, and Holdpoint would keep no record of it.
func tooDeepToRead(ev agui.Event) bool {
	return (ev.Type == agui.RunFinished || bytes.Contains(ev.JSON, []byte(agui.OnInterrupt))) && agui.TooDeep(ev.JSON)
}

// lacksSpace reports whether a data line of the frame has no space after its colon. @ag-ui/client
// 0.0.42 and the Go SDK skip such a line silently, so Holdpoint writes the frame anew.
func lacksSpace(frame []byte) bool {
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(value) > 0 && value[0] != ' ' {
			return true
		}
	}
	return false
}

// event processes one event of the backend, from a stream of any framing.
func (b *body) event(ev agui.Event) {
	switch {
	case b.phase == endSent:
		b.readAfterEnd(ev)
		return
	case b.phase != reading:
		return // the run has ended, and later events are dropped
	case b.refused.Type != agui.Unknown:
		b.afterRefusal(ev)
		return
	case b.claim.Held() && isRefusal(ev):
		b.refused = ev.Clone()
		return
	case ev.Type.Terminal():
		b.conclude(settle.End{End: translate.End{Event: ev}})
		return
	}
	if b.awaitsFirstEvent && ev.Type != agui.RunStarted {
		b.awaitsFirstEvent, b.from.watch.Limit = false, b.judge.opts.IdleTimeout
	}
	if err := b.exchange.Run.Event(ev, b.emits); err != nil {
		b.giveUp(err)
	}
}

// giveUp ends an exchange that could not be translated because of err.
func (b *body) giveUp(err error) {
	b.close()
	b.start()
	b.conclude(settle.End{End: translate.End{Cut: true}, Broken: translationError(b.judge.log, err)})
}

// piece processes one piece of a stream that is not AG-UI. Before the first piece, which may take
// long, it sends RUN_STARTED.
func (b *body) piece() error {
	if !b.started {
		b.start()
		if b.client.missedEnd != nil {
			b.tellMissed()
		}
		return nil
	}
	p, comments, err := b.from.pieces.Next()
	if err != nil {
		return err
	}
	b.out.Bytes(comments)
	if p.Data == nil {
		return nil
	}
	err = b.exchange.Run.(translate.Decoder).Decode(p, func(ev agui.Event) {
		if b.phase == reading { // the run has ended, and later events are dropped
			b.event(ev)
		}
	})
	if err != nil && b.phase == reading {
		b.giveUp(err)
	}
	return nil
}

// readAfterEnd processes an event after the terminal event of a run. Only a late RUN_ERROR, or the
// RUN_STARTED of a next run, may follow. At any other event a client fails and forgets the end that
// it got, so the stream ends before that event.
func (b *body) readAfterEnd(ev agui.Event) {
	switch {
	case ev.Type == agui.RunErrored && b.terminal == agui.RunFinished:
		b.sendEvents([]agui.Event{ev})
	case ev.Type == agui.RunStarted && !b.claim.Held():
		if err := b.beginLater(); err != nil {
			b.judge.log.Error(logLaterRunFailed, "err", err)
			b.stop()
			return
		}
		b.phase.advance(reading)
		b.event(ev)
	default:
		b.stop()
	}
}

func (b *body) stop() {
	b.close()
	b.phase.advance(outputOver)
}

// beginLater begins a further run in the same stream, without answers. A request that the dialect
// wants to send for it is dropped.
func (b *body) beginLater() error {
	j, c := b.judge, b.client
	c.withdraw()
	c.laterRuns++
	b.terminal = agui.Unknown
	c.knownCalls, c.extra = client.KnownCalls{}, nil
	out, translation, err := j.opts.Dialect.Begin(&translate.Request{
		Input: j.in, ClientMessages: j.request.input.Messages, Show: j.show, AsksFirst: j.request.client.AsksFirst(), Transcript: c.transcript, Pause: agui.Pause{Dialect: j.dialectOfThread()},
		Backend: j.backend(), NewID: j.opts.NewID,
	})
	if err != nil {
		return err
	}
	b.exchange.Exchange = translate.Exchange{Out: translate.Out{WithheldMessages: out.WithheldMessages}, Run: translation}
	return nil
}

// row passes on the frames in memory that differ only in their text from the last piece of a
// message's text, without reading each as an event. It returns false if the next frame is not such
// a frame. The effect is the same as that of frame, which a test checks.
func (b *body) row() bool {
	if b.phase != reading || b.refused.Type != agui.Unknown {
		return false
	}
	before := b.client.transcript.InRows
	n := b.client.transcript.TakeRow(b.from.frames.Ahead(), b.judge.opts.MaxFrameBytes, b.passes)
	if n == 0 {
		return false
	}
	b.framesRead += b.client.transcript.InRows - before
	b.out.Count.Passed += b.client.transcript.InRows - before
	from := b.from.frames.Pos()
	b.from.frames.Skip(n)
	b.out.AddPassed(from)
	return true
}

// passes reports whether events of the type go to the client unchanged and only the transcript
// needs them.
func (b *body) passes(t agui.Type) bool {
	if !b.client.stream.Passes(t) {
		return false
	}
	if t == agui.CallArgs && b.client.knownCalls.Resumes() {
		return false // it may belong to a call that the client has already
	}
	p, ok := b.exchange.Run.(translate.Passer)
	return ok && p.Passes(t)
}

var doneMark = []byte("[DONE]")

// conclude ends the current exchange. Every end of a stream passes through it, and e says how the
// stream ended.
func (b *body) conclude(e settle.End) {
	b.refused = agui.Event{}
	b.follow(b.concludes(e, false), e.Event.Type)
}

// follow sends the events of a conclusion and advances the phase. seen is the type of the backend's
// own terminal event, Unknown if there was none.
func (b *body) follow(c conclusion, seen agui.Type) {
	tells := func(t agui.Type) bool {
		return slices.ContainsFunc(c.events, func(ev agui.Event) bool { return ev.Type == t })
	}
	if seen == agui.RunErrored && tells(agui.RunFinished) && !tells(agui.RunStarted) {
		b.start() // the backend's first event may have been its RUN_ERROR
	}
	b.sendEvents(c.events)
	switch {
	case c.hasNextExchange:
		b.phase.advance(betweenExchanges)
	case b.from.response == nil || seen == agui.Unknown || b.from.pieces != nil:
		b.phase.advance(outputOver) // a stream that is not AG-UI has no second run
	default:
		b.phase.advance(endSent)
		if !b.claim.Held() {
			b.life.follow() // later events of the backend matter only while the client is there
		}
	}
}
