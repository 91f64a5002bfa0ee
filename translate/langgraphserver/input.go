package langgraphserver

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// newMessages returns the messages of the request that the server does not have: list in
// LangChain's form, and sent in AG-UI's form. The server adds messages with new ids and replaces
// messages with known ids, so known messages are left out. newMessages returns an error if the
// client edited a message that the server has, because the server would have to go back to that
// message.
func newMessages(messages []agui.Message, s state) (list []json.RawMessage, sent []agui.Message, err *agui.RunError) {
	had, _ := s.messages()
	known := make(map[string]gjson.Result, len(had))
	answered := map[string]bool{}
	for _, m := range had {
		known[m.Get("id").Str] = m
		if m.Get("type").Str == "tool" {
			answered[m.Get("tool_call_id").Str] = true
		}
	}
	var thoughts []json.RawMessage
	for n, m := range messages {
		v := gjson.ParseBytes(m.JSON)
		if m.Role == "reasoning" {
			thoughts = append(thoughts, reasoningBlock(v))
			continue
		}
		before := thoughts
		thoughts = nil
		old, has := known[m.ID]
		switch {
		case m.Role == "system" && n == 0: // the page's instructions: the graph has its own
			continue
		case has && m.ID != "":
			if m.Role == "user" && isEdited(v.Get("content"), old.Get("content")) {
				return nil, nil, agui.Errorf(agui.MessagesNotTaken, textEdited, agui.Shorten(m.ID))
			}
			continue
		case m.Role == "tool" && answered[m.ToolCallID]:
			// Clients give results ids of their own, so the id of the call is compared instead.
			continue
		}
		one := toLangChain(m, v, before)
		if one == nil {
			continue
		}
		if m.ID != "" {
			known[m.ID] = gjson.ParseBytes(one)
		}
		list, sent = append(list, one), append(sent, m)
	}
	return list, sent, nil
}

// isEdited reports whether the text of a user's message has changed. A content with several parts
// is not compared, because the server stores it in another form.
func isEdited(now, then gjson.Result) bool {
	return now.Type == gjson.String && then.Type == gjson.String && now.Str != then.Str
}

// toLangChain returns a message in LangChain's form. It returns nil for a role that a graph does
// not get, such as developer. reasoning are the reasoning blocks that precede the message.
func toLangChain(m agui.Message, v gjson.Result, reasoning []json.RawMessage) json.RawMessage {
	o := []byte{'{'}
	if m.ID != "" {
		o = kit.AppendText(o, "id", m.ID)
	}
	content := v.Get("content")
	switch m.Role {
	case "user":
		o = kit.AppendText(o, "type", "human")
		if content.IsArray() {
			o = kit.AppendMember(o, `"content"`, string(blocksOf(content)))
		} else {
			o = kit.AppendText(o, "content", kit.PlainText(content))
		}
	case "assistant":
		o = kit.AppendText(o, "type", "ai")
		switch {
		case len(reasoning) > 0:
			if content.Str != "" {
				reasoning = append(reasoning, append(kit.AppendText([]byte(`{"type":"text"`), "text", content.Str), '}'))
			}
			o = kit.AppendMember(o, `"content"`, string(listOf(reasoning)))
		default:
			o = kit.AppendText(o, "content", kit.PlainText(content))
		}
		var calls []json.RawMessage
		for _, c := range v.Get("toolCalls").Array() {
			one := kit.AppendText(kit.AppendText([]byte{'{'}, "id", agui.IDText(c.Get("id"))), "name", c.Get("function.name").Str)
			args := c.Get("function.arguments").Str
			if !agui.ValidJSON([]byte(args)) || !gjson.Parse(args).IsObject() {
				args = "{}"
			}
			one = kit.AppendText(kit.AppendMember(one, `"args"`, oneLine(args)), "type", "tool_call")
			calls = append(calls, append(one, '}'))
		}
		o = kit.AppendMember(o, `"tool_calls"`, string(listOf(calls)))
	case "system":
		o = kit.AppendText(kit.AppendText(o, "type", "system"), "content", kit.PlainText(content))
	case "tool":
		o = kit.AppendText(kit.AppendText(o, "type", "tool"), "content", kit.PlainText(content))
		o = kit.AppendText(o, "tool_call_id", m.ToolCallID)
		status := "success"
		if e := v.Get("error"); e.Exists() && e.Type != gjson.Null && e.Str != "" {
			status = "error"
		}
		o = kit.AppendText(o, "status", status)
	default: // developer, activity
		return nil
	}
	return append(o, '}')
}

func listOf(list []json.RawMessage) []byte {
	out := []byte{'['}
	for _, one := range list {
		out = kit.AppendElement(out, one)
	}
	return append(out, ']')
}

// reasoningBlock returns the LangChain block of a reasoning message.
func reasoningBlock(v gjson.Result) json.RawMessage {
	o := []byte(`{"type":"reasoning"`)
	if id := v.Get("id").Str; id != "" {
		o = kit.AppendText(o, "id", id)
	}
	summary := "[]"
	if text := v.Get("content").Str; text != "" {
		summary = `[{"type":"summary_text","text":` + aguiwriter.Quoted(text) + `}]`
	}
	o = kit.AppendMember(o, `"summary"`, summary)
	if secret := v.Get("encryptedValue").Str; secret != "" {
		o = kit.AppendText(o, "encrypted_content", secret)
	}
	return append(o, '}')
}

// blocksOf returns LangChain's blocks for an AG-UI content with several parts. It makes only the
// blocks text and image_url.
func blocksOf(content gjson.Result) []byte {
	var list []json.RawMessage
	for _, p := range content.Array() {
		switch kind := p.Get("type").Str; kind {
		case "text":
			list = append(list, append(kit.AppendText([]byte(`{"type":"text"`), "text", p.Get("text").Str), '}'))
		case "image", "audio", "video", "document", "binary":
			if url := urlOf(p, kind == "binary"); url != "" {
				list = append(list, json.RawMessage(`{"type":"image_url","image_url":{"url":`+aguiwriter.Quoted(url)+`}}`))
			}
		}
	}
	return listOf(list)
}

func urlOf(p gjson.Result, binary bool) string {
	if !binary {
		s := p.Get("source")
		switch s.Get("type").Str {
		case "data":
			return "data:" + s.Get("mimeType").Str + ";base64," + s.Get("value").Str
		case "url":
			return s.Get("value").Str
		}
		return ""
	}
	switch url, data := p.Get("url").Str, p.Get("data").Str; {
	case url != "":
		return url
	case data != "":
		return "data:" + p.Get("mimeType").Str + ";base64," + data
	}
	return p.Get("id").Str
}

// inputOf returns the input of a run. It has the new messages, the members of the state that the
// client changed, and the client's tools and context under the keys that the AG-UI adapters use. If
// the client's state is not an object, it is ignored, because the state of a graph has named
// members.
func inputOf(in agui.RunInput, s state, messages []json.RawMessage) []byte {
	o := kit.AppendMember([]byte{'{'}, `"messages"`, string(listOf(messages)))
	raw := gjson.ParseBytes(in.Raw)
	given := map[string]bool{"messages": true, "tools": true, "ag-ui": true, "copilotkit": true}
	has := members(s.values)
	state := raw.Get("state")
	state.ForEach(func(k, v gjson.Result) bool {
		if state.IsObject() && !given[k.Str] && !agui.EqualJSON(json.RawMessage(v.Raw), langgraphapi.RawOf(has[k.Str])) {
			given[k.Str] = true
			o = kit.AppendMember(o, k.Raw, oneLine(v.Raw))
		}
		return true
	})
	tools, had := toolsOf(raw.Get("tools")), has["tools"].IsArray() || has["copilotkit"].IsObject()
	context := raw.Get("context")
	if len(tools) == len("[]") && len(context.Array()) == 0 && !had {
		return append(o, '}')
	}
	said := "[]"
	if context.IsArray() {
		said = oneLine(context.Raw)
	}
	o = kit.AppendMember(o, `"tools"`, string(tools))
	o = kit.AppendMember(o, `"ag-ui"`, `{"tools":`+string(tools)+`,"context":`+said+`}`)
	o = kit.AppendMember(o, `"copilotkit"`, `{"actions":`+string(tools)+`,"context":`+said+`}`)
	return append(o, '}')
}

// members returns the members of an object in a map keyed by name. If a key occurs twice, the first
// value is returned. A client may send very many members, and a search through the object for each
// of them would take quadratic time.
func members(object gjson.Result) map[string]gjson.Result {
	found := map[string]gjson.Result{}
	if object.IsObject() {
		object.ForEach(func(k, v gjson.Result) bool {
			if _, twice := found[k.Str]; !twice {
				found[k.Str] = v
			}
			return true
		})
	}
	return found
}

// toolsOf returns the client's tools in the form {"type":"function",...}.
func toolsOf(tools gjson.Result) []byte {
	var list []json.RawMessage
	for _, t := range tools.Array() {
		if t.Get("type").Exists() || !t.IsObject() {
			list = append(list, json.RawMessage(oneLine(t.Raw)))
			continue
		}
		f := kit.AppendText([]byte{'{'}, "name", t.Get("name").Str)
		for _, key := range []string{"description", "parameters"} {
			if v := t.Get(key); v.Exists() {
				f = kit.AppendMember(f, `"`+key+`"`, oneLine(v.Raw))
			}
		}
		o := kit.AppendText([]byte(`{"type":"function"`), "name", t.Get("name").Str)
		list = append(list, append(kit.AppendMember(o, `"function"`, string(append(f, '}'))), '}'))
	}
	return listOf(list)
}

// configOf returns forwardedProps.config for the run, without the members that only Holdpoint may
// set. With another thread, run or checkpoint, a client could make the graph ask a question again
// that is already answered. Keys that begin with two underscores are LangGraph's own:
// __pregel_resuming continues after a breakpoint, and __pregel_resume_map answers open questions.
// If metadata has the run_id of an earlier run, LangGraph continues that run (_loop.py, _first).
func configOf(in agui.RunInput) []byte {
	config := gjson.GetBytes(in.ForwardedProps, "config")
	if !config.IsObject() {
		return nil
	}
	return kit.MapMembers(config, func(k, v gjson.Result) string {
		switch {
		case (k.Str == "configurable" || k.Str == "metadata") && v.IsObject():
			return string(kit.MapMembers(v, func(k, v gjson.Result) string {
				if isServers(k.Str) {
					return ""
				}
				return oneLine(v.Raw)
			}))
		case k.Str == "recursion_limit", k.Str == "tags":
			return oneLine(v.Raw)
		}
		return ""
	})
}

// isServers reports whether a key of a run's config is reserved for Holdpoint and the server.
func isServers(key string) bool {
	switch key {
	case "thread_id", "run_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "checkpoint", "holdpoint_run":
		return true
	}
	return strings.HasPrefix(key, "__")
}
