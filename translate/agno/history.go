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

// decides reports whether agno could read a decision in a tool message. It takes the last messages
// for answers. Further up only an answer that the dialect itself would read is one.
func decides(m *calls.ToolMessage) bool {
	if m.Last {
		return mayDecide(m.Contents)
	}
	return slices.ContainsFunc([]*kind{confirm, input, feedback}, func(k *kind) bool {
		_, ok := k.Read(m.Object.Get("content").Str)
		return ok
	})
}

// judge completes what a message on a call is. agno reads the last messages only.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.TooLate, one.Keep = !m.Last, !m.Last
	one.Decides = one.Decides || m.Strange
	one.DecidesIfKnown = m.Last && m.Decides
}

// mayDecide reports whether agno could read a decision in one of some contents. It looks for
// objects in prose, in fences of code and behind thoughts, and takes signs out before
// (utils/string.py, parse_response_dict_str). It takes a list of parts, too. Where the whole is
// JSON it reads that.
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

// Decides implements translate.DecisionReader. agno looks at the last messages only.
func (*Dialect) Decides(m agui.Message, last bool, _ string) bool {
	return last && mayDecide(kit.Members(gjson.ParseBytes(m.JSON), "content"))
}

// Harmless implements translate.DecisionReader. A message that is not the last is harmless.
func (*Dialect) Harmless(m agui.Message) agui.Message { return m }
