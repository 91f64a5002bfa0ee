package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"

	"holdpoint/internal/agui"
	"holdpoint/internal/poison"
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

	fault     *agui.RunError // why the exchange is broken, nil if it is not or the reason is not known yet
	end       translate.End  // how it ended, where up is nil
	preset    []agui.Event   // what to tell, settled already
	none      bool           // the dialect sends nothing
	started   bool           // RUN_STARTED was told
	terminal  agui.Type      // the last terminal event told, Unknown while a run is open
	chunk     string         // the call that chunks without an id belong to
	over      bool           // nothing follows what is in out
	asked     bool           // Run.End was called for the exchange at hand
	exchanges int            // how many were begun
	due       bool           // the next one is to be sent, when what there is has gone out

	watch  *watch
	silent chan struct{} // gets a value from watch on a claimed run
	fills  chan struct{} // asks for a fill of a claimed run; nil before the first
	filled chan struct{} // gets a value when such a fill has ended
	busy   bool          // such a fill is under way
	left   bool          // the client's stream has ended, the exchange has not
}

// newBody reads up, which may be nil. framing is that of a backend that does not speak AG-UI; Unread means AG-UI.
func newBody(r *run, up io.ReadCloser, framing translate.Framing) *body {
	b := &body{r: r, silent: make(chan struct{}, 1)}
	b.emits = b.emit
	b.read(up, framing)
	return b
}

// read makes up the stream to read.
func (b *body) read(up io.ReadCloser, framing translate.Framing) {
	b.out.Settle()
	b.up, b.frames, b.pieces, b.asked, b.none = up, nil, nil, false, false
	b.exchanges++
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
		case b.silent <- struct{}{}:
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
	if b.left {
		return nil, nil, false, io.EOF
	}
	b.out.Clear()
	if cap(b.lf) > readAhead {
		b.lf = nil // of a huge frame: streams live for hours
	}
	for b.out.Empty() {
		switch {
		case b.over:
			return nil, nil, false, io.EOF
		case !b.r.claimedNow():
			b.guarded()
		case !b.fillApart():
			b.left = true
			return stream.AppendEvent(nil, fault(b.r.life.ctx, errIdle).Event()), nil, false, nil // all else is the fill's still
		}
	}
	made, row = b.out.Take()
	return made, row, b.over, nil
}

// guarded is fill, of which a panic ends this run only: a claimed run is translated in a goroutine of its own, where
// net/http does not recover.
func (b *body) guarded() {
	defer func() {
		if p := recover(); p != nil {
			b.r.panicked(p)
			b.out.Clear()
			b.over = true
			b.start()
			b.tell([]agui.Event{b.r.giveUpClaim().Event()})
		}
	}()
	b.fill()
}

// fillApart is fill in a goroutine of its own, so that the client's stream can end while the upstream of a claimed run
// is silent. It returns false if that happened; the fill goes on then.
func (b *body) fillApart() bool {
	if b.fills == nil {
		b.fills, b.filled = make(chan struct{}), make(chan struct{}, 1)
		go func(fills <-chan struct{}, filled chan<- struct{}) {
			for range fills {
				b.guarded()
				filled <- struct{}{}
			}
		}(b.fills, b.filled)
	}
	select {
	case <-b.silent: // of a fill before this one
	default:
	}
	b.busy = true
	b.fills <- struct{}{}
	select {
	case <-b.filled:
		b.busy = false
		return true
	case <-b.silent:
		return false
	}
}

// fill gathers output: at least one frame unless the stream is over.
func (b *body) fill() {
	for !b.over {
		if b.due {
			if !b.out.Empty() {
				return // its answer may take its time
			}
			b.due = false
			b.next()
			continue
		}
		if b.up == nil { // also where the next exchange of the run got no stream
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
	if b.preset != nil {
		b.tell(b.preset)
		b.over = true
		return
	}
	b.end.None = b.none
	b.end.Cut = !b.none && b.end.Status == 0
	b.settle(b.end, b.fault)
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

// settle ends the exchange and goes on with the next one, if there is one.
func (b *body) settle(end translate.End, broken *agui.RunError) {
	b.asked = true
	events, next := b.r.settle(end, broken)
	b.tell(events)
	switch {
	case next:
		b.due = true
	case b.up == nil || end.Event.Type == agui.Unknown || b.pieces != nil:
		b.over = true // behind the end of a stream that is not AG-UI there is no second run
	}
}

// ended is called with what the frame reader gave at the end of the stream. It returns nil if there is more to read.
func (b *body) ended(rest sse.Frame, err error) error {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// A clean end without the last blank line: the official client reads that frame too.
		b.event(agui.NewEvent(bytes.Clone(data)))
		if b.due {
			return nil // it ended the exchange, and another one is read next
		}
	}
	return err
}

// brokeOff is called with what ended the stream: io.EOF, or why it broke off.
func (b *body) brokeOff(err error) {
	if b.over {
		return
	}
	b.close()
	if b.terminal != agui.Unknown {
		b.over = true
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
	b.settle(translate.End{Cut: !clean}, broken)
}

// frame takes one frame of the upstream.
func (b *body) frame(f sse.Frame) {
	lf := f.Raw
	b.out.Current = lf
	if f.HasCR() {
		b.lf = f.AppendLF(b.lf[:0])
		lf, b.out.Current = b.lf, nil
	}
	data, ok := f.Data(nil)
	switch {
	case !ok && b.out.Current != nil:
		b.out.Pass()
	case !ok:
		b.out.Bytes(lf)
	case len(data) > 0 && data[0] != '{' && bytes.Equal(bytes.TrimSpace(data), done):
		b.out.Bytes(sse.Frame{Raw: lf}.AppendOther(nil))
	default:
		ev := agui.Event{Type: agui.PeekType(data), JSON: data, Frame: lf}
		switch ev.Type {
		case agui.RunStarted, agui.RunFinished, agui.RunErrored, agui.Custom:
			if !ev.Valid() {
				if b.terminal == agui.Unknown && tooDeepToHold(ev) {
					b.giveUp(agui.Errorf(agui.FrameTooLarge, "the backend sent a question or an end that is nested deeper than %d", agui.MaxDepth))
					b.out.Current = nil
					return
				}
				ev.Type = agui.Unknown // opaque: the client says what is wrong with it
			} else if ev.Type == agui.RunFinished {
				if last := agui.LastOf(data, "outcome"); len(last) != len(data) {
					ev = ev.With(last) // what is judged is what the client will read
				}
			}
		}
		if !bytes.HasPrefix(lf, []byte(dataPrefix)) {
			ev.Edited = lacksSpace(lf)
		}
		b.event(ev)
	}
	b.out.Current = nil
	poison.Bytes(b.lf)
}

// tooDeepToHold says whether an event that is not looked into is one by which a client may learn of a question: it would read it,
// and nobody would hold it.
func tooDeepToHold(ev agui.Event) bool {
	return (ev.Type == agui.RunFinished || bytes.Contains(ev.JSON, []byte(agui.OnInterrupt))) && agui.TooDeep(ev.JSON)
}

// lacksSpace says whether a data line of the frame has no space after its colon: @ag-ui/client 0.0.42 and the Go SDK skip
// such a line without a word, so the frame is made anew.
func lacksSpace(frame []byte) bool {
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(value) > 0 && value[0] != ' ' {
			return true
		}
	}
	return false
}

// event takes one event, of whatever framing.
func (b *body) event(ev agui.Event) {
	if b.terminal != agui.Unknown {
		b.afterEnd(ev)
		return
	}
	if ev.Type.Terminal() {
		b.settle(translate.End{Event: ev}, nil)
		return
	}
	if err := b.r.exchange.Run.Event(ev, b.emits); err != nil {
		b.giveUp(err)
	}
}

// giveUp ends an exchange that could not be translated.
func (b *body) giveUp(err error) {
	b.close()
	b.start()
	b.settle(translate.End{Cut: true}, b.r.translationError(err))
}

// piece takes one piece of a stream that is not AG-UI. RUN_STARTED goes out before the first one, which may take its time.
func (b *body) piece() error {
	if !b.started {
		b.start()
		return nil
	}
	p, comments, err := b.pieces.Next()
	if err != nil {
		return err
	}
	b.out.Bytes(comments)
	if p.Data == nil {
		return nil
	}
	at := b.exchanges
	live := func() bool { return b.exchanges == at && !b.asked } // what follows the end is nobody's
	err = b.r.exchange.Run.(translate.Decoder).Decode(p, func(ev agui.Event) {
		if live() {
			b.event(ev)
		}
	})
	if err != nil && live() {
		b.giveUp(err)
	}
	return nil
}

// afterEnd: after a terminal event only a late RUN_ERROR or the RUN_STARTED of a next run may follow; a client fails
// on anything else, and then forgets the end that it had.
func (b *body) afterEnd(ev agui.Event) {
	switch {
	case ev.Type == agui.RunErrored && b.terminal == agui.RunFinished:
		b.tell([]agui.Event{ev})
	case ev.Type == agui.RunStarted && !b.r.claimedNow():
		if err := b.r.beginLater(); err != nil {
			b.r.log.Error("a further run in the same stream cannot be translated", "err", err)
			b.stop()
			return
		}
		b.terminal = agui.Unknown
		b.event(ev)
	default:
		b.stop()
	}
}

func (b *body) stop() {
	b.close()
	b.over = true
}

// emit gives the client an event that the translation let through.
func (b *body) emit(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		if b.r.claim.exchanges > 1 && b.started && b.r.laterRuns == 0 {
			return // the client is in its run already
		}
		b.started = true
		ev = b.r.withRunIDs(ev)
	case agui.MessagesSnapshot:
		ev = b.r.withUntaken(withWithheld(ev, b.r.exchange.Out.Withheld))
	case agui.CallResult:
		ev = b.r.withResultID(ev)
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if b.r.known != nil && b.isKnownCall(ev) {
			return
		}
	}
	b.r.noteCall(ev)
	b.r.transcript.Add(ev)
	b.out.Event(ev)
}

// isKnownCall says whether the event begins again a call that the client knew before the resume. Clients append to the
// call they have: its arguments would stand twice.
func (b *body) isKnownCall(ev agui.Event) bool {
	id := ev.Get("toolCallId").Str
	if ev.Type == agui.CallChunk {
		if id == "" {
			id = b.chunk
		}
		b.chunk = id
	}
	return b.r.known[id]
}

// next sends the next exchange of the run and reads its stream.
func (b *body) next() {
	b.close()
	if b.r.out != nil {
		b.r.out.Release() // the next answer may take its time, and nothing waits on the first one's connection any more
	}
	b.terminal = agui.Unknown
	b.r.claim.begin(&b.r.exchange.Out)
	if b.r.exchange.Out.None {
		b.answered(answer{})
		b.none = true
		return
	}
	b.r.send(headerOnly{}) // the client has a header already
}

// answered takes what came of the exchange that next has sent.
func (b *body) answered(a answer) {
	b.read(a.stream, a.framing)
	b.fault, b.end = a.fault, a.end
}

// close gives the upstream back.
func (b *body) close() {
	if b.up != nil {
		b.up.Close()
	}
}

// settled says that the run has ended: nothing is to be read, and nothing to be sent.
func (b *body) settled() bool { return b.asked && !b.due }

// Close is called at the end, or when the client has left.
func (b *body) Close() {
	if !b.busy && b.over {
		b.close()
		b.endFills()
		return
	}
	if b.busy || b.r.life.lasting.Load() && !b.settled() || b.r.claimedNow() {
		b.readAlone()
		return
	}
	b.over = true
	b.r.life.cancel(context.Canceled)
	b.close()
	b.endFills()
	if !b.settled() {
		b.r.outcome = "client left"
		_, _ = b.r.exchange.Run.End(translate.End{Cut: true}) // nobody is there to be told
	}
}

// readAlone reads a run on after its client has left, until the outcome is recorded.
func (b *body) readAlone() {
	b.left = true
	b.r.life.detach(func() {
		defer b.r.leave(nil)
		if b.busy {
			<-b.filled
			b.busy = false
		}
		b.endFills()
		for !b.over && !b.settled() {
			b.out.Clear()
			b.guarded()
		}
		b.close()
	})
}

// endFills ends the goroutine that fills. None is under way.
func (b *body) endFills() {
	if b.fills != nil {
		close(b.fills)
		b.fills = nil
	}
}
