//go:build e2e

package chaos

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// A reply is what a client reads from the response to one request.
type reply struct {
	thread   string // the thread of the request
	refused  bool   // there was no connection, or the HTTP status asks to try again
	left     bool   // the client left before the end
	cut      bool   // the stream has no end
	code     string
	message  string // the message of a RUN_ERROR
	finished bool
	asks     []string // ids of open questions
	events   []gjson.Result
}

// transient has the error codes after which a client sends the same request again.
var transient = map[string]bool{
	"STORE_UNAVAILABLE": true, "THREAD_BUSY": true, "RESUME_IN_PROGRESS": true, "PROXY_DRAINING": true, "UPSTREAM_UNREACHABLE": true,
}

// again reports whether the client must send the request again. It must if the request had no
// effect, or if nobody knows what effect it had.
func (r reply) again() bool { return r.refused || r.left || r.cut || transient[r.code] }

// post sends a run to a replica, and reads the response to its end or until patience has passed.
func post(p *replica, path, body string, patience time.Duration, report *report) (out reply) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began, kills := time.Now(), p.kills.Load()
	out.thread = gjson.Get(body, "threadId").Str
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Addr()+path, strings.NewReader(body))
	if err != nil {
		panic(err) // cannot happen: the URL is our own
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(request)
	if err != nil {
		out.left = ctx.Err() != nil
		out.refused = !out.left
		return out
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		out.refused, out.message = true, string(text)
		if resp.StatusCode < 500 {
			report.violates("HTTP %d: %s", resp.StatusCode, text)
		}
		return out
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		event := gjson.Parse(data)
		out.events = append(out.events, event)
		switch event.Get("type").Str {
		case "RUN_FINISHED":
			out.finished = true
			for _, one := range event.Get("outcome.interrupts").Array() {
				out.asks = append(out.asks, one.Get("id").Str)
			}
		case "RUN_ERROR":
			if out.code = event.Get("code").Str; out.code == "" {
				out.code = "the backend's own"
			}
			out.message = event.Get("message").Str
		}
	}
	ended := out.finished || out.code != ""
	switch {
	case ctx.Err() != nil && !ended:
		out.left = true
	case !ended:
		out.cut = true
		if kills%2 == 0 && p.kills.Load() == kills {
			report.violates("a stream has no end, and nobody killed its replica, %v after it began: %v, %v; %s",
				time.Since(began), out.events, lines.Err(), report.lately())
		}
	}
	if out.code != "" {
		report.count(out.code)
	}
	return out
}

// client uses a new connection for each request, so that it never uses a connection to a process
// that was killed.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// A history is the list of messages that a client has, each in JSON.
type history struct{ list []string }

func (h *history) add(message string) { h.list = append(h.list, message) }

func (h *history) json() string { return "[" + strings.Join(h.list, ",") + "]" }

// take adds to the history what the events of a stream say, as a client does. It knows those events
// that the backends of this package send.
func (h *history) take(events []gjson.Result) {
	texts, calls, parents := map[string]string{}, map[string][2]string{}, map[string]string{}
	for _, e := range events {
		id, call := e.Get("messageId").Str, e.Get("toolCallId").Str
		switch e.Get("type").Str {
		case "TEXT_MESSAGE_CONTENT":
			texts[id] += e.Get("delta").Str
		case "TEXT_MESSAGE_END":
			h.put(`{"id":` + quoted(id) + `,"role":"assistant","content":` + quoted(texts[id]) + `}`)
		case "TOOL_CALL_START":
			calls[call], parents[call] = [2]string{e.Get("toolCallName").Str}, e.Get("parentMessageId").Str
		case "TOOL_CALL_ARGS":
			c := calls[call]
			calls[call] = [2]string{c[0], c[1] + e.Get("delta").Str}
		case "TOOL_CALL_END":
			c := calls[call]
			h.call(parents[call], `{"id":`+quoted(call)+`,"type":"function","function":{"name":`+quoted(c[0])+`,"arguments":`+quoted(c[1])+`}}`)
		case "TOOL_CALL_RESULT":
			h.put(`{"id":` + quoted(id) + `,"role":"tool","toolCallId":` + quoted(call) + `,"content":` + quoted(e.Get("content").Str) + `}`)
		case "MESSAGES_SNAPSHOT":
			h.list = nil
			for _, m := range e.Get("messages").Array() {
				h.list = append(h.list, m.Raw)
			}
		}
	}
}

// put adds a message. If the history has a message with the same id, put replaces it.
func (h *history) put(message string) {
	id := gjson.Get(message, "id").Str
	for n, m := range h.list {
		if gjson.Get(m, "id").Str == id {
			h.list[n] = message
			return
		}
	}
	h.add(message)
}

// call adds a tool call to the message with the id parent. If there is no such message, call adds
// one.
func (h *history) call(parent, call string) {
	for n, m := range h.list {
		if list := gjson.Get(m, "toolCalls"); gjson.Get(m, "id").Str == parent && list.IsArray() {
			if strings.Contains(list.Raw, call) {
				return
			}
			h.list[n] = `{"id":` + quoted(parent) + `,"role":"assistant","toolCalls":` + strings.TrimSuffix(list.Raw, "]") + `,` + call + `]}`
			return
		}
	}
	h.add(`{"id":` + quoted(parent) + `,"role":"assistant","toolCalls":[` + call + `]}`)
}

func quoted(s string) string { return string(gjson.AppendJSONString(nil, s)) }
