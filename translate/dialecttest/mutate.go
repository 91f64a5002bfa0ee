package dialecttest

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
)

// values are JSON values that may replace a value in a JSON text.
var values = []string{
	"null", "true", "false", "7", "-1e999", `""`, `"x"`, `"\u0000\ud800"`, `"yes"`, "[]", "{}", `[null]`, `[{}]`, `{"id":null}`,
	`{"approved":true}`, `{"type":"interrupt","interrupts":[{}]}`, `"{\"approved\":true}"`, `"[{\"id\":7}]"`, `"{"`,
}

// extents returns where the values of a JSON text are: the offsets of the begin and the end of
// each.
func extents(text string) (list [][2]int) {
	value := true
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '}' || c == ']':
			continue
		case c == ':' || c == ',':
			value = true
			continue
		case value || c != '"':
			size := len(gjson.Parse(text[n:]).Raw)
			if size == 0 {
				return list
			}
			list = append(list, [2]int{n, n + size})
			if c == '{' || c == '[' {
				value = true
				continue
			}
			n += size - 1
		default:
			n += max(len(gjson.Parse(text[n:]).Raw), 1) - 1
		}
		value = false
	}
	return list
}

// mutated returns the JSON text with some of its values replaced by others. The result is valid
// JSON.
func mutated(t *rapid.T, text string) string {
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		all := extents(text)
		if len(all) == 0 {
			return text
		}
		at := rapid.SampledFrom(all).Draw(t, "place")
		other := rapid.SampledFrom(values).Draw(t, "value")
		if rapid.Bool().Draw(t, "of its own") {
			from := rapid.SampledFrom(all).Draw(t, "from")
			other = text[from[0]:from[1]]
		}
		// a change of a key may give invalid JSON, and is dropped
		if changed := text[:at[0]] + other + text[at[1]:]; agui.ValidJSON([]byte(changed)) {
			text = changed
		}
	}
	return text
}

// Mutated returns the text of a stream in which some lines are removed, repeated, moved or changed.
func Mutated(t *rapid.T, stream string) string {
	return strings.Join(mutatedStream(t, strings.SplitAfter(stream, "\n"), nil), "")
}

// mutatedStream returns the events with some of them removed, repeated, moved or changed. Some
// events of the stream other are inserted.
func mutatedStream(t *rapid.T, events, other []string) []string {
	events = slices.Clone(events)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		if len(events) == 0 {
			return events
		}
		at := rapid.IntRange(0, len(events)-1).Draw(t, "at")
		switch rapid.SampledFrom([]string{"leave out", "repeat", "move", "change", "change", "mix"}).Draw(t, "edit") {
		case "leave out":
			events = slices.Delete(events, at, at+1)
		case "repeat":
			events = slices.Insert(events, at, events[at])
		case "move":
			one := events[at]
			events = slices.Delete(events, at, at+1)
			events = slices.Insert(events, rapid.IntRange(0, len(events)).Draw(t, "to"), one)
		case "change":
			// the JSON begins after "data:" in a line of an event stream
			begin := strings.IndexByte(events[at], '{')
			events[at] = events[at][:max(begin, 0)] + mutated(t, events[at][max(begin, 0):])
		case "mix":
			if len(other) > 0 {
				from := rapid.IntRange(0, len(other)-1).Draw(t, "from")
				events = slices.Insert(events, at, other[from:min(len(other), from+3)]...)
			}
		}
	}
	return events
}

// inHalves returns an AG-UI stream in which some events are split in two, each with half of the
// text or the arguments.
func inHalves(t *rapid.T, events []string) (list []string) {
	for _, one := range events {
		ev := Event(one)
		delta := ev.Get("delta")
		if ev.Type != agui.TextContent && ev.Type != agui.CallArgs || !ev.Valid() || strings.Count(one, `"delta"`) != 1 ||
			delta.Type != gjson.String || len(delta.Str) < 2 || strings.Contains(one, `\ud`) || !rapid.Bool().Draw(t, "in two") {
			list = append(list, one)
			continue
		}
		first, rest := Split([]byte(delta.Str), rapid.IntRange(1, len(delta.Str)-1).Draw(t, "cut"))
		for _, part := range [][]byte{first, rest} {
			if len(part) > 0 {
				list = append(list, string(agui.SetString([]byte(one), "delta", string(part))))
			}
		}
	}
	return list
}
