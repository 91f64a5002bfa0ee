package kit

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// An Announcer is the integration that sent a CUSTOM on_interrupt event. Three integrations send an
// event with this name, each with a different value. Only LangGraph's reads an answer that is in
// command.resume alone.
type Announcer int

// The integrations, and the value of their event:
//
//   - NoDialect: the event is not an on_interrupt.
//   - LangGraph: the value is a string (adapters since 2025-06 and 2025-07).
//   - Mastra: the value is a string or an object with "type":"mastra_suspend".
//   - CrewAI: the value is an Interrupt object with a reason of CrewAI.
//   - Unsigned: any other value. LangGraph's adapters before 2025-06 sent such a value, and
//     other integrations may too.
const (
	NoDialect Announcer = iota
	LangGraph
	Mastra
	CrewAI
	Unsigned
)

const mastraSuspend = "mastra_suspend"

// Announced returns the integration that sent the event to announce a pause.
func Announced(ev agui.Event) Announcer {
	if ev.Type != agui.Custom || agui.View(ev.JSON).Get("name").Str != agui.OnInterrupt || !ev.Valid() {
		return NoDialect
	}
	return announcer(ev.Get("value"))
}

// EchoOf returns the integration that made the event which the client sent back in
// command.interruptEvent. It returns NoDialect if the request has no interruptEvent.
func EchoOf(in agui.RunInput) Announcer {
	event := in.InterruptEvent()
	if event == nil {
		return NoDialect
	}
	return announcer(gjson.ParseBytes(event))
}

func announcer(value gjson.Result) Announcer {
	switch {
	case ParseText(value).Get("type").Str == mastraSuspend:
		return Mastra
	case value.Type == gjson.String:
		return LangGraph
	case value.IsObject() && strings.HasPrefix(value.Get("reason").Str, "crewai:"):
		return CrewAI
	}
	return Unsigned
}

// ParseText parses a string that contains a JSON object or array. It returns any other value
// unchanged.
func ParseText(value gjson.Result) gjson.Result {
	if value.Type != gjson.String {
		return value
	}
	if text := strings.TrimLeft(value.Str, jsonSpace); beginsJSON(text) && agui.ValidJSON([]byte(text)) {
		return gjson.Parse(text)
	}
	return value
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// beginsJSON reports whether a text begins like a JSON object or array.
func beginsJSON(text string) bool {
	text = strings.TrimLeft(text, jsonSpace)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}
