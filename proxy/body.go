package proxy

import (
	"context"
	"io"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// readAhead is the number of bytes of output that are made from frames in memory before they are
// sent to the client.
const readAhead = 64 << 10

// dataPrefix is the start of a data line that every client can read, see lacksSpace.
const dataPrefix = "data: "

// A body is the response to a run. It reads the frames of the backend, has the dialect translate
// them, and returns the frames for the client to pump. It always ends with io.EOF, whatever the
// backend does: the official client takes a truncated stream for a success, and fails at a
// connection that is reset.
type body struct {
	judge    *judge
	client   *clientSide
	exchange *exchange
	claim    *ledger.Claim // nil if the run has none
	life     *runLife
	report   *report
	// concludes settles an exchange that has ended. It is run.conclude.
	concludes func(e settle.End, panicked bool) conclusion

	to   *stream.Writer // the writer to the client; nil if nothing is read from the backend
	from source

	out     stream.Output // whole frames for the client
	lf      []byte        // buffer for frames whose line ends are replaced
	emits   func(agui.Event)
	emitOut func(agui.Event) // out.Event

	phase            phase
	opened           bool        // the first exchange has its response, or needs none
	passedUnchanged  bool        // the response is passed to the client unchanged
	started          bool        // the client got RUN_STARTED
	awaitsFirstEvent bool        // no event has followed RUN_STARTED yet, and a shorter time limit applies until one does
	end              settle.End  // of the current exchange, if from.up is nil
	knownConclusion  *conclusion // the conclusion of the exchange if it is known before the stream is read, else nil
	refused          agui.Event  // the RUN_FINISHED of a refusal whose RUN_ERROR has not arrived yet, see isRefusal
	terminal         agui.Type   // the last terminal event that the client got, in the phase ended
	framesRead       int         // number of frames read from the backend

	reader claimedReader
}

// A source is the stream of an exchange, as it arrives from the backend.
type source struct {
	response io.ReadCloser // nil if there is nothing to read
	frames   *sse.Reader   // reads an AG-UI stream
	pieces   stream.Pieces // reads a stream that is not AG-UI; frames is nil then
	watch    *backend.Watch
}

type bodyKey struct{}

// bodyOf returns the body of the run that a request to the backend belongs to, or nil if the
// request does not belong to a run.
func bodyOf(ctx context.Context) *body {
	b, _ := ctx.Value(bodyKey{}).(*body)
	return b
}

// newBody returns the body of a run whose first exchange is about to be sent.
func newBody(r *run) *body {
	b := &body{
		judge: &r.judge, client: &r.client, exchange: &r.exchange, claim: r.claim, life: &r.life, report: &r.report, concludes: r.conclude,
		reader: claimedReader{silence: make(chan struct{}, 1)},
	}
	b.emits, b.emitOut = b.emit, b.out.Event
	return b
}

// read prepares b.from to read the response body up. A nil up means that there is nothing to read.
func (b *body) read(up io.ReadCloser, framing translate.Framing) {
	b.out.Settle()
	b.from.response, b.from.frames, b.from.pieces = up, nil, nil
	if up == nil {
		return
	}
	if b.from.watch == nil {
		b.from.watch = &backend.Watch{OnSilence: b.endIdle, OnGraceOver: b.lateIdle, Grace: b.judge.opts.ResumeIdleGrace, Gate: &b.reader.gate}
	}
	b.from.watch.Limit, b.awaitsFirstEvent = b.judge.opts.IdleTimeout, false
	if s := b.exchange.Out.Silence; s > 0 && (b.from.watch.Limit == 0 || s < b.from.watch.Limit) {
		b.from.watch.Limit, b.awaitsFirstEvent = s, true
	}
	src := b.from.watch.Reader(up, b.exchange.conn)
	if b.exchange.conn != nil && b.to != nil {
		b.exchange.conn.BeforeWait(b.to.Release) // sends the header if no frame has been sent before the wait
	}
	if framing != translate.Unread {
		b.from.pieces = stream.NewPieces(src, framing, b.judge.opts.MaxFrameBytes)
		return
	}
	b.from.frames = sse.NewReader(src, b.judge.opts.MaxFrameBytes)
	b.out.Frames = b.from.frames
}

// endIdle is called when the backend has been silent for too long. It ends the run, or, if the run
// is claimed, only the client's stream, because the approved action may still be running. It also
// ends a claimed run if another Holdpoint has refused the answers and only its RUN_ERROR is
// missing.
func (b *body) endIdle() {
	if b.claim.Held() && !b.refusedNow() {
		select {
		case b.reader.silence <- struct{}{}:
		default:
		}
		return
	}
	b.life.cancel(errIdle)
}

// lateIdle ends a claimed run that stays silent after endIdle, because its thread would accept no
// other run until then. The answers are then in doubt.
func (b *body) lateIdle() { b.life.cancel(errIdle) }

// start sends a RUN_STARTED made by Holdpoint if the backend has sent none: clients fail on a
// stream that begins with another event.
func (b *body) start() {
	if b.started {
		return
	}
	b.started = true
	b.sendEvent(b.client.listener().Start())
}

// sendEvent sends an event to the client, in the form that the client reads.
func (b *body) sendEvent(ev agui.Event) { b.client.stream.Send(ev, b.emitOut) }

func (b *body) sendEvents(events []agui.Event) {
	for _, ev := range events {
		b.started = b.started || ev.Type == agui.RunStarted
		b.sendEvent(b.client.listener().InThread(ev))
		if ev.Type.Terminal() {
			b.terminal = ev.Type
		}
	}
}

// close closes the response body of the backend.
func (b *body) close() {
	if b.from.response != nil {
		b.from.response.Close()
	}
}

// send sends the exchange through ReverseProxy, which does the HTTP work apart from the stream.
func (b *body) send(w http.ResponseWriter) {
	b.exchange.reverseProxy.ServeHTTP(w, b.judge.request.http.WithContext(context.WithValue(b.life.ctx, bodyKey{}, b)))
}

// emit sends to the client an event that the dialect has let through, with the changes that this
// client needs.
func (b *body) emit(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		if b.exchange.counted.Exchanges > 1 && b.started && b.client.laterRuns == 0 {
			return // the client has its RUN_STARTED already
		}
		b.started = true
		ev = b.client.listener().WithIDs(ev)
	case agui.SubagentStarted:
		if b.client.stream.BeginsAgain(ev) {
			b.sendEvents(b.client.endSubagents(nil))
		}
	case agui.SubagentFinished:
		if b.judge.show != translate.ShowNative && b.client.stream.Hold(ev) {
			return
		}
	case agui.MessagesSnapshot:
		ev = client.WithMessages(client.WithWithheld(ev, b.exchange.Out.WithheldMessages), b.client.extra)
	case agui.CallResult:
		if b.judge.show != translate.ShowNative {
			ev = b.client.stream.Distinct(b.client.knownCalls.Separate(ev), b.client.transcript)
		}
		for _, own := range b.client.callOf(ev) {
			b.sendEvent(own)
		}
		b.client.knownCalls.NoteResult(ev)
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if b.client.knownCalls.ClientHas(ev) {
			return
		}
		if c := b.client.knownCalls.LackingCall(ev); c != nil {
			c.NoteBegun(ev)
			if c.Recorded {
				b.client.transcript.Repeat(ev)
				b.sendEvent(ev)
				return
			}
		}
	}
	b.client.noteCall(ev)
	if ev.Type == agui.MessagesSnapshot {
		for _, text := range b.client.stream.SnapshotTexts(ev, b.client.transcript) {
			b.sendEvent(text)
		}
	}
	b.client.transcript.Add(ev)
	b.sendEvent(ev)
	if ev.Type == agui.RunStarted && b.client.missedEnd != nil {
		b.tellMissed()
	}
}

// noteReached records that the backend may have received the current exchange, or a part of it.
func (e *exchange) noteReached() { e.connected.Store(true) }

// bound cancels the run if the header of the backend's response does not arrive within the idle
// timeout, or, while head reads it, the start of a response that is not a stream. done stops the
// timer.
func (e *exchange) bound() (done func()) {
	limit := e.judge.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() { e.life.cancel(errIdle) })
	return func() { timer.Stop() }
}
