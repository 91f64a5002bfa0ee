package agno

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// decides reports whether agno may read the tool message as a decision. agno reads only the tool
// messages at the end of the request as answers. An earlier message counts only if this dialect
// would read it as an answer.
func decides(m *calls.ToolMessage) bool {
	if m.Last {
		return mayDecide(m.Contents)
	}
	return slices.ContainsFunc([]*kind{confirm, input, feedback}, func(k *kind) bool {
		_, ok := k.Read(m.Object.Get("content").Str)
		return ok
	})
}

// judge completes one, which describes what agno does with the tool message m. agno reads only the
// tool messages at the end of the request.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.TooLate, one.Keep = !m.Last, !m.Last
	one.Decides = one.Decides || m.NotOfClient
	one.DecidesIfKnown = m.Last && m.Decides
}

// mayDecide reports whether agno may read a decision in one of the contents. If the whole content
// is JSON, agno reads that JSON. Otherwise it removes control characters, and searches for objects
// in the text, in fenced code and after thoughts (utils/string.py, parse_response_dict_str). A
// content may be a list of parts.
func mayDecide(contents []gjson.Result) bool {
	return slices.ContainsFunc(contents, func(content gjson.Result) bool {
		if content.Type == gjson.String && agui.ValidJSON([]byte(content.Str)) && !strings.Contains(content.Str, "</think>") {
			object := gjson.Parse(content.Str)
			return len(kit.Members(object, "accepted"))+len(kit.Members(object, "values"))+len(kit.Members(object, "selections")) > 0
		}
		text := []byte(content.Raw)
		if content.Type == gjson.String {
			text = []byte(content.Str)
		}
		for _, part := range content.Array() {
			text = append(text, part.Get("text").Str...)
		}
		text = slices.DeleteFunc(text, func(c byte) bool { return c < ' ' || c == 0x7f })
		if !bytes.ContainsAny(text, "{[") {
			return false
		}
		return kit.MayContain(text, "accepted", 'p') || kit.MayContain(text, "values", 'v') || kit.MayContain(text, "selections", 'l')
	})
}

// Decides implements translate.DecisionReader. agno reads only the messages at the end of the
// request.
func (*Dialect) Decides(m agui.Message, isLast bool, _ string) bool {
	return isLast && mayDecide(kit.Members(gjson.ParseBytes(m.JSON), "content"))
}

// Harmless implements translate.DecisionReader. It changes nothing: Decides is true only for the
// messages at the end of the request, and a request that ends with a decision is refused.
func (*Dialect) Harmless(m agui.Message) agui.Message { return m }
