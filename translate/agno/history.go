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

// decides reports whether agno could read a decision in a tool message. It reads any of the last
// messages as an answer. An earlier message counts only if the dialect itself would read it as an
// answer.
func decides(m *calls.ToolMessage) bool {
	if m.Last {
		return mayDecide(m.Contents)
	}
	return slices.ContainsFunc([]*kind{confirm, input, feedback}, func(k *kind) bool {
		_, ok := k.Read(m.Object.Get("content").Str)
		return ok
	})
}

// judge completes what is known of a message on a call. agno reads only the last messages.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.TooLate, one.Keep = !m.Last, !m.Last
	one.Decides = one.Decides || m.NotOfClient
	one.DecidesIfKnown = m.Last && m.Decides
}

// mayDecide reports whether agno could read a decision in one of the contents. It searches for
// objects in prose, in fenced code and after thoughts, and removes control characters first
// (utils/string.py, parse_response_dict_str). It also reads a list of parts. If the whole content
// is JSON, it reads that.
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

// Decides implements translate.DecisionReader. agno reads only the last messages.
func (*Dialect) Decides(m agui.Message, last bool, _ string) bool {
	return last && mayDecide(kit.Members(gjson.ParseBytes(m.JSON), "content"))
}

// Harmless implements translate.DecisionReader. Decides accepts only the last messages, and these
// are refused, so nothing needs to be changed.
func (*Dialect) Harmless(m agui.Message) agui.Message { return m }
