//go:build e2e

package desk

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A backend plays the script in the user's message, and records the answers. GET /answers returns
// the resume entries of all runs, by thread id.
type backend struct {
	mu      sync.Mutex
	answers map[string][]json.RawMessage
	runs    map[string]int
}

func newBackend() *backend {
	return &backend{answers: map[string][]json.RawMessage{}, runs: map[string]int{}}
}

// A script is what a user's message tells the backend to do.
type script struct {
	Text  string `json:"text"` // text that is sent first
	Calls []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Args string `json:"args"`
	} `json:"calls"`
	Interrupts []json.RawMessage `json:"interrupts"`
	Break      bool              `json:"break"` // breaks the connection at the answer
}

func (b *backend) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/answers" {
		b.mu.Lock()
		defer b.mu.Unlock()
		json.NewEncoder(w).Encode(b.answers)
		return
	}
	text, err := io.ReadAll(req.Body)
	var in struct {
		ThreadID string            `json:"threadId"`
		RunID    string            `json:"runId"`
		Resume   []json.RawMessage `json:"resume"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var s script
	for _, m := range in.Messages {
		if m.Role == "user" {
			// A message that is not the JSON of a script is an ordinary message.
			_ = json.Unmarshal([]byte(m.Content), &s)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(event map[string]any) {
		one, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", one)
	}
	say(map[string]any{"type": "RUN_STARTED", "threadId": in.ThreadID, "runId": in.RunID})
	if len(in.Resume) > 0 {
		b.mu.Lock()
		b.answers[in.ThreadID] = append(b.answers[in.ThreadID], in.Resume...)
		b.mu.Unlock()
		if s.Break {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		for _, c := range s.Calls {
			say(map[string]any{"type": "TOOL_CALL_RESULT", "messageId": "r-" + c.ID, "toolCallId": c.ID, "content": "done", "role": "tool"})
		}
		say(map[string]any{"type": "RUN_FINISHED", "threadId": in.ThreadID, "runId": in.RunID, "outcome": map[string]any{"type": "success"}})
		return
	}
	if s.Text != "" {
		id := "m-" + in.RunID
		say(map[string]any{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})
		say(map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": s.Text})
		say(map[string]any{"type": "TEXT_MESSAGE_END", "messageId": id})
	}
	for _, c := range s.Calls {
		say(map[string]any{"type": "TOOL_CALL_START", "toolCallId": c.ID, "toolCallName": c.Name})
		for rest := c.Args; rest != ""; {
			n := min(len(rest), 32<<10)
			for n < len(rest) && rest[n]&0xC0 == 0x80 {
				n--
			}
			say(map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": c.ID, "delta": rest[:n]})
			rest = rest[n:]
		}
		say(map[string]any{"type": "TOOL_CALL_END", "toolCallId": c.ID})
	}
	outcome := map[string]any{"type": "success"}
	if len(s.Interrupts) > 0 {
		outcome = map[string]any{"type": "interrupt", "interrupts": s.Interrupts}
	}
	say(map[string]any{"type": "RUN_FINISHED", "threadId": in.ThreadID, "runId": in.RunID, "outcome": outcome})
}
