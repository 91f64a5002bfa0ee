package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A message of a transcript comes from the request or a snapshot (then json is set), or from the
// stream, or from both.
type message struct {
	id, role, name string
	json           json.RawMessage
	content        []byte // the streamed text, which continues the content in json
	half           rune   // see agui.AppendPiece, for content
	streamed       bool
	calls          []*call
	hadCalls       bool            // the message had calls, which were dropped
	lastResult     *message        // the last tool message that was inserted after this message
	result         json.RawMessage // for a tool message, the content of the TOOL_CALL_RESULT event
	callID         string
	subagent       string // subagentRunId
	encrypted      string
	meta           metadata
}

type call struct {
	agui.Call
	message       *message // the first known message that contains the call, nil if no message does
	args          []byte
	half          rune // see agui.AppendPiece, for args
	argumentsLost bool // the arguments are missing or incomplete
	done          bool // the call has its result: a later start with the same id is another call
	// Index in args of the arguments after the last start. A call is started twice if its model
	// repeats ids.
	from      int
	latest    string // the name in the last start, if the call was started again
	encrypted string
	meta      metadata
}

// metadata is the metadata of a message or a call, merged from all its events. If a key occurs
// several times, the last value counts.
type metadata struct {
	list   []metadatum
	places map[string]int // the index in list of each key; nil if list is short
}

type metadatum struct{ key, value string } // both are JSON text; a key has its quotes

// fewKeys is the number of keys from which find uses a map. With fewer keys a linear search is
// faster.
const fewKeys = 16

// merge adds the members of an object to the metadata. It returns by how many bytes the metadata
// has grown, approximately.
func (m *metadata) merge(object gjson.Result) (more int) {
	if !object.IsObject() {
		return 0
	}
	object.ForEach(func(k, v gjson.Result) bool {
		more += m.set(k.Raw, v.Raw)
		return true
	})
	return more
}

// set sets one member, and returns by how many bytes the metadata has grown. It copies key and
// value, because they may be in a buffer that is reused.
func (m *metadata) set(key, value string) (more int) {
	if at := m.find(key); at >= 0 {
		more = len(value) - len(m.list[at].value)
		m.list[at].value = strings.Clone(value)
		return more
	}
	key = strings.Clone(key)
	if m.list = append(m.list, metadatum{key, strings.Clone(value)}); m.places != nil {
		m.places[key] = len(m.list) - 1
	}
	return len(key) + len(value) + 64
}

// find returns the index of a key, -1 if it is missing.
func (m *metadata) find(key string) int {
	if len(m.list) < fewKeys {
		return slices.IndexFunc(m.list, func(one metadatum) bool { return one.key == key })
	}
	if m.places == nil {
		m.places = map[string]int{}
		for at, one := range m.list {
			m.places[one.key] = at
		}
	}
	if at, ok := m.places[key]; ok {
		return at
	}
	return -1
}

// mergeInto returns object with this metadata merged into its member "metadata". If a key is in
// both, this metadata counts.
func (m *metadata) mergeInto(object []byte) []byte {
	if len(m.list) == 0 {
		return object
	}
	var all metadata
	all.merge(gjson.GetBytes(object, "metadata"))
	for _, one := range m.list {
		all.set(one.key, one.value)
	}
	out := []byte{'{'}
	for i, one := range all.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, one.key...), ':'), one.value...)
	}
	return agui.SetKey(object, "metadata", append(out, '}'))
}

// render returns the message as the JSON that a MESSAGES_SNAPSHOT contains.
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
	return m.meta.mergeInto(out)
}

// renderCalls adds the streamed calls to the message in out. known is the number of calls that the
// message already had before the stream; these stay as they are.
func (m *message) renderCalls(out []byte, known int) []byte {
	list := []byte{'['}
	if came := gjson.GetBytes(out, "toolCalls"); known > 0 && came.IsArray() {
		list = bytes.TrimRight(append(list[:0], came.Raw[:len(came.Raw)-1]...), " \t\r\n")
	}
	for n, c := range m.calls[known:] {
		type function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}
		if n+known > 0 {
			list = append(list, ',')
		}
		list = append(list, c.meta.mergeInto(agui.MustMarshal(struct {
			ID        string   `json:"id"`
			Type      string   `json:"type"`
			Function  function `json:"function"`
			Encrypted string   `json:"encryptedValue,omitempty"`
		}{c.ID, "function", function{c.Name, string(c.args)}, c.encrypted}))...)
	}
	return agui.SetKey(out, "toolCalls", append(list, ']'))
}
