package kit

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// ApprovalSchema is the responseSchema of a question whose answer is a yes or a no without edited
// arguments.
const ApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

// Unreadable returns the error of a resume whose stored pause the dialect cannot read. Another
// version may have written it.
func Unreadable() *agui.RunError {
	return agui.Errorf(agui.StoreUnavailable, textStateUnreadable)
}

// RefuseEdits returns an error if the answer edits the arguments of the call. It is for backends
// that run a call only with the arguments that they asked about.
func RefuseEdits(a agui.Answer) error {
	edits := Members(gjson.ParseBytes(a.Payload), "editedArgs")
	if !slices.ContainsFunc(edits, func(v gjson.Result) bool { return v.Type != gjson.Null }) {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textNoEdits, a.ID)
}
