//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLongChatWithPictures: a chat contains pictures of 9 MiB and more. With Holdpoint's defaults
// it must work as it does without Holdpoint, although the adapter repeats the whole conversation in
// one frame, several times. The next message must be answered too, although its history has the
// pictures. Without Holdpoint, the test tries only the larger chat.
func TestLongChatWithPictures(t *testing.T) {
	t.Parallel()
	server := need(t, "langgraph", newestLangGraph)
	b := &backend{name: "pictures", mode: "default", server: server}
	h := ownHoldpoint(t, b.url(), nil)
	sizes := map[string][]int{"direct": {14}, "holdpoint": {9, 14}}
	for name, address := range map[string]string{"direct": b.url(), "holdpoint": h.address} {
		for _, mib := range sizes[name] {
			picture := map[string]any{"type": "image", "source": map[string]any{"type": "data", "value": strings.Repeat("A", mib<<20), "mimeType": "image/png"}}
			messages := []any{map[string]any{"id": "u1", "role": "user", "content": []any{map[string]any{"type": "text", "text": "look at this"}, picture}},
				map[string]any{"id": "u2", "role": "user", "content": "plain look"}}
			thread := strings.ReplaceAll(t.Name(), "/", "-") + name + string(rune('a'+mib))
			for range 2 {
				body, err := json.Marshal(map[string]any{
					"threadId": thread, "runId": thread + string(rune('a'+len(messages))), "messages": messages,
					"tools": []any{}, "context": []any{}, "state": map[string]any{}, "forwardedProps": map[string]any{},
				})
				if err != nil {
					t.Fatal(err)
				}
				res, err := http.Post(address+"/hitl", "application/json", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				said, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || !bytes.Contains(said, []byte(`"RUN_FINISHED"`)) || bytes.Contains(said, []byte(`"RUN_ERROR"`)) {
					t.Errorf("%s, %d MiB: %v, %d bytes that end in %s", name, mib, err, len(said), said[max(0, len(said)-300):])
				}
				messages = append(messages, map[string]any{"id": "u3", "role": "user", "content": "plain again"})
			}
		}
	}
}
