package kit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// EditCalls returns the message with each of its calls replaced by the result of the function edit.
// A call is removed if edit returns nil. A message without changes keeps its bytes. EditCalls
// returns false if the message has neither calls nor content afterwards.
func EditCalls(m agui.Message, edit func(gjson.Result) json.RawMessage) (agui.Message, bool) {
	all := Calls(gjson.ParseBytes(m.JSON))
	var left [][]byte
	same := true
	for _, c := range all {
		raw := edit(c)
		same = same && string(raw) == c.Raw
		if raw != nil {
			left = append(left, raw)
		}
	}
	if same {
		return m, true
	}
	object := gjson.ParseBytes(m.JSON)
	content := object.Get("content")
	if len(left) == 0 && content.Str == "" && (content.Type == gjson.String || len(content.Array()) == 0) {
		return m, false
	}
	out, put := []byte{'{'}, false
	object.ForEach(func(k, v gjson.Result) bool {
		switch {
		case !agui.SameKey(k.Str, "toolCalls"):
			out = AppendMember(out, k.Raw, v.Raw)
		case !put && len(left) > 0: // once, in place of the first toolCalls
			out = AppendMember(out, `"toolCalls"`, "["+string(bytes.Join(left, []byte{','}))+"]")
			put = true
		}
		return true
	})
	return agui.ParseMessage(append(out, '}')), true
}

// MessageWithoutCalls returns the message without the calls in removed. The id "" stands for calls
// that have no id. It returns false if the message has neither calls nor content afterwards.
func MessageWithoutCalls(m agui.Message, removed map[string]bool) (agui.Message, bool) {
	return EditCalls(m, func(c gjson.Result) json.RawMessage {
		if slices.ContainsFunc(IDsOrNone(c, "id"), func(id string) bool { return removed[id] }) {
			return nil
		}
		return json.RawMessage(c.Raw)
	})
}

// WithoutCalls returns the messages without the calls in removed. It leaves out a message that has
// neither calls nor content afterwards.
func WithoutCalls(list []agui.Message, removed map[string]bool) []agui.Message {
	var kept []agui.Message
	for _, m := range list {
		if left, ok := MessageWithoutCalls(m, removed); ok {
			kept = append(kept, left)
		}
	}
	return kept
}

// CallFrames returns the three events of a call: TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END.
func CallFrames(c agui.Call) []json.RawMessage {
	type event struct {
		Type   agui.Type `json:"type"`
		ID     string    `json:"toolCallId"`
		Name   string    `json:"toolCallName,omitempty"`
		Parent string    `json:"parentMessageId,omitempty"`
		Delta  *string   `json:"delta,omitempty"`
	}
	return []json.RawMessage{
		agui.MustMarshal(event{Type: agui.CallStart, ID: c.ID, Name: c.Name, Parent: c.Parent}),
		agui.MustMarshal(event{Type: agui.CallArgs, ID: c.ID, Delta: &c.Args}),
		agui.MustMarshal(event{Type: agui.CallEnd, ID: c.ID}),
	}
}
