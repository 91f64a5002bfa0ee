package proxy

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/hostile"
)

// A family describes how a kind of backend asks n questions in one run. Its stream follows the
// recordings in testdata.
type family struct {
	name, dialect string
	asks          func(n int) string
	auto          bool // it is also played with the dialect auto
	// true: the test uses a smaller n, because each answer is a request to the backend with the
	// whole history
	few bool
}

func callsOf(n int, name string) string {
	return strings.ReplaceAll(hostile.Many(n, func(i int) string {
		return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%[1]d","toolCallName":"%[2]s","parentMessageId":"a%[1]d"}`+"\n\ndata: "+
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c%[1]d","delta":"{\"x\":%[1]d}"}`+"\n\ndata: "+`{"type":"TOOL_CALL_END","toolCallId":"c%[1]d"}`+"\n", i, name)
	}), "\n,", "\n\ndata: ")
}

// oneParent gives all calls of a turn the same parent message.
func oneParent(calls string) string {
	return regexp.MustCompile(`"parentMessageId":"a[0-9]+"`).ReplaceAllString(calls, `"parentMessageId":"a"`)
}

func toldAll(n int, one string) string {
	return `{"type":"RUN_FINISHED","threadId":"t","runId":"r",` + fmt.Sprintf(one, hostile.Many(n, func(i int) string {
		return fmt.Sprintf(`{"id":"ID%[1]d","reason":"tool_call","toolCallId":"c%[1]d","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`, i)
	})) + `}`
}

func eventsOf(n int, one func(i int) string) string {
	return strings.ReplaceAll(hostile.Many(n, func(i int) string { return one(i) + "\n" }), "\n,", "\n\ndata: ")
}

var families = []family{
	{name: "agui", dialect: "agui", auto: true, asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), toldAll(n, `"outcome":{"type":"interrupt","interrupts":[%s]}`))
	}},
	{name: "draft", dialect: "draft", asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), toldAll(n, `"outcome":"interrupt","interrupts":[%s]`))
	}},
	{name: "agent-framework", dialect: "agent-framework", auto: true, asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"ID%[1]d","function_call":{"call_id":"c%[1]d","name":"f","arguments":{"x":%[1]d}}}}`, i)
		}), toldAll(n, `"outcome":{"type":"interrupt","interrupts":[%s]}`))
	}},
	{name: "agent-framework rc", dialect: "agent-framework", asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"ID%[1]d","function_call":{"call_id":"c%[1]d","name":"f","arguments":{"x":%[1]d}}}}`, i)
		}), toldAll(n, `"interrupt":[%s]`))
	}},
	{name: "agent-framework confirms", dialect: "agent-framework", few: true, asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"k%[1]d","toolCallName":"confirm_changes"}`+"\n\ndata: "+
				`{"type":"TOOL_CALL_ARGS","toolCallId":"k%[1]d","delta":"{\"function_name\":\"f\",\"function_call_id\":\"c%[1]d\",\"function_arguments\":{}}"}`+"\n\ndata: "+`{"type":"TOOL_CALL_END","toolCallId":"k%[1]d"}`, i)
		}), finished)
	}},
	{name: "request-approval", dialect: "request-approval", asks: func(n int) string {
		return streamOf(started, eventsOf(n, func(i int) string { return pairAsked(fmt.Sprintf("c%d", i)) }), finished)
	}},
	{name: "langgraph", dialect: "langgraph", auto: true, asks: func(n int) string {
		return streamOf(started, eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","value":"{\"q\":%[1]d}","rawEvent":{"id":"%032[1]x","value":{"q":%[1]d}}}`, i)
		}), finished)
	}},
	{name: "langgraph hitl", dialect: "langgraph", asks: func(n int) string {
		list := hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"name":"f","args":{"x":%d},"description":"?"}`, i) })
		config := `{"action_name":"f","allowed_decisions":["approve","edit","reject"]}`
		value := `{"action_requests":[` + list + `],"review_configs":[` + config + `]}`
		return streamOf(started, fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","value":%q,"rawEvent":{"id":"%032x","value":%s}}`, value, 7, value), finished)
	}},
	{name: "aws-strands", dialect: "aws-strands", asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), strings.ReplaceAll(toldAll(n, `"outcome":{"type":"interrupt","interrupts":[%s]}`), `"ID`, `"v1:before_tool_call:c1:`))
	}},
	{name: "adk", dialect: "adk", auto: true, asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"k%[1]d","toolCallName":"adk_request_confirmation"}`+"\n\ndata: "+
				`{"type":"TOOL_CALL_ARGS","toolCallId":"k%[1]d","delta":"{\"originalFunctionCall\":{\"id\":\"c%[1]d\",\"name\":\"f\",\"args\":{\"x\":%[1]d}},\"toolConfirmation\":{\"hint\":\"?\",\"confirmed\":false}}"}`+"\n\ndata: "+
				`{"type":"TOOL_CALL_END","toolCallId":"k%[1]d"}`, i)
		}), finished)
	}},
	{name: "agno", dialect: "agno", auto: true, asks: func(n int) string {
		return streamOf(started, `{"type":"RAW","event":{"event":"RunStarted"},"source":"agno"}`, oneParent(callsOf(n, "f")), finished)
	}},
	{name: "mastra", dialect: "mastra", few: true, asks: func(n int) string { return streamOf(started, oneParent(callsOf(n, "f")), finished) }},
	{name: "mastra announced", dialect: "agui", few: true, auto: true, asks: func(n int) string {
		return streamOf(started, callsOf(n, "f"), eventsOf(n, func(i int) string {
			return fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","value":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c%[1]d\",\"toolName\":\"f\",\"suspendPayload\":{},\"args\":{},\"runId\":\"r\"}"}`, i)
		}), finished)
	}},
	{name: "tool-call", dialect: "tool-call", asks: func(n int) string { return streamOf(started, oneParent(callsOf(n, "f")), finished) }},
}

// A shape is a kind of request whose size grows with n. The thread of the request has n questions,
// which are open or have been answered.
type shape struct {
	name string
	body func(f family, n int, ids []string) string
}

func callsBefore(n int) string {
	return oldUser + "," + hostile.Many(n, func(i int) string {
		return fmt.Sprintf(`{"id":"a%[1]d","role":"assistant","toolCalls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{\"x\":%[1]d}"}}]}`, i)
	})
}

func saysAll(n int, content string) string {
	return hostile.Many(n, func(i int) string {
		return fmt.Sprintf(`{"id":"r%[1]d","role":"tool","toolCallId":"c%[1]d","content":%[2]q}`, i, content)
	})
}

func entriesFor(ids []string, payload string) string {
	return hostile.Many(len(ids), func(i int) string {
		return fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":%s}`, ids[i], payload)
	})
}

func requestOf(messages, more string) string {
	return `{"threadId":"t","runId":"r","messages":[` + messages + `]` + more + `}`
}

const approved = `{"approved":true}`

var shapes = []shape{
	{name: "reload", body: func(_ family, n int, _ []string) string { return requestOf(callsBefore(n), "") }},
	{name: "new input", body: func(_ family, n int, _ []string) string {
		return requestOf(callsBefore(n)+","+hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"id":"n%d","role":"user","content":"go on"}`, i) }), "")
	}},
	{name: "no ids", body: func(_ family, n int, _ []string) string {
		return requestOf(hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"role":"user","content":"go on %d"}`, i) }), "")
	}},
	{name: "unknown ids", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"resume":[`+entriesFor(ids[:1], approved)+","+hostile.Many(n, func(i int) string { return no(fmt.Sprint("x", i)) })+`]`)
	}},
	{name: "unknown ids alone", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser, `,"resume":[`+hostile.Many(n, func(i int) string { return yes(fmt.Sprint("x", i)) })+`]`)
	}},
	{name: "one left", body: func(_ family, _ int, ids []string) string {
		return requestOf(oldUser, `,"resume":[`+entriesFor(ids[1:], approved)+`]`)
	}},
	{name: "wrong payload last", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"resume":[`+entriesFor(ids[:n-1], approved)+","+entriesFor(ids[n-1:], `{"approved":"?"}`)+`]`)
	}},
	{name: "tool messages alone, one left", body: func(_ family, n int, _ []string) string {
		return requestOf(callsBefore(n)+","+saysAll(n-1, approved), "")
	}},
	{name: "function_approvals, one left", body: func(_ family, n int, _ []string) string {
		return requestOf(callsBefore(n)+`,{"id":"fa","role":"user","content":"","function_approvals":[`+hostile.Many(n-1, func(i int) string {
			return fmt.Sprintf(`{"id":"ID%[1]d","call_id":"c%[1]d","approved":true}`, i)
		})+`]}`, "")
	}},
	{name: "command map, one left", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"forwardedProps":{"command":{"resume":{`+hostile.Many(n-1, func(i int) string { return fmt.Sprintf(`%q:{"approved":true}`, ids[i]) })+`}}}`)
	}},
	{name: "command map of native ids, one left", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"forwardedProps":{"command":{"resume":{`+hostile.Many(n-1, func(i int) string {
			native, _, _ := strings.Cut(ids[i], "~")
			return fmt.Sprintf(`%q:{"approved":true}`, native)
		})+`}}}`)
	}},
	{name: "command map beside entries, one left", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"resume":[`+entriesFor(ids[:n-1], approved)+`],"forwardedProps":{"command":{"resume":{`+hostile.Many(n-1, func(i int) string { return fmt.Sprintf(`%q:{"approved":true}`, ids[i]) })+`}}}`)
	}},
	{name: "an echo of many ids", body: func(_ family, n int, ids []string) string {
		event := `{"interrupts":[` + hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"id":"x%d"}`, i) }) + `]}`
		return requestOf(oldUser, fmt.Sprintf(`,"forwardedProps":{"command":{"resume":{"approved":true},"interruptEvent":%q}}`, event))
	}},
	{name: "resume object", body: func(_ family, n int, ids []string) string {
		return requestOf(oldUser, `,"resume":{"interrupts":[`+hostile.Many(n-1, func(i int) string { return fmt.Sprintf(`{"id":%q,"value":{"approved":true}}`, ids[i]) })+`]}`)
	}},
	{name: "answers beside tool messages", body: func(_ family, n int, ids []string) string {
		return requestOf(callsBefore(n)+","+saysAll(n, approved), `,"resume":[`+entriesFor(ids, approved)+`]`)
	}},
	// When the requests of the following shapes are sent, the questions have been answered, unless
	// their answers did not fit into one request.
	{name: "the same again", body: func(_ family, n int, ids []string) string {
		return requestOf(callsBefore(n), `,"resume":[`+entriesFor(ids, approved)+`]`)
	}},
	{name: "others again", body: func(_ family, n int, ids []string) string {
		return requestOf(callsBefore(n), `,"resume":[`+entriesFor(ids, `{"approved":false}`)+`]`)
	}},
	{name: "tool messages of one call beside old entries", body: func(_ family, n int, ids []string) string {
		return requestOf(callsBefore(n)+","+strings.ReplaceAll(saysAll(n, `{"a":1}`), `"toolCallId":"c`, `"toolCallId":"c0","x":"`), `,"resume":[`+entriesFor(ids, approved)+`]`)
	}},
	{name: "the history later", body: func(_ family, n int, _ []string) string {
		return requestOf(callsBefore(n)+","+saysAll(n, approved)+","+saysAll(n, "done")+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "native approvals in the history later", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser+","+hostile.Many(n, func(i int) string {
			id := fmt.Sprint("c", i)
			return pairCall(id) + "," + pairSays("r"+id, id, true)
		})+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "confirms in the history later", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser+","+hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"ka%[1]d","role":"assistant","toolCalls":[{"id":"k%[1]d","type":"function","function":{"name":"confirm_changes","arguments":"{\"function_call_id\":\"c%[1]d\"}"}}]},{"id":"kr%[1]d","role":"tool","toolCallId":"k%[1]d","content":"{\"accepted\":true}"}`, i)
		})+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "tools declared and called", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser+","+hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"a%[1]d","role":"assistant","toolCalls":[{"id":"c%[1]d","type":"function","function":{"name":"f%[1]d","arguments":"{}"}}]}`, i)
		})+","+saysAll(n, approved)+`,{"id":"u9","role":"user","content":"more"}`, `,"tools":[`+hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"name":"f%d"}`, n-i) })+`]`)
	}},
	{name: "calls in one message", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser+`,{"id":"a","role":"assistant","toolCalls":[`+hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}`, i)
		})+`]},`+saysAll(n, "done")+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "calls without results", body: func(_ family, n int, _ []string) string {
		return requestOf(callsBefore(n)+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "the same message", body: func(_ family, n int, _ []string) string {
		return requestOf(hostile.Many(n, hostile.Same(oldUser))+`,{"id":"u9","role":"user","content":"more"}`, "")
	}},
	{name: "keys", body: func(_ family, n int, _ []string) string {
		return requestOf(oldUser+`,{"id":"u9","role":"user","content":"more",`+hostile.Many(n, func(i int) string { return fmt.Sprintf(`"k%d":0`, i) })+`}`, `,"forwardedProps":{`+hostile.Many(n, func(i int) string { return fmt.Sprintf(`"k%d":0`, i) })+`},`+hostile.Many(n, func(i int) string { return fmt.Sprintf(`"k%d":0`, i) }))
	}},
}

func idsIn(last string) (ids []string) {
	for _, i := range gjson.Get(last, "outcome.interrupts").Array() {
		ids = append(ids, i.Get("id").Str)
	}
	return ids
}

// costs returns the processor time that each shape takes with the family f.
func costs(t *testing.T, f family, dialect string, n int) map[string]time.Duration {
	first := true
	g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if first {
			sendStream(w, f.asks(n))
		} else {
			sendStream(w, streamOf(started, finished))
		}
		first = false
	})
	took := map[string]time.Duration{}
	var asked string
	measure := func(name string, do func()) {
		before := hostile.ProcessorTime(t)
		do()
		took[name] = hostile.ProcessorTime(t) - before
	}
	measure("asks", func() { asked = g.do(requestOf(oldUser, "")) })
	ids := idsIn(lastData(asked))
	if len(ids) != n {
		t.Fatalf("%s: %d questions of %d: %.300s", f.name, len(ids), n, lastData(asked))
	}
	for _, s := range shapes {
		body := s.body(f, n, ids)
		measure(s.name, func() { g.answer(body) })
	}
	return took
}

// TestScaling: for every shape and family, a request of four times the size must take about four
// times the processor time, not sixteen times. Shapes that take very little time are not compared.
func TestScaling(t *testing.T) {
	if Brief() {
		t.Skip("make race has it by itself: it finds no race that other tests do not find, and takes minutes")
	}
	for _, f := range families {
		as := []string{f.dialect}
		if f.auto {
			as = append(as, "auto")
		}
		n := 200
		if f.few {
			n = 20
		}
		for _, dialect := range as {
			t.Run(f.name+"/"+dialect, func(t *testing.T) {
				few, lots := costs(t, f, dialect, n), costs(t, f, dialect, 4*n)
				for name, took := range lots {
					ratio := float64(took) / float64(max(few[name], 5*time.Millisecond))
					if took > 200*time.Millisecond && ratio > 10 {
						t.Errorf("%s: %v for %d and %v for %d of them, %.1f times as much", name, few[name], n, took, 4*n, ratio)
					}
				}
			})
		}
	}
}
