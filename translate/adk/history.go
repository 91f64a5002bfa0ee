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

// owner returns how a call of the tool asks. The parameter known says that the backend is known to
// be ADK. If it is not, a call of confirm_changes or of a configured tool may be another backend's.
func (d *Dialect) owner(tool string, known bool) calls.Owner {
	switch {
	case isProtocolCall(tool):
		return calls.AsksHidden
	case known && (tool == confirmChanges || d.ask.Match(tool)):
		return calls.Asks
	}
	return calls.Others
}

// judge completes one, which describes what ADK does with the tool message m. ADK reads every tool
// message for a call that asks as the answer, whatever the content is, and even if the history
// lacks the call. A message that showed the client the answer may stay, because ADK recognizes its
// id.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.Keep = m.Owner == calls.Asks
	one.Decides = one.Decides || m.NotOfClient && one.Unclear
	one.DecidesUnlessResult = m.NotOfClient && !one.Decides
	one.DecidesIfKnown = m.Owner == calls.Clients
}

// AnswerIn implements translate.HistoryReader. ADK reads every message for the call as an answer.
// So a message that is not a decision counts as an answer too. Its payload then fits no schema, so
// Holdpoint refuses it.
func (d *Dialect) AnswerIn(m agui.Message, _ translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	a, asked, ok := d.Answer(m, i)
	if asked && !ok {
		a = agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(gjson.GetBytes(m.JSON, "content").Str)}
	}
	return a, asked
}

// Decides implements translate.DecisionReader. ADK also reads a message that is followed by other
// messages, if it has not seen it yet (RAN 0.11.0).
func (*Dialect) Decides(m agui.Message, _ bool, _ string) bool {
	if !kit.MayContain(m.JSON, "confirmed", 'f') {
		return false
	}
	return slices.ContainsFunc(kit.Members(gjson.ParseBytes(m.JSON), "content"), mayConfirm)
}

// mayConfirm reports whether Python may read the content as a confirmation: an object with the
// member confirmed, or with a member response whose text is an object with confirmed. The content
// may be a list of parts, whose texts ADK joins.
func mayConfirm(content gjson.Result) bool {
	text := content.Str
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case !strings.HasPrefix(text, "{"):
		return false
	case !agui.ValidJSON([]byte(text)): // but Python may read it: it accepts NaN and deeper nesting
		return kit.MayContain([]byte(text), "confirmed", 'f')
	}
	object := gjson.Parse(text)
	return len(kit.Members(object, "confirmed")) > 0 || slices.ContainsFunc(kit.Members(object, "response"), func(v gjson.Result) bool {
		return kit.MayContain([]byte(v.Raw), "confirmed", 'f')
	})
}
