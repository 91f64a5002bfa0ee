package superagent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// chat returns the request for a run. It asks for A2UI, which says more than plain tokens. A server
// that does not know the header ignores it.
func (d *Dialect) chat(r *translate.Request, message string) translate.Out {
	return translate.Out{
		Path:   apiPath + streamPath,
		Header: map[string][]string{"X-A2ui": {"true"}},
		ReadOn: true, // the server drains the agent without a reader, and keeps what it asks
		Body: agui.MustMarshal(struct {
			Agent   string `json:"agent_id"`
			Session string `json:"session_id"`
			Message string `json:"message"`
		}{d.agent, r.Input.ThreadID, message}),
	}
}

// answer returns the request that answers. input is a JSON object with at least one member.
func (d *Dialect) answer(r *translate.Request, input json.RawMessage) translate.Out {
	return translate.Out{
		Path:    apiPath + resumePath,
		Resumes: true,
		Body: agui.MustMarshal(struct {
			Agent   string          `json:"agent_id"`
			Session string          `json:"session_id"`
			Input   json.RawMessage `json:"input"`
		}{d.agent, r.Input.ThreadID, input}),
	}
}

// lastSaid returns the text of a run, which is what the user said last. If a run ends in something
// else, it has nothing that the server could take. What came before was said already, and saying it
// again could do it again.
func lastSaid(messages []agui.Message) (string, error) {
	for _, m := range slices.Backward(messages) {
		switch m.Role {
		case "system", "developer", "activity", "reasoning": // said by nobody
			continue
		case "user":
			text, whole := textOf(m)
			switch {
			case !whole:
				return "", agui.Errorf(agui.MessagesNotTaken, textMoreThanText)
			case strings.TrimSpace(text) == "":
				return "", agui.Errorf(agui.MessagesNotTaken, textEmpty)
			}
			return text, nil
		}
		break
	}
	return "", agui.Errorf(agui.MessagesNotTaken, textNotUser)
}

// textOf returns the text of a message. whole says that the message holds nothing else, such as an
// image.
func textOf(m agui.Message) (text string, whole bool) {
	content := gjson.GetBytes(m.JSON, "content")
	switch {
	case content.Type == gjson.String:
		return content.Str, true
	case !content.Exists(), content.Type == gjson.Null:
		return "", true
	case !content.IsArray():
		return "", false
	}
	var parts []string
	whole = true
	content.ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").Str == "text" && part.Get("text").Type == gjson.String {
			parts = append(parts, part.Get("text").Str)
		} else {
			whole = false
		}
		return true
	})
	return strings.Join(parts, "\n"), whole
}

// extraText returns what the messages beside the answers say, as one text. left says that they hold
// more than the server takes: something else than text, or results of tools.
func extraText(list []agui.Message) (text string, left bool) {
	var texts []string
	for _, m := range list {
		one, whole := textOf(m)
		switch {
		case m.Role == "system", m.Role == "developer":
		case m.Role != "user", !whole:
			left = true
		case strings.TrimSpace(one) != "":
			texts = append(texts, one)
		}
	}
	return strings.Join(texts, "\n\n"), left
}
