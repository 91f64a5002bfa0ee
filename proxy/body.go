package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/translate"
)

// readAhead is how much output is gathered from frames that are in memory already before it is handed on.
const readAhead = 64 << 10

var done = []byte("[DONE]")

// A body is the response body of a run: it reads the upstream's frames, has them translated, and gives the client's.
// It is pulled by ReverseProxy's copy loop and ends with io.EOF always, whatever the upstream does: the official
// client takes a truncated stream for success and dies of a reset.
type body struct {
	r      *run
	up     io.ReadCloser // nil: there is nothing to read
	frames *sse.Reader   // of AG-UI
	pieces pieces        // of a stream that is not AG-UI; frames is nil then

	out   []byte // whole frames for the client, read up to at
	at    int
	lf    []byte // scratch for frames with other line ends
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

	idle   *time.Timer   // runs while the upstream is waited for
	silent chan struct{} // gets a value from idle on a claimed run
	filled chan struct{} // gets a value when a fill of a claimed run has ended; nil while none runs
	left   bool          // the client's stream has ended, the exchange has not
	last   []byte        // what the client's stream ends with then; out may be the fill's still
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
	b.up, b.frames, b.pieces, b.asked, b.none = up, nil, nil, false, false
	b.exchanges++
	if up == nil {
		return
	}
	var src io.Reader = up
	if limit := b.r.h.opts.IdleTimeout; limit > 0 {
		if b.idle == nil {
			b.idle = time.AfterFunc(limit, b.idled)
			b.idle.Stop()
		}
		src = &watched{up, b.idle, limit}
	}
	if framing != translate.Unread {
		b.pieces = newPieces(src, framing, b.r.h.opts.MaxFrameBytes)
		return
	}
	b.frames = sse.NewReader(src, b.r.h.opts.MaxFrameBytes)
}

// watched runs a timer while a read waits.
type watched struct {
	io.Reader
	timer *time.Timer
	limit time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.Reader.Read(p)
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
	b.r.cancel(errIdle)
}

// Read implements io.Reader: whole frames, as many as are in memory.
func (b *body) Read(p []byte) (int, error) {
	for !b.left && b.at == len(b.out) {
		if b.over {
			return 0, io.EOF
		}
		b.rewind()
		if !b.r.claimedNow() {
			b.guarded()
		} else if !b.fillApart() {
			b.left = true
			b.last = appendEvent(nil, fault(b.r.ctx, errIdle).Event())
		}
	}
	if b.left {
		n := copy(p, b.last)
		if b.last = b.last[n:]; n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n := copy(p, b.out[b.at:])
	b.at += n
	return n, nil
}

// rewind makes room for the next frames. The memory of a huge one goes back: streams live for hours.
func (b *body) rewind() {
	if cap(b.out) > 2*readAhead {
		b.out = nil
	}
	if cap(b.lf) > 2*readAhead {
		b.lf = nil
	}
	b.out, b.at = b.out[:0], 0
}

// guarded is fill, of which a panic ends this run only: a claimed run is translated in a goroutine of its own, where
// net/http does not recover.
func (b *body) guarded() {
	defer func() {
		if p := recover(); p != nil {
			b.r.log.Error("translation panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			b.out, b.at, b.over = b.out[:0], 0, true
			b.start()
			b.tell([]agui.Event{b.r.panicked().Event()})
		}
	}()
	b.fill()
}

// fillApart is fill in a goroutine of its own, so that the client's stream can end while the upstream of a claimed run
// is silent. It returns false if that happened; the fill goes on then.
func (b *body) fillApart() bool {
	b.filled = make(chan struct{}, 1)
	select {
	case <-b.silent: // of a fill before this one
	default:
	}
	go func(filled chan<- struct{}) {
		b.guarded()
		filled <- struct{}{}
	}(b.filled)
	select {
	case <-b.filled:
		b.filled = nil
		return true
	case <-b.silent:
		return false
	}
}

// fill gathers output: at least one frame unless the stream is over.
func (b *body) fill() {
	for !b.over {
		if b.up == nil { // also where the next exchange of the run got no stream
			b.finishUnread()
			return
		}
		if b.pieces != nil {
			if err := b.piece(); err != nil {
				b.brokeOff(err)
				return
			}
		} else {
			frame, err := b.frames.Next()
			if err != nil {
				b.ended(frame, err)
				return
			}
			b.frame(frame)
		}
		if len(b.out) > 0 && (!b.ready() || len(b.out) >= readAhead) {
			return
		}
	}
}

func (b *body) ready() bool {
	return b.frames != nil && b.frames.Ready() || b.pieces != nil && b.started && b.pieces.ready()
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
	b.out = appendEvent(b.out, b.r.startEvent())
}

func (b *body) tell(events []agui.Event) {
	for _, ev := range events {
		b.out = appendEvent(b.out, ev)
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
		b.next()
	case b.up == nil || end.Event.Type == agui.Unknown || b.pieces != nil:
		b.over = true // behind the end of a stream that is not AG-UI there is no second run
	}
}

// ended is called with what the frame reader gave at the end of the stream.
func (b *body) ended(rest sse.Frame, err error) {
	if data, ok := rest.Data(nil); errors.Is(err, io.EOF) && ok && agui.NewEvent(data).Valid() {
		// A clean end without the last blank line: the official client reads that frame too.
		reading := b.frames
		b.event(agui.NewEvent(bytes.Clone(data)))
		if b.frames != reading {
			return // it ended the exchange, and another one is read now
		}
	}
	b.brokeOff(err)
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
	broken := fault(b.r.ctx, err)
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
	if f.HasCR() {
		b.lf = f.AppendLF(b.lf[:0])
		lf = b.lf
	}
	data, ok := f.Data(nil)
	if !ok {
		b.out = append(b.out, lf...)
		return
	}
	if bytes.Equal(bytes.TrimSpace(data), done) {
		b.out = sse.Frame{Raw: lf}.AppendOther(b.out)
		return
	}
	ev := agui.Event{Type: agui.PeekType(data), JSON: data, Frame: lf}
	switch ev.Type {
	case agui.RunStarted, agui.RunFinished, agui.RunErrored, agui.Custom:
		if !ev.Valid() {
			ev.Type = agui.Unknown // opaque: the client says what is wrong with it
		}
	}
	if !bytes.HasPrefix(lf, []byte("data: ")) {
		ev.Edited = lacksSpace(lf)
	}
	b.event(ev)
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
	p, comments, err := b.pieces.next()
	if err != nil {
		return err
	}
	b.out = append(b.out, comments...)
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
		if b.r.second && b.started && b.r.laterRuns == 0 {
			return // the client is in its run already
		}
		b.started = true
		ev = b.r.withRunIDs(ev)
	case agui.MessagesSnapshot:
		ev = b.r.withUntaken(ev)
	case agui.CallResult:
		ev = b.r.withResultID(ev)
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if b.r.known != nil && b.isKnownCall(ev) {
			return
		}
	}
	b.r.transcript.add(ev)
	b.out = appendEvent(b.out, ev)
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

// next sends the second exchange of the run and reads its stream.
func (b *body) next() {
	b.close()
	b.fault, b.end, b.terminal = nil, translate.End{}, agui.Unknown
	if b.r.exchange.Out.None {
		b.read(nil, translate.Unread)
		b.none = true
		return
	}
	res, err := exchangeTransport{b.r.h}.RoundTrip(b.r.outgoing())
	if err != nil {
		b.read(nil, translate.Unread)
		b.fault = b.r.unanswered(b.r.ctx, err)
		return
	}
	a := b.r.stream(res)
	b.read(a.stream, a.framing)
	b.fault, b.end = a.fault, a.end
}

// close gives the upstream back.
func (b *body) close() {
	if b.idle != nil {
		b.idle.Stop()
	}
	if b.up != nil {
		b.up.Close()
	}
}

// Close implements io.Closer. It is called at the end, or when the client has left.
func (b *body) Close() error {
	if b.filled == nil && b.over {
		b.close()
		return nil
	}
	if b.filled != nil || b.r.lasting.Load() && !b.asked || b.r.claimedNow() {
		b.r.detach(b)
		return nil
	}
	b.over = true
	b.r.cancel(context.Canceled)
	b.close()
	if !b.asked {
		b.r.outcome = "client left"
		_, _ = b.r.exchange.Run.End(translate.End{Cut: true}) // nobody is there to be told
	}
	return nil
}
