package strands

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// maxNesting is the maximum depth to which graphs may be nested in graphs.
const maxNesting = 16

// object handles a frame that is an object. path is the path of the node that the frame came from.
//
// Frames of Python (src/strands/types/_events.py; event loop, then the nodes of graphs and swarms):
//
//	{"event":{"contentBlockDelta":{"delta":{"text":"Hi"}}}}            a chunk of the model, as of Bedrock Converse
//	{"data":"Hi","delta":{"text":"Hi"},...}                            the same text again, if a server serialises it
//	{"message":{"role":"assistant","content":[...]}}                   the whole message
//	{"message":{"role":"user","content":[{"toolResult":{...}}]}}       results
//	{"tool_interrupt_event":{"tool_use":{...},"interrupts":[...]}}     a question
//	{"result":...}                                                     the end
//	{"error":"..","error_type":".."}, {"force_stop":true,...}          an error; AgentCore's, and the event loop's before it
//	{"type":"multiagent_node_stream","node_id":"n","event":{...}}      any of these frames, from a node
//	{"type":"tool_stream",...}                                         what happens within a tool: ignored
func (run *run) object(o gjson.Result, path string, depth int, emit func(agui.Event)) {
	if run.d.rules.Questions != "" && run.locate(o.Get(run.d.rules.Questions), path) {
		return
	}
	kind := o.Get("type")
	if kind.Type == gjson.String {
		if strings.HasSuffix(kind.Str, "Event") {
			run.typescript(kind.Str, o, path, depth, emit)
			return
		}
		if run.multiagent(kind.Str, o, path, depth, emit) {
			return
		}
	}
	chunked := o.Get("event").Exists()
	o.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "init_event_loop":
			run.loopBegan = true
			if depth == 0 {
				run.noteRestart()
			}
		case "event":
			run.chunk(v, run.lane(path, emit))
		case "data":
			if v.Type == gjson.String && !chunked {
				run.data(v, run.lane(path, emit))
			}
		case "reasoningText":
			if v.Type == gjson.String && run.source == fromData {
				run.lane(path, emit).sendReasoning(v.Raw)
			}
		case "message":
			run.message(v, run.lane(path, emit))
		case "tool_interrupt_event":
			run.asksFor(v.Get("tool_use"), v.Get("interrupts"), path)
		case "result":
			if depth == 0 && reasonIn(o) == interrupted {
				v = o // a server's own frame: the questions are next to the text
			}
			if depth == 0 {
				run.result(v, run.lane(path, emit))
			}
		case "force_stop":
			run.forceStopped = run.forceStopped || depth == 0 && v.Type == gjson.True
		case "error":
			if depth == 0 && run.failed == nil {
				run.fail(v, o.Get("error_type"), emit)
			}
		}
		return true
	})
}

// noteRestart removes the questions that the stream has shown so far. The server called the agent
// again in the same stream, so it answered these questions itself.
func (run *run) noteRestart() {
	run.sawStart = true
	run.questions, run.stopReason, run.endsInCall, run.forceStopped, run.waitingCalls = questions{}, "", false, false, nil
}

// chunk handles a chunk of the model's output.
func (run *run) chunk(chunk gjson.Result, l *lane) {
	chunk.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "messageStart":
			l.newMessage()
		case "contentBlockStart":
			if use := v.Get("start.toolUse"); use.IsObject() {
				l.call(use.Get("toolUseId"), use.Get("name"))
			}
		case "contentBlockDelta":
			run.delta(v.Get("delta"), l)
		case "contentBlockStop":
			l.endBlock()
		case "messageStop":
			l.endBlock()
			run.last = v.Get("stopReason").String()
		}
		return true
	})
}

func (run *run) delta(delta gjson.Result, l *lane) {
	if text := delta.Get("text"); text.Type == gjson.String && run.takesFrom(fromEvents) {
		l.sendText(text.Raw)
	}
	if input := delta.Get("toolUse.input"); input.Type == gjson.String {
		l.sendArguments(input.Raw)
	}
	thought := delta.Get("reasoningContent.text")
	if !thought.Exists() {
		thought = delta.Get("reasoningContent.reasoningText.text")
	}
	if thought.Type == gjson.String {
		l.sendReasoning(thought.Raw)
	}
}

func (run *run) data(text gjson.Result, l *lane) {
	if run.takesFrom(fromData) {
		l.sendText(text.Raw)
	}
}

// takesFrom reports whether the run reads text from source s. The first source that sends text is
// used for the whole run, because servers repeat the text in other frames.
func (run *run) takesFrom(s source) bool {
	if run.source == undecided {
		run.source = s
	}
	return run.source == s
}

// message handles a frame with a whole message.
func (run *run) message(m gjson.Result, l *lane) {
	switch content := m.Get("content"); m.Get("role").Str {
	case "assistant":
		l.assistant(content)
	case "user":
		l.results(content)
	}
}

// multiagent handles a frame of a graph or a swarm. It returns false if the frame is of another
// kind.
func (run *run) multiagent(kind string, o gjson.Result, path string, depth int, emit func(agui.Event)) bool {
	node := o.Get("node_id").String()
	switch kind {
	case "multiagent_node_start":
		run.startStep(isWithin(path, node), emit)
	case "multiagent_node_stop":
		run.endStep(isWithin(path, node), emit)
	case "multiagent_node_stream":
		if inner := o.Get("event"); inner.IsObject() && depth < maxNesting {
			run.object(inner, isWithin(path, node), depth+1, emit)
		}
	case "multiagent_node_interrupt":
		run.asksFor(gjson.Result{}, o.Get("interrupts"), isWithin(path, node))
	case "multiagent_result":
		if depth == 0 {
			run.result(o.Get("result"), run.lane(path, emit))
		}
	case "tool_stream", "tool_use_stream", "multiagent_handoff", "multiagent_node_cancel":
	default:
		return false
	}
	return true
}

func isWithin(path, node string) string {
	if path == "" {
		return node
	}
	return path + "/" + node
}

// startStep and endStep report the start and the end of a node to the client, as a step.
func (run *run) startStep(path string, emit func(agui.Event)) {
	if path == "" || len(path) > 1024 || len(run.steps) >= maxSteps || slices.Contains(run.steps, path) {
		return
	}
	run.steps = append(run.steps, strings.Clone(path))
	emit(agui.MakeEvent(agui.StepStarted, "stepName", path))
}

func (run *run) endStep(path string, emit func(agui.Event)) {
	if n := slices.Index(run.steps, path); n >= 0 {
		run.lane(path, emit).close()
		run.steps = slices.Delete(run.steps, n, n+1)
		emit(agui.MakeEvent(agui.StepFinished, "stepName", path))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// result handles the agent's result. Its form depends on what the server could serialise:
//
//	{"stop_reason":"interrupt","interrupts":[...],...}    an AgentResult if everything in it is JSON
//	{"status":"interrupted","interrupts":[...]}           a GraphResult or a SwarmResult
//	"AgentResult(stop_reason='interrupt', ...)"           the repr of one of these
//	"[{'id': 'v1:..', 'name': .., ...}]"                  str() of an AgentResult that asks
//	"Done."                                               str() of an AgentResult that does not ask
//	{"role":"assistant","content":[...]}                  result.message, without the reason of the end
func (run *run) result(v gjson.Result, l *lane) {
	switch {
	case v.Type == gjson.String:
		if run.readRepr(v.String(), l) {
			return
		}
		run.noteStop("end_turn")
		if run.isMissed() && v.Str != "" {
			l.sendText(v.Raw)
			l.close()
		}
	case v.Get("role").Type == gjson.String && v.Get("content").IsArray():
		run.lastMessage(v, l)
	case v.IsObject():
		run.resultObject(v, l)
	}
}

// isMissed reports whether the client lacks the message of the result, because the server sent only
// the end of its stream. It returns false if the stream has its beginning, because the message may
// then be an older one.
func (run *run) isMissed() bool { return !run.shown && !run.sawStart }

func (run *run) resultObject(v gjson.Result, l *lane) {
	reason := reasonIn(v)
	run.isTypeScript = v.Get("stopReason").Exists()
	for _, at := range []string{"error", "results.#.error|0"} {
		if text := v.Get(at); text.Type == gjson.String && run.reason == "" {
			run.reason = text.String()
		}
	}
	if run.isMissed() && reason != interrupted {
		for _, name := range []string{"message", "lastMessage"} {
			if m := v.Get(name); m.Get("role").Str == "assistant" {
				run.message(m, l)
			}
		}
	}
	if list := v.Get("interrupts"); list.IsArray() && reason == interrupted {
		run.asksFor(gjson.Result{}, list, "")
	}
	run.noteStop(reason)
}

// reasonIn returns the stop reason in a result, or in the members that a server adds to the result.
// It returns "" if there is no stop reason. If any of these members is interrupted, it returns
// interrupted.
func reasonIn(v gjson.Result) string {
	reason := ""
	for _, name := range []string{"stop_reason", "stopReason", "status"} {
		said := v.Get(name)
		if said.Type != gjson.String {
			continue
		}
		one := said.String()
		if name == "status" {
			one = reasonOf(one)
		}
		if one == interrupted {
			return interrupted
		}
		reason = cmp.Or(reason, one)
	}
	if list := v.Get("interrupts"); reason == "" && list.IsArray() && list.Get("0").Exists() {
		return interrupted
	}
	return reason
}

// reasonOf returns the stop reason for the status of a graph or a swarm.
func reasonOf(status string) string {
	switch status = strings.ToLower(status); status {
	case "interrupted":
		return interrupted
	case "completed":
		return "end_turn"
	}
	return status
}

// lastMessage handles a result that is only the agent's last message. Such a result has no stop
// reason. If the message has a call, the agent stopped before it ran the call.
func (run *run) lastMessage(m gjson.Result, l *lane) {
	if run.isMissed() {
		run.message(m, l)
	}
	run.noteStop("end_turn")
	m.Get("content").ForEach(func(_, block gjson.Result) bool {
		run.endsInCall = run.endsInCall || block.Get("toolUse").Exists()
		return true
	})
}

// The stop reasons of agents, and the status of a failed graph, that decide how a run ends.
const (
	interrupted  = "interrupt"
	failedStatus = "failed"
)

// noteStop notes why the agent stopped. If the agent did not stop to ask, noteStop removes the
// questions that the stream has shown before.
func (run *run) noteStop(reason string) {
	if reason == "" {
		return
	}
	run.stopReason, run.endsInCall = reason, false
	if reason != interrupted {
		run.questions = questions{}
	}
}
