package langgraphserver

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// A state is the server's response to GET /threads/{t}/state.
type state struct {
	values     gjson.Result
	checkpoint string
	next       []string
	tasks      []gjson.Result
}

// readState parses the body of a response. It returns false if the body is not a state.
func readState(body []byte) (state, bool) {
	if !agui.ValidJSON(body) {
		return state{}, false
	}
	root := gjson.ParseBytes(body)
	values := root.Get("values")
	if !root.IsObject() || !values.Exists() {
		return state{}, false
	}
	s := state{values: values, checkpoint: root.Get("checkpoint.checkpoint_id").Str, tasks: root.Get("tasks").Array()}
	for _, n := range root.Get("next").Array() {
		s.next = append(s.next, n.Str)
	}
	return s, true
}

// messages returns the conversation of the thread. ok is false if the graph's state has no
// messages.
func (s state) messages() (list []gjson.Result, ok bool) {
	m := s.values.Get("messages")
	if !m.IsArray() {
		return nil, false
	}
	return m.Array(), true
}

// natives returns the questions in the thread's state, each with its node. If several questions
// were open and one of them was answered, the state may still show it.
func (s state) natives() []langgraphapi.Native {
	var list []langgraphapi.Native
	for _, t := range s.tasks {
		for _, i := range t.Get("interrupts").Array() {
			if i.IsObject() {
				n := readInterrupt(i)
				n.Meta = s.addTo(n.Meta, t.Get("name").Str)
				list = append(list, n)
			}
		}
	}
	return list
}

// addTo adds the node and the checkpoint of a question to its metadata.
func (s state) addTo(meta []byte, node string) []byte {
	open := append([]byte(nil), meta[:len(meta)-1]...)
	if node != "" {
		open = kit.AppendText(open, "node", node)
	}
	if s.checkpoint != "" {
		open = kit.AppendText(open, "checkpoint_id", s.checkpoint)
	}
	return append(open, '}')
}

// nodes returns a map from the id of each question to the node that asks it.
func (s state) nodes() map[string]string {
	list := map[string]string{}
	for _, t := range s.tasks {
		node := t.Get("name").Str
		for _, i := range t.Get("interrupts").Array() {
			id := langgraphapi.InterruptID(i)
			if _, known := list[id]; id != "" && !known {
				list[id] = node
			}
		}
	}
	return list
}

// callsWithoutResult returns the calls of the last assistant message that have no result.
func (s state) callsWithoutResult() []gjson.Result {
	list, _ := s.messages()
	results := map[string]bool{}
	for n := len(list) - 1; n >= 0; n-- {
		switch list[n].Get("type").Str {
		case "tool":
			results[list[n].Get("tool_call_id").Str] = true
			continue
		case "ai":
			var open []gjson.Result
			for _, c := range list[n].Get("tool_calls").Array() {
				if !results[c.Get("id").Str] {
					open = append(open, c)
				}
			}
			return open
		}
		break
	}
	return nil
}

// readInterrupt reads an Interrupt of the server.
func readInterrupt(i gjson.Result) langgraphapi.Native {
	n := langgraphapi.ReadNative(i)
	n.Value, n.Meta = json.RawMessage(oneLine(string(n.Value))), []byte(oneLine(string(n.Meta)))
	if n.Schema != nil {
		n.Schema = json.RawMessage(oneLine(string(n.Schema)))
	}
	return n
}
