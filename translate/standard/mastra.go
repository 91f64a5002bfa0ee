package standard

import "holdpoint/translate"

// MastraName is the dialect that a Mastra is named by. It is this dialect, and knows more of its
// backend: that a call without a result asks (calls.go), and that run ids must be Holdpoint's own
// from the first run on.
const MastraName = "mastra"

// NewMastra makes the dialect. It has no options, and it warns of nothing.
func NewMastra(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{name: MastraName}, nil }
