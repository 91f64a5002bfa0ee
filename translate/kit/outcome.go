package kit

import (
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Outcome returns the interrupts of a RUN_FINISHED with an interrupt outcome,
// {"type":"interrupt","interrupts":[{..}]}, or nil if the event has none. The result does not share
// bytes with the event.
func Outcome(finish agui.Event) []gjson.Result {
	var list []gjson.Result
	if isInterrupted(finish) {
		finish.JSON = slices.Clone(finish.JSON)
		list = slices.Collect(interrupts(finish))
	}
	return list
}

// Interrupts iterates over the same interrupts without a copy. They are valid as long as the event
// is.
func Interrupts(finish agui.Event) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		if isInterrupted(finish) {
			interrupts(finish)(yield)
		}
	}
}

func isInterrupted(finish agui.Event) bool {
	return agui.View(finish.JSON).Get("outcome.type").Str == "interrupt" && finish.Valid()
}

func interrupts(finish agui.Event) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		list := agui.View(finish.JSON).Get("outcome.interrupts")
		if list.IsObject() {
			yield(list) // a single interrupt without a list
			return
		}
		list.ForEach(func(_, i gjson.Result) bool { return !i.IsObject() || yield(i) })
	}
}

// WithoutOutcome returns a RUN_FINISHED without its outcome, as Result.Finish needs it for a pause.
// It does not share bytes with the event and has no Frame, because proxy makes another event from
// it.
func WithoutOutcome(finish agui.Event) agui.Event {
	finish.Frame = nil
	if json := agui.DeleteKey(finish.JSON, "outcome"); len(json) != len(finish.JSON) {
		return finish.WithJSON(json)
	}
	return finish.Clone()
}

// MaxQuestions is the maximum number of questions of a pause. It bounds the work of comparing each
// question with the others. Nobody answers so many.
const MaxQuestions = 4096

// maxAsked is the maximum number of bytes of the events that ask a pause. It is the default size of
// two frames.
const maxAsked = 16 << 20

// AskedQuestions counts the events and bytes that a run keeps for its questions.
type AskedQuestions struct{ events, bytes int }

// Add counts one more event of the given size. It returns an error if the questions are too many or
// too large. The caller then gives the run up, because no client could be sent all of them.
func (a *AskedQuestions) Add(bytes int) error {
	a.events, a.bytes = a.events+1, a.bytes+bytes
	if a.events > MaxQuestions || a.bytes > maxAsked {
		return agui.Errorf(agui.PauseTooLarge, textPauseTooLarge, MaxQuestions, maxAsked)
	}
	return nil
}

// Drop subtracts events that Add counted and that are not questions.
func (a *AskedQuestions) Drop(events, bytes int) { a.events, a.bytes = a.events-events, a.bytes-bytes }
