package langgraph

import (
	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// private is the dialect's state of a pause. It is stored as JSON in Pause.Private.
type private struct {
	Natives []langgraphapi.Native `json:"natives"`
	First   string                `json:"first,omitempty"` // the first step of the run
	// Last is the step that asked, or "" if it is the first step.
	Last string `json:"last,omitempty"`
	// Tasks are the outermost tasks that ran, see TaskTrace.Outermosts. It is empty if the stream did
	// not show them.
	Tasks []string `json:"tasks,omitempty"`
	// WithoutPerson reports that the run's snapshots had no message of the user.
	WithoutPerson bool `json:"silent,omitempty"`
	Array         bool `json:"array,omitempty"` // the adapter accepts the array `resume`
}

// askingStep returns the step that asked, or "" if it is not known.
func (k private) askingStep() string {
	if k.Last == "" {
		return k.First
	}
	return k.Last
}

// keptOf returns the dialect's state of the pause p. It is zero if another dialect made the pause.
func keptOf(p agui.Pause) private { return kit.ReadPrivate[private](p.Private) }
