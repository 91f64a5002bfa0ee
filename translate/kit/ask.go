package kit

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// ApprovalSchema is the responseSchema of a question whose answer is a yes or a no, and takes no
// edited arguments.
const ApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

// Unreadable returns the error of a resume whose record holds a pause that the dialect cannot read.
// Another version may have written it.
func Unreadable() *agui.RunError {
	return agui.Errorf(agui.StoreUnavailable, textStateUnreadable)
}

// RefuseEdits returns the error of an approval that edits the arguments of the call, for backends
// that run a call only as it was asked; nil: it does not.
func RefuseEdits(a agui.Answer) error {
	edits := Members(gjson.ParseBytes(a.Payload), "editedArgs")
	if !slices.ContainsFunc(edits, func(v gjson.Result) bool { return v.Type != gjson.Null }) {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textNoEdits, a.ID)
}
