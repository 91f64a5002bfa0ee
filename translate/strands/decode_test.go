package strands

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
)

// These are frames of the Python SDK, as AgentCore writes them.
const (
	began    = `{"init_event_loop": true}`
	opened   = `{"event": {"messageStart": {"role": "assistant"}}}`
	hi       = `{"event": {"contentBlockDelta": {"delta": {"text": "Hi."}}}}`
	closed   = `{"event": {"contentBlockStop": {}}}`
	calls    = `{"event": {"contentBlockStart": {"start": {"toolUse": {"name": "pay", "toolUseId": "c1"}}}}}`
	argument = `{"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"n\": 1}"}}}}}`
	toolStop = `{"event": {"messageStop": {"stopReason": "tool_use"}}}`
	endTurn  = `{"event": {"messageStop": {"stopReason": "end_turn"}}}`
	whole    = `{"message": {"role": "assistant", "content": [{"text": "Hi."}, {"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"n": 1}}}]}}`
	paid     = `{"message": {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "paid"}, {"json": {"n": 1.0}}]}}]}}`
	asksPay  = `{"tool_interrupt_event": {"tool_use": {"toolUseId": "c1", "name": "pay", "input": {"n": 1}}, "interrupts": [{"id": "` + payID + `", "name": "approval", "reason": {"n": 1}, "response": null}]}}`
	payID    = "v1:before_tool_call:c1:75a96266-45d2-581c-8a6f-043e472e1763"
	endsWell = `"{'result': AgentResult(stop_reason='end_turn', message={'role': 'assistant', 'content': [{'text': 'Hi.'}]}, metrics=<M object at 0x7f>, state={}, interrupts=None)}"`
	endsAsk  = `"{'result': AgentResult(stop_reason='interrupt', message={'role': 'assistant', 'content': []}, metrics=EventLoopMetrics(traces=[<T object at 0x7f>]), state={}, interrupts=[Interrupt(id='` + payID + `', name='approval', reason={'n': 1}, response=None)], structured_output=None)}"`
	boom     = `{"error": "boom", "error_type": "ValueError", "message": "An error occurred during streaming"}`

	said   = "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi.) TEXT_MESSAGE_END"
	called = "TOOL_CALL_START(pay) TOOL_CALL_ARGS({\"n\": 1}) TOOL_CALL_END"
	asked  = payID + " tool_call c1"
)

func TestPythonStreams(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   string
		asks   string
	}{
		"text":                              {frames(began, opened, hi, closed, endTurn, endsWell), said + " RUN_FINISHED", ""},
		"its repr beside it":                {frames(opened, hi, `"{'data': 'Hi.', 'agent': <A>}"`, closed, endTurn, endsWell), said + " RUN_FINISHED", ""},
		"its object beside it":              {frames(opened, hi, `{"data": "Hi.", "delta": {"text": "Hi."}}`, closed, endTurn, endsWell), said + " RUN_FINISHED", ""},
		"objects alone":                     {frames(`{"data": "Hi", "delta": {}}`, `{"data": ".", "delta": {}}`, hi, endsWell), "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi) TEXT_MESSAGE_CONTENT(.) TEXT_MESSAGE_END RUN_FINISHED", ""},
		"a message alone":                   {frames(whole, paid, endsWell), said + " TOOL_CALL_START(pay) TOOL_CALL_ARGS({\"n\": 1}) TOOL_CALL_END TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"a message after its deltas":        {frames(opened, hi, closed, calls, argument, closed, toolStop, whole, paid, endsWell), said + " " + called + " TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"a result alone":                    {frames(endsWell), said + " RUN_FINISHED", ""},
		"an older message in the end":       {frames(began, paid, endsWell), "TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"a result of which only text is":    {frames(`{"result": "Hi."}`), said + " RUN_FINISHED", ""},
		"the same result twice":             {frames(calls, argument, closed, paid, paid, endsWell), called + " TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"a call of the same id again":       {frames(calls, closed, paid, opened, calls, closed, paid, endsWell), "TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"arguments in the message alone":    {frames(opened, calls, closed, toolStop, whole, paid, endsWell), strings.Replace(called, "\"n\": 1", "\"n\": 1", 1) + " " + said + " TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) RUN_FINISHED", ""},
		"two calls without arguments":       {frames(opened, calls, closed, strings.ReplaceAll(calls, "c1", "c2"), closed, toolStop, strings.Replace(whole, `{"n": 1}`, "{}", 1), endsWell), "TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END " + said + " RUN_FINISHED", ""},
		"an empty delta":                    {frames(opened, strings.Replace(hi, "Hi.", "", 1), hi, closed, endTurn), said + " RUN_FINISHED", ""},
		"no block start, no block stop":     {frames(hi, calls, argument, toolStop, paid, opened, hi, endTurn), said + " " + called + " TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) " + said + " RUN_FINISHED", ""},
		"another reason to stop":            {frames(hi, closed, strings.Replace(endsWell, "end_turn", "guardrail_intervened", 1)), said + " CUSTOM(guardrail_intervened) RUN_FINISHED", ""},
		"a reason like one of Holdpoint's":  {frames(hi, closed, strings.Replace(endsWell, "end_turn", "unanswered_call", 1)), said + " CUSTOM(unanswered_call) RUN_FINISHED", ""},
		"a call as the end, then a reason":  {frames(`{"result": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "pay", "input": {"n": 1}}}]}}`, `{"result": {"stop_reason": "end_turn"}}`), called + " RUN_FINISHED", ""},
		"a stop sequence":                   {frames(hi, closed, strings.Replace(endsWell, "end_turn", "stop_sequence", 1)), said + " RUN_FINISHED", ""},
		"a call without a name":             {frames(strings.Replace(calls, `"pay"`, "7", 1), strings.Replace(calls, `"c1"`, "7", 1), strings.Replace(calls, `"c1"`, `""`, 1), hi, closed, endTurn), said + " RUN_FINISHED", ""},
		"messages without block stops":      {frames(opened, hi, opened, hi, endTurn), said + " " + said + " RUN_FINISHED", ""},
		"a question whose id is no text":    {frames(`{"result": {"stop_reason": "interrupt", "interrupts": [{"id": 7, "name": "n"}]}}`), "RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)", ""},
		"structured output is no pause":     {frames(hi, closed, toolStop, strings.Replace(endsWell, "end_turn", "tool_use", 1)), said + " RUN_FINISHED", ""},
		"what a tool streams":               {frames(hi, closed, `{"type": "tool_stream", "tool_stream_event": {"data": {"event": {"contentBlockDelta": {"delta": {"text": "x"}}}}}}`, `{"type": "tool_stream", "tool_stream_event": {"data": `+asksPay+`}}`, endsWell), said + " RUN_FINISHED", ""},
		"a picture as a result":             {frames(calls, closed, `"{'message': {'role': 'user', 'content': [{'toolResult': {'content': [{'text': 'see'}, {'image': {'source': {'bytes': b'\\x89'}}}], 'toolUseId': 'c1'}}]}}"`, endsWell), "TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END TOOL_CALL_RESULT(see\n[image]) RUN_FINISHED", ""},
		"frames that are not understood":    {frames(`{`, `[1]`, `7`, `[DONE]`, `null`, `{"x": {"error": 1}}`, `{"event": 7}`, `{"message": "x"}`, `{"result": null}`, `{"error": null}`, hi, closed, endsWell), said + " RUN_FINISHED", ""},
		"a pause":                           {frames(opened, hi, closed, calls, argument, closed, toolStop, whole, asksPay, endsAsk), said + " " + called + " RUN_FINISHED", asked},
		"a pause whose end was left out":    {frames(calls, argument, closed, toolStop, asksPay), called + " RUN_FINISHED", asked},
		"a pause whose end says no more":    {frames(calls, argument, closed, asksPay, `{"result": {"stop_reason": "interrupt", "interrupts": null}}`), called + " RUN_FINISHED", asked},
		"a pause in the result alone":       {frames(calls, argument, closed, toolStop, endsAsk), called + " RUN_FINISHED", asked},
		"as an object":                      {frames(calls, argument, closed, `{"result": {"stop_reason": "interrupt", "interrupts": [{"id": "`+payID+`", "name": "approval", "reason": null}]}}`), called + " RUN_FINISHED", asked},
		"as str(AgentResult)":               {frames(calls, argument, closed, `{"result": "[{'id': '`+payID+`', 'name': 'approval', 'reason': None, 'response': None}]"}`), called + " RUN_FINISHED", asked},
		"as the repr in an object":          {frames(calls, argument, closed, `{"result": "AgentResult(stop_reason='interrupt', interrupts=[Interrupt(id='`+payID+`', name='approval')])"}`), called + " RUN_FINISHED", asked},
		"a question as its repr":            {frames(calls, argument, closed, `{"tool_interrupt_event": {"tool_use": {"toolUseId": "c1", "name": "pay"}, "interrupts": ["Interrupt(id='`+payID+`', name='approval', reason=b'x', response=None)"]}}`), called + " RUN_FINISHED", asked},
		"a question in a repr":              {frames(calls, argument, closed, `"{'tool_interrupt_event': {'tool_use': {'toolUseId': 'c1', 'name': 'pay', 'input': {}}, 'interrupts': [Interrupt(id='`+payID+`', name='approval', reason={1, 2}, response=None)]}}"`, endsAsk), called + " RUN_FINISHED", asked},
		"a reason that is no number":        {frames(calls, argument, closed, strings.Replace(asksPay, `{"n": 1}, "response"`, `[NaN, -Infinity, "NaN"], "response"`, 1)), called + " RUN_FINISHED", asked},
		"a call whose id alone is known":    {frames(endsAsk), "RUN_FINISHED", payID + " strands:approval"},
		"a call that nobody saw":            {frames(asksPay, endsAsk), called + " RUN_FINISHED", asked},
		"an error after the pause":          {frames(calls, argument, closed, asksPay, endsAsk, boom), called + " RUN_FINISHED", asked},
		"an error before the end":           {frames(calls, argument, closed, asksPay, `{"force_stop": true, "force_stop_reason": "x"}`, boom), called + " RUN_ERROR(STRANDS_FORCE_STOP)", ""},
		"a question that was answered":      {frames(calls, argument, closed, asksPay, endsAsk, began, opened, hi, closed, endTurn, endsWell), called + " " + said + " RUN_FINISHED", ""},
		"one that the end knows nothing of": {frames(calls, argument, closed, asksPay, endsWell), called + " RUN_FINISHED", ""},
		"one id for two questions":          {frames(asksPay, strings.Replace(asksPay, `{"n": 1}, "response"`, `{"n": 2}, "response"`, 1), endsAsk), called + " RUN_FINISHED", asked + "; " + asked},
		"an error":                          {frames(hi, boom), "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi.) RUN_ERROR(STRANDS_ERROR)", ""},
		"an error and more":                 {frames(boom, hi, boom, endsWell), "RUN_ERROR(STRANDS_ERROR)", ""},
		"a force stop alone":                {frames(began, `{"force_stop": true}`), "RUN_ERROR(STRANDS_FORCE_STOP)", ""},
		"a force stop that was cut":         {frames(hi, closed, `{"force_stop": true}`) + "<cut>", said + " RUN_ERROR(STRANDS_FORCE_STOP)", ""},
		"the end at a call":                 {frames(calls, argument, closed, toolStop), called + " RUN_ERROR(STRANDS_INTERRUPT_LOST)", ""},
		"an end that cannot be read":        {frames(calls, argument, closed, toolStop, `"{'result': AgentResult(stop_reason='interrupt', state={'x': <Foo it's>}, interrupts=[Interrupt(id='v1:a', name='b')])}"`), called + " RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)", ""},
		"an empty list":                     {frames(`{"result": {"stop_reason": "interrupt", "interrupts": []}}`), "RUN_ERROR(STRANDS_INTERRUPT_UNREADABLE)", ""},
		"no end at all":                     {frames(began, `{"start": true}`), "RUN_ERROR(UPSTREAM_EOF)", ""},
		"strings":                           {frames(`"Hi."`), "RUN_ERROR(UPSTREAM_EOF)", ""},
		"nothing":                           {"", "RUN_ERROR(UPSTREAM_EOF)", ""},
		"cut after text":                    {frames(hi) + "<cut>", "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi.)", ""},
		"cut before anything":               {frames(began) + "<cut>", "RUN_ERROR(UPSTREAM_EOF)", ""},
		"cut at a question":                 {frames(calls, argument, closed, asksPay) + "<cut>", called, ""},
		"cut after the end":                 {frames(calls, argument, closed, asksPay, endsAsk) + "<cut>", called + " RUN_FINISHED", asked},
	} {
		t.Run(name, func(t *testing.T) {
			p := plain(t, newDialect(t, Server{}), stream, c.stream)
			if p.types() != c.want && p.Result.Finish.Type != agui.Unknown {
				t.Errorf("%s, want\n%s", p.types(), c.want)
			}
			if p.asks() != c.asks {
				t.Errorf("asks %q, want %q", p.asks(), c.asks)
			}
			if p.Result.Fate == translate.Lost || p.Result.Next != nil || p.Result.Fate == translate.Untouched || p.Result.Fate == translate.InDoubt {
				t.Errorf("%+v", p.Result)
			}
		})
	}
}

// These are frames of the TypeScript SDK.
const (
	tsBegan  = `{"type":"beforeInvocationEvent"}`
	tsModel  = `{"type":"beforeModelCallEvent"}`
	tsOpened = `{"type":"modelStreamUpdateEvent","event":{"type":"modelMessageStartEvent","role":"assistant"}}`
	tsHi     = `{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockDeltaEvent","delta":{"type":"textDelta","text":"Hi."}}}`
	tsClosed = `{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockStopEvent"}}`
	tsCall   = `{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockStartEvent","start":{"type":"toolUseStart","name":"pay","toolUseId":"c1"}}}`
	tsArgs   = `{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockDeltaEvent","delta":{"type":"toolUseInputDelta","input":"{\"n\": 1}"}}}`
	tsStop   = `{"type":"modelStreamUpdateEvent","event":{"type":"modelMessageStopEvent","stopReason":"toolUse"}}`
	tsWhole  = `{"type":"modelMessageEvent","message":{"role":"assistant","content":[{"text":"Hi."},{"toolUse":{"name":"pay","toolUseId":"c1","input":{"n":1}}}]},"stopReason":"toolUse"}`
	tsTools  = `{"type":"beforeToolsEvent"}`
	tsResult = `{"type":"toolResultEvent","result":{"toolResult":{"toolUseId":"c1","status":"success","content":[{"json":{"$value":["a"]}}]}}}`
	tsAsk    = `{"type":"interruptEvent","interrupt":{"id":"hook:beforeToolCall:c1:a:b","name":"a:b","reason":"Pay?","source":"hook"}}`
	tsPaused = `{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"interrupt","lastMessage":{"role":"user","content":[{"text":"x"}]}}}`
	tsEnded  = `{"type":"agentResultEvent","result":{"type":"agentResult","stopReason":"endTurn","lastMessage":{"role":"assistant","content":[{"text":"Hi."}]}}}`
)

func fakes(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, `{"toolResult":{"toolUseId":"`+id+`","status":"error","content":[{"text":"Tool execution interrupted"}]}}`)
	}
	return `{"type":"afterToolsEvent","message":{"role":"user","content":[` + strings.Join(list, ",") + `]}}`
}

func TestTypeScriptStreams(t *testing.T) {
	const asks = "hook:beforeToolCall:c1:a:b tool_call c1"
	for name, c := range map[string]struct {
		stream string
		want   string
		asks   string
	}{
		"text":                           {frames(tsBegan, tsModel, tsOpened, tsHi, tsClosed, `{"type":"contentBlockEvent","contentBlock":{"text":"Hi."}}`, `{"type":"messageAddedEvent","message":{"role":"assistant","content":[{"text":"Hi."}]}}`, tsEnded), said + " RUN_FINISHED", ""},
		"a message alone":                {frames(tsWhole, tsResult, tsEnded), said + " TOOL_CALL_START(pay) TOOL_CALL_ARGS({\"n\":1}) TOOL_CALL_END TOOL_CALL_RESULT([\"a\"]) RUN_FINISHED", ""},
		"a result alone":                 {frames(tsEnded), said + " RUN_FINISHED", ""},
		"results once":                   {frames(tsCall, tsClosed, strings.Replace(tsResult, "toolResultEvent", "afterToolCallEvent", 1), tsResult, fakes(), tsEnded), "TOOL_CALL_START(pay) TOOL_CALL_ARGS({}) TOOL_CALL_END TOOL_CALL_RESULT([\"a\"]) RUN_FINISHED", ""},
		"a pause":                        {frames(tsBegan, tsModel, tsHi, tsClosed, tsCall, tsArgs, tsClosed, tsStop, tsWhole, tsTools, fakes("c1"), tsAsk, tsPaused), said + " " + called + " RUN_FINISHED", asks},
		"what a tool streams":            {frames(`{"type":"toolStreamUpdateEvent","event":{"type":"toolStreamEvent","data":`+tsAsk+`}}`, tsEnded), said + " RUN_FINISHED", ""},
		"no result":                      {frames(tsBegan, tsModel, tsHi, tsClosed, `{"type":"modelStreamUpdateEvent","event":{"type":"modelMessageStopEvent","stopReason":"endTurn"}}`), said + " RUN_ERROR(UPSTREAM_EOF)", ""},
		"no result after a question":     {frames(tsBegan, tsModel, tsCall, tsArgs, tsClosed, tsAsk), called + " RUN_ERROR(UPSTREAM_EOF)", ""},
		"the model's events alone":       {frames(tsHi, tsClosed, `{"type":"modelStreamUpdateEvent","event":{"type":"modelMessageStopEvent","stopReason":"endTurn"}}`), said + " RUN_FINISHED", ""},
		"usual ends":                     {frames(tsHi, tsClosed, strings.Replace(tsEnded, "endTurn", "stopSequence", 1), strings.Replace(tsEnded, "endTurn", "toolUse", 1)), said + " RUN_FINISHED", ""},
		"a reason to stop":               {frames(tsHi, tsClosed, strings.Replace(tsEnded, "endTurn", "cancelled", 1)), said + " CUSTOM(cancelled) RUN_FINISHED", ""},
		"waiting":                        {frames(tsBegan, `{"type":"afterInvocationEvent"}`, `{"error":"Agent is in an interrupted state. Resume by invoking with interruptResponse content blocks.","error_type":"TypeError"}`), "RUN_ERROR(STRANDS_INTERRUPT_LOST)", ""},
		"a cut where nothing was said":   {frames(tsBegan, `{"type":"afterInvocationEvent"}`) + "<cut>", "RUN_ERROR(UPSTREAM_EOF)", ""},
		"a graph":                        {frames(`{"type":"beforeNodeCallEvent","nodeId":"n"}`, `{"type":"nodeStreamUpdateEvent","nodeId":"n","inner":{"source":"agent","event":`+tsHi+`}}`, `{"type":"nodeStreamUpdateEvent","nodeId":"n","inner":{"event":`+tsPaused+`}}`, `{"type":"nodeStreamUpdateEvent","nodeId":"n","inner":{"event":`+tsClosed+`}}`, `{"type":"afterNodeCallEvent","nodeId":"n"}`, `{"type":"multiAgentResultEvent","result":{"status":"COMPLETED"}}`), "STEP_STARTED(n) " + said + " STEP_FINISHED(n) RUN_FINISHED", ""},
		"a graph that asks":              {frames(`{"type":"nodeResultEvent","nodeId":"n","result":{"status":"INTERRUPTED","interrupts":[{"id":"multiagent-hook:beforeNodeCall:n:gate","name":"gate"}]}}`, `{"type":"multiAgentResultEvent","result":{"status":"INTERRUPTED","interrupts":[{"id":"multiagent-hook:beforeNodeCall:n:gate","name":"gate"},{"id":"tool:c9:x","name":"strands:x"}]}}`), "RUN_FINISHED", "multiagent-hook:beforeNodeCall:n:gate strands:gate; tool:c9:x strands:x"},
		"a graph that failed":            {frames(`{"type":"multiAgentResultEvent","result":{"status":"FAILED","results":[{"error":"no luck"}]}}`), "RUN_ERROR(STRANDS_ERROR)", ""},
		"a graph that was denied":        {frames(`{"type":"multiAgentResultEvent","result":{"status":"CANCELLED","results":[]}}`), "CUSTOM(cancelled) RUN_FINISHED", ""},
		"frames that are not understood": {frames(`{"type":"xEvent"}`, `{"type":"interruptEvent"}`, `{"type":"toolResultEvent","result":7}`, `{"type":"modelStreamUpdateEvent"}`, `{"type":"afterToolsEvent"}`, tsEnded), said + " RUN_FINISHED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for mediaType, answer := range map[string]string{stream: c.stream, "": strings.ReplaceAll(strings.ReplaceAll(c.stream, "data: ", ""), "\n\n", "\n")} {
				p := plain(t, newDialect(t, Server{}), mediaType, answer)
				if p.types() != c.want || p.asks() != c.asks {
					t.Errorf("%q: %s %s, want\n%s %s", mediaType, p.types(), p.asks(), c.want, c.asks)
				}
			}
		})
	}
}

// TestMorePending: several calls wait for an answer. The TypeScript SDK asks one question, and the
// next one only after the answer to it. So the question must say that more are pending.
func TestMorePending(t *testing.T) {
	second := strings.ReplaceAll(tsAsk, "c1", "c2")
	for name, c := range map[string]struct {
		stream string
		want   bool
	}{
		"one of one":           {frames(fakes("c1"), tsAsk, tsPaused), false},
		"one of two":           {frames(fakes("c1", "c2"), tsAsk, tsPaused), true},
		"two of two":           {frames(fakes("c1", "c2"), tsAsk, second, tsPaused), false},
		"two about one of two": {frames(fakes("c1", "c2"), tsAsk, strings.ReplaceAll(tsAsk, "a:b", "x"), tsPaused), true},
		"a whole batch":        {frames(`{"type":"interruptEvent","interrupt":{"id":"hook:beforeTools:b","name":"b"}}`, tsPaused), false},
		"one after the other":  {frames(fakes(), tsAsk, tsPaused), false},
		"the last ones count":  {frames(fakes("c1", "c2"), fakes("c1"), tsAsk, tsPaused), false},
	} {
		p := plain(t, newDialect(t, Server{}), stream, c.stream)
		got := p.Result.Asked.Interrupts[0].Object
		if gjson.GetBytes(got, "metadata.strands.morePending").Bool() != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestJSONAnswers(t *testing.T) {
	const message = `{"role":"assistant","content":[{"text":"Hi."}]}`
	const call = `{"role":"assistant","content":[{"text":"Hi."},{"toolUse":{"toolUseId":"c1","name":"pay","input":{"n": 1}}}]}`
	for body, want := range map[string]string{
		`{"result": ` + message + `}`:                                                               said + " RUN_FINISHED",
		`{"output": {"message": ` + message + `, "model": "m"}}`:                                    said + " RUN_FINISHED",
		`{"response": {"type":"agentResult","stopReason":"endTurn","lastMessage":` + message + `}}`: said + " RUN_FINISHED",
		`{"result": {"type":"agent_result","message":` + message + `,"stop_reason":"end_turn"}}`:    said + " RUN_FINISHED",
		`{"result": "Hi."}`:                     said + " RUN_FINISHED",
		`{"response": "Hi."}`:                   said + " RUN_FINISHED",
		`{"message": "Hi."}`:                    said + " RUN_FINISHED",
		`"Hi."`:                                 said + " RUN_FINISHED",
		message:                                 said + " RUN_FINISHED",
		`{"result": ` + call + `}`:              said + " " + called + " RUN_ERROR(STRANDS_INTERRUPT_LOST)",
		`{"output": {"message": ` + call + `}}`: said + " " + called + " RUN_ERROR(STRANDS_INTERRUPT_LOST)",
		`{"response": {"type":"agentResult","stopReason":"interrupt","lastMessage":{"role":"user","content":[{"text":"x"}]}}}`: "RUN_ERROR(STRANDS_INTERRUPT_LOST)",
		`{"result": {"type":"agent_result","message":` + call + `,"stop_reason":"interrupt"}}`:                                 "RUN_ERROR(STRANDS_INTERRUPT_LOST)",
		`"[{'id': '` + payID + `', 'name': 'approval', 'reason': None, 'response': None}]"`:                                    "RUN_FINISHED",
		`{"response": "[{\"id\":\"tool:c1:x\",\"name\":\"x\",\"source\":\"tool\"}]"}`:                                          "RUN_FINISHED",
		`"[{\"id\":\"tool:c1:x\"}]"`:       `TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT([{"id":"tool:c1:x"}]) TEXT_MESSAGE_END RUN_FINISHED`,
		`"[{'id': 'v1:broken"`:             "RUN_ERROR(STRANDS_INTERRUPT_LOST)",
		`"[{'id': 'a', 'x': 1}]"`:          "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT([{'id': 'a', 'x': 1}]) TEXT_MESSAGE_END RUN_FINISHED",
		`{"error": "boom"}`:                "RUN_ERROR(STRANDS_ERROR)",
		`{"error": null, "result": "Hi."}`: said + " RUN_FINISHED",
		`{"data": 1}`:                      "RUN_ERROR(UPSTREAM_STATUS)",
		`{"result": 7}`:                    "RUN_ERROR(UPSTREAM_STATUS)",
		`[]`:                               "RUN_ERROR(UPSTREAM_STATUS)",
		`{}`:                               "RUN_ERROR(UPSTREAM_STATUS)",
		``:                                 "RUN_ERROR(UPSTREAM_EOF)",
		// JSON lines with the media type of JSON
		tsHi + "\n" + tsClosed + "\n" + tsEnded + "\n": said + " RUN_FINISHED",
	} {
		p := plain(t, newDialect(t, Server{}), "application/json", body)
		if p.types() != want {
			t.Errorf("%s: %s, want\n%s", body, p.types(), want)
		}
		if remedy := p.Result.Finish.Get("message").Str; strings.Contains(remedy, "agent.stream(prompt)") != strings.Contains(body, `"stopReason":"interrupt"`) {
			t.Errorf("%s: %s", body, remedy)
		}
		if asks := p.asks(); (asks != "") != (strings.HasSuffix(want, "RUN_FINISHED") && !strings.Contains(want, "TEXT")) {
			t.Errorf("%s asks %q", body, asks)
		}
	}
}

// TestText: the option Text is set. Plain text and JSON strings must be shown as the agent's text.
func TestText(t *testing.T) {
	d := newDialect(t, Server{Text: true})
	for mediaType, answer := range map[string]string{"text/plain": "Hi.", stream: frames(`"Hi."`), "application/x-ndjson": "\"Hi.\"\n", "text/html": ""} {
		want := said + " RUN_FINISHED"
		if mediaType == "text/html" {
			want = ""
		}
		run := newRun(d, &translate.Request{Input: input(t, "")}, &ids{})
		if framing := run.Framing(mediaType); (framing == translate.Unread) != (want == "") {
			t.Errorf("%s: framing %v", mediaType, framing)
		} else if p := plain(t, d, mediaType, answer); want != "" && p.types() != want {
			t.Errorf("%s: %s", mediaType, p.types())
		}
	}
	if p := plain(t, d, stream, frames(`"{'data': 'x', 'agent': <A>}"`, `Hi`, `"[{'id': 'x'"`)+"<cut>"); p.types() != "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi) TEXT_MESSAGE_CONTENT([{'id': 'x')" || p.Result.Finish.Type != agui.Unknown {
		t.Errorf("%s", p.types())
	}
	run := newRun(newDialect(t, Server{}), &translate.Request{Input: input(t, "")}, &ids{})
	if run.Framing("text/plain") != translate.Unread {
		t.Error("text is read where nobody said so")
	}
	res, _ := run.End(translate.End{Status: 200, Body: []byte("Hi.")})
	if code := res.Finish.Get("code").Str; code != string(agui.UpstreamStatus) {
		t.Errorf("ends in %s", res.Finish.JSON)
	}
}

func TestReasoning(t *testing.T) {
	py := frames(opened, `{"event": {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm"}}}}}`, closed, hi, closed, endsWell)
	ts := frames(`{"type":"modelStreamUpdateEvent","event":{"type":"modelContentBlockDeltaEvent","delta":{"type":"reasoningContentDelta","text":"Hm"}}}`, tsClosed, tsHi, tsClosed, tsEnded)
	message := frames(`{"message": {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm"}}}, {"text": "Hi."}]}}`, endsWell)
	const thought = "REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT(Hm) REASONING_MESSAGE_END REASONING_END "
	for name, s := range map[string]string{"Python": py, "TypeScript": ts, "a message": message} {
		if p := plain(t, newDialect(t, Server{Reasoning: true}), stream, s); p.types() != thought+said+" RUN_FINISHED" {
			t.Errorf("%s: %s", name, p.types())
		}
		if p := plain(t, newDialect(t, Server{}), stream, s); p.types() != said+" RUN_FINISHED" {
			t.Errorf("%s, not to be shown: %s", name, p.types())
		}
	}
}

// TestReasoningBesideTheRest: an open block (text, reasoning or call) must be ended before a block
// of another kind begins.
func TestReasoningBesideTheRest(t *testing.T) {
	const think = `{"event": {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm."}}}}}`
	const thought = "REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT(Hm.) REASONING_MESSAGE_END REASONING_END"
	const wholeThought = `{"message": {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": "Hi."}]}}`
	d := newDialect(t, Server{Reasoning: true})
	for answer, want := range map[string]string{
		frames(opened, think, hi, think, calls, argument, think, hi, calls, argument, hi, endTurn): strings.Join([]string{thought, said, thought, called, thought, said, called, said, "RUN_FINISHED"}, " "),
		frames(opened, think, opened, wholeThought, endTurn):                                       strings.Join([]string{thought, thought, said, "RUN_FINISHED"}, " "),
		frames(opened, think, closed, think, closed, endTurn):                                      thought + " " + thought + " RUN_FINISHED",
		frames(opened, think, endTurn):                                                             thought + " RUN_FINISHED",
	} {
		if p := plain(t, d, stream, answer); p.types() != want {
			t.Errorf("%s\nwant %s", p.types(), want)
		}
	}
}

// TestLocatedQuestions: the server sends its questions in its own frames. The rule Questions must
// find them.
func TestLocatedQuestions(t *testing.T) {
	d := newDialect(t, Server{Rules: strandsapi.Rules{Questions: "[@this].#(type==interrupt)"}})
	p := plain(t, d, stream, frames(hi, closed, `{"type":"interrupt","interrupt_id":"q1","approval_id":"q3","name":"gate","reason":null,"message":"Go?","force_stop":true}`,
		`{"type":"other","interrupt_id":"q2"}`))
	if p.types() != said+" RUN_FINISHED" || p.asks() != "q1 strands:gate" {
		t.Errorf("%s asks %s", p.types(), p.asks())
	}
	if got := gjson.GetBytes(p.Result.Asked.Interrupts[0].Object, "message").Str; got != "Go?" {
		t.Errorf("asks %q", got)
	}
	d = newDialect(t, Server{Rules: strandsapi.Rules{Questions: "pending"}})
	p = plain(t, d, stream, frames(hi, closed, `{"pending":[{"id":"q1","reason":"A?","message":"B?"},{"id":7},{"id":"q2","message":"C?"}]}`))
	if p.asks() != "q1 strands:interrupt; q2 strands:interrupt" || gjson.GetBytes(p.Result.Asked.Interrupts[0].Object, "message").Str != "A?" {
		t.Errorf("asks %s", p.asks())
	}
}

// TestAQuestionIsToldInParts: several frames each contain a part of the same question. The dialect
// must join the parts to one question.
func TestAQuestionIsToldInParts(t *testing.T) {
	const id = `"id": "` + payID + `", "name": "approval"`
	p := plain(t, newDialect(t, Server{}), stream, frames(
		`{"tool_interrupt_event": {"interrupts": [{`+id+`}]}}`, `{"type": "multiagent_node_interrupt", "node_id": "b", "interrupts": [{`+id+`, "source": "hook"}]}`,
		`{"type": "multiagent_node_interrupt", "node_id": "c", "interrupts": [{`+id+`, "source": "tool"}]}`,
		`{"type": "multiagent_node_stream", "node_id": "d", "event": `+strings.Replace(asksPay, `"reason": {"n": 1}, `, "", 1)+`}`, `{"result": {"stop_reason": "interrupt"}}`))
	if p.asks() != payID+" tool_call c1" {
		t.Errorf("%s asks %s", p.types(), p.asks())
	}
	if got := gjson.GetBytes(p.Result.Asked.Interrupts[0].Object, "metadata.strands").Raw; got != `{"id":"`+payID+`","name":"approval","source":"hook","node":"b","tool_name":"pay","tool_input":{"n": 1}}` {
		t.Errorf("%s", got)
	}
}

// TestNodesAtOnce: two nodes of a graph run at the same time. Each must have its own messages.
func TestNodesAtOnce(t *testing.T) {
	of := func(node, frame string) string {
		return `{"type": "multiagent_node_stream", "node_id": "` + node + `", "event": ` + frame + `}`
	}
	p := plain(t, newDialect(t, Server{}), stream, frames(
		`{"type": "multiagent_node_start", "node_id": "a"}`, `{"type": "multiagent_node_start", "node_id": "b"}`, of("a", hi), of("b", strings.Replace(hi, "Hi.", "Ho.", 1)), of("a", hi),
		of("a", closed), of("b", calls), of("b", closed), `"{'type': 'multiagent_node_stop', 'node_id': 'a', 'node_result': NodeResult(result=<A>)}"`,
		of("b", `{"tool_interrupt_event": {"tool_use": {"toolUseId": "c1", "name": "pay"}, "interrupts": [{"id": "`+payID+`", "name": "approval"}]}}`),
		`{"type": "multiagent_node_interrupt", "node_id": "b", "interrupts": [{"id": "`+payID+`", "name": "approval", "reason": null}]}`,
		`"{'type': 'multiagent_result', 'result': GraphResult(status=<Status.INTERRUPTED: 'interrupted'>, results={'a': NodeResult(interrupts=[])}, interrupts=[Interrupt(id='`+payID+`', name='approval', reason=None, response=None)])}"`))
	const want = "STEP_STARTED(a) STEP_STARTED(b) TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Hi.) TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Ho.) TEXT_MESSAGE_CONTENT(Hi.) TEXT_MESSAGE_END " +
		"TEXT_MESSAGE_END TOOL_CALL_START(pay) STEP_FINISHED(a) TOOL_CALL_ARGS({}) TOOL_CALL_END STEP_FINISHED(b) RUN_FINISHED"
	if p.types() != want || p.asks() != payID+" tool_call c1" {
		t.Errorf("%s\nasks %s", p.types(), p.asks())
	}
	if node := gjson.GetBytes(p.Result.Asked.Interrupts[0].Object, "metadata.strands.node").Str; node != "b" {
		t.Errorf("asked by %q", node)
	}
}
