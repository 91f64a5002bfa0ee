package kit

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// An Announcer says whose CUSTOM on_interrupt an event is: three integrations use the name, each
// with a value of its own, and only one of them takes an answer in command.resume alone.
type Announcer int

// Nobody: no on_interrupt. LangGraph: the value is a string (its adapters since 2025-06 and
// 2025-07). Mastra: a string or an object with "type":"mastra_suspend". CrewAI: an Interrupt object
// with a reason of its own. Unsigned: any other value; LangGraph's adapters of before 2025-06 sent
// the bare value, but so may others.
const (
	Nobody Announcer = iota
	LangGraph
	Mastra
	CrewAI
	Unsigned
)

const mastraSuspend = "mastra_suspend"

// Announced says whose announcement of a pause the event is.
func Announced(ev agui.Event) Announcer {
	if ev.Type != agui.Custom || agui.View(ev.JSON).Get("name").Str != agui.OnInterrupt || !ev.Valid() {
		return Nobody
	}
	return announcer(ev.Get("value"))
}

// EchoOf says whose announcement a client echoes in command.interruptEvent; Nobody if there is no
// echo.
func EchoOf(in agui.RunInput) Announcer {
	event := in.InterruptEvent()
	if event == nil {
		return Nobody
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

// ParseText returns the object or the array that a string is the JSON text of, any other value as
// it is.
func ParseText(value gjson.Result) gjson.Result {
	if value.Type != gjson.String {
		return value
	}
	text := strings.TrimLeft(value.Str, " \t\r\n")
	if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && agui.ValidJSON([]byte(text)) {
		return gjson.Parse(text)
	}
	return value
}
