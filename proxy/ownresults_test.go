package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestOwnResultsOfAForgottenQuestion: a client's history has a result that Holdpoint made, and the
// record no longer has the question. In each family, the backend must get neither the result nor
// its call. The rest of the message with the call must stay, and so must all other messages.
func TestOwnResultsOfAForgottenQuestion(t *testing.T) {
	const own = "Holdpoint: this was approved and handed on. The agent told no result of it."
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			t.Run(b.Name(), func(t *testing.T) {
				fewer(t, 1)
				rapid.Check(t, func(rt *rapid.T) { // a chatter needs a rapid.T
					c := newChatter(rt, b, dialects.All())
					server := httptest.NewServer(http.HandlerFunc(c.h.ServeHTTP))
					defer server.Close()
					c.end = "end"
					quoted, _ := json.Marshal(own)
					// the in-tree client encodes each result as JSON
					inner, _ := json.Marshal(string(quoted))
					for _, content := range []string{string(quoted), string(inner)} {
						body := fmt.Sprintf(`{"threadId":"t9","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[
							{"id":"u1","role":"user","content":"delete"},
							{"id":"a1","role":"assistant","content":"I do","toolCalls":[{"id":"k1","type":"function","function":{"name":"send_mail","arguments":"{}"}}]},
							{"id":"t1","role":"tool","toolCallId":"k1","content":%s},
							{"id":"a2","role":"assistant","toolCalls":[{"id":"k2","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"k3","type":"function","function":{"name":"send_mail","arguments":"{}"}}]},
							{"id":"t2","role":"tool","toolCallId":"k2","content":"seen"},
							{"id":"t3","role":"tool","toolCallId":"k3","content":%s},
							{"id":"u2","role":"user","content":"go on"}]}`, content, content)
						res, err := http.Post(server.URL, "application/json", strings.NewReader(body))
						if err != nil {
							t.Fatal(err)
						}
						// the run may send several requests to the backend
						_, err = io.Copy(io.Discard, res.Body)
						if res.Body.Close(); err != nil {
							t.Fatal(err)
						}
						seen := string(c.seen)
						if !strings.Contains(seen, "go on") || strings.Contains(seen, "Holdpoint:") {
							t.Fatalf("the backend got %s", seen)
						}
						results := map[string]bool{}
						for _, m := range gjson.Get(seen, "messages").Array() {
							results[m.Get("toolCallId").Str] = true
						}
						for _, m := range gjson.Get(seen, "messages").Array() {
							for _, call := range m.Get("toolCalls").Array() {
								if !results[call.Get("id").Str] {
									t.Errorf("the call %s has no result: %s", call.Get("id").Str, seen)
								}
							}
						}
						for _, fault := range providerFaults(seen) {
							t.Errorf("%s: %s", fault, seen)
						}
						if gjson.Get(seen, "messages.#").Int() > 4 && !strings.Contains(seen, `"a1"`) {
							t.Errorf("a message is gone: %s", seen)
						}
					}
				})
			})
		}
	}
}
