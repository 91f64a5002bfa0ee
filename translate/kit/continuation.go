package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Continues reports whether a backend may read the request as the continuation of a call that the
// client ran. It does if the messages have a call of a declared tool and, after it, a result with
// the call's id. Keys are read in any spelling. It is fast if the messages have no call or no
// result.
func Continues(in agui.RunInput) bool {
	isTool := func(m agui.Message) bool {
		return m.Role == "tool" || !m.Plain && IsTool(agui.View(m.JSON))
	}
	if !slices.ContainsFunc(in.Messages, isTool) || !slices.ContainsFunc(in.Messages, func(m agui.Message) bool { return !m.Plain }) {
		return false
	}
	tools := declaredTools(in)
	if len(tools) == 0 {
		return false
	}
	own := map[string]bool{}
	for _, m := range in.Messages {
		if isTool(m) && slices.ContainsFunc(AnsweredCalls(agui.View(m.JSON)), func(id string) bool { return own[id] }) {
			return true
		}
		if m.Plain {
			continue
		}
		for _, c := range Calls(agui.View(m.JSON)) {
			if slices.ContainsFunc(Texts(c, "function", "name"), func(name string) bool { return tools[name] }) {
				for _, id := range IDs(c, "id") {
					own[id] = true
				}
			}
		}
	}
	return false
}

// declaredTools returns the names of the tools that the request declares. It reads keys in any
// spelling.
func declaredTools(in agui.RunInput) map[string]bool {
	tools := make(map[string]bool, len(in.Tools))
	if len(in.Tools) > 0 && in.Tools[0] != "" { // the names are sorted, so no name is ""
		for _, name := range in.Tools {
			tools[name] = true
		}
		return tools
	}
	for _, list := range Members(agui.View(in.Raw), "tools") {
		for _, t := range list.Array() {
			for _, name := range Texts(t, "name") {
				tools[name] = true
			}
		}
	}
	return tools
}

// WithoutOpenCalls returns the input without those calls that have no result and for which the
// function goes returns true. The function gets the index at of the call's message. It also gets
// abandoned, which is true if a user's message follows the call. c.Name is "" if the call has
// several ids or names.
//
// Every message is kept: if all its calls are removed and it has no content, it gets an empty text
// and keeps its id. edited maps the bytes of each changed message to the new message.
//
// A result counts only if every backend reads it as a result: its role is tool, and toolCallId is
// spelled without underscores. It counts for the last call before it, because ids may repeat.
func WithoutOpenCalls(in agui.RunInput, goes func(c agui.Call, at int, abandoned bool) bool) (out agui.RunInput, edited map[string]agui.Message) {
	results, abandoned := map[string]bool{}, false
	list := in.Messages
	for at := len(list) - 1; at >= 0; at-- {
		m := list[at]
		abandoned = abandoned || m.Role == "user"
		if m.Plain && m.Role != "tool" {
			continue
		}
		object := agui.View(m.JSON)
		if id, ok := resultID(object); ok {
			results[id] = true
		}
		left, ok := EditCalls(m, func(c gjson.Result) json.RawMessage {
			call, single := callIn(c)
			is := single && results[call.ID]
			delete(results, call.ID)
			if !is && goes(call, at, abandoned) {
				return nil
			}
			return json.RawMessage(c.Raw)
		})
		if !ok {
			left = withEmptyText(m)
		}
		if string(left.JSON) == string(m.JSON) {
			continue
		}
		if edited == nil {
			list, edited = slices.Clone(list), map[string]agui.Message{}
		}
		list[at], edited[string(m.JSON)] = left, left
	}
	if edited == nil {
		return in, nil
	}
	return in.WithMessages(list), edited
}

// resultID returns the id of the call that the message answers. ok is false if not every backend
// would read the message as a result.
func resultID(m gjson.Result) (id string, ok bool) {
	role := ""
	m.ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "role":
			role = v.Str
		case strings.EqualFold(k.Str, "toolCallId") && len(k.Str) == len("toolCallId"):
			id = agui.IDText(v)
			ok = id != ""
		}
		return true
	})
	return id, ok && role == "tool"
}

// callIn returns the call that the JSON c contains. single is true if the call has exactly one id
// and one name, and at most one value of arguments.
func callIn(c gjson.Result) (call agui.Call, single bool) {
	ids, names, args := IDs(c, "id"), Texts(c, "function", "name"), ValuesAt(c, "function", "arguments")
	if len(ids) == 1 {
		call.ID = ids[0]
	}
	if len(ids) != 1 || len(names) != 1 || len(args) > 1 {
		return call, false
	}
	call.Name = names[0]
	if len(args) == 1 {
		if call.Args = args[0].Raw; args[0].Type == gjson.String {
			call.Args = args[0].Str
		}
	}
	return call, true
}

// withEmptyText returns the message without its calls, and with "" as its content.
func withEmptyText(m agui.Message) agui.Message {
	out, put := []byte{'{'}, false
	agui.View(m.JSON).ForEach(func(k, v gjson.Result) bool {
		switch {
		case agui.SameKey(k.Str, "toolCalls"):
		case k.Str == "content":
			out, put = AppendMember(out, k.Raw, `""`), true
		default:
			out = AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	if !put {
		out = AppendMember(out, `"content"`, `""`)
	}
	return agui.ParseMessage(append(out, '}'))
}
