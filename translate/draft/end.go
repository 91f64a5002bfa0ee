package draft

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// An end is a RUN_FINISHED, with the members that the drafts define.
type end struct {
	ev agui.Event
	// of two equal keys the last one counts, as in JSON.parse
	outcome, interrupt, interrupts gjson.Result
	result, failure, message       gjson.Result
}

// readEnd returns the end that the event ev contains. The parameter object is the event's JSON.
func readEnd(ev agui.Event, object gjson.Result) end {
	e := end{ev: ev}
	object.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "outcome":
			e.outcome = v
		case "interrupt":
			e.interrupt = v
		case "interrupts":
			e.interrupts = v
		case "result":
			e.result = v
		case "error":
			e.failure = v
		case "message":
			e.message = v
		}
		return true
	})
	return e
}

// A word is an outcome that is a string. It may be in upper or lower case, because frameworks write
// enumerations in either case (System.Text.Json, serde).
type word int

// success and paused (the word "interrupt") are words of the drafts. One product uses failed (the
// word "error"). other is any other outcome.
const (
	other word = iota
	success
	paused
	failed
)

func (e end) word() word {
	if e.outcome.Type != gjson.String {
		return other
	}
	for name, w := range map[string]word{"success": success, "interrupt": paused, "error": failed} {
		if strings.EqualFold(e.outcome.Str, name) {
			return w
		}
	}
	return other
}

// A form is the way in which a backend expects the answers to a pause.
type form string

// byArray is the form of v1.5. It is also used for a pause that another dialect made.
const (
	byObject  form = "object"
	byArray   form = "array"
	byOutcome form = "outcome" // the resume array of AG-UI 1.0, whose entries may have metadata
	byMessage form = "message"
)

// askedInterrupts returns the interrupts of the end, and the form of their answers. It returns nil
// if the end has no interrupt. An outcome object has priority over the members of the drafts, and
// the list over the single interrupt. The drafts' members count unless the outcome is a success or
// an error.
func (e end) askedInterrupts() ([]gjson.Result, form) {
	if e.outcome.IsObject() {
		if e.outcome.Get("type").Str != "interrupt" {
			return nil, ""
		}
		return objects(e.outcome.Get("interrupts")), byOutcome
	}
	if w := e.word(); w == success || w == failed {
		return nil, ""
	}
	if list := objects(e.interrupts); len(list) > 0 {
		return list, byArray
	}
	if e.interrupt.IsObject() {
		return []gjson.Result{e.interrupt}, byObject
	}
	return nil, ""
}

// mayAskEarlier reports whether an earlier event of the run may contain the question. That is so if
// the end has outcome:"interrupt" or a list of interrupts, but no interrupt.
func (e end) mayAskEarlier() bool {
	return e.word() == paused || e.outcome.Type != gjson.String && !e.outcome.IsObject() && e.interrupts.IsArray()
}

func objects(list gjson.Result) []gjson.Result {
	var found []gjson.Result
	if list.IsArray() {
		for _, v := range list.Array() {
			if v.IsObject() {
				found = append(found, v)
			}
		}
	}
	return found
}

// plainEnd returns the end of a run without a question, in a form that every client accepts. A
// success becomes an outcome object. An outcome that is a string or null, and the members of the
// drafts are removed. An end that is already valid stays unchanged.
func (e end) plainEnd() agui.Event {
	outcome := ""
	switch w := e.word(); {
	case w == failed:
		return e.error()
	case w == success, w == paused:
		outcome = `{"type":"success"}`
	case e.outcome.Type != gjson.String && !isNull(e.outcome):
		outcome = e.outcome.Raw
	}
	if outcome == e.outcome.Raw && !e.interrupts.Exists() && (!e.interrupt.Exists() || e.interrupt.IsArray()) {
		return e.ev
	}
	return e.withOutcome(outcome)
}

// withOutcome returns the event with another outcome, or without one if outcome is "". It drops the
// members of the drafts, and the members in gone. A list in interrupt belongs to agent-framework,
// and stays.
func (e end) withOutcome(outcome string, gone ...string) agui.Event {
	drop := map[string]bool{"interrupt": !e.interrupt.IsArray(), "interrupts": true}
	for _, k := range gone {
		drop[k] = true
	}
	out := []byte{'{'}
	gjson.ParseBytes(e.ev.JSON).ForEach(func(k, v gjson.Result) bool {
		switch {
		case drop[k.Str]:
		case k.Str != "outcome":
			out = kit.AppendMember(out, k.Raw, v.Raw)
		case outcome != "":
			out = kit.AppendMember(out, k.Raw, outcome)
			outcome = "" // so that a second key outcome is dropped
		}
		return true
	})
	return e.ev.WithJSON(append(out, '}'))
}

// error returns a RUN_ERROR in place of an outcome "error". It has the backend's own message and
// code, if there are any.
func (e end) error() agui.Event {
	message := textOutcomeError
	for _, m := range []gjson.Result{e.failure.Get("message"), e.failure, e.message} {
		if m.Type == gjson.String && m.Str != "" {
			message = m.Str
			break
		}
	}
	out := kit.AppendText([]byte{'{'}, "type", string(agui.RunErrored))
	out = kit.AppendText(out, "message", message)
	if code := e.failure.Get("code"); code.Type == gjson.String || code.Type == gjson.Number {
		out = kit.AppendText(out, "code", code.String())
	}
	gjson.ParseBytes(e.ev.JSON).ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "timestamp", "rawEvent", "metadata", "usage": // RUN_ERROR has these too
			if v.Type != gjson.Null {
				out = kit.AppendMember(out, k.Raw, v.Raw)
			}
		}
		return true
	})
	return e.ev.WithJSON(append(out, '}'))
}
