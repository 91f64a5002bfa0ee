package scripted

import (
	"encoding/json"
	"slices"
	"strings"
)

// An input is a RunAgentInput as the .NET hosts parse it.
type input struct {
	ThreadID *string
	RunID    *string
	noRun    bool // the request has no key runId; false if runId is null
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

// parse parses a body. roles has the roles for which the host has a type. If parts is true, the
// content of a user message may be a list. If ok is false, the host responds with HTTP 400.
//
// System.Text.Json matches names of members in any letter case, and uses the last of several equal
// members. A message's role is an exception: the original looks it up itself, so its key must match
// in letter case.
func parse(body []byte, roles []string, parts bool) (in input, ok bool) {
	var members map[string]json.RawMessage
	var exact struct{ Messages []map[string]json.RawMessage }
	if json.Unmarshal(body, &in) != nil || json.Unmarshal(body, &members) != nil || json.Unmarshal(body, &exact) != nil {
		return in, false
	}
	in.noRun = true
	for key := range members {
		in.noRun = in.noRun && !strings.EqualFold(key, "runId")
	}
	for n := range in.Messages {
		in.Messages[n].Role = ""
		// if the role is absent, it stays "", which no host accepts
		_ = json.Unmarshal(exact.Messages[n]["role"], &in.Messages[n].Role)
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

// names returns the names of the declared tools.
func (in input) names() []string {
	var list []string
	for _, t := range in.Tools {
		list = append(list, t.Name)
	}
	return list
}

// text returns the content of a message. If the content is a list, text joins the texts of its
// parts.
func (m inputMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m.Content, &parts) // the error does not matter: null has no parts
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// identified returns the input with the ids that a host adds. A missing runId becomes "", and null
// stays null. A host that makes thread ids replaces a missing or blank threadId by a new id.
func (in input) identified(makesThreads bool) input {
	if in.RunID == nil && in.noRun {
		in.RunID = of("")
	}
	if in.ThreadID == nil || makesThreads && strings.TrimSpace(*in.ThreadID) == "" {
		in.ThreadID = of("")
		if makesThreads {
			in.ThreadID = of(guid())
		}
	}
	return in
}

// A reading configures how a host reads the messages of a request.
type reading struct {
	coalesce  bool
	reasoning bool // false: it throws for messages with the role reasoning or activity
	json      bool // parses a tool result as JSON if it is JSON
}

func (h reading) result(text string) any {
	if h.json && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// chatMessages is a port of AGUIChatMessageExtensions.AsChatMessages. If h.coalesce is set, it
// joins consecutive assistant messages with calls. agent-framework does so from de6d0267f
// (dotnet-1.7.0) on, and AGUI.Server does too.
func (in input) chatMessages(h reading) ([]*chatMessage, error) {
	var list []*chatMessage
	var pending *chatMessage
	for _, m := range in.Messages {
		if m.Role == "assistant" && len(m.ToolCalls) > 0 {
			if pending == nil || !h.coalesce {
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
			list = append(list, newMessage("tool", m.ID, functionResult{m.ToolCallID, h.result(m.text())}))
			continue
		}
		role := m.Role
		if role == "reasoning" || role == "activity" {
			if !h.reasoning {
				return nil, throw("InvalidOperationException", "Unknown chat role: %s", role)
			}
			role = "assistant"
		}
		list = append(list, newMessage(role, m.ID, textContent{m.text()}))
	}
	return list, nil
}
