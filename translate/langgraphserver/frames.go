package langgraphserver

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
)

// frame handles a frame of a run's stream. The frame's name is a stream mode. In a frame of a
// subgraph, a bar and the namespace of the subgraph follow the mode.
func (c *chat) frame(p translate.Piece, emit func(agui.Event)) {
	if !agui.ValidJSON(p.Data) {
		return
	}
	mode, subgraph, _ := strings.Cut(string(p.Name), "|")
	data := gjson.ParseBytes(p.Data)
	switch mode {
	case "metadata":
		if id := data.Get("run_id").Str; isUUID(id) {
			c.run = id
		}
	case "messages":
		if list := data.Array(); len(list) == 2 {
			c.message(list[0], list[1], emit)
		}
	case "updates":
		c.hasUpdates = true
		c.updates(data, emit)
	case "values":
		c.values(data, subgraph == "", emit)
	case "events":
		c.event(data, emit)
	case "custom":
		c.out.custom("langgraph.custom", data, emit)
	case "error":
		c.fail(data, emit)
	}
}

func isUUID(id string) bool {
	return len(id) == 36 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f') && r != '-'
	})
}

// updates handles an updates frame, which has the output of a node or questions of the graph. A
// node sends no more text after its output, so updates ends the node's open messages.
func (c *chat) updates(data gjson.Result, emit func(agui.Event)) {
	data.ForEach(func(k, v gjson.Result) bool {
		if k.Str == interruptKey {
			c.ask(v)
			return true
		}
		c.out.endOf(func(m *openMessage) bool { return m.node == k.Str }, emit)
		return true
	})
}

const (
	interruptKey = "__interrupt__"
	// maxAsked is the maximum number of questions of a run.
	maxAsked = kit.MaxQuestions
)

// ask notes the questions of a frame. A question that is in several frames is noted only once,
// because ask compares the ids.
func (c *chat) ask(list gjson.Result) {
	if !list.IsArray() {
		return
	}
	all := list.Array()
	c.atStaticBreakpoint = c.atStaticBreakpoint || len(all) == 0
	for _, i := range all {
		if !i.IsObject() {
			continue
		}
		n := readInterrupt(i)
		key := n.ID
		if key == "" {
			key = "=" + string(agui.Canonical(n.Value)) // ids do not begin with =
		}
		at, known := c.askedAt[key]
		switch {
		case known:
			if n.Schema == nil {
				n.Schema = c.asked[at].Schema
			}
			c.asked[at] = n
		case len(c.asked) < maxAsked:
			if c.askedAt == nil {
				c.askedAt = map[string]int{}
			}
			c.askedAt[key] = len(c.asked)
			c.asked = append(c.asked, n)
		}
	}
}

// values handles the state of a graph. root is false if the graph is a subgraph. In JavaScript, a
// frame with a question has no other members, so it is not sent as a state.
func (c *chat) values(data gjson.Result, root bool, emit func(agui.Event)) {
	if !data.IsObject() {
		return
	}
	o, others := []byte{'{'}, 0
	data.ForEach(func(k, v gjson.Result) bool {
		if k.Str == interruptKey {
			c.ask(v)
			return true
		}
		others++
		if root {
			if len(c.keys) < maxOpen {
				c.keys[k.Str] = true
			}
			o = kit.AppendMember(o, oneLine(k.Raw), oneLine(v.Raw))
		}
		return true
	})
	if root && (others > 0 || !data.Get(interruptKey).Exists()) {
		c.out.snapshot(append(o, '}'), emit)
	}
}

// message handles a message or a piece of one. meta is its metadata, with the node that sent it.
func (c *chat) message(m, meta gjson.Result, emit func(agui.Event)) {
	node, id := meta.Get("langgraph_node").Str, m.Get("id").Str
	switch m.Get("type").Str {
	case "tool":
		if call := m.Get("tool_call_id").Str; call != "" {
			c.out.result(id, call, contentOf(m.Get("content")), m.Get("status").Str == "error", emit)
		}
		return
	case "ai", "AIMessageChunk", "generic":
	default:
		return
	}
	if id == "" {
		id = "node " + node // a node sends one message at a time
	}
	s := c.out.message(id, node)
	if s == nil {
		return
	}
	content := m.Get("content")
	if !isSwitchedOff(meta, "emit-messages") {
		c.content(s, m, content, emit)
	}
	if !isSwitchedOff(meta, "emit-tool-calls") {
		c.calls(s, m, meta, emit)
	}
	r := m.Get("response_metadata")
	if m.Get("chunk_position").Str == "last" || r.Get("finish_reason").Str != "" || r.Get("stop_reason").Str != "" || r.Get("stopReason").Str != "" {
		s.Close(emit)
	}
}

// isSwitchedOff reports whether a graph switched off the events that the parameter what names for a
// model. Graphs do this with CopilotKit's copilotkit_customize_config.
func isSwitchedOff(meta gjson.Result, what string) bool {
	return meta.Get(what).Type == gjson.False || meta.Get("copilotkit:"+what).Type == gjson.False
}

// content handles the text and the reasoning of a message. Each model provider has its own form of
// them.
func (c *chat) content(s *openMessage, m, content gjson.Result, emit func(agui.Event)) {
	extra := m.Get("additional_kwargs")
	if text := extra.Get("reasoning_content"); text.Type == gjson.String {
		c.out.think(s, "", text.Str, emit)
	}
	if text := extra.Get("reasoning.summary.0.text"); text.Type == gjson.String {
		c.out.think(s, "", text.Str, emit)
	}
	if content.Type == gjson.String {
		c.out.text(s, content.Str, emit)
		return
	}
	for _, b := range content.Array() {
		switch b.Get("type").Str {
		case "text", "text_delta":
			c.out.text(s, b.Get("text").Str, emit)
		case "reasoning", "thinking", "reasoning_content":
			c.out.think(s, b.Get("id").Str, reasoningText(b), emit)
		default:
			if b.Type == gjson.String {
				c.out.text(s, b.Str, emit)
			}
		}
	}
}

// calls handles the calls of a message, or pieces of calls. If a message has pieces
// (tool_call_chunks), its tool_calls only repeat what could be parsed so far, so calls does not
// read them.
func (c *chat) calls(s *openMessage, m, meta gjson.Result, emit func(agui.Event)) {
	chunks := m.Get("tool_call_chunks").Array()
	for _, p := range chunks {
		s.hasChunks = true
		id, index := p.Get("id").Str, p.Get("index").Raw
		if id != "" && id != s.Call() || s.Call() == "" && p.Get("name").Str != "" {
			c.predict(p.Get("name").Str, meta, emit)
			c.out.begin(s, id, p.Get("name").Str, emit)
			s.index = strings.Clone(index)
		} else if index != s.index {
			continue // a piece of a call whose beginning was not received
		}
		s.Args(emit, aguiwriter.Quoted(p.Get("args").Str))
	}
	if len(chunks) > 0 || s.hasChunks {
		return
	}
	for _, call := range m.Get("tool_calls").Array() {
		c.predict(call.Get("name").Str, meta, emit)
		c.out.begin(s, call.Get("id").Str, call.Get("name").Str, emit)
		s.Args(emit, aguiwriter.Quoted(argsOf(call.Get("args"))))
		s.Close(emit)
	}
}

// predict sends a CUSTOM PredictState event if the metadata says that the arguments of a call of
// this tool become a part of the state.
func (c *chat) predict(tool string, meta gjson.Result, emit func(agui.Event)) {
	list := meta.Get("predict_state")
	for _, p := range list.Array() {
		if name := p.Get("tool").Str; name != "" && name == tool {
			c.out.custom("PredictState", list, emit)
			return
		}
	}
}

// event handles an object of LangGraph's stream of events. These are the start and end of nodes and
// tools, and events that a graph dispatches itself.
func (c *chat) event(data gjson.Result, emit func(agui.Event)) {
	switch kind := data.Get("event").Str; kind {
	case "on_chain_start", "on_chain_end":
		meta := data.Get("metadata")
		node := meta.Get("langgraph_node").Str
		if kind == "on_chain_start" {
			c.trail.Event(data)
		}
		if node == "" || node != data.Get("name").Str || !isNode(data.Get("tags")) {
			return
		}
		if run := data.Get("run_id").Str; kind == "on_chain_start" {
			c.out.step(run, node, emit)
		} else {
			c.out.endOf(func(m *openMessage) bool { return m.node == node }, emit)
			c.out.stepEnds(run, emit)
		}
	case "on_tool_start", "on_tool_end", "on_tool_error":
		c.trail.Event(data)
	case "on_custom_event":
		c.byHand(data.Get("name").Str, data.Get("data"), emit)
	}
}

func isNode(tags gjson.Result) bool {
	return slices.ContainsFunc(tags.Array(), func(t gjson.Result) bool { return strings.HasPrefix(t.Str, "graph:step:") })
}

// byHand handles an event that a graph sends by dispatch_custom_event. It knows the event names of
// the AG-UI adapters and of CopilotKit.
func (c *chat) byHand(name string, data gjson.Result, emit func(agui.Event)) {
	switch strings.TrimPrefix(name, "copilotkit_") {
	case "manually_emit_message":
		id := data.Get("message_id").Str
		if id == "" {
			id = c.out.next()
		}
		if s := c.out.message(id, ""); s != nil {
			c.out.text(s, kit.PlainText(data.Get("message")), emit)
			c.out.end(s, emit)
		}
	case "manually_emit_tool_call":
		if s := c.out.message(c.out.next(), ""); s != nil {
			c.out.begin(s, data.Get("id").Str, data.Get("name").Str, emit)
			s.Args(emit, aguiwriter.Quoted(argsOf(data.Get("args"))))
			c.out.end(s, emit)
		}
	case "manually_emit_state", "manually_emit_intermediate_state":
		if data.IsObject() {
			c.out.snapshot([]byte(oneLine(data.Raw)), emit)
		}
	}
	c.out.custom(name, data, emit)
}

// fail handles the error that ends a run's stream. It closes all open messages and sends a
// RUN_ERROR.
func (c *chat) fail(data gjson.Result, emit func(agui.Event)) {
	c.out.close(emit)
	message, code := data.Get("message").Str, data.Get("error").Str
	if data.Type == gjson.String {
		message = data.Str
	}
	emit(failedWith(message, code))
}
