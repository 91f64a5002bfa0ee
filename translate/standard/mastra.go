package standard

import "holdpoint/translate"

// MastraName is the name of the dialect for a Mastra that the operator selects. It is the dialect
// agui with two additions: a call without a result asks (calls.go), and run ids are Holdpoint's own
// from the first run on.
const MastraName = "mastra"

// NewMastra makes the dialect mastra. It has no options, and does not warn.
func NewMastra(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{name: MastraName}, nil }
