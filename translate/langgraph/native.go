package langgraph

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// readCustom returns the interrupt that a CUSTOM on_interrupt event announces.
func readCustom(event []byte) langgraphapi.Native {
	f := gjson.GetManyBytes(event, "value", "rawEvent")
	value, raw := f[0], f[1]
	n := langgraphapi.ReadNative(raw)
	n.Value = customValue(value, raw.Get("value"))
	if !raw.Exists() {
		n.AnswerForm = langgraphapi.ByBareScalar
	}
	return n
}

// customValue returns the interrupt's value with its type. value is the value of the event, and
// typed is rawEvent.value. The event's value is always a string: a string value unchanged, any
// other value as JSON text. So "42" may be a string or a number, and only rawEvent.value shows
// which. If both values are objects, or both are not, the event's text is used because it is more
// complete. Python's make_json_safe removes the keys config and runtime from rawEvent at any depth,
// and with them the permissions of an Agent Inbox request (RAN 0.0.42 and 0.0.43).
func customValue(value, typed gjson.Result) json.RawMessage {
	if value.Type != gjson.String {
		return langgraphapi.RawOf(value)
	}
	switch {
	case !typed.Exists():
		return langgraphapi.RawOf(kit.ParseText(value))
	case typed.Type == gjson.String:
		return langgraphapi.RawOf(typed)
	}
	if text := kit.ParseText(value); text.Type == gjson.JSON && text.IsObject() == typed.IsObject() {
		return langgraphapi.RawOf(text)
	}
	return langgraphapi.RawOf(typed)
}

// readOutcome returns the interrupts of a RUN_FINISHED event with an interrupt outcome. It returns
// nil if the event has no such outcome.
func readOutcome(ev agui.Event) []langgraphapi.Native {
	if ev.Get("outcome.type").Str != "interrupt" {
		return nil
	}
	var list []langgraphapi.Native
	for _, i := range ev.Get("outcome.interrupts").Array() {
		if !i.IsObject() {
			continue
		}
		n := langgraphapi.Native{ID: i.Get("id").Str, AnswerForm: langgraphapi.ByScalar, Interrupt: i, Meta: []byte("{}")}
		own := i.Get("metadata.langgraph")
		if own.IsObject() {
			own.ForEach(func(k, v gjson.Result) bool {
				if k.Str == "raw" {
					n.Value = langgraphapi.RawOf(v) // the last of several
				}
				return true
			})
			n.Meta = kit.WithoutMembers(own, "raw", "index")
		}
		switch {
		case langgraphapi.IsID(n.ID) && own.IsObject():
			n.AnswerForm = langgraphapi.ByID
		case n.ID != "":
			n.AnswerForm = langgraphapi.ByArray
		}
		list = append(list, n)
	}
	return list
}

// union merges the interrupts of the CUSTOM events and of the outcome. The result has the order and
// content of the outcome, with two exceptions. If a CUSTOM event has an interrupt that the outcome
// lacks, union adds it. If both have an interrupt, the value of the CUSTOM event is used because it
// is more complete. Two equal interrupts of the same list stay separate, because two tools of one
// task share an id and may ask the same question (langgraph #6626).
func union(customs, outcome []langgraphapi.Native) []langgraphapi.Native {
	if len(outcome) == 0 {
		return customs
	}
	for i := range outcome {
		if n := &outcome[i]; n.AnswerForm == langgraphapi.ByArray && langgraphapi.IsID(n.ID) && slices.ContainsFunc(customs, func(c langgraphapi.Native) bool { return c.ID == n.ID }) {
			n.AnswerForm = langgraphapi.ByID // a CUSTOM event shows that the id is LangGraph's own
		}
	}
	if slices.ContainsFunc(outcome, func(n langgraphapi.Native) bool { return n.AnswerForm == langgraphapi.ByArray }) {
		for i := range outcome {
			outcome[i].AnswerForm = langgraphapi.ByArray
		}
		return outcome
	}
	rest := slices.Clone(customs)
	matched := make([]bool, len(outcome))
	for _, fits := range []func(n, c langgraphapi.Native) bool{
		func(n, c langgraphapi.Native) bool {
			return c.ID == n.ID && (agui.EqualJSON(c.Value, n.Value) || agui.EqualJSON(langgraphapi.WithoutConfig(c.Value), n.Value))
		},
		func(n, c langgraphapi.Native) bool { return c.ID == n.ID },
		// Without rawEvent there is no id. Both lists have the same order.
		func(n, c langgraphapi.Native) bool { return c.ID == "" },
	} {
		for i := range outcome {
			n := &outcome[i]
			at := slices.IndexFunc(rest, func(c langgraphapi.Native) bool { return !matched[i] && fits(*n, c) })
			if at < 0 {
				continue
			}
			if rest[at].Value != nil {
				n.Value = rest[at].Value
			}
			n.Schema = rest[at].Schema
			matched[i] = true
			rest = slices.Delete(rest, at, at+1)
		}
	}
	// A CUSTOM event without an id may announce an interrupt that the outcome also has, so it is
	// not added.
	rest = slices.DeleteFunc(rest, func(n langgraphapi.Native) bool { return n.ID == "" })
	return append(outcome, rest...)
}
