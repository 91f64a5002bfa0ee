package langgraphapi

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Describe returns the subject of a question. It returns false for a review, whose answers have
// forms of their own. A graph accepts any value as the answer to another interrupt().
func Describe(p agui.Pause, i *agui.Interrupt) (translate.Subject, bool) {
	natives, where := keptOf(p).Natives, place{}
	if json.Unmarshal(i.Private, &where) != nil || where.Native < 0 || where.Native >= len(natives) || natives[where.Native].IsReview() {
		return translate.Subject{}, false
	}
	value := gjson.ParseBytes(natives[where.Native].Value)
	if inner := value.Get(copilotKitValue); inner.Exists() {
		value = inner
	}
	return kit.SubjectOf(value), true
}
