package proxy

import (
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// origin says where a pause of the run comes from, for whoever is shown it outside of the chat.
func (r *run) origin() *agui.Origin {
	if p := r.record.Pause; r.request.ours && p != nil && p.Origin != nil {
		o := *p.Origin // it goes on in the name of who asked for the run
		o.Run, o.Trace = strings.Clone(r.request.input.RunID), r.traceparent()
		return &o
	}
	o := &agui.Origin{
		Agent: r.h.opts.Agent, Tenant: r.who.Tenant, Thread: strings.Clone(r.request.clientThread()),
		Run: strings.Clone(r.request.input.RunID), Shown: shownAs(r.show),
	}
	if p := r.record.Pause; r.ownThread != nil && p != nil && p.Origin != nil {
		o.Thread = p.Origin.Thread // the record is that thread's
	}
	if req := r.request.http; req != nil {
		o.Path = req.URL.EscapedPath()
	}
	o.Trace = r.traceparent()
	o.Requester, o.RequesterHash = r.h.opts.ShowPrincipal.Of(r.who)
	return o
}

// shownAs is a translate.Show as records have it.
func shownAs(s translate.Show) string {
	switch s {
	case translate.ShowNative:
		return string(ClientNative)
	case translate.ShowBoth:
		return string(ClientBoth)
	}
	return string(ClientOutcome)
}
