package phrases

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. A bare boolean is the short form.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		if v := string(list[n].Payload); p.Dialect == Name && p.ID != "" && (v == "true" || v == "false") {
			list[n].Payload = json.RawMessage(`{"approved":` + v + `}`)
		}
	}
	return list, err
}

// answerPrefix begins the id of a message that answers. The interrupt's id follows, and that begins
// with the question's id.
const answerPrefix = "confirm-"

// message returns what an answer becomes. Only a payload that every reader takes for a yes becomes
// one.
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

// isSpoken reports whether a message is a person's, the agent's or a tool's. Instructions are not:
// they stay where they stand.
func isSpoken(m agui.Message) bool { return m.Role != "system" && m.Role != "developer" }

// withAnswer returns the conversation with the answer behind it.
func withAnswer(before []agui.Message, answer agui.Message) []agui.Message {
	list, _ := order(before)
	list = slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return m.ID == answer.ID })
	return append(list, answer)
}
