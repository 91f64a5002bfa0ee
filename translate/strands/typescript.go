package strands

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/strandsapi"
)

// interruptedResult is the text of the result that the SDK invents for a waiting call. Holdpoint
// does not send this result to the client.
const interruptedResult = "Tool execution interrupted"

// typescript handles an event of @strands-agents/sdk:
//
//	{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockDeltaEvent","delta":{...}}}
//	{"type":"modelMessageEvent","message":{...},"stopReason":"toolUse"}       the whole message; contentBlockEvent, messageAddedEvent repeat it
//	{"type":"toolResultEvent","result":{"toolResult":{...}}}                   a result; afterToolCallEvent, afterToolsEvent repeat it
//	{"type":"afterToolsEvent","message":{...}}                                 the results, with an invented result for each waiting call
//	{"type":"interruptEvent","interrupt":{"id","name","reason"?,"source"}}     a question; if two parallel calls ask, only the last one's
//	{"type":"agentResultEvent","result":{"stopReason":"interrupt",...}}        the end, without the interrupts
//	{"type":"nodeStreamUpdateEvent","nodeId":"n","inner":{"event":{...}}}      any of these events, from a node
//	{"type":"multiAgentResultEvent","result":{"status":"INTERRUPTED",...}}     the end of a graph, with the interrupts
func (run *run) typescript(kind string, o gjson.Result, path string, depth int, emit func(agui.Event)) {
	switch kind {
	case "beforeInvocationEvent":
		run.loopBegan = true
		if depth == 0 {
			run.noteRestart()
			run.started = true
		}
	case "beforeModelCallEvent":
		run.modelFirst = run.modelFirst || !run.tools && depth == 0
	case "beforeToolsEvent":
		run.tools = true
	case "modelStreamUpdateEvent":
		run.update(o.Get("event"), run.lane(path, emit))
	case "modelMessageEvent":
		run.message(o.Get("message"), run.lane(path, emit))
	case "toolResultEvent":
		run.lane(path, emit).result(o.Get("result.toolResult"))
	case "afterToolsEvent":
		run.noteWaiting(o.Get("message.content"))
	case "interruptEvent":
		if q, err := readObject(o.Get("interrupt")); err == nil {
			run.ask(q, gjson.Result{}, path)
		}
	case "beforeNodeCallEvent":
		run.startStep(isWithin(path, o.Get("nodeId").String()), emit)
	case "afterNodeCallEvent":
		run.endStep(isWithin(path, o.Get("nodeId").String()), emit)
	case "nodeStreamUpdateEvent":
		if inner := o.Get("inner.event"); inner.IsObject() && depth < maxNesting {
			run.object(inner, isWithin(path, o.Get("nodeId").String()), depth+1, emit)
		}
	case "nodeResultEvent":
		run.asksFor(gjson.Result{}, o.Get("result.interrupts"), isWithin(path, o.Get("nodeId").String()))
	case "agentResultEvent", "multiAgentResultEvent":
		if depth == 0 {
			run.result(o.Get("result"), run.lane(path, emit))
		}
	}
}

// update handles a chunk of the model's output.
func (run *run) update(event gjson.Result, l *lane) {
	switch event.Get("type").Str {
	case "modelMessageStartEvent":
		l.newMessage()
	case "modelContentBlockStartEvent":
		if start := event.Get("start"); start.Get("type").Str == "toolUseStart" {
			l.call(start.Get("toolUseId"), start.Get("name"))
		}
	case "modelContentBlockDeltaEvent":
		switch delta := event.Get("delta"); delta.Get("type").Str {
		case "textDelta":
			if text := delta.Get("text"); text.Type == gjson.String && run.takesFrom(fromEvents) {
				l.sendText(text.Raw)
			}
		case "toolUseInputDelta":
			if input := delta.Get("input"); input.Type == gjson.String {
				l.sendArguments(input.Raw)
			}
		case "reasoningContentDelta":
			if text := delta.Get("text"); text.Type == gjson.String {
				l.sendReasoning(text.Raw)
			}
		}
	case "modelContentBlockStopEvent":
		l.endBlock()
	case "modelMessageStopEvent":
		l.endBlock()
		run.last = event.Get("stopReason").String()
	}
}

// noteWaiting notes the calls that wait, as an afterToolsEvent shows them. The SDK sends only one
// question even if several calls wait.
func (run *run) noteWaiting(content gjson.Result) {
	run.waitingCalls = map[string]bool{}
	content.ForEach(func(_, block gjson.Result) bool {
		result := block.Get("toolResult")
		if result.Get("status").Str == "error" && result.Get("content.0.text").Str == interruptedResult && len(run.waitingCalls) < maxCalls {
			run.waitingCalls[keyOf(result.Get("toolUseId").String())] = true
		}
		return true
	})
}

// hasUnaskedCall reports whether a call waits without a question about it. The SDK asks about such
// a call after the open questions are answered.
func (run *run) hasUnaskedCall() bool {
	waits := len(run.waitingCalls)
	asked := map[string]bool{}
	for _, q := range run.questions.list {
		if id, _ := strandsapi.ParseID(q.id); run.waitingCalls[keyOf(id.ToolUseID)] && !asked[id.ToolUseID] {
			asked[id.ToolUseID] = true
			waits--
		}
	}
	return waits > 0
}
