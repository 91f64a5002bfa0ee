package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/standard"
)

// sticky is an end function for a fakeDialect. Its results say that the backend keeps the first
// answer to a question.
func sticky(n int, e translate.End) (translate.Result, error) {
	res, err := (&fakeRun{d: &fakeDialect{}, n: n}).End(e)
	res.Asked.KeepsFirstAnswer = len(res.Asked.Interrupts) > 0
	return res, err
}

// TestDenialIsNotSentWhereTheBackendKeepsAnApproval: an answer approved an action, the action
// failed, and the backend asked the question again. The second answer is a no. The backend would
// carry out the first answer, so Holdpoint must refuse the no. Neither an expiresAt that Holdpoint
// added nor the passing of time changes that.
func TestDenialIsNotSentWhereTheBackendKeepsAnApproval(t *testing.T) {
	for _, tt := range []struct {
		name string
		ttl  time.Duration
		wait time.Duration
	}{{"at once", 0, 0}, {"with expiresAt of our own", 24 * time.Hour, 0}, {"after the replay time", 0, 2 * time.Hour}} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1, 3:
					sendStream(w, streamOf(started, asks))
				default:
					sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
				}
			}, func(o *Options) {
				o.Now = func() time.Time { return now }
				o.InterruptTTL = tt.ttl
				o.Store = memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: o.Now})
			})
			g.dialect.end = sticky
			g.do(input("t", "r1", ""))
			now = now.Add(time.Minute)
			g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
			now = now.Add(time.Minute)
			g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]}`)
			now = now.Add(tt.wait)
			got := g.do(input("t", "r4", resumeWith(no("n1~id2"))))
			if g.called() != 3 {
				t.Errorf("the denial was sent, and the backend carries out the approval it keeps: %s", types(got))
			}
		})
	}
}

// TestEmptyResumeLosesItsKeyOnly: Holdpoint removes an empty resume array, and nothing else of the
// request.
func TestEmptyResumeLosesItsKeyOnly(t *testing.T) {
	g := newRig(t, echo, func(o *Options) { o.Dialect = new(standard.Dialect) })
	const props = `"forwardedProps":{"command":{"goto":"x"}}`
	g.do(input("t", "r", `,"resume":[],`+props))
	if got := string(g.calls[0]); !strings.Contains(got, props) || strings.Contains(got, `"resume":[]`) {
		t.Errorf("the backend got %s", got)
	}
}

func minting(o *Options) {
	var mu sync.Mutex
	n := 0
	o.NewID = func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("id", n) }
}

func langGraph(o *Options) {
	d, err := langgraph.New(langgraph.Options{}, nil)
	if err != nil {
		panic(err)
	}
	o.Dialect = d
}

const (
	hexA = "95b93ade5d71718992515f7daf83c1ce"
	hexB = "4862c319b88d5956a0281691b087388b"
)

// onInterrupt returns the event by which LangGraph announces an interrupt. If id is "", the event
// has no rawEvent.
func onInterrupt(id, value string) string {
	raw := ""
	if id != "" {
		raw = `,"rawEvent":{"id":"` + id + `","value":` + value + `}`
	}
	return `{"type":"CUSTOM","name":"on_interrupt","value":` + string(agui.MustMarshal(value)) + raw + `}`
}

func commandOf(value string) string { return `,"forwardedProps":{"command":{"resume":` + value + `}}` }

// TestEqualClickInTheOldFormDoesNotAnswerTheNextQuestion: a client sends two equal answers in
// command.resume, which contains no id. The second answer waits while the run of the first one
// continues. That run asks another question. The second answer must not answer this new question.
func TestEqualClickInTheOldFormDoesNotAnswerTheNextQuestion(t *testing.T) {
	for name, dialect := range map[string]func(*Options){
		"langgraph": langGraph,
		"agui":      func(o *Options) { o.Dialect = new(standard.Dialect) },
	} {
		for _, client := range []Client{ClientBoth, ClientNative} {
			t.Run(name+" "+string(client), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ask := func(id, what string) string {
						if name == "agui" {
							return streamOf(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"`+id+`","reason":"`+what+`"}]}}`)
						}
						return streamOf(started, onInterrupt(id, `{"question":"`+what+`"}`), finished)
					}
					b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
						switch n {
						case 1:
							io.WriteString(w, ask(hexA, "rm /tmp/x?"))
						case 2:
							time.Sleep(time.Second)
							// in LangGraph, two interrupt() calls of one node share an id
							io.WriteString(w, ask(hexA, "rm -r /?"))
						default:
							io.WriteString(w, streamOf(started, hello, finished))
						}
						return nil
					}, minting, dialect, func(o *Options) { o.Client = client })
					b.post(input("t", "r1", ""))
					var both sync.WaitGroup
					for range 2 {
						both.Go(func() { b.post(input("t", "r2", commandOf(`{"approved":true}`))) })
					}
					both.Wait()
					rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
					if b.n != 2 || rec.State != store.Open {
						t.Errorf("%d calls, the second question is %q: it was answered before anybody saw it", b.n, rec.State)
					}
				})
			})
		}
	}
}

// asksAbout is a backend that asks about a call in its first run. All other runs end normally.
func asksAbout(w http.ResponseWriter, _ *http.Request, n int) {
	if n == 1 {
		sendStream(w, streamOf(started,
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"tool_call","toolCallId":"c1"}]}}`))
		return
	}
	sendStream(w, streamOf(started, finished))
}

// withPayloadMessage returns a resume as CopilotKit sends it. Its history contains the payload
// again, as the result of the call.
func withPayloadMessage(payload string) string {
	return `{"threadId":"t","runId":"r2","messages":[` + oldUser +
		`,{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"ask","arguments":""}}]}` +
		`,{"id":"m9","role":"tool","toolCallId":"c1","content":` + string(agui.MustMarshal(payload)) + `}],` +
		`"resume":[{"interruptId":"n1~id1","status":"resolved","payload":` + payload + `}]}`
}

// TestPayloadMessageIsNoNewMessage: a client sends an answer, and also a message that repeats its
// payload. Whatever the payload is, the message is part of the answer, not a new message.
func TestPayloadMessageIsNoNewMessage(t *testing.T) {
	for _, payload := range []string{`{"approved":true}`, `{"name":"Bob"}`, `"Bob"`, `true`} {
		t.Run(payload, func(t *testing.T) {
			g := newRig(t, asksAbout)
			var fresh []agui.Message
			g.dialect.begin = func(r *translate.Request) (translate.Out, error) { fresh = r.NewMessages; return translate.Out{}, nil }
			g.do(input("t", "r1", ""))
			body := withPayloadMessage(payload)
			g.do(body)
			if len(fresh) > 0 {
				t.Errorf("new beside the answers: %s", fresh[0].JSON)
			}
			if g.do(body); g.called() != 2 {
				t.Errorf("the same answers again went to the backend: %s", g.calls[2])
			}
		})
	}
}

// TestExpiredQuestionThatCannotBeCancelledHasAWayOn: a question has expired, so it accepts only
// "cancelled", but its backend accepts no cancel. The thread must continue nevertheless.
func TestExpiredQuestionThatCannotBeCancelledHasAWayOn(t *testing.T) {
	for name, asked := range map[string]string{
		"a review without reject":   onInterrupt(hexA, `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","edit"]}]}`),
		"an inbox without ignore":   onInterrupt(hexA, `{"action_request":{"action":"f","args":{}},"config":{"allow_accept":true}}`),
		"a question without its id": `{"type":"CUSTOM","name":"on_interrupt","value":"Sure?","rawEvent":{"value":"Sure?","ns":["a:b"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			now := testNow
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, asked, finished))
					return
				}
				sendStream(w, streamOf(started, hello, finished))
			}, langGraph, func(o *Options) {
				o.Now = func() time.Time { return now }
				o.InterruptTTL = time.Hour
				o.Store = memory.New(memory.Options{Now: o.Now})
			})
			g.do(input("t", "r1", ""))
			now = now.Add(2 * time.Hour)
			wantAWayOn(t, g)
		})
	}
}

// TestQuestionsThatCannotBeAnsweredHaveAWayOn: the backend gave two open questions no ids, so no
// answer can be sent to it. The thread must continue nevertheless.
func TestQuestionsThatCannotBeAnsweredHaveAWayOn(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, onInterrupt("", `"A?"`), onInterrupt("", `"B?"`), finished))
			return
		}
		sendStream(w, streamOf(started, hello, finished))
	}, langGraph)
	g.do(input("t", "r1", ""))
	wantAWayOn(t, g)
}

// wantAWayOn cancels the client's questions, then sends a message, and checks that the backend gets
// the message.
func wantAWayOn(t *testing.T, g *rig) {
	t.Helper()
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	var entries []string
	for _, i := range rec.Pause.Interrupts {
		entries = append(entries, no(i.ID))
	}
	first := g.do(input("t", "r2", resumeWith(entries...)))
	second := g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]}`)
	if !strings.HasSuffix(types(second), "TEXT_MESSAGE_CHUNK RUN_FINISHED") {
		t.Errorf("cancelled: %s\na message: %s\nthe thread waits until the retention ends", types(first), types(second))
	}
}

// TestEchoOfMastraDoesNotPassToALangGraph: a client sends an answer with an echo of a question of
// Mastra. The answer must not reach a LangGraph backend. That must hold even if the newest result
// in the record is the tombstone of a sticky pause, which has the questions but not the dialect.
func TestEchoOfMastraDoesNotPassToALangGraph(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * time.Hour} {
		t.Run(fmt.Sprint("after ", wait), func(t *testing.T) {
			now := testNow
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, onInterrupt(hexA, `{"question":"Delete?"}`), finished))
					return
				}
				// the backend still waits
				sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
			}, langGraph, func(o *Options) {
				o.Store = memory.New(memory.Options{ReplayTTL: time.Hour, Now: func() time.Time { return now }})
			})
			g.do(input("t", "r1", ""))
			g.do(input("t", "r2", resumeWith(`{"interruptId":"`+hexA+`~id1","status":"resolved","payload":false}`)))
			now = now.Add(wait)
			g.do(input("t", "r3", `,"forwardedProps":{"command":{"resume":true,"interruptEvent":"{\"type\":\"mastra_suspend\"}"}}`))
			if g.called() != 2 {
				t.Errorf("an answer to no open question reached the backend: %s", g.calls[2])
			}
		})
	}
}
