package kit

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// ApprovalSchema is the responseSchema of a question that is answered by a yes or a no. The answer
// cannot edit arguments.
const ApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

// A Question has those members of an AG-UI Interrupt that a dialect writes itself. A member with an
// empty text is left out. Only the Reason is always written.
type Question struct {
	Reason     string
	Message    string
	Call       string // toolCallId
	Schema     string // responseSchema, as JSON
	ExpiresAt  string // as JSON
	SubagentID string // subagentRunId, as JSON
	Metadata   string // a JSON object
}

// Object returns the Interrupt without its id.
func (q Question) Object() []byte {
	o := AppendText([]byte{'{'}, "reason", q.Reason)
	if q.Message != "" {
		o = AppendText(o, "message", q.Message)
	}
	if q.Call != "" {
		o = AppendText(o, "toolCallId", q.Call)
	}
	for _, m := range [...]struct{ key, value string }{
		{`"responseSchema"`, q.Schema}, {`"expiresAt"`, q.ExpiresAt}, {`"subagentRunId"`, q.SubagentID}, {`"metadata"`, q.Metadata},
	} {
		if m.value != "" {
			o = AppendMember(o, m.key, m.value)
		}
	}
	return append(o, '}')
}

// FirstText returns the first string at one of the paths that is not empty. It returns "" if there
// is no such string, or if the value is not an object.
func FirstText(object gjson.Result, paths ...string) string {
	if object.IsObject() {
		for _, path := range paths {
			if text := object.Get(path).Str; text != "" {
				return text
			}
		}
	}
	return ""
}

// Unreadable returns the error of a resume if the dialect cannot read the stored pause. Another
// version of Holdpoint may have written it.
func Unreadable() *agui.RunError {
	return agui.Errorf(agui.StoreUnavailable, textStateUnreadable)
}

// RefuseEdits returns an error if the answer edits the arguments of the call. A dialect uses it if
// its backend runs a call only with the arguments that the question showed.
func RefuseEdits(a agui.Answer) error {
	edits := Members(gjson.ParseBytes(a.Payload), "editedArgs")
	if !slices.ContainsFunc(edits, func(v gjson.Result) bool { return v.Type != gjson.Null }) {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textNoEdits, a.ID)
}
