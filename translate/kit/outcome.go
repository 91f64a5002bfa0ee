package kit

import (
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Outcome returns the interrupts of a RUN_FINISHED with an interrupt outcome,
// {"type":"interrupt","interrupts":[{..}]}. It returns nil for any other event. The result does not
// share bytes with the event.
func Outcome(finish agui.Event) []gjson.Result {
	var list []gjson.Result
	if isInterrupted(finish) {
		finish.JSON = slices.Clone(finish.JSON)
		list = slices.Collect(interrupts(finish))
	}
	return list
}

// Interrupts iterates over the interrupts that Outcome would return, without copying them. They are
// valid as long as the event is.
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
			yield(list) // a single interrupt, not in a list
			return
		}
		list.ForEach(func(_, i gjson.Result) bool { return !i.IsObject() || yield(i) })
	}
}

// WithoutOutcome returns the RUN_FINISHED without its outcome, because Result.Finish of a pause
// must not have one. The result does not share bytes with the event. It has no Frame, because the
// package proxy makes another event from it.
func WithoutOutcome(finish agui.Event) agui.Event {
	finish.Frame = nil
	if json := agui.DeleteKey(finish.JSON, "outcome"); len(json) != len(finish.JSON) {
		return finish.WithJSON(json)
	}
	return finish.Clone()
}

// MaxQuestions is the maximum number of questions of a pause. It bounds the work of comparing each
// question with all others. A person would never answer so many.
const MaxQuestions = 4096

// maxAsked is the maximum number of bytes of all events that ask the questions of one pause. It
// equals twice the default maximum size of a frame.
const maxAsked = 16 << 20

// AskedQuestions counts the events that ask questions, and their bytes, because a run keeps them.
type AskedQuestions struct{ events, bytes int }

// Add counts one more event of the given size. It returns an error if the questions are too many or
// too large. The caller must then end the run, because no client could receive all of them.
func (a *AskedQuestions) Add(bytes int) error {
	a.events, a.bytes = a.events+1, a.bytes+bytes
	if a.events > MaxQuestions || a.bytes > maxAsked {
		return agui.Errorf(agui.PauseTooLarge, textPauseTooLarge, MaxQuestions, maxAsked)
	}
	return nil
}

// Drop subtracts events that Add counted, and that turned out not to ask.
func (a *AskedQuestions) Drop(events, bytes int) { a.events, a.bytes = a.events-events, a.bytes-bytes }
