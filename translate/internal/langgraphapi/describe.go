package langgraphapi

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Describe returns the subject of the question i. It returns false for a review, because its
// answers have forms of their own. For any other interrupt() a graph accepts any value as the
// answer.
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
