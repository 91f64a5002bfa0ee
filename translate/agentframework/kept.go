package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// The groups of versions that ask in the same way, see the package comment.
const (
	rowList    = "list"    // only a list in RUN_FINISHED.interrupt
	rowOutcome = "outcome" // the interrupt outcome too
)

// pauseState is the JSON of Pause.Private.
type pauseState struct {
	Row string `json:"row"`
	// Thread is the backend's name of the thread if it differs from the client's. Versions up to 1.0.1
	// use the provider's conversation id, and 1.0.0rc7 finds the open question only under it.
	Thread string `json:"thread,omitempty"`
	// Registry reports that the backend is known to keep its questions, because it listed more than
	// one, or sent the result of a call that was approved before.
	Registry bool `json:"registry,omitempty"`
	// Siblings are the ids of calls that need no approval and wait together with calls that need one.
	// 1.0.0rc8 and later run them on the resume, 1.0.0rc7 and older never run them.
	Siblings []string `json:"siblings,omitempty"`
	// Clients are approvals of the client's own calls. If one call of a turn needs an approval,
	// 1.0.0rc8 and older require one for every call, but cannot run the client's calls. Holdpoint does
	// not ask about these.
	Clients []ask `json:"clients,omitempty"`
}

func keptOf(p agui.Pause) (k pauseState, ok bool) {
	return k, json.Unmarshal(p.Private, &k) == nil && k.Row != ""
}

func askOf(i agui.Interrupt) (a ask, ok bool) {
	return a, json.Unmarshal(i.Private, &a) == nil && a.Kind != ""
}
