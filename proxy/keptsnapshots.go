package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// keptSnapshots name snapshots that the store keeps beside the record. Few runs need them.
type keptSnapshots struct {
	pauseID string
	at      store.Moment
	bytes   int
}

// askedSnapshots are those of a pause.
func askedSnapshots(p *agui.Pause) keptSnapshots { return keptSnapshots{p.ID, store.Asked, p.Kept} }

// endedSnapshots are those of a result.
func endedSnapshots(result *store.Result) keptSnapshots {
	return keptSnapshots{result.PauseID, store.Ended, result.Kept}
}

// fetch asks the store for them. Without them the client is told the rest.
func (k keptSnapshots) fetch(r *run) store.Snapshots {
	if k.bytes == 0 {
		return store.Snapshots{}
	}
	shown, err := r.ledger.snapshots(k.pauseID, k.at)
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
	shown, err := r.ledger.snapshots(p.ID, store.Asked)
	if err != nil {
		return err
	}
	p.Messages, p.State = shown.Messages, shown.State
	p.Stripped = p.Stripped || p.Messages == nil && p.State == nil
	return nil
}
