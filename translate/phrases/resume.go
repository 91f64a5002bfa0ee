package phrases

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It replaces a payload that is a bare boolean by
// {"approved": boolean}.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		if v := string(list[n].Payload); p.Dialect == Name && p.ID != "" && (v == "true" || v == "false") {
			list[n].Payload = json.RawMessage(`{"approved":` + v + `}`)
		}
	}
	return list, err
}

// answerPrefix is the prefix of the id of a message that answers a question. The id of the
// interrupt follows, which begins with the id of the question's message.
const answerPrefix = "confirm-"

// message returns the user message that carries an answer to the backend. It has the text for yes
// only if every JSON reader reads the payload as an approval.
func (d *Dialect) message(a agui.Answer) (agui.Message, error) {
	content := d.no
	if a.Status == agui.Resolved {
		given := kit.Members(gjson.ParseBytes(a.Payload), "approved")
		if len(given) == 0 || slices.ContainsFunc(given, func(v gjson.Result) bool { return !v.IsBool() || v.Raw != given[0].Raw }) {
			return agui.Message{}, agui.Errorf(agui.InvalidPayload, textNotDecision, a.ID)
		}
		if given[0].Type == gjson.True {
			content = d.yes
		}
	}
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}{answerPrefix + a.ID, "user", content})), nil
}

// isSpoken reports whether a message is from a person, the agent or a tool. Instructions (the roles
// system and developer) are not.
func isSpoken(m agui.Message) bool { return m.Role != "system" && m.Role != "developer" }

// withAnswer returns the conversation with the answer as its last message.
func withAnswer(before []agui.Message, answer agui.Message) []agui.Message {
	list, _ := order(before)
	list = slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return m.ID == answer.ID })
	return append(list, answer)
}
