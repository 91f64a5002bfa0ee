package langgraph

import (
	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// private is what a pause keeps for its resume.
type private struct {
	Natives []langgraphapi.Native `json:"natives"`
	First   string                `json:"first,omitempty"`  // the step that the thread's run began with
	Last    string                `json:"last,omitempty"`   // the step that asked, if it is another one
	Tasks   []string              `json:"tasks,omitempty"`  // what ran, see trail.outermosts; none if it was not shown
	Silent  bool                  `json:"silent,omitempty"` // the run's snapshots had no message of the person's
	Array   bool                  `json:"array,omitempty"`  // the adapter takes the array `resume`
}

// asked returns the step that asked, "" if that is not known.
func (k private) asked() string {
	if k.Last == "" {
		return k.First
	}
	return k.Last
}

// keptOf returns what the pause keeps. It is zero if another dialect made the pause.
func keptOf(p agui.Pause) private { return kit.ReadPrivate[private](p.Private) }
