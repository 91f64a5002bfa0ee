package strands

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// textOf returns the text of a user's message. It refuses a message with other parts, such as
// pictures. An entrypoint passes JSON to the agent, which has no form for bytes.
func textOf(m agui.Message) (string, *agui.RunError) {
	content := gjson.GetBytes(m.JSON, "content")
	var parts []string
	other := content.Type != gjson.String && !content.IsArray()
	if content.Type == gjson.String {
		parts = append(parts, content.String())
	}
	content.ForEach(func(_, part gjson.Result) bool {
		text := part.Get("text")
		if part.Get("type").Str == "text" && text.Type == gjson.String {
			parts = append(parts, text.String())
		} else if content.IsArray() {
			other = true
		}
		return true
	})
	text := strings.Join(parts, "\n")
	switch {
	case other:
		return "", agui.Errorf(agui.MessagesNotTaken, textMoreThanText)
	case strings.TrimSpace(text) == "":
		return "", agui.Errorf(agui.MessagesNotTaken, textEmpty)
	}
	return text, nil
}

// newPrompt returns the prompt of a run without answers. It is the text of the last message, which
// must be from the user. taken has that message. The agent stores the conversation itself, so older
// messages would be sent twice.
func newPrompt(in agui.RunInput) (text string, taken []agui.Message, err *agui.RunError) {
	for at := len(in.Messages) - 1; at >= 0; at-- {
		switch m := in.Messages[at]; m.Role {
		case "user":
			text, err := textOf(m)
			return text, in.Messages[at : at+1], err
		case "tool":
			return "", nil, agui.Errorf(agui.MessagesNotTaken, textToolMessage)
		case "assistant":
			return "", nil, noPrompt()
		}
	}
	return "", nil, noPrompt()
}

func noPrompt() *agui.RunError {
	return agui.Errorf(agui.MessagesNotTaken, textNotUser)
}

// promptOf returns the text of the new messages that the client sent together with its answers.
// taken has the user's messages among them.
func promptOf(list []agui.Message) (text string, taken []agui.Message, err *agui.RunError) {
	var texts []string
	for _, m := range list {
		if m.Role != "user" {
			continue
		}
		text, err := textOf(m)
		if err != nil {
			return "", nil, err
		}
		texts, taken = append(texts, text), append(taken, m)
	}
	if taken == nil {
		return "", nil, agui.Errorf(agui.MessagesNotTaken, textNoUser)
	}
	return strings.Join(texts, "\n\n"), taken, nil
}
