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

// readAhead is how many bytes of output are made of frames in memory before the output is sent to
// the client.
const readAhead = 64 << 10

// dataPrefix is the start of a data line in the form that every client can read, see lacksSpace.
const dataPrefix = "data: "

// A body is the response to a run. It reads the frames of the backend, lets the dialect translate
// them, and returns the frames for the client, which pump sends. It always ends with io.EOF,
// whatever the backend does. The reason is the official client: it considers a truncated stream a
// success, and fails if the connection is reset.
type body struct {
	judge    *judge
	client   *clientSide
	exchange *exchange
	claim    *ledger.Claim // the claim of the run, or nil
	life     *runLife
	report   *report
	// concludes settles an exchange that has ended. It is the method run.conclude.
	concludes func(e settle.End, panicked bool) conclusion

	to   *stream.Writer // writes to the client; nil if nothing is read from the backend
	from source

	out     stream.Output // complete frames for the client
	lf      []byte        // the buffer for frames whose line ends are replaced
	emits   func(agui.Event)
	emitOut func(agui.Event) // the method value out.Event, which is created only once

	phase           phase
	opened          bool // the first exchange has a response, or needs none
	passedUnchanged bool // the response goes to the client unchanged
	started         bool // the client got RUN_STARTED
	// no event has followed RUN_STARTED yet; until then a shorter time limit applies
	awaitsFirstEvent bool
	end              settle.End // the end of the current exchange, if from.response is nil
	// the conclusion of the exchange if it is known before its stream is read; otherwise nil
	knownConclusion *conclusion
	// the RUN_FINISHED of a refusal whose RUN_ERROR has not arrived yet, see isRefusal
	refused    agui.Event
	terminal   agui.Type // the last terminal event that the client got before phase endSent
	framesRead int       // how many frames were read from the backend

	reader claimedReader
}

// A source is the backend's response to an exchange, and what reads its stream.
type source struct {
	response io.ReadCloser // nil if there is nothing to read
	frames   *sse.Reader   // reads an AG-UI stream
	pieces   stream.Pieces // reads a stream that is not AG-UI; frames is nil then
	watch    *backend.Watch
}

type bodyKey struct{}

// bodyOf returns the body of the run to which a request to the backend belongs. It returns nil if
// the request belongs to no run.
func bodyOf(ctx context.Context) *body {
	b, _ := ctx.Value(bodyKey{}).(*body)
	return b
}

// newBody returns the body of a run whose first exchange is about to be sent to the backend.
func newBody(r *run) *body {
	b := &body{
		judge: &r.judge, client: &r.client, exchange: &r.exchange, claim: r.claim, life: &r.life, report: &r.report, concludes: r.conclude,
		reader: claimedReader{silence: make(chan struct{}, 1)},
	}
	b.emits, b.emitOut = b.emit, b.out.Event
	return b
}

// read prepares b.from to read up, the response body of the backend. If up is nil, there is nothing
// to read.
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
		// if no frame is sent before the wait, this sends the header
		b.exchange.conn.BeforeWait(b.to.Release)
	}
	if framing != translate.Unread {
		b.from.pieces = stream.NewPieces(src, framing, b.judge.opts.MaxFrameBytes)
		return
	}
	b.from.frames = sse.NewReader(src, b.judge.opts.MaxFrameBytes)
	b.out.Frames = b.from.frames
}

// endIdle is called when the backend has been silent for too long. It ends the run. If the run is
// claimed, it ends only the client's stream, because the approved action may still be running. But
// a claimed run ends too if the backend, which is another Holdpoint, has refused the answers and
// only its RUN_ERROR is missing.
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

// lateIdle is called when a claimed run stays silent after endIdle. It ends the run, because its
// thread would accept no other run until then. After that it is in doubt whether the answers were
// carried out.
func (b *body) lateIdle() { b.life.cancel(errIdle) }

// start sends a RUN_STARTED of Holdpoint's own if the backend has sent none, because clients fail
// on a stream that begins with another event.
func (b *body) start() {
	if b.started {
		return
	}
	b.started = true
	b.sendEvent(b.client.listener().Start())
}

// sendEvent sends an event to the client in the form that this client reads.
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

// send sends the current exchange to the backend through ReverseProxy, which does the HTTP work
// except for the stream.
func (b *body) send(w http.ResponseWriter) {
	b.exchange.reverseProxy.ServeHTTP(w, b.judge.request.http.WithContext(context.WithValue(b.life.ctx, bodyKey{}, b)))
}

// emit sends an event that the dialect has emitted to the client. Before that it makes the changes
// that this client needs.
func (b *body) emit(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		if b.exchange.counted.Exchanges > 1 && b.started && b.client.laterRuns == 0 {
			return // the client already has its RUN_STARTED
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

// bound starts a timer with the idle timeout. It cancels the run if the header of the backend's
// response does not arrive in time. When head calls it, it cancels the run if the start of a
// response that is not a stream does not arrive in time. done stops the timer.
func (e *exchange) bound() (done func()) {
	limit := e.judge.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() { e.life.cancel(errIdle) })
	return func() { timer.Stop() }
}
