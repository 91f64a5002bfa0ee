package scripted

import (
	"encoding/json"
	"slices"
)

// An input is RunAgentInput as the .NET hosts read it.
type input struct {
	ThreadID *string
	RunID    *string
	Messages []inputMessage
	Tools    []struct{ Name string }
	Resume   []resumeEntry
	State    json.RawMessage
}

type inputMessage struct {
	ID         *string
	Role       string
	Content    json.RawMessage
	ToolCallID string
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
}

type resumeEntry struct {
	InterruptID string
	Status      string
	Payload     json.RawMessage
}

// parse reads a body; ok is false where the host answers 400. roles are those that it has a type
// for; parts says whether a user's content may be a list.
func parse(body []byte, roles []string, parts bool) (in input, ok bool) {
	if json.Unmarshal(body, &in) != nil {
		return in, false
	}
	for _, m := range in.Messages {
		if !slices.Contains(roles, m.Role) {
			return in, false
		}
		if len(m.Content) > 0 && m.Content[0] != '"' && !isNull(m.Content) && (!parts || m.Role != "user") {
			return in, false
		}
	}
	return in, true
}

// names are those of the declared tools.
func (in input) names() []string {
	var list []string
	for _, t := range in.Tools {
		list = append(list, t.Name)
	}
	return list
}

// text is a message's content; of a list, its texts.
func (m inputMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m.Content, &parts) // null has none
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// chatMessages is AGUIChatMessageExtensions.AsChatMessages. Hosts that coalesce (agent-framework
// from de6d0267f, which is dotnet-1.7.0, and AGUI.Server) make one message of assistant messages
// with calls that follow one another.
func (in input) chatMessages(coalesce bool) ([]*chatMessage, error) {
	var list []*chatMessage
	var pending *chatMessage
	for _, m := range in.Messages {
		if m.Role == "assistant" && len(m.ToolCalls) > 0 {
			if pending == nil || !coalesce {
				pending = newMessage("assistant", m.ID)
				list = append(list, pending)
			}
			if said := m.text(); said != "" {
				*pending.contents = append(*pending.contents, textContent{said})
			}
			for _, c := range m.ToolCalls {
				call := &functionCall{id: c.ID, name: c.Function.Name}
				if c.Function.Arguments != "" {
					var args map[string]json.RawMessage
					if json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
						return nil, throw("JsonException", "The JSON value could not be converted to System.Collections.Generic.IDictionary`2[System.String,System.Object].")
					}
					if args != nil {
						call.args = json.RawMessage(c.Function.Arguments)
					}
				}
				*pending.contents = append(*pending.contents, call)
			}
			if pending.id == nil {
				pending.id = m.ID
			}
			continue
		}
		pending = nil
		if m.Role == "tool" {
			list = append(list, newMessage("tool", m.ID, functionResult{m.ToolCallID, m.text()}))
			continue
		}
		role := m.Role
		if role == "reasoning" || role == "activity" {
			role = "assistant"
		}
		list = append(list, newMessage(role, m.ID, textContent{m.text()}))
	}
	return list, nil
}
