package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// The two groups of versions that ask in the same way. The package comment describes them.
const (
	rowList    = "list"    // the questions are only in a list in RUN_FINISHED.interrupt
	rowOutcome = "outcome" // the questions are in the interrupt outcome too
)

// pauseState is the state that the dialect stores, as JSON, in Pause.Private.
type pauseState struct {
	Row string `json:"row"`
	// Thread is the backend's id of the thread, if it differs from the client's. Versions up to
	// 1.0.1 use the provider's conversation id. 1.0.0rc7 finds the open question only under that
	// id.
	Thread string `json:"thread,omitempty"`
	// Registry is true if the backend is known to keep its questions. It is known because the
	// backend listed more than one question, or sent the result of a call that was approved before.
	Registry bool `json:"registry,omitempty"`
	// Siblings are the ids of calls that need no approval, but wait together with calls that need
	// one. 1.0.0rc8 and later run them on the resume. 1.0.0rc7 and older never run them.
	Siblings []string `json:"siblings,omitempty"`
	// Clients are approvals that the backend requests for the client's own calls. If one call of a
	// turn needs an approval, 1.0.0rc8 and older request one for every call of the turn, but cannot
	// run the client's calls. Holdpoint does not ask the client these questions.
	Clients []ask `json:"clients,omitempty"`
}

func keptOf(p agui.Pause) (k pauseState, ok bool) {
	return k, json.Unmarshal(p.Private, &k) == nil && k.Row != ""
}

func askOf(i agui.Interrupt) (a ask, ok bool) {
	return a, json.Unmarshal(i.Private, &a) == nil && a.Kind != ""
}
