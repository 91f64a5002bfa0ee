package agentframework

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Takes implements translate.Taker. The adapter requires only messages, and makes up ids that are
// missing. So where the path is known to speak this dialect, an object with messages is a run, of a
// new thread. On other paths such an object may be a request of another API and must pass, unless
// it has a message that the adapter reads as a decision. Up to 1.0.0b260311 the adapter then runs
// the call that the message names, on any thread (RAN 1.0.0b260116).
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
