package agentframework

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Takes implements translate.Taker. The adapter requires only messages, and makes up missing ids.
// So if the path is known to speak this dialect, the backend runs any object with messages, on a
// new thread.
//
// On other paths such an object may be a request of another API, so Holdpoint must forward it. But
// it refuses an object with a message that the adapter reads as a decision. Up to 1.0.0b260311 the
// adapter runs the call that such a message names, on any thread (RAN 1.0.0b260116).
func (*Dialect) Takes(object []byte, detectedDialect string) string {
	if detectedDialect == Name {
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
