package langgraph

import (
	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// private is the JSON of Pause.Private.
type private struct {
	Natives       []langgraphapi.Native `json:"natives"`
	First         string                `json:"first,omitempty"`  // the first step of the run
	Last          string                `json:"last,omitempty"`   // the step that asked, if it is another one
	Tasks         []string              `json:"tasks,omitempty"`  // the tasks that ran, see Trail.Outermosts; none if the stream did not show them
	WithoutPerson bool                  `json:"silent,omitempty"` // the run's snapshots had no message of the person
	Array         bool                  `json:"array,omitempty"`  // the adapter accepts the array `resume`
}

// askingStep returns the step that asked, or "" if it is not known.
func (k private) askingStep() string {
	if k.Last == "" {
		return k.First
	}
	return k.Last
}

// keptOf returns the state of the pause. It is zero if another dialect made the pause.
func keptOf(p agui.Pause) private { return kit.ReadPrivate[private](p.Private) }
