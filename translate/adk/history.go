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

// owner returns how a call of the tool asks. If the backend is not known to be ADK, confirm_changes
// and a configured tool may be another backend's.
func (d *Dialect) owner(tool string, known bool) calls.Owner {
	switch {
	case isProtocolCall(tool):
		return calls.AsksHidden
	case known && (tool == confirmChanges || d.ask.Match(tool)):
		return calls.Asks
	}
	return calls.Others
}

// judge completes what a message on a call is. ADK takes any tool message on a call that asks for
// its answer, whatever it says, and whether the history has the call or not. It knows by its id
// what the client was told as the answer, so that may stay.
func judge(one *translate.Reply, m *calls.ToolMessage) {
	one.Keep = m.Owner == calls.Asks
	one.Decides = one.Decides || m.Strange && one.Unclear
	one.DecidesUnlessResult = m.Strange && !one.Decides
	one.DecidesIfKnown = m.Owner == calls.Clients
}

// AnswerIn implements translate.HistoryReader. ADK takes every message on the call for an answer.
// So one that is not a decision is one too, and no schema fits it.
func (d *Dialect) AnswerIn(m agui.Message, _ translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	a, asked, ok := d.Answer(m, i)
	if asked && !ok {
		a = agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(gjson.GetBytes(m.JSON, "content").Str)}
	}
	return a, asked
}

// Decides implements translate.DecisionReader. ADK also looks at messages that words follow, if it
// has not seen them yet (RAN 0.11.0).
func (*Dialect) Decides(m agui.Message, _ bool, _ string) bool {
	if !kit.MayContain(m.JSON, "confirmed", 'f') {
		return false
	}
	return slices.ContainsFunc(kit.Members(gjson.ParseBytes(m.JSON), "content"), mayConfirm)
}

// mayConfirm reports whether a content is an object with a member confirmed to Python, or one with
// the text of such an object in a member response. The package joins a content's parts.
func mayConfirm(content gjson.Result) bool {
	text := content.Str
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case !strings.HasPrefix(text, "{"):
		return false
	case !agui.ValidJSON([]byte(text)): // Python takes NaN, and greater depths
		return kit.MayContain([]byte(text), "confirmed", 'f')
	}
	object := gjson.Parse(text)
	return len(kit.Members(object, "confirmed")) > 0 || slices.ContainsFunc(kit.Members(object, "response"), func(v gjson.Result) bool {
		return kit.MayContain([]byte(v.Raw), "confirmed", 'f')
	})
}
