package main

import (
	"bytes"
	"fmt"
	"strings"
)

// scripts are the scripts by name. They follow recorded streams; only ids and texts are invented.
var scripts = map[string]func(o order) script{
	"text":      plainText,
	"short":     short,
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

// around returns a run with the block in one message.
func around(o order, block []frame) script {
	return script{head: []frame{o.started(), textStart}, block: block, tail: []frame{textEnd, o.finished()}}
}

// plainText returns a run with one message in small pieces.
func plainText(o order) script {
	return around(o, repeat(500, func(n int) frame { return text("m1", n, frameBytes) }))
}

// crlf returns the same run with CRLF, as sse-starlette sends it.
func crlf(o order) script {
	s := plainText(o)
	s.crlf = true
	return s
}

// short returns a complete run of a few frames.
func short(o order) script {
	s := around(o, nil)
	s.head = append(s.head, frame{event: `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"done"}`})
	return s
}

// approvals returns text with calls of .NET's request_approval, which Holdpoint shows as calls of
// the function. Each has its result, so the run does not end in a pause. Of 200 frames 8 belong to
// calls, and 4 are changed.
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
			frame{event: fmt.Sprintf(start, "request_approval"), told: fmt.Sprintf(start, "delete_report")},
			frame{event: fmt.Sprintf(delta, request), told: fmt.Sprintf(delta, args)},
			frame{event: `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`},
			frame{event: `{"type":"TOOL_CALL_RESULT","messageId":"result-` + id + `","toolCallId":"` + id + `","content":"deleted","role":"tool"}`},
		)
	}
	return around(o, block)
}

// customs returns text with 2 % CUSTOM events, each of which Holdpoint must parse to see whether it
// is a question. The last one is, and the run ends in a pause.
func customs(o order) script {
	var block []frame
	for n := range 4 {
		block = append(block, repeat(49, func(i int) frame { return text("m1", 49*n+i, frameBytes) })...)
		block = append(block, frame{event: fmt.Sprintf(`{"type":"CUSTOM","name":"progress","value":{"step":"%s.%d","note":"%s"}}`, mark, n, filler(100))})
	}
	s := around(o, block)
	s.head = append(s.head, frame{event: `{"type":"STEP_STARTED","stepName":"agent"}`})
	s.tail = []frame{textEnd, {event: `{"type":"STEP_FINISHED","stepName":"agent"}`}, graphQuestion(o), o.finished()}
	s.paused = func(rest []byte) error { return endsInPause(rest) }
	return s
}

// graphQuestion returns the event with which LangGraph's adapter announces a pause. Its id has 32
// hexadecimal digits.
func graphQuestion(o order) frame {
	id := fmt.Sprintf("%032x", []byte(o.run))
	id = id[len(id)-32:]
	return frame{event: `{"type":"CUSTOM","name":"on_interrupt","value":"{\"message\":\"Delete 3 files?\"}","rawEvent":{"id":"` + id + `","value":{"message":"Delete 3 files?"}}}`}
}

// endsInPause reports whether the last event is a RUN_FINISHED with an interrupt.
func endsInPause(rest []byte) error {
	rest = bytes.TrimSuffix(rest, []byte("\n\n"))
	last := rest[bytes.LastIndex(rest, []byte("\n\n"))+1:]
	if !bytes.Contains(last, []byte(`"type":"RUN_FINISHED"`)) || !bytes.Contains(last, []byte(`"outcome":{"type":"interrupt"`)) {
		return fmt.Errorf("the run does not end in a pause: %.300q", last)
	}
	return nil
}

// events returns RAW events of 1 KB, of which nothing is kept.
func events(o order) script { return around(o, repeat(100, raw(1<<10))) }

// raw returns RAW events of this size, as LangGraph's adapter sends them for everything that
// happens inside the graph.
func raw(size int) func(n int) frame {
	return func(n int) frame {
		begin := fmt.Sprintf(`{"type":"RAW","event":{"event":"on_chain_stream","run_id":"%s.%d","data":{"chunk":{"messages":[{"type":"ai","content":"`, mark, n)
		const end = `"}]}}},"source":"langgraph"}`
		return frame{event: begin + filler(size-len(begin)-len(end)-8) + end}
	}
}

// rawHeavy returns a stream of LangGraph's adapter with its defaults: RAW events, and the same
// content again as rawEvent of each piece of text. A few events have a large state, because the
// state grows with the conversation.
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
	return around(o, append(block, raw(1500<<10)(0)))
}

// turns returns a long run of an agent: a message, a call, its result, and again.
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
	return script{head: []frame{o.started()}, block: block, tail: []frame{o.finished()}}
}

// hugeBytes is the size of a frame that repeats the largest request that Holdpoint accepts by
// default.
const hugeBytes = 16 << 20

func huge(o order, begin, end string) script {
	return around(o, []frame{{event: begin + filler(hugeBytes-len(begin)-len(end)-8) + end}})
}

// ask returns a run that ends with an interrupt outcome.
func ask(o order) script {
	s := short(o)
	end := strings.TrimSuffix(o.finished().event, "}") + `,"outcome":{"type":"interrupt","interrupts":[{"id":"question","reason":"confirmation","message":"Delete 3 files?"}]}}`
	s.tail = []frame{textEnd, {event: end}}
	s.paused = endsInPause
	return s
}

// askGraph returns a run that pauses as LangGraph's adapter does.
func askGraph(o order) script {
	s := short(o)
	s.tail = []frame{textEnd, graphQuestion(o), o.finished()}
	s.paused = endsInPause
	return s
}
