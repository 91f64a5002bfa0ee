package draft

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// An end has the members of a RUN_FINISHED that the drafts define.
type end struct {
	ev                             agui.Event
	outcome, interrupt, interrupts gjson.Result // of two equal keys the last one counts, as in JSON.parse
	result, failure, message       gjson.Result
}

// readEnd reads the members of the event's object.
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

// A word is a string outcome. It is read in any case, because enumerations are written in either
// case (System.Text.Json, serde).
type word int

// other is any other string, or not a string. The drafts define success and interrupt. error is
// used by one product.
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

// A form is the form in which a pause expects its answers.
type form string

// byArray is the form of v1.5. It is also used for a pause that another dialect made.
const (
	byObject  form = "object"
	byArray   form = "array"
	byOutcome form = "outcome" // the array of AG-UI 1.0, whose entries may have metadata
	byMessage form = "message"
)

// askedInterrupts returns the interrupts of the end and the form of their answers, or nil if there
// are none. An outcome object has priority over the drafts' members, and a list over the single
// interrupt. An interrupt counts if the outcome is missing or unknown.
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

// mayAskEarlier reports whether the question may be in an earlier event: the end has no interrupt,
// but it has outcome:"interrupt" or a list of interrupts.
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

// plainEnd returns the end of a run without a question in a form that every client accepts. A
// success becomes an outcome object. A string, a null and the drafts' members are removed. A valid
// end is unchanged.
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
// drafts' members and the members in gone. A list in interrupt belongs to agent-framework and
// stays.
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
			outcome = "" // only once
		}
		return true
	})
	return e.ev.WithJSON(append(out, '}'))
}

// error returns the RUN_ERROR for an outcome "error", with the backend's own message and code.
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
