package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// A row of versions that ask in one way, see the package comment.
const (
	rowList    = "list"    // a list in RUN_FINISHED.interrupt
	rowOutcome = "outcome" // and the interrupt outcome
)

// pauseState is Pause.Private.
type pauseState struct {
	Row string `json:"row"`
	// Thread is the backend's name of the thread, where it is not the client's: versions up to 1.0.1
	// take the provider's conversation for it, and 1.0.0rc7 knows the open question under that alone.
	Thread string `json:"thread,omitempty"`
	// Registry: it is known to keep what it asked, because it listed more than one, or told of a call
	// that was approved before.
	Registry bool `json:"registry,omitempty"`
	// Siblings are calls of tools that need no approval and wait with those that do. 1.0.0rc8 and
	// later run them on the resume, 1.0.0rc7 and older never.
	Siblings []string `json:"siblings,omitempty"`
	// Clients are approvals of the client's own calls. 1.0.0rc8 and older want one for each call of
	// a turn in which one call wants it, and cannot run these. Nobody is asked about them.
	Clients []ask `json:"clients,omitempty"`
}

func keptOf(p agui.Pause) (k pauseState, ok bool) {
	return k, json.Unmarshal(p.Private, &k) == nil && k.Row != ""
}

func askOf(i agui.Interrupt) (a ask, ok bool) {
	return a, json.Unmarshal(i.Private, &a) == nil && a.Kind != ""
}
