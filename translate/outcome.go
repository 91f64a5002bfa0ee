package translate

import (
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Outcome is the interrupts of an interrupt outcome, {"type":"interrupt","interrupts":[{..}]} of RUN_FINISHED, in bytes of their
// own; nil if the event has none.
func Outcome(finish agui.Event) []gjson.Result {
	var list []gjson.Result
	if interrupted(finish) {
		finish.JSON = slices.Clone(finish.JSON)
		list = slices.Collect(interrupts(finish))
	}
	return list
}

// Interrupts are the same where they lie: for a look, and valid as long as the event is.
func Interrupts(finish agui.Event) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		if interrupted(finish) {
			interrupts(finish)(yield)
		}
	}
}

func interrupted(finish agui.Event) bool {
	return agui.View(finish.JSON).Get("outcome.type").Str == "interrupt" && finish.Valid()
}

func interrupts(finish agui.Event) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		list := agui.View(finish.JSON).Get("outcome.interrupts")
		if list.IsObject() {
			yield(list) // one without its list
			return
		}
		list.ForEach(func(_, i gjson.Result) bool { return !i.IsObject() || yield(i) })
	}
}

// WithoutOutcome is a RUN_FINISHED as Result.Finish has it for a pause: in bytes of its own, and of no frame, for proxy makes
// another event of it.
func WithoutOutcome(finish agui.Event) agui.Event {
	finish.Frame = nil
	if json := agui.DeleteKey(finish.JSON, "outcome"); len(json) != len(finish.JSON) {
		return finish.With(json)
	}
	return finish.Clone()
}
