package kit

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// AsList returns the message with its content wrapped in a JSON list. A model reads the same text.
// But a backend that expects an object with a decision does not find one.
func AsList(m agui.Message) agui.Message {
	return withContent(m, func(content gjson.Result) string {
		if content.Type == gjson.String {
			return "[" + content.Str + "]"
		}
		return "[" + content.Raw + "]"
	})
}

// WithoutContent returns the message with the content "-", which no backend reads as a decision.
// The content is not empty, because some providers refuse an empty result.
func WithoutContent(m agui.Message) agui.Message {
	return withContent(m, func(gjson.Result) string { return "-" })
}

func withContent(m agui.Message, text func(content gjson.Result) string) agui.Message {
	return agui.ParseMessage(MapMembers(gjson.ParseBytes(m.JSON), func(k, v gjson.Result) string {
		if agui.SameKey(k.Str, "content") {
			return string(agui.MustMarshal(text(v)))
		}
		return v.Raw
	}))
}
