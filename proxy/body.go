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
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// readAhead is how much output is made from frames that are in memory already before it is handed
// on.
const readAhead = 64 << 10

// dataPrefix is how a data line begins that every client reads, see lacksSpace.
const dataPrefix = "data: "

// newBody reads up, which may be nil. framing says how a backend that does not speak AG-UI cuts its
// stream. Unread means AG-UI.
func newBody(r *run, up io.ReadCloser, framing translate.Framing) *body {
	b := &body{r: r, apart: apart{silent: make(chan struct{}, 1)}}
	b.emits, b.outs = b.emit, b.out.Event
	b.read(up, framing)
	return b
}

// read makes up the stream to read.
func (b *body) read(up io.ReadCloser, framing translate.Framing) {
	b.out.Settle()
	b.up, b.frames, b.pieces = up, nil, nil
	if up == nil {
		return
	}
	if b.watch == nil {
		b.watch = &backend.Watch{Told: b.idled, Late: b.lateIdle, Grace: b.r.h.opts.ResumeIdleGrace, Gate: &b.apart.gate}
	}
	b.watch.Limit, b.mute = b.r.h.opts.IdleTimeout, false
	if s := b.r.exchange.Out.Silence; s > 0 && (b.watch.Limit == 0 || s < b.watch.Limit) {
		b.watch.Limit, b.mute = s, true
	}
	src := b.watch.Over(up, b.r.exchange.conn)
	if b.r.exchange.conn != nil && b.r.out != nil {
		b.r.exchange.conn.BeforeWait(b.r.out.Release) // the header goes then, if its frames have not come
	}
	if framing != translate.Unread {
		b.pieces = stream.NewPieces(src, framing, b.r.h.opts.MaxFrameBytes)
		return
	}
	b.frames = sse.NewReader(src, b.r.h.opts.MaxFrameBytes)
	b.out.Frames = b.frames
}

// idled ends a silent stream. On a claimed run only the client's: the action may still be running.
// It is over if another Holdpoint's end has come, and the RUN_ERROR behind it has not.
func (b *body) idled() {
	if b.r.claimedNow() && !b.refusedNow() {
		select {
		case b.apart.silent <- struct{}{}:
		default:
		}
		return
	}
	b.r.life.cancel(errIdle)
}

// lateIdle gives a silent claimed run up, some time after its client was told of the silence: its
// thread would take nothing else until then. The answers are in doubt.
func (b *body) lateIdle() { b.r.life.cancel(errIdle) }

// start tells a RUN_STARTED of our own if the backend gave none: a client fails a stream that
// begins otherwise.
func (b *body) start() {
	if b.started {
		return
	}
	b.started = true
	b.give(b.r.listener().Start())
}

// give gives the client an event, in the form that it reads.
func (b *body) give(ev agui.Event) { b.r.told.Tell(ev, b.outs) }

func (b *body) tell(events []agui.Event) {
	for _, ev := range events {
		b.started = b.started || ev.Type == agui.RunStarted
		b.give(b.r.listener().InThread(ev))
		if ev.Type.Terminal() {
			b.terminal = ev.Type
		}
	}
}

// close gives the upstream back.
func (b *body) close() {
	if b.up != nil {
		b.up.Close()
	}
}

// send sends the exchange at hand through ReverseProxy, which does all that is not the stream. What
// came of it is in r.body then; nil if the answer went to w as it is.
func (r *run) send(w http.ResponseWriter) {
	r.h.reverse.ServeHTTP(w, r.request.http.WithContext(context.WithValue(r.life.ctx, runKey{}, r)))
}

// emit gives the client an event that the translation let through.
func (b *body) emit(ev agui.Event) {
	switch ev.Type {
	case agui.RunStarted:
		if b.r.exchange.counted.Exchanges > 1 && b.started && b.laterRuns == 0 {
			return // the client is in its run already
		}
		b.started = true
		ev = b.r.listener().WithIDs(ev)
	case agui.SubagentStarted:
		if b.r.told.BeginsAgain(ev) {
			b.tell(b.r.endSubagents(nil))
		}
	case agui.SubagentFinished:
		if b.r.show != translate.ShowNative && b.r.told.Hold(ev) {
			return
		}
	case agui.MessagesSnapshot:
		ev = client.WithMessages(client.WithWithheld(ev, b.r.exchange.Out.Withheld), b.r.beside)
	case agui.CallResult:
		if b.r.show != translate.ShowNative {
			ev = b.r.told.Distinct(b.r.knownCalls.Separate(ev), b.r.transcript)
		}
		for _, own := range b.r.callOf(ev) {
			b.give(own)
		}
		b.r.knownCalls.Answered(ev)
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if b.r.knownCalls.Holds(ev) {
			return
		}
		if c := b.r.knownCalls.Lacked(ev); c != nil {
			c.Begin(ev)
			if c.Recorded {
				b.r.transcript.Repeat(ev)
				b.give(ev)
				return
			}
		}
	}
	b.r.noteCall(ev)
	if ev.Type == agui.MessagesSnapshot {
		for _, text := range b.r.told.SnapshotTexts(ev, b.r.transcript) {
			b.give(text)
		}
	}
	b.r.transcript.Add(ev)
	b.give(ev)
	if ev.Type == agui.RunStarted && b.r.missed != nil {
		b.tellMissed()
	}
}

// reached notes that the backend has the exchange at hand, or a part of it.
func (r *run) reached() { r.exchange.connected.Store(true) }

// bound gives up the exchange if its answer's header does not come within the idle time. It does
// the same for an answer that is no stream. done ends the watch.
func (r *run) bound() (done func()) {
	limit := r.h.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() { r.life.cancel(errIdle) })
	return func() { timer.Stop() }
}
