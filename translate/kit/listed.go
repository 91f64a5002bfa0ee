package kit

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Listed returns a message whose content is the text of a JSON list with the content in it. A model
// reads the same there, and a backend that looks for an object with a decision finds none.
func Listed(m agui.Message) agui.Message {
	return withContent(m, func(content gjson.Result) string {
		if content.Type == gjson.String {
			return "[" + content.Str + "]"
		}
		return "[" + content.Raw + "]"
	})
}

// Silenced returns a message whose content says nothing. It is not empty, because some providers
// refuse an empty result.
func Silenced(m agui.Message) agui.Message {
	return withContent(m, func(gjson.Result) string { return "-" })
}

func withContent(m agui.Message, text func(content gjson.Result) string) agui.Message {
	out := []byte{'{'}
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		value := v.Raw
		if agui.SameKey(k.Str, "content") {
			value = string(agui.MustMarshal(text(v)))
		}
		out = AppendMember(out, k.Raw, value)
		return true
	})
	return agui.ParseMessage(append(out, '}'))
}
