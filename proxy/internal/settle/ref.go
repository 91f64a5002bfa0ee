package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Ref identifies snapshots that the store keeps next to a record. They are loaded only when
// needed, because few runs need them.
type Ref struct {
	PauseID string
	At      store.Moment
	Bytes   int // the size of the snapshots; 0 if the store has none
}

// AskedRef returns the Ref of the snapshots that the pause was saved with.
func AskedRef(p *agui.Pause) Ref { return Ref{p.ID, store.AtPause, p.SnapshotBytes} }

// EndedRef returns the Ref of the snapshots that the result of a pause was saved with.
func EndedRef(result *store.Result) Ref {
	return Ref{result.PauseID, store.AtEnd, result.SnapshotBytes}
}
