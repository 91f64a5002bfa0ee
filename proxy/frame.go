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
		if other := (sse.Frame{Raw: lf}).AppendOther(nil); len(other) > 0 {
			b.out.Bytes(append(other, '\n')) // without the blank line it would be a part of the next frame
		}
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
				ev.Type = agui.Unknown // forwarded unread; the client reports what is wrong with it
			}
		}
		if !bytes.HasPrefix(lf, []byte(dataPrefix)) {
			ev.Edited = ev.Edited || lacksSpace(lf)
		}
		b.event(b.asClientsRead(ev))
	}
	b.out.Current = nil
	poison.Bytes(b.lf)
}

// asClientsRead returns an event of the backend in the form in which clients read it. In an event
// that may ask something, only the last of several equal keys counts, so that Holdpoint judges the
// value that the client will read. Nulls at which clients fail are left out.
func (b *body) asClientsRead(ev agui.Event) agui.Event {
	if mayAsk(ev) {
		if last := agui.WithLastKeys(ev.JSON); len(last) != len(ev.JSON) {
			ev = ev.WithJSON(last)
		}
	}
	if b.judge.show != translate.ShowNative {
		ev = ev.WithoutNulls()
	}
	return ev
}

// mayAsk reports whether the event may contain a question, or the call that a question is about.
func mayAsk(ev agui.Event) bool {
	switch ev.Type {
	case agui.RunFinished:
		return true
	case agui.CallStart:
		return ev.Valid()
	case agui.Custom:
		return bytes.Contains(ev.JSON, []byte(agui.OnInterrupt))
	}
	return false
}

// countComment counts a frame that contains no event. It does not count a frame that is only the
// second half of a line end.
func (b *body) countComment(lf []byte) {
	if len(bytes.Trim(lf, "\n")) == 0 {
		b.framesRead--
		return
	}
	b.out.Count.Passed++
}

// tooDeepToRead reports whether an event that is nested too deeply to be read may contain a
// question. Such an event must not be forwarded: the client would read the question, but Holdpoint
// would have no record of it.
func tooDeepToRead(ev agui.Event) bool {
	return (ev.Type == agui.RunFinished || bytes.Contains(ev.JSON, []byte(agui.OnInterrupt))) && agui.TooDeep(ev.JSON)
}

// lacksSpace reports whether a data line of the frame has no space after its colon. @ag-ui/client
// 0.0.42 and the Go SDK skip such a line silently, so Holdpoint writes the frame again with a
// space.
func lacksSpace(frame []byte) bool {
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(value) > 0 && value[0] != ' ' {
			return true
		}
	}
	return false
}

// event processes one event of the backend. The stream may have any framing.
func (b *body) event(ev agui.Event) {
	switch {
	case b.phase == endSent:
		b.readAfterEnd(ev)
		return
	case b.phase != reading:
		return // the run has ended, so later events are dropped
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

// giveUp ends an exchange because err occurred when the dialect translated it.
func (b *body) giveUp(err error) {
	b.close()
	b.start()
	b.conclude(settle.End{End: translate.End{Cut: true}, Broken: translationError(b.judge.log, err)})
}

// piece processes one piece of a stream that is not AG-UI. The first piece may take long, so piece
// sends RUN_STARTED before it.
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
		if b.phase == reading { // after the end of the run, events are dropped
			b.event(ev)
		}
	})
	if err != nil && b.phase == reading {
		b.giveUp(err)
	}
	return nil
}

// readAfterEnd processes an event that follows the terminal event of a run. Only a late RUN_ERROR,
// or the RUN_STARTED of a next run, may follow. At any other event a client fails and forgets the
// end of the run, so the stream ends before such an event.
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

// beginLater begins a further run, without answers, in the same stream. If the dialect wants to
// send a request for this run, that request is dropped.
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

// row forwards frames in memory without reading each as an event. It does so if they differ only in
// their text from the last piece of a message's text. It returns false if the next frame is not
// such a frame. The effect is the same as that of frame, which a test checks.
func (b *body) row() bool {
	if b.phase != reading || b.refused.Type != agui.Unknown {
		return false
	}
	before := b.client.transcript.InRows
	n := b.client.transcript.TakeRow(b.from.frames.Buffered(), b.judge.opts.MaxFrameBytes, b.passes)
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

// passes reports whether events of the type t go to the client unchanged and only the transcript
// needs them.
func (b *body) passes(t agui.Type) bool {
	if !b.client.stream.Passes(t) {
		return false
	}
	if t == agui.CallArgs && b.client.knownCalls.Resumes() {
		return false // the event may belong to a call that the client already has
	}
	p, ok := b.exchange.Run.(translate.Passer)
	return ok && p.Passes(t)
}

var doneMark = []byte("[DONE]")

// conclude ends the current exchange. It is called at every end of a stream. e says how the stream
// ended.
func (b *body) conclude(e settle.End) {
	b.refused = agui.Event{}
	b.follow(b.concludes(e, false), e.Event.Type)
}

// follow sends the events of a conclusion and advances the phase. seen is the type of the terminal
// event that the backend sent, or Unknown if it sent none.
func (b *body) follow(c conclusion, seen agui.Type) {
	tells := func(t agui.Type) bool {
		return slices.ContainsFunc(c.events, func(ev agui.Event) bool { return ev.Type == t })
	}
	if seen == agui.RunErrored && tells(agui.RunFinished) && !tells(agui.RunStarted) {
		b.start() // the RUN_ERROR may be the backend's first event
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
			b.life.follow() // later events matter only while the client is connected
		}
	}
}
