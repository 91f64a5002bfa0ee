package proxy

import (
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// origin returns where a pause of the run comes from: agent, thread, run, path, and the person
// whose request began the run. People who decide outside of the chat see it. trace is the
// traceparent of the run.
func (t *thread) origin(trace string) *agui.Origin {
	if p := t.record.Pause; t.request.isOwn && p != nil && p.Origin != nil {
		o := *p.Origin // the run continues for the person whose request began it
		o.Run, o.Trace = strings.Clone(t.request.input.RunID), trace
		return &o
	}
	o := &agui.Origin{
		Agent: t.opts.Agent, Tenant: t.principal.Tenant, Thread: strings.Clone(t.request.clientThread()),
		Run: strings.Clone(t.request.input.RunID), ShownAs: shownAs(t.show),
	}
	if p := t.record.Pause; t.ownThread != nil && p != nil && p.Origin != nil {
		o.Thread = p.Origin.Thread // the pause is saved in the record of that thread
	}
	if req := t.request.http; req != nil {
		o.Path = req.URL.EscapedPath()
	}
	o.Trace = trace
	o.Requester, o.RequesterHash = t.opts.ShowPrincipal.NameOf(t.principal)
	return o
}

// shownAs returns the text that a record has for the form in which the client got a question.
func shownAs(s translate.Show) string {
	switch s {
	case translate.ShowNative:
		return string(ClientNative)
	case translate.ShowBoth:
		return string(ClientBoth)
	}
	return string(ClientOutcome)
}
