package proxy

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestChatThatComesBackDaysLater: the desk decided a question while the chat was away. The chat
// returns when the answers are long forgotten, but the record still has what the chat missed. The
// chat must get this, whichever history it sends: its old messages, a message under another id, or
// the payload that CopilotKit adds.
func TestChatThatComesBackDaysLater(t *testing.T) {
	const (
		call    = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"ask","arguments":"{}"}}]}`
		renamed = `{"id":"other","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"ask","arguments":"{}"}}]}`
		payload = `{"id":"m9","role":"tool","toolCallId":"c1","content":"true"}`
		asksOf  = `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"tool_call","toolCallId":"c1"}]}}`
	)
	for name, history := range map[string][]string{
		"its own messages":              {oldUser, call},
		"none but the user's":           {oldUser},
		"a message by another name":     {oldUser, renamed},
		"CopilotKit's payload":          {oldUser, call, payload},
		"a renamed one and the payload": {oldUser, renamed, payload},
	} {
		for _, away := range []time.Duration{time.Minute, 25 * time.Hour, 5 * 24 * time.Hour} {
			t.Run(name+" after "+away.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					var bodies []string
					b := newBubble(t, func(_ context.Context, n int, w io.Writer) error {
						events := []string{started, strings.ReplaceAll(hello, "m1", "later"), finished}
						switch n {
						case 1:
							events = []string{
								started, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask","parentMessageId":"a1"}`,
								`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, asksOf,
							}
						case 2:
							events = []string{started, `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":"done"}`, hello, finished}
						}
						_, err := io.WriteString(w, streamOf(events...))
						return err
					}, func(o *Options) {
						o.Dialect, o.OtherDoors = &fakeDialect{begin: func(r *translate.Request) (translate.Out, error) {
							mu.Lock()
							bodies = append(bodies, string(agui.MessageList(r.Input.Messages)))
							mu.Unlock()
							return takesNew(r)
						}}, &OtherDoors{KeepsInput: true}
					})
					key := recordKey("/", "t")
					b.post(input("t", "r1", ""))
					rec, err := b.store.Load(t.Context(), key, "")
					if err != nil || rec.State != store.Open {
						t.Fatal(err, rec.State)
					}
					word := door.Decision{Question: rec.Pause.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte("true")}
					if _, err := b.h.Decide(t.Context(), key, rec.Pause.ID, maria, []door.Decision{word}); err != nil {
						t.Fatal(err)
					}
					if err := b.h.Carry(t.Context(), key); err != nil {
						t.Fatal(err)
					}
					time.Sleep(away)
					with := func(run string, more ...string) string {
						return `{"threadId":"t","runId":"` + run + `","messages":[` + strings.Join(append(history[:len(history):len(history)], more...), ",") + `]}`
					}
					got := b.post(with("r2"))
					if b.n != 2 || !strings.HasSuffix(types(got), "RUN_FINISHED") {
						t.Errorf("a reload, %d calls: %s", b.n, got)
					}
					got = b.post(with("r3", `{"id":"u2","role":"user","content":"and now?"}`))
					if b.n != 3 || strings.Contains(got, "RUN_ERROR") {
						t.Fatalf("a message, %d calls: %s", b.n, got)
					}
					mu.Lock()
					last := gjson.Parse(bodies[len(bodies)-1])
					mu.Unlock()
					if ids := last.Get("#.id").Raw; ids != `["u1","a1","r1","m1","u2"]` {
						t.Errorf("the backend got %s", last)
					}
				})
			})
		}
	}
}

// TestAnswerInTheHistoryOfAChatThatCarries: the person answered in the chat, but too late: the desk
// had decided. CopilotKit keeps this late answer in the history as a tool message. The chat's
// request sends the decision of the desk. The backend must not get the late answer as a result of
// the call.
func TestAnswerInTheHistoryOfAChatThatCarries(t *testing.T) {
	for _, said := range []string{"Bob", "true", `{"approved":true}`, `{"name":"Bob"}`} {
		t.Run(said, func(t *testing.T) {
			g := newRig(t, asksAbout, func(o *Options) { o.OtherDoors = &OtherDoors{KeepsInput: true} })
			d := &deskRig{rig: g, key: recordKey("/", "t")}
			var got, fresh string
			g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
				got, fresh = string(agui.MessageList(r.Input.Messages)), string(agui.MessageList(r.NewMessages))
				return translate.Out{}, nil
			}
			g.do(input("t", "r1", ""))
			d.decide(door.Decision{Question: d.id("n1"), Status: agui.Resolved, Payload: []byte(`"Alice"`)})
			body := withPayloadMessage(string(agui.MustMarshal(said)))
			body = body[:strings.Index(body, `"resume"`)] + `"state":{}}`
			g.do(body)
			if g.called() != 2 || fresh != "[]" || gjson.Get(got, "#.id").Raw != `["u1","a1"]` {
				t.Errorf("%d calls, the backend got %s, new %s", g.called(), got, fresh)
			}
		})
	}
}
