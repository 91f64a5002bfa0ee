package proxy

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A message of a transcript is one of the request's or of a snapshot (json set), or made from the stream, or both.
type message struct {
	id, role, name string
	json           json.RawMessage
	content        []byte // streamed text, appended to what json has
	streamed       bool
	calls          []*call
	lastResult     *message        // the last tool message that was put behind it
	result         json.RawMessage // TOOL_CALL_RESULT's content, of a tool message
	callID         string
	subagent       string // subagentRunId
	encrypted      string
	meta           metadata
}

type call struct {
	agui.Call
	in        *message // the first message that has it; nil if none of those that are known does
	args      []byte
	lost      bool   // they are not known in full
	from      int    // where those of its last announcement begin: ids of some models repeat
	latest    string // its name there, if it was announced again
	encrypted string
	meta      metadata
}

// metadata is what a stream's events said of a message or a call: merged by key, the last one holds.
type metadata []metadatum

type metadatum struct{ key, value string } // JSON text, keys with their quotes

func (m *metadata) merge(object gjson.Result) {
	if !object.IsObject() {
		return
	}
	object.ForEach(func(k, v gjson.Result) bool {
		key, value := string([]byte(k.Raw)), string([]byte(v.Raw)) // object may live in a buffer that is used again
		for i := range *m {
			if (*m)[i].key == key {
				(*m)[i].value = value
				return true
			}
		}
		*m = append(*m, metadatum{key, value})
		return true
	})
}

// onto puts the metadata into an object, over what it has there.
func (m metadata) onto(object []byte) []byte {
	if len(m) == 0 {
		return object
	}
	var all metadata
	all.merge(gjson.GetBytes(object, "metadata"))
	for _, one := range m {
		all.merge(gjson.Parse("{" + one.key + ":" + one.value + "}"))
	}
	out := []byte{'{'}
	for i, one := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, one.key...), ':'), one.value...)
	}
	return agui.SetKey(object, "metadata", append(out, '}'))
}

// render is the message as a MESSAGES_SNAPSHOT holds it.
func (m *message) render() json.RawMessage {
	out := []byte(m.json)
	if m.json == nil {
		out = agui.MustMarshal(struct {
			ID       string `json:"id"`
			Role     string `json:"role"`
			Name     string `json:"name,omitempty"`
			Subagent string `json:"subagentRunId,omitempty"`
		}{m.id, m.role, m.name, m.subagent})
	}
	switch {
	case m.role == "tool" && m.streamed:
		out = agui.SetString(out, "toolCallId", m.callID)
		if m.result != nil {
			out = agui.SetKey(out, "content", m.result)
		}
	case len(m.content) > 0 || m.streamed && len(m.calls) == 0:
		out = agui.SetString(out, "content", gjson.GetBytes(out, "content").Str+string(m.content))
	}
	if m.encrypted != "" {
		out = agui.SetString(out, "encryptedValue", m.encrypted)
	}
	if known := len(gjson.GetBytes(out, "toolCalls").Array()); known < len(m.calls) {
		out = m.renderCalls(out, known)
	}
	return m.meta.onto(out)
}

// renderCalls adds the calls that were streamed to those that the message came with.
func (m *message) renderCalls(out []byte, known int) []byte {
	for _, c := range m.calls[known:] {
		type function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}
		one := agui.MustMarshal(struct {
			ID        string   `json:"id"`
			Type      string   `json:"type"`
			Function  function `json:"function"`
			Encrypted string   `json:"encryptedValue,omitempty"`
		}{c.ID, "function", function{c.Name, string(c.args)}, c.encrypted})
		if !gjson.GetBytes(out, "toolCalls").IsArray() {
			out = agui.SetKey(out, "toolCalls", []byte("[]"))
		}
		out = agui.SetKey(out, "toolCalls.-1", c.meta.onto(one))
	}
	return out
}
