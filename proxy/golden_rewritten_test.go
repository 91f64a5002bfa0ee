package proxy_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// This file is for the dialect request-approval. It checks what this dialect may rewrite: a call of
// request_approval becomes a call of the function that the arguments name. It judges by the
// backend's frames, not by the code of the dialect.

// rewritten reports whether Holdpoint may have made ev from a frame of the backend. It marks that
// frame as taken.
func (u *untouched) rewritten(ev gjson.Result) bool {
	kind, id := ev.Get("type").Str, ev.Get("toolCallId").Str
	request, asks := u.request(id)
	if !asks {
		return false
	}
	for i := range u.frames {
		f := &u.frames[i]
		own := gjson.Parse(f.data)
		if f.taken || own.Get("type").Str != kind || own.Get("toolCallId").Str != id {
			continue
		}
		want := map[string]string{}
		switch kind {
		case "TOOL_CALL_START", "TOOL_CALL_CHUNK":
			want["toolCallName"] = request.Get("function_name").Raw
		case "TOOL_CALL_ARGS", "TOOL_CALL_END":
		default:
			return false
		}
		if kind == "TOOL_CALL_ARGS" || kind == "TOOL_CALL_CHUNK" {
			arguments := compacted(request.Get("function_arguments").Raw)
			if arguments == "" || arguments == "null" {
				arguments = "{}"
			}
			if gjson.Get(ev.Raw, "delta").Str != arguments {
				return false
			}
			want["delta"] = ev.Get("delta").Raw
		}
		if differsBy(own, ev, want) {
			f.taken = true
			return true
		}
	}
	return false
}

// differsBy reports whether ev equals the backend's event own, apart from allowed changes. The
// members in the map members have the values of the map, and rawEvent and nulls are removed.
func differsBy(own, ev gjson.Result, members map[string]string) bool {
	var want, got []string
	own.ForEach(func(k, v gjson.Result) bool {
		value, changed := members[k.Str]
		if !changed {
			value = v.Raw
		}
		if k.Str != "rawEvent" && v.Type != gjson.Null {
			want = append(want, k.Str+value)
		}
		return true
	})
	ev.ForEach(func(k, v gjson.Result) bool {
		got = append(got, k.Str+v.Raw)
		return true
	})
	return slices.Equal(got, want)
}

// mayAsk reports whether an event belongs to a call of the tool request_approval.
func (u *untouched) mayAsk(data string) bool {
	id := gjson.Get(data, "toolCallId").Str
	return strings.Contains(data, `"TOOL_CALL_`) && slices.ContainsFunc(u.frames, func(f backendFrame) bool {
		return gjson.Get(f.data, "toolCallId").Str == id && gjson.Get(f.data, "toolCallName").Str == "request_approval"
	})
}

// request returns the member "request" in the arguments of the call with this id. It also reports
// whether the backend sent this call as a call of request_approval.
func (u *untouched) request(id string) (gjson.Result, bool) {
	named, last, args := false, "", ""
	for _, f := range u.frames {
		ev := gjson.Parse(f.data)
		if !strings.HasPrefix(ev.Get("type").Str, "TOOL_CALL_") {
			continue
		}
		if ev.Get("toolCallId").Exists() {
			last = ev.Get("toolCallId").Str
		}
		if last != id {
			continue
		}
		named = named || ev.Get("toolCallName").Str == "request_approval"
		if named {
			args += ev.Get("delta").Str
		}
		if ev.Get("type").Str == "TOOL_CALL_END" {
			break
		}
	}
	request := gjson.Get(args, "request")
	return request, named && gjson.Valid(args) && request.Get("approval_id").Exists() && request.Get("function_name").Exists()
}

// synthetic reports whether ev, an event of the backend, belongs to a call of request_approval that
// the client does not get. The client gets a call of another function in its place, or nothing if
// that function is a tool of the client.
func (u *untouched) synthetic(s scenario, turn int, ev gjson.Result) bool {
	id := ev.Get("toolCallId").Str
	if id == "" { // a later chunk of a call has no id
		return true
	}
	request, asks := u.request(id)
	if !asks {
		return false
	}
	if ev.Get("type").Str == "TOOL_CALL_ARGS" || ev.Get("type").Str == "TOOL_CALL_CHUNK" {
		return true
	}
	for _, tool := range gjson.GetBytes(s.request(turn), "tools.#.name").Array() {
		if tool.Str == request.Get("function_name").Str {
			return true
		}
	}
	return false
}
