package standard

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// gatherCalls returns the messages of a resume, with the calls of all questions moved into one
// message at the end. It is for a backend that reads only answers to the last message with calls.
// If the result of a client's tool followed the calls, such a backend would not read it. The list
// stays unchanged if there is only one open call, and it is already in the last message or not in
// the list. The second result reports whether the list changed.
func gatherCalls(p agui.Pause, list []agui.Message) ([]agui.Message, bool) {
	var asking []*agui.Interrupt
	open := map[string]bool{}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if id := i.ToolCallID(); profileOfInterrupt(i).callsTogether && id != "" && !open[id] {
			asking, open[id] = append(asking, i), true
		}
	}
	if len(asking) == 0 {
		return list, false
	}
	sent := map[string]string{}
	behind := false // a message follows the last of these calls
	for _, m := range list {
		behind = true
		if m.Plain || m.Role != "assistant" {
			continue
		}
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			if id := agui.IDText(c.Get("id")); open[id] {
				sent[id], behind = c.Raw, false
			}
		}
	}
	if len(asking) == 1 && (len(sent) == 0 || !behind) {
		return list, false
	}
	var calls [][]byte
	for _, i := range asking {
		id := i.ToolCallID()
		if sent[id] == "" {
			sent[id] = string(askedCall(i))
		}
		calls = append(calls, []byte(sent[id]))
	}
	object := kit.AppendText([]byte{'{'}, "id", asking[0].ID)
	object = kit.AppendText(object, "role", "assistant")
	object = kit.AppendMember(object, `"toolCalls"`, "["+string(bytes.Join(calls, []byte{','}))+"]")
	return append(kit.WithoutCalls(list, open), agui.ParseMessage(append(object, '}'))), true
}

// askedCall returns the call that a question is about, made from the record. It is used if the
// client did not send the call.
func askedCall(i *agui.Interrupt) json.RawMessage {
	function := struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}{Arguments: "{}"}
	if len(i.Calls) == 1 {
		if function.Name = i.Calls[0].Name; i.Calls[0].Args != "" {
			function.Arguments = i.Calls[0].Args
		}
	}
	return agui.MustMarshal(map[string]any{"id": i.ToolCallID(), "type": "function", "function": function})
}
