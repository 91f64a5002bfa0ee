package proxy

import (
	"context"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/settle"
	"holdpoint/translate"
)

// count tells what is counted of the run. It is over then, so its frames cost nothing but additions
// until here.
func (r *run) count() {
	if r.h.opts.RunEnded == nil && r.span == nil {
		return
	}
	c := &event.Run{
		Agent: r.h.opts.Agent, Dialect: r.dialectOfLine(), Outcome: r.report.outcome, Client: r.request.client.String(), Upstream: r.report.upstream,
		Duration: r.h.opts.Now().Sub(r.report.started), First: r.report.first, Made: r.report.told,
	}
	if b := r.body; b != nil {
		n := b.out.Count
		c.Passed, c.Rewritten, c.Made = n.Passed, n.Rewritten, c.Made+n.Made
		c.Dropped = max(0, b.taken-n.Passed-n.Rewritten)
	}
	if r.h.opts.RunEnded != nil {
		r.h.opts.RunEnded(c)
	}
	if r.span != nil {
		r.span.End(c, string(r.report.code))
	}
}

// upstreamClasses are the codes of an exchange that has failed, as they are counted.
var upstreamClasses = map[agui.Code]string{
	agui.UpstreamUnreachable: "unreachable",
	agui.UpstreamEOF:         "eof",
	agui.UpstreamIdle:        "idle",
	agui.FrameTooLarge:       "frame_too_large",
	agui.UnsupportedEncoding: "encoding",
}

// noteUpstream notes how the backend has failed in an exchange that has ended, if it has. A run
// that somebody else ended is not its fault.
func (r *run) noteUpstream(e *settle.End, res *translate.Result) {
	switch cause := context.Cause(r.life.ctx); {
	case e.None, errors.Is(cause, context.Canceled), errors.Is(cause, errDraining):
		return
	}
	// A protocol of its own may have no event for the end. Its dialect knows what a clean end means.
	clean := r.h.foreign != nil && !e.Cut &&
		(res.Next != nil || len(res.Asked.Interrupts) > 0 || res.Finish.Type == agui.RunFinished)
	class := ""
	switch {
	case e.Event.Type == agui.RunErrored:
		class = "run_error"
	case e.Broken == nil && e.Event.Type == agui.Unknown && (e.Cut || r.h.foreign == nil):
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
	if r.span != nil {
		r.span.ExchangeEnded(class)
	}
}
