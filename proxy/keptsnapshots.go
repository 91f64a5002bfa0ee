package proxy

import (
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// fetch asks the store for snapshots. Without them the client is told the rest.
func (r *run) fetch(ref settle.Ref) store.Snapshots {
	shown, err := r.ledger.Snapshots(ref)
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
