package translate

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Outcome is the interrupts of an interrupt outcome, {"type":"interrupt","interrupts":[{..}]} of RUN_FINISHED; nil if the event
// has none.
func Outcome(finish agui.Event) []gjson.Result {
	if finish.Get("outcome.type").Str != "interrupt" || !finish.Valid() {
		return nil
	}
	var list []gjson.Result
	for _, i := range finish.Get("outcome.interrupts").Array() {
		if i.IsObject() {
			list = append(list, i)
		}
	}
	return list
}
