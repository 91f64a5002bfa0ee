package agentframework

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Takes implements translate.Taker. AGUIRequest requires messages and nothing else, and the adapter
// makes up the ids. Where the path speaks this dialect, such a body is a run of a thread that
// nobody knows. Where that is not known it may be a request of another API, which must pass, unless
// it has what the adapter takes for a decision: up to 1.0.0b260311 that runs the call which it
// names (RAN 1.0.0b260116), whatever the thread.
func (*Dialect) Takes(object []byte, spoken string) string {
	if spoken == Name {
		if agui.HasMessages(object) {
			return textRunWithoutIDs
		}
		return ""
	}
	for _, list := range kit.Members(gjson.ParseBytes(object), "messages") {
		for _, m := range list.Array() {
			if m.IsObject() && decides(agui.ParseMessage([]byte(m.Raw))) {
				return textStrayApproval
			}
		}
	}
	return ""
}
