package kit

import (
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Outcome returns the interrupts of an interrupt outcome, {"type":"interrupt","interrupts":[{..}]}
// of RUN_FINISHED, in bytes of their own; nil if the event has none.
func Outcome(finish agui.Event) []gjson.Result {
	var list []gjson.Result
	if interrupted(finish) {
		finish.JSON = slices.Clone(finish.JSON)
		list = slices.Collect(interrupts(finish))
	}
	return list
}

// Interrupts returns the same where they lie: for a look, and valid as long as the event is.
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

// WithoutOutcome returns a RUN_FINISHED as Result.Finish has it for a pause: in bytes of its own,
// and of no frame, for proxy makes another event of it.
func WithoutOutcome(finish agui.Event) agui.Event {
	finish.Frame = nil
	if json := agui.DeleteKey(finish.JSON, "outcome"); len(json) != len(finish.JSON) {
		return finish.With(json)
	}
	return finish.Clone()
}

// MaxQuestions is how many a pause may have. Nobody answers as many, and what is done with each
// beside the others is bounded by it.
const MaxQuestions = 4096

// maxAsked bounds the events by which they are asked, as two frames are by default.
const maxAsked = 16 << 20

// AskedQuestions counts what a run keeps of questions until its end.
type AskedQuestions struct{ events, bytes int }

// Add counts one more event, of so many bytes. An error, for which the run is to be given up, says
// that it is too much: no client could be told all of it.
func (a *AskedQuestions) Add(bytes int) error {
	a.events, a.bytes = a.events+1, a.bytes+bytes
	if a.events > MaxQuestions || a.bytes > maxAsked {
		return agui.Errorf(agui.PauseTooLarge, textPauseTooLarge, MaxQuestions, maxAsked)
	}
	return nil
}

// Drop takes back what Add counted for events that turned out to be no questions.
func (a *AskedQuestions) Drop(events, bytes int) { a.events, a.bytes = a.events-events, a.bytes-bytes }
