package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// A runLog is the slog.Handler for the log lines of a run, which have the ids of thread and run. It
// adds the ids only when a line is logged. slog's own With would format them at the beginning of
// each run, but most runs log only one line, at their end.
type runLog struct {
	log     *slog.Logger
	request *request
}

func (l runLog) attrs() []slog.Attr {
	return []slog.Attr{slog.String("thread_id", agui.Shorten(l.request.clientThread())), slog.String("run_id", agui.Shorten(l.request.input.RunID))}
}

// Enabled implements slog.Handler.
func (l runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.log.Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l runLog) Handle(ctx context.Context, line slog.Record) error {
	return l.WithAttrs(nil).Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (l runLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return l.log.Handler().WithAttrs(append(l.attrs(), attrs...))
}

// WithGroup implements slog.Handler.
func (l runLog) WithGroup(name string) slog.Handler { return l.WithAttrs(nil).WithGroup(name) }

// lastLine returns the attributes of the line that each run logs at its end. They share no memory
// with the request or with an event, because the line is written later.
func (r *run) lastLine() []slog.Attr {
	attrs := make([]slog.Attr, 0, 13)
	for _, a := range r.log.Handler().(runLog).attrs() {
		attrs = append(attrs, slog.String(a.Key, strings.Clone(a.Value.String())))
	}
	attrs = append(attrs, slog.String("outcome", r.report.outcome), slog.Int64("duration_ms", r.h.opts.Now().Sub(r.report.started).Milliseconds()))
	if r.client.paused != nil {
		attrs = append(attrs, slog.Int("interrupts", len(r.client.paused.Interrupts)))
	}
	if dialect := r.dialectOfLine(); dialect != "" {
		attrs = append(attrs, slog.String("dialect", dialect))
	}
	if name := r.judge.request.client.String(); name != "" {
		attrs = append(attrs, slog.String("client", name))
	}
	if r.report.code != "" {
		attrs = append(attrs, slog.String("code", strings.Clone(string(r.report.code))))
	}
	if r.exchange.status != 0 {
		attrs = append(attrs, slog.Int("upstream_status", r.exchange.status))
	}
	attrs = append(attrs, slog.String("request_id", r.judge.request.id))
	if r.judge.request.trace != "" {
		attrs = append(attrs, slog.String("trace_id", r.judge.request.trace))
	}
	if list := r.judge.loggedAnswers(); list != nil {
		attrs = append(attrs, slog.Any("answers", list))
	}
	switch name, hash := r.h.opts.ShowPrincipal.NameOf(r.judge.principal); {
	case name != "":
		attrs = append(attrs, slog.String("principal", name))
	case hash != "":
		attrs = append(attrs, slog.String("principal_hash", hash))
	}
	return attrs
}

// dialectOfLine returns the dialect with which the run was translated, for the log line. It returns
// "" if the dialect is not known yet.
func (r *run) dialectOfLine() string {
	switch {
	case r.client.paused != nil:
		return r.client.paused.Dialect
	// if dialect is set, the dialect's Begin was called and has failed
	case r.exchange.Run == nil && r.exchange.dialect == "":
		return ""
	}
	return r.exchange.dialectOfBackend()
}

// leave releases what the run holds, counts the run, and writes its log line. out is nil if the
// client of the run has left.
func (r *run) leave(out *stream.Writer) {
	r.claim.Stop()
	r.h.memory.runIDs.leave(r.judge.runID)
	if r.client.transcript != nil {
		r.client.transcript.Drop()
	}
	r.count()
	r.life.leave(r.lastLine(), out)
}

// logPanic logs a panic of a run.
func logPanic(log *slog.Logger, p any) {
	log.Error(logPanicked, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// upstreamClasses has, for the error code of a failed exchange, the label under which the metrics
// count the failure.
var upstreamClasses = map[agui.Code]string{
	agui.UpstreamUnreachable: "unreachable",
	agui.UpstreamEOF:         "eof",
	agui.UpstreamIdle:        "idle",
	agui.FrameTooLarge:       "frame_too_large",
	agui.UnsupportedEncoding: "encoding",
}

// count reports the run to the metrics and to its trace span. It is called once, at the end of the
// run. Until then the frames are only added up.
func (r *run) count() {
	if r.h.opts.RunEnded == nil && r.judge.span == nil {
		return
	}
	c := &event.Run{
		Agent: r.h.opts.Agent, Dialect: r.dialectOfLine(), Outcome: r.report.outcome, Client: r.judge.request.client.String(), Upstream: r.report.upstream,
		Duration: r.h.opts.Now().Sub(r.report.started), TimeToFirstByte: r.report.first, MadeEvents: r.report.eventsMade,
	}
	if b := r.body; b != nil {
		n := b.out.Count
		c.PassedFrames, c.RewrittenFrames, c.MadeEvents = n.Passed, n.Rewritten, c.MadeEvents+n.Made
		c.DroppedFrames = max(0, b.framesRead-n.Passed-n.Rewritten)
	}
	if r.h.opts.RunEnded != nil {
		r.h.opts.RunEnded(c)
	}
	if r.judge.span != nil {
		r.judge.span.End(c, string(r.report.code))
	}
}

// noteUpstream records in what way the backend failed, if the exchange that has ended failed. If
// the client or the end of the process has ended the run, that does not count as a failure of the
// backend.
func (r *run) noteUpstream(e *settle.End, res *translate.Result) {
	switch cause := context.Cause(r.life.ctx); {
	case e.None, errors.Is(cause, context.Canceled), errors.Is(cause, errDraining):
		return
	}
	// A protocol other than AG-UI may have no event for the end of a run. Then the dialect
	// recognizes a clean end.
	foreign := r.h.opts.isForeign()
	clean := foreign && !e.Cut &&
		(res.Next != nil || len(res.Asked.Interrupts) > 0 || res.Finish.Type == agui.RunFinished)
	class := ""
	switch {
	case e.Event.Type == agui.RunErrored:
		class = "run_error"
	case e.Broken == nil && e.Event.Type == agui.Unknown && (e.Cut || !foreign):
		class = "eof"
	case e.Broken == nil, clean && e.Broken.Code == agui.UpstreamEOF:
		return
	case e.Broken.Code != agui.UpstreamStatus:
		class = upstreamClasses[e.Broken.Code]
	case e.Status == 0:
		class = "untranslated"
	case e.Status >= 500:
		class = "status_5xx"
	case e.Status >= 400:
		class = "status_4xx"
	default:
		class = "no_stream"
	}
	if class != "" {
		r.report.upstream = class
	}
	if r.judge.span != nil {
		r.judge.span.ExchangeEnded(class)
	}
}
