package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// keptSnapshots name snapshots that the store keeps beside the record.
type keptSnapshots settle.Ref

// askedSnapshots are those of a pause.
func askedSnapshots(p *agui.Pause) keptSnapshots { return keptSnapshots(settle.AskedRef(p)) }

// endedSnapshots are those of a result.
func endedSnapshots(result *store.Result) keptSnapshots {
	return keptSnapshots(settle.EndedRef(result))
}

// fetch asks the store for them. Without them the client is told the rest.
func (k keptSnapshots) fetch(r *run) store.Snapshots {
	shown, err := r.ledger.Snapshots(settle.Ref(k))
	if err != nil {
		r.log.Warn("snapshots left out: the store cannot be asked for them", "err", err)
	}
	return shown
}

// fetchAsked completes the pause that a resume goes on with. It must have the messages: what is
// approved is judged by them. A pause that has ended meanwhile has none, and the claim finds that
// out.
func (r *run) fetchAsked() error {
	p := r.record.Pause
	if p.Kept == 0 || p.Messages != nil || p.State != nil {
		return nil
	}
	shown, err := r.ledger.Snapshots(settle.AskedRef(p))
	if err != nil {
		return err
	}
	p.Messages, p.State = shown.Messages, shown.State
	p.Stripped = p.Stripped || p.Messages == nil && p.State == nil
	return nil
}
