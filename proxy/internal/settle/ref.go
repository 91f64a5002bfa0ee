package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Ref names snapshots that the store keeps beside a record. Few runs need them.
type Ref struct {
	PauseID string
	At      store.Moment
	Bytes   int // of them; 0: the store keeps none
}

// AskedRef names the snapshots of a pause.
func AskedRef(p *agui.Pause) Ref { return Ref{p.ID, store.Asked, p.Kept} }

// EndedRef names the snapshots of a result.
func EndedRef(result *store.Result) Ref { return Ref{result.PauseID, store.Ended, result.Kept} }
