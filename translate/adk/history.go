package adk

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// owner returns how a call of the tool asks. As long as the backend is not known to be ADK,
// confirm_changes and a configured tool may be another backend's.
func (d *Dialect) owner(tool string, known bool) calls.Owner {
	switch {
	case isProtocolCall(tool):
		return calls.AsksHidden
	case known && (tool == confirmChanges || d.ask.Match(tool)):
		return calls.Asks
	}
	return calls.Others
}

// judge completes what is known of a message on a call. ADK reads every tool message on a call that
// asks as its answer, whatever its content is and whether or not the history has the call. A
// message with which the client was shown the answer may stay, because ADK recognizes its id.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.Keep = m.Owner == calls.Asks
	one.Decides = one.Decides || m.NotOfClient && one.Unclear
	one.DecidesUnlessResult = m.NotOfClient && !one.Decides
	one.DecidesIfKnown = m.Owner == calls.Clients
}

// AnswerIn implements translate.HistoryReader. ADK reads every message on the call as an answer. So
// a message that is not a decision is an answer too, with a payload that fits no schema.
func (d *Dialect) AnswerIn(m agui.Message, _ translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	a, asked, ok := d.Answer(m, i)
	if asked && !ok {
		a = agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(gjson.GetBytes(m.JSON, "content").Str)}
	}
	return a, asked
}

// Decides implements translate.DecisionReader. ADK also reads messages that are followed by others,
// if it has not seen them yet (RAN 0.11.0).
func (*Dialect) Decides(m agui.Message, _ bool, _ string) bool {
	if !kit.MayContain(m.JSON, "confirmed", 'f') {
		return false
	}
	return slices.ContainsFunc(kit.Members(gjson.ParseBytes(m.JSON), "content"), mayConfirm)
}

// mayConfirm reports whether Python reads a content as an object with a member confirmed, or with a
// member response that has the text of such an object. The package joins the parts of a content.
func mayConfirm(content gjson.Result) bool {
	text := content.Str
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case !strings.HasPrefix(text, "{"):
		return false
	case !agui.ValidJSON([]byte(text)): // Python also reads NaN and deeper nesting
		return kit.MayContain([]byte(text), "confirmed", 'f')
	}
	object := gjson.Parse(text)
	return len(kit.Members(object, "confirmed")) > 0 || slices.ContainsFunc(kit.Members(object, "response"), func(v gjson.Result) bool {
		return kit.MayContain([]byte(v.Raw), "confirmed", 'f')
	})
}
