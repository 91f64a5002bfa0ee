package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// A client behaves as an AG-UI client does on one thread. It sends its messages with every run,
// replaces them by the messages of each snapshot, and keeps the interrupts of the last outcome.
type client struct {
	url            string
	http           *http.Client
	threadID       string
	messages       json.RawMessage // messages of the last MESSAGES_SNAPSHOT, and the user's messages after it
	runs           int
	openInterrupts []gjson.Result // interrupts of the last outcome
}

// A reply is one request of the client, with the frames that answered it.
type reply struct {
	request []byte
	frames  []string
}

// runTimeout is the timeout of a run. A run of the scripted backend takes milliseconds.
const runTimeout = 30 * time.Second

func newClient(url, threadID string) *client {
	return &client{url: url, http: &http.Client{Transport: &http.Transport{}, Timeout: runTimeout}, threadID: threadID, messages: json.RawMessage("[]")}
}

// sendMessage sends a user message.
func (c *client) sendMessage(ctx context.Context, text string) (reply, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(c.messages, &list); err != nil {
		return reply{}, fmt.Errorf("messages: %w", err)
	}
	list = append(list, object("id", fmt.Sprintf("user-%d", c.runs+1), "role", "user", "content", text))
	before := c.messages
	c.messages = object("m", list)[len(`{"m":`):]
	c.messages = c.messages[:len(c.messages)-1]
	r, err := c.post(ctx, c.input(nil))
	if r.errorCode() != "" { // a real client drops a refused message too
		c.messages = before
	}
	return r, err
}

// resume gives the same answer to every open interrupt.
func (c *client) resume(ctx context.Context, a answer) (reply, error) {
	var entries []json.RawMessage
	for _, i := range c.openInterrupts {
		entries = append(entries, a.entry(i))
	}
	return c.post(ctx, c.input(entries))
}

// input returns a RunAgentInput as @ag-ui/client 1.0.0 writes it. Without resume entries it leaves
// out the member resume.
func (c *client) input(resume []json.RawMessage) []byte {
	c.runs++
	members := []any{
		"protocolVersion", "1.0", "threadId", c.threadID, "runId", fmt.Sprintf("run-%d", c.runs), "state", object(),
		"messages", c.messages, "tools", []string{}, "context", []string{}, "forwardedProps", object(),
	}
	if resume != nil {
		members = append(members, "resume", resume)
	}
	return object(members...)
}

// post sends the body of a request and reads the response's stream to its end. Only an empty line
// ends a frame, as in the official client.
func (c *client) post(ctx context.Context, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	stream, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	if res.StatusCode != http.StatusOK {
		return reply{}, fmt.Errorf("http %d: %s", res.StatusCode, stream)
	}
	r := reply{request: body}
	for block := range strings.SplitSeq(string(stream), "\n\n") {
		if data, ok := strings.CutPrefix(block, "data:"); ok {
			r.frames = append(r.frames, strings.TrimPrefix(data, " "))
		}
	}
	c.keepReply(r)
	return r, nil
}

// keepReply keeps the parts of a reply that the client needs for its next run.
func (c *client) keepReply(r reply) {
	if m := r.last("MESSAGES_SNAPSHOT").Get("messages"); m.IsArray() {
		c.messages = json.RawMessage(m.Raw)
	}
	c.openInterrupts = r.interrupts()
}

// last returns the last event of the type kind, or a zero Result if there is none.
func (r reply) last(kind string) gjson.Result {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if ev := gjson.Parse(r.frames[i]); ev.Get("type").Str == kind {
			return ev
		}
	}
	return gjson.Result{}
}

// interrupts returns the interrupts in the run's outcome.
func (r reply) interrupts() []gjson.Result {
	outcome := r.last("RUN_FINISHED").Get("outcome")
	if outcome.Get("type").Str != "interrupt" {
		return nil
	}
	return outcome.Get("interrupts").Array()
}

// errorCode returns the code of the run's RUN_ERROR, or "" if there is none.
func (r reply) errorCode() string { return r.last("RUN_ERROR").Get("code").Str }

// isSuccess reports whether the run finished without an error and without a question.
func (r reply) isSuccess() bool {
	return r.last("RUN_FINISHED").Exists() && !r.last("RUN_ERROR").Exists() && r.interrupts() == nil
}
