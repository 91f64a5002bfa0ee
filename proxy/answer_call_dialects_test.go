package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestAnswerThatNamesItsCall: the client of the AG-UI .NET SDK writes the call of the question into
// each answer. In every family of backends, if this call equals the call in the record, a yes must
// be carried out. A no must not run anything. Three kinds of answers must be refused: an answer
// with a different call, an answer with an edit that the question does not offer, and an answer
// with two different edits. The question must then stay open, and a correct yes must be carried out
// once.
func TestAnswerThatNamesItsCall(t *testing.T) {
	fewer(t, 1)
	asked, offered, refused := 0, 0, 0
	eachAsker(func(name string, b dialecttest.Backend) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := newChatter(t, b, dialects.All())
				c.send("", "ask")
				_, p := c.open()
				if c.pending == "" || !strings.HasPrefix(b.Yes, "{") {
					// Without a configured dialect, Holdpoint does not recognize the question
					// (Mastra). Or the answer is not an object.
					return
				}
				i := p.Interrupts[0]
				offers := gjson.GetBytes(i.Schema(), "properties.editedArgs").Exists()
				if i.Schema() != nil && !offers {
					refused++
					c.refuses("edited arguments", strings.TrimSuffix(b.Yes, "}")+`,"editedArgs":{"path":"evil.txt"}}`)
				}
				if len(i.Calls) != 1 {
					return // the question is not about a call
				}
				asked++
				if offers {
					offered++
				}
				c.refusesOtherCalls(&i, offers)
				if c.resolve(c.naming(b.No, i.Calls[0], "")); c.did[c.asked] != 0 || c.told[c.asked] != 1 {
					c.t.Fatalf("a no was carried out, or not told: %s", c.seen)
				}
				c.send("", "ask")
				_, p = c.open()
				i = p.Interrupts[0]
				yes := c.naming(b.Yes, i.Calls[0], "")
				c.approved[c.asked] = true
				if c.resolve(yes); c.did[c.asked] != 1 {
					c.t.Fatalf("%s was not carried out: %s", yes, c.got)
				}
				if c.resolve(b.Yes); c.did[c.asked] != 1 || strings.Contains(c.got, "RUN_ERROR") {
					c.t.Fatalf("the same yes without the call: %s", c.got)
				}
				if offers {
					c.takesEdits()
				}
				c.goesOn()
				c.check()
			})
		})
	})
	if asked < 20 || offered < 2 || refused < 24 {
		t.Errorf("%d backends asked about a call, %d of them offered edits, %d of all refuse edits", asked, offered, refused)
	}
}

// naming returns payload with a member toolCall added, as the client writes it. If arguments is not
// "", it replaces the arguments of the call.
func (c *chatter) naming(payload string, call agui.AskedCall, arguments string) string {
	if arguments == "" {
		if arguments = call.Args; arguments == "" {
			arguments = "null"
		}
	}
	return fmt.Sprintf(`%s,"toolCall":{"callId":%q,"name":%q,"arguments":%s},"result":null}`, strings.TrimSuffix(payload, "}"), call.ID, call.Name, arguments)
}

// resolve answers the newest question with payload.
func (c *chatter) resolve(payload string) {
	c.seen = nil
	c.send(fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, c.old[len(c.old)-1], payload), "end")
}

// refusesOtherCalls sends answers that name a different call from the question's call. It checks
// that each of these answers is refused.
func (c *chatter) refusesOtherCalls(i *agui.Interrupt, offers bool) {
	call := i.Calls[0]
	otherID, otherTool := call, call
	otherID.ID, otherTool.Name = "other", "other"
	edited := c.naming(c.b.Yes, call, `{"path":"evil.txt"}`)
	others := map[string]string{
		"another tool":                  c.naming(c.b.Yes, otherTool, ""),
		"another tool, and a no":        c.naming(c.b.No, otherTool, ""),
		"another tool, in another case": strings.Replace(c.naming(c.b.Yes, otherTool, ""), "toolCall", "ToolCall", 1),
		"two edits":                     strings.TrimSuffix(edited, "}") + `,"editedArgs":{"path":"other.txt"}}`,
	}
	if call.ID != "" {
		others["another call"] = c.naming(c.b.Yes, otherID, "")
	}
	if !offers {
		others["an edited call"] = edited
	}
	for name, payload := range others {
		c.refuses(name, payload)
	}
	// A payload has a yes and a no, under two spellings of one key. Such a request is refused as a
	// bad request.
	both := strings.TrimSuffix(c.b.Yes, "}") + "," + strings.ToUpper(c.b.No[1:3]) + c.b.No[3:]
	body := fmt.Sprintf(`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]}`, c.pending, both)
	rec := httptest.NewRecorder()
	c.h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	if rec.Code != http.StatusBadRequest || c.seen != nil {
		c.t.Fatalf("%s: status %d %s, the backend got %s", both, rec.Code, rec.Body, c.seen)
	}
}

// refuses answers the newest question with payload. It checks that the backend does not get the
// answer, and that the question stays open.
func (c *chatter) refuses(name, payload string) {
	if c.resolve(payload); c.seen != nil || !strings.Contains(c.got, `"INVALID_PAYLOAD"`) || c.pending == "" {
		c.t.Fatalf("%s: %s came of %s, the backend got %s", name, c.got, payload, c.seen)
	}
}

// takesEdits lets the backend ask three times, and answers with edited arguments each time: in
// toolCall, in editedArgs, and in both.
func (c *chatter) takesEdits() {
	for _, inCall := range []string{"call", "member", "both"} {
		c.send("", "ask")
		_, p := c.open()
		payload := c.b.Yes
		if inCall != "member" {
			payload = c.naming(payload, p.Interrupts[0].Calls[0], `{"path":"edited.txt"}`)
		}
		if inCall != "call" {
			payload = strings.TrimSuffix(payload, "}") + `,"editedArgs":{"path":"edited.txt"}}`
		}
		c.approved[c.asked] = true
		if c.resolve(payload); c.did[c.asked] != 1 || !strings.Contains(string(c.seen), "edited.txt") {
			c.t.Fatalf("%s was not carried out: %s, the backend got %s", payload, c.got, c.seen)
		}
	}
}
