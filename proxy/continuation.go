package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
)

// A backend may run open calls of a history (translate.Continuer). Here a run notes which calls it
// has left open and which ones asked. The room history reads the notes.

// A callKey is a hash of a call and of whose threads may hold it.
type callKey = history.CallKey

// callScope is whose threads may hold a call of the run.
func (r *run) callScope() history.Scope {
	return history.Scope{Tenant: r.who.Tenant, Agent: r.h.opts.Agent, Path: r.request.path, Owner: r.ledger.Owner}
}

// withholdOpenCalls takes calls out of the messages that must not reach the backend. p is the pause
// that the request answers, nil if there is none. It returns the messages that have changed, by
// their bytes before.
func (r *run) withholdOpenCalls(p *agui.Pause) map[string]agui.Message {
	v := r.view()
	out := history.WithholdOpenCalls(&v, p, r.hasLostQuestion())
	if out.Failed != nil {
		r.log.Warn("calls without a result are taken out of the messages: the store cannot say whether a question was about them", "err", out.Failed)
	}
	if out.Edited == nil {
		return nil
	}
	r.in = out.Input
	if out.Unknown > 0 {
		r.log.Warn("calls without a result taken out of the messages: the backend may run them, and no run is known that left them to the client", "calls", out.Unknown)
	}
	if out.Abandoned > 0 {
		r.log.Warn("calls without a result taken out of the messages: their question is lost, and the backend keeps nothing and would refuse the history", "calls", out.Abandoned)
	}
	return out.Edited
}
