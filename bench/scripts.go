package main

import (
	"bytes"
	"fmt"
	"strings"
)

// scripts has the scripts, keyed by name. They imitate recorded streams; only ids and texts are
// invented.
var scripts = map[string]func(o order) script{
	"text":      plainText,
	"short":     shortRun,
	"crlf":      crlf,
	"approvals": approvals,
	"customs":   customs,
	"raw":       rawHeavy,
	"events":    events,
	"turns":     turns,
	"huge-raw": func(o order) script {
		return huge(o, `{"type":"RAW","event":{"event":"on_chain_end","data":{"output":"`, `"}}}`)
	},
	"huge-state": func(o order) script { return huge(o, `{"type":"STATE_SNAPSHOT","snapshot":{"document":"`, `"}}`) },
	"ask":        ask,
	"ask-graph":  askGraph,
}

var (
	textStart = frame{event: `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`}
	textEnd   = frame{event: `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`}
)

// messageRun returns a run with one message that contains the block.
func messageRun(o order, block []frame) script {
	return script{head: []frame{o.startFrame(), textStart}, block: block, tail: []frame{textEnd, o.finishFrame()}}
}

// plainText returns a run with one message that is sent in small pieces.
func plainText(o order) script {
	return messageRun(o, repeat(500, func(n int) frame { return text("m1", n, frameBytes) }))
}

// crlf returns the run of plainText with CRLF at the end of lines, as sse-starlette sends it.
func crlf(o order) script {
	s := plainText(o)
	s.crlf = true
	return s
}

// shortRun returns a complete run of a few frames.
func shortRun(o order) script {
	s := messageRun(o, nil)
	s.head = append(s.head, frame{event: `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"done"}`})
	return s
}

// approvals returns text with calls of .NET's request_approval, which Holdpoint shows as calls of
// the function. Each call has its result, so the run does not end in a pause. Of 200 frames, 8
// belong to calls, and Holdpoint changes 4 of these.
func approvals(o order) script {
	var block []frame
	for n := range 2 {
		id := fmt.Sprintf("call-%s-%d", mark, n)
		args := fmt.Sprintf(`{\"path\":\"/reports/%s\",\"recursive\":true}`, mark)
		request := fmt.Sprintf(`{\"request\":{\"approval_id\":\"%s\",\"function_name\":\"delete_report\",\"function_arguments\":%s,\"message\":\"Approve?\"}}`, id, args)
		start := `{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"%s","parentMessageId":"m1"}`
		delta := `{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"%s"}`
		block = append(block, repeat(96, func(i int) frame { return text("m1", 96*n+i, frameBytes) })...)
		block = append(block,
			frame{event: fmt.Sprintf(start, "request_approval"), rewritten: fmt.Sprintf(start, "delete_report")},
			frame{event: fmt.Sprintf(delta, request), rewritten: fmt.Sprintf(delta, args)},
			frame{event: `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`},
			frame{event: `{"type":"TOOL_CALL_RESULT","messageId":"result-` + id + `","toolCallId":"` + id + `","content":"deleted","role":"tool"}`},
		)
	}
	return messageRun(o, block)
}

// customs returns text with 2 % CUSTOM events. Holdpoint must parse each of these events to see
// whether it is a question. The last CUSTOM event is a question, and the run ends in a pause.
func customs(o order) script {
	var block []frame
	for n := range 4 {
		block = append(block, repeat(49, func(i int) frame { return text("m1", 49*n+i, frameBytes) })...)
		block = append(block, frame{event: fmt.Sprintf(`{"type":"CUSTOM","name":"progress","value":{"step":"%s.%d","note":"%s"}}`, mark, n, filler(100))})
	}
	s := messageRun(o, block)
	s.head = append(s.head, frame{event: `{"type":"STEP_STARTED","stepName":"agent"}`})
	s.tail = []frame{textEnd, {event: `{"type":"STEP_FINISHED","stepName":"agent"}`}, graphQuestion(o), o.finishFrame()}
	s.checkPause = func(rest []byte) error { return endsInPause(rest) }
	return s
}

// graphQuestion returns the event by which LangGraph's adapter announces a pause. The id of the
// question has 32 hexadecimal digits.
func graphQuestion(o order) frame {
	id := fmt.Sprintf("%032x", []byte(o.run))
	id = id[len(id)-32:]
	return frame{event: `{"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}","rawEvent":{"id":"` + id + `","value":{"message":"Delete 3 files?"}}}`}
}

// endsInPause returns an error if the last event is not a RUN_FINISHED with an interrupt outcome.
func endsInPause(rest []byte) error {
	rest = bytes.TrimSuffix(rest, []byte("\n\n"))
	last := rest[bytes.LastIndex(rest, []byte("\n\n"))+1:]
	if !bytes.Contains(last, []byte(`"type":"RUN_FINISHED"`)) || !bytes.Contains(last, []byte(`"outcome":{"type":"interrupt"`)) {
		return fmt.Errorf("the run does not end in a pause: %.300q", last)
	}
	return nil
}

// events returns a run with RAW events of 1 KB. Holdpoint stores nothing of them.
func events(o order) script { return messageRun(o, repeat(100, raw(1<<10))) }

// raw returns a function that makes RAW events with size bytes. LangGraph's adapter sends such an
// event for everything that happens inside the graph.
func raw(size int) func(n int) frame {
	return func(n int) frame {
		begin := fmt.Sprintf(`{"type":"RAW","event":{"event":"on_chain_stream","run_id":"%s.%d","data":{"chunk":{"messages":[{"type":"ai","content":"`, mark, n)
		const end = `"}]}}},"source":"langgraph"}`
		return frame{event: begin + filler(size-len(begin)-len(end)-8) + end}
	}
}

// rawHeavy returns a stream of LangGraph's adapter with its default settings. It has RAW events,
// and repeats their content in the rawEvent of each piece of text. A few events have a large state,
// because the state grows with the conversation.
func rawHeavy(o order) script {
	var block []frame
	for n := range 20 {
		block = append(block, repeat(5, func(i int) frame {
			begin := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","rawEvent":{"event":"on_chat_model_stream","data":{"chunk":{"content":"%s.%d","type":"AIMessageChunk"}},"metadata":{"note":"%s"}},"messageId":"m1","delta":"`, mark, i, filler(900))
			return frame{event: begin + filler(40) + `"}`}
		})...)
		block = append(block, repeat(3, raw(1<<10))...)
		if n%2 == 0 {
			block = append(block, raw(10<<10)(n))
		}
		if n%7 == 0 {
			block = append(block, raw(100<<10)(n))
		}
	}
	return messageRun(o, append(block, raw(1500<<10)(0)))
}

// turns returns a long run of an agent. The run repeats a message, a call and its result.
func turns(o order) script {
	id := "m-" + mark
	block := []frame{{event: `{"type":"TEXT_MESSAGE_START","messageId":"` + id + `","role":"assistant"}`}}
	block = append(block, repeat(20, func(n int) frame { return text(id, n, frameBytes) })...)
	call := "c-" + mark
	block = append(block,
		frame{event: `{"type":"TEXT_MESSAGE_END","messageId":"` + id + `"}`},
		frame{event: `{"type":"TOOL_CALL_START","toolCallId":"` + call + `","toolCallName":"search","parentMessageId":"` + id + `"}`},
		frame{event: `{"type":"TOOL_CALL_ARGS","toolCallId":"` + call + `","delta":"{\"query\":"}`},
		frame{event: `{"type":"TOOL_CALL_ARGS","toolCallId":"` + call + `","delta":"\"holdpoint\"}"}`},
		frame{event: `{"type":"TOOL_CALL_END","toolCallId":"` + call + `"}`},
		frame{event: `{"type":"TOOL_CALL_RESULT","messageId":"r-` + mark + `","toolCallId":"` + call + `","content":"nothing found","role":"tool"}`},
	)
	return script{head: []frame{o.startFrame()}, block: block, tail: []frame{o.finishFrame()}}
}

// hugeBytes is the size in bytes of a frame that repeats a whole request. By default, Holdpoint
// accepts no larger request.
const hugeBytes = 16 << 20

func huge(o order, begin, end string) script {
	return messageRun(o, []frame{{event: begin + filler(hugeBytes-len(begin)-len(end)-8) + end}})
}

// ask returns a run that ends with AG-UI's interrupt outcome.
func ask(o order) script {
	s := shortRun(o)
	end := strings.TrimSuffix(o.finishFrame().event, "}") + `,"outcome":{"type":"interrupt","interrupts":[{"id":"question","reason":"confirmation","message":"Delete 3 files?"}]}}`
	s.tail = []frame{textEnd, {event: end}}
	s.checkPause = endsInPause
	return s
}

// askGraph returns a run that pauses in the way of LangGraph's adapter.
func askGraph(o order) script {
	s := shortRun(o)
	s.tail = []frame{textEnd, graphQuestion(o), o.finishFrame()}
	s.checkPause = endsInPause
	return s
}
