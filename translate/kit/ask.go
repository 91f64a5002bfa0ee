package kit

import "holdpoint/internal/agui"

// ApprovalSchema is the responseSchema of a question whose answer is a yes or a no, and takes no
// edited arguments.
const ApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

// Unreadable is the error of a resume whose record holds a pause that the dialect cannot read.
// Another version may have written it.
func Unreadable() *agui.RunError {
	return agui.Errorf(agui.StoreUnavailable, "what was kept of the open question cannot be read")
}
