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

// readAhead is how much output is made from frames that are in memory already before it is handed
// on.
const readAhead = 64 << 10

// dataPrefix is how a data line begins that every client reads, see lacksSpace.
const dataPrefix = "data: "

// A body is the answer to a run: it reads the upstream's frames, has them translated, and gives the
// client's. It is pulled by pump. It ends with io.EOF always, whatever the upstream does: the
// official client takes a truncated stream for success and dies of a reset.
type body struct {
	judge    *judge
	client   *clientSide
	exchange *exchange
	claim    *ledger.Claim // nil if the run has none
	life     *runLife
	report   *report
	// concludes settles an exchange that has ended, see run.concluded.
	concludes func(e settle.End, panicked bool) conclusion

	to   *stream.Writer // to the client, nil if nothing is read from the backend
	from source

	out   stream.Output // whole frames for the client
	lf    []byte        // scratch for frames with other line ends
	emits func(agui.Event)
	outs  func(agui.Event) // out.Event

	phase     phase
	opened    bool        // the first exchange has its answer, or needs none
	untouched bool        // the answer goes to the client as it is
	started   bool        // RUN_STARTED was told
	mute      bool        // nothing behind RUN_STARTED has come, and the watch has a limit for that
	end       settle.End  // of the exchange at hand, where up is nil
	concluded *conclusion // what has come of it already; nil if nothing has yet
	refused   agui.Event  // a refusal whose RUN_ERROR has not come yet, see isRefusal
	terminal  agui.Type   // the last terminal event told, in the phase ended
	taken     int         // frames of the backend

	apart claimedReader
}

// A source is the stream of an exchange.
type source struct {
	up     io.ReadCloser // nil: there is nothing to read
	frames *sse.Reader   // of AG-UI
	pieces stream.Pieces // of a stream that is not AG-UI; frames is nil then
	watch  *backend.Watch
}

type bodyKey struct{}

// bodyOf returns the answer of a run that a request to the backend is for, nil if it is for none.
func bodyOf(ctx context.Context) *body {
	b, _ := ctx.Value(bodyKey{}).(*body)
	return b
}

// newBody returns the answer of a run whose exchange is to be sent.
func newBody(r *run) *body {
	b := &body{
		judge: &r.judge, client: &r.client, exchange: &r.exchange, claim: r.claim, life: &r.life, report: &r.report, concludes: r.conclude,
		apart: claimedReader{silent: make(chan struct{}, 1)},
	}
	b.emits, b.outs = b.emit, b.out.Event
	return b
}

// read makes up the stream to read.
func (b *body) read(up io.ReadCloser, framing translate.Framing) {
	b.out.Settle()
	b.from.up, b.from.frames, b.from.pieces = up, nil, nil
	if up == nil {
		return
	}
	if b.from.watch == nil {
		b.from.watch = &backend.Watch{Told: b.endIdle, Late: b.lateIdle, Grace: b.judge.opts.ResumeIdleGrace, Gate: &b.apart.gate}
	}
	b.from.watch.Limit, b.mute = b.judge.opts.IdleTimeout, false
	if s := b.exchange.Out.Silence; s > 0 && (b.from.watch.Limit == 0 || s < b.from.watch.Limit) {
		b.from.watch.Limit, b.mute = s, true
	}
	src := b.from.watch.Over(up, b.exchange.conn)
	if b.exchange.conn != nil && b.to != nil {
		b.exchange.conn.BeforeWait(b.to.Release) // the header goes then, if its frames have not come
	}
	if framing != translate.Unread {
		b.from.pieces = stream.NewPieces(src, framing, b.judge.opts.MaxFrameBytes)
		return
	}
	b.from.frames = sse.NewReader(src, b.judge.opts.MaxFrameBytes)
	b.out.Frames = b.from.frames
}

// endIdle ends a silent stream. On a claimed run only the client's: the action may still be
// running. It is over if another Holdpoint's end has come, and the RUN_ERROR behind it has not.
func (b *body) endIdle() {
	if b.claim.Held() && !b.refusedNow() {
		select {
		case b.apart.silent <- struct{}{}:
		default:
		}
		return
	}
	b.life.cancel(errIdle)
}

// lateIdle gives a silent claimed run up, some time after its client was told of the silence: its
// thread would take nothing else until then. The answers are in doubt.
func (b *body) lateIdle() { b.life.cancel(errIdle) }

// start tells a RUN_STARTED of our own if the backend gave none: a client fails a stream that
// begins otherwise.
func (b *body) start() {
	if b.started {
		return
	}
	b.started = true
	b.give(b.client.listener().Start())
}

// give gives the client an event, in the form that it reads.
func (b *body) give(ev agui.Event) { b.client.told.Tell(ev, b.outs) }

func (b *body) tell(events []agui.Event) {
	for _, ev := range events {
		b.started = b.started || ev.Type == agui.RunStarted
		b.give(b.client.listener().InThread(ev))
		if ev.Type.Terminal() {
			b.terminal = ev.Type
		}
	}
}

// close gives the upstream back.
func (b *body) close() {
	if b.from.up != nil {
		b.from.up.Close()
	}
}

// send sends the exchange through ReverseProxy, which does all that is not the stream.
func (b *body) send(w http.ResponseWriter) {
	b.exchange.reverse.ServeHTTP(w, b.judge.request.http.WithContext(context.WithValue(b.life.ctx, bodyKey{}, b)))
}

// emit gives the client an event that the translation let through.
func (b *body) emit(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		if b.exchange.counted.Exchanges > 1 && b.started && b.client.laterRuns == 0 {
			return // the client is in its run already
		}
		b.started = true
		ev = b.client.listener().WithIDs(ev)
	case agui.SubagentStarted:
		if b.client.told.BeginsAgain(ev) {
			b.tell(b.client.endSubagents(nil))
		}
	case agui.SubagentFinished:
		if b.judge.show != translate.ShowNative && b.client.told.Hold(ev) {
			return
		}
	case agui.MessagesSnapshot:
		ev = client.WithMessages(client.WithWithheld(ev, b.exchange.Out.Withheld), b.client.beside)
	case agui.CallResult:
		if b.judge.show != translate.ShowNative {
			ev = b.client.told.Distinct(b.client.knownCalls.Separate(ev), b.client.transcript)
		}
		for _, own := range b.client.callOf(ev) {
			b.give(own)
		}
		b.client.knownCalls.Answered(ev)
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if b.client.knownCalls.Holds(ev) {
			return
		}
		if c := b.client.knownCalls.Lacked(ev); c != nil {
			c.Begin(ev)
			if c.Recorded {
				b.client.transcript.Repeat(ev)
				b.give(ev)
				return
			}
		}
	}
	b.client.noteCall(ev)
	if ev.Type == agui.MessagesSnapshot {
		for _, text := range b.client.told.SnapshotTexts(ev, b.client.transcript) {
			b.give(text)
		}
	}
	b.client.transcript.Add(ev)
	b.give(ev)
	if ev.Type == agui.RunStarted && b.client.missed != nil {
		b.tellMissed()
	}
}

// noteReached notes that the backend has the exchange at hand, or a part of it.
func (e *exchange) noteReached() { e.connected.Store(true) }

// bound gives up the exchange if its answer's header does not come within the idle time. It does
// the same for an answer that is not a stream. done ends the watch.
func (e *exchange) bound() (done func()) {
	limit := e.judge.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() { e.life.cancel(errIdle) })
	return func() { timer.Stop() }
}
