package standard

import "holdpoint/translate"

// MastraName is the name of the dialect mastra, which an operator selects for Mastra. It is the
// dialect agui with two additions: a call without a result is a question (calls.go), and Holdpoint
// chooses the run ids from the first run on.
const MastraName = "mastra"

// NewMastra returns the dialect mastra. It has no options and never warns.
func NewMastra(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{name: MastraName}, nil }
