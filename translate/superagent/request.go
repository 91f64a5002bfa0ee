package superagent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// chat returns the request that starts a run. Its header asks for A2UI, which has more events than
// plain tokens. A server that does not support the header ignores it.
func (d *Dialect) chat(r *translate.Request, message string) translate.Out {
	return translate.Out{
		Path:   apiPath + streamPath,
		Header: map[string][]string{"X-A2ui": {"true"}},
		// If nobody reads, the server still runs the agent to its end and keeps its question.
		ReadOn: true,
		Body: agui.MustMarshal(struct {
			Agent   string `json:"agent_id"`
			Session string `json:"session_id"`
			Message string `json:"message"`
		}{d.agent, r.Input.ThreadID, message}),
	}
}

// answer returns the request that resumes a run. input is a JSON object with at least one member.
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

// lastSaid returns the prompt of a run, which is the text of the last message. It returns an error
// if that message is not from the user. Older messages are not sent, because the agent has them
// already and could act on them again.
func lastSaid(messages []agui.Message) (string, error) {
	for _, m := range slices.Backward(messages) {
		switch m.Role {
		case "system", "developer", "activity", "reasoning": // these are not part of the conversation
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

// textOf returns the text of a message. whole is false if the message has other parts, such as an
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

// extraText returns the joined texts of the new messages that the client sent together with its
// answer. left reports that some messages or parts cannot be sent, such as results of tools.
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
