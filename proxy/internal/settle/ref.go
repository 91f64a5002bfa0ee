package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Ref identifies snapshots that the store keeps next to a record. Few runs need to load them.
type Ref struct {
	PauseID string
	At      store.Moment
	Bytes   int // their size; 0 if the store keeps none
}

// AskedRef names the snapshots of a pause.
func AskedRef(p *agui.Pause) Ref { return Ref{p.ID, store.Asked, p.Kept} }

// EndedRef names the snapshots of a result.
func EndedRef(result *store.Result) Ref { return Ref{result.PauseID, store.Ended, result.Kept} }
