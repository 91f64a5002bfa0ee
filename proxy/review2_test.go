package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
	outcome "holdpoint/translate/agui"
	"holdpoint/translate/langgraph"
)

func minting(o *Options) {
	var mu sync.Mutex
	n := 0
	o.NewID = func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("id", n) }
}

func langGraph(o *Options) {
	d, err := langgraph.New(langgraph.Options{})
	if err != nil {
		panic(err)
	}
	o.Dialect = d
}

const (
	hexA = "95b93ade5d71718992515f7daf83c1ce"
	hexB = "4862c319b88d5956a0281691b087388b"
)

// onInterrupt is LangGraph's announcement; id "" has no rawEvent.
func onInterrupt(id, value string) string {
	raw := ""
	if id != "" {
		raw = `,"rawEvent":{"id":"` + id + `","value":` + value + `}`
	}
	return `{"type":"CUSTOM","name":"on_interrupt","value":` + string(agui.MustMarshal(value)) + raw + `}`
}

func commandOf(value string) string { return `,"forwardedProps":{"command":{"resume":` + value + `}}` }

// TestEqualClickInTheOldFormDoesNotAnswerTheNextQuestion: an answer in command.resume names no id. While the first of two
// equal ones runs, the second waits; the run asks something else then, which nobody has answered.
func TestEqualClickInTheOldFormDoesNotAnswerTheNextQuestion(t *testing.T) {
	for name, dialect := range map[string]func(*Options){
		"langgraph": langGraph,
		"agui":      func(o *Options) { o.Dialect = outcome.New() },
	} {
		for _, client := range []Client{ClientBoth, ClientNative} {
			t.Run(name+" "+string(client), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ask := func(id, what string) string {
						if name == "agui" {
							return stream(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"`+id+`","reason":"`+what+`"}]}}`)
						}
						return stream(started, onInterrupt(id, `{"question":"`+what+`"}`), finished)
					}
					b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
						switch n {
						case 1:
							io.WriteString(w, ask(hexA, "rm /tmp/x?"))
						case 2:
							time.Sleep(time.Second)
							io.WriteString(w, ask(hexA, "rm -r /?")) // two interrupt() calls of one node share an id
						default:
							io.WriteString(w, stream(started, hello, finished))
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

// asksAbout pauses for a call, then ends.
func asksAbout(w http.ResponseWriter, _ *http.Request, n int) {
	if n == 1 {
		sendStream(w, stream(started,
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"tool_call","toolCallId":"c1"}]}}`))
		return
	}
	sendStream(w, stream(started, finished))
}

// withPayloadMessage is CopilotKit's resume: the payload stands in the history too, as the call's result.
func withPayloadMessage(payload string) string {
	return `{"threadId":"t","runId":"r2","messages":[` + oldUser +
		`,{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"ask","arguments":""}}]}` +
		`,{"id":"m9","role":"tool","toolCallId":"c1","content":` + string(agui.MustMarshal(payload)) + `}],` +
		`"resume":[{"interruptId":"n1~id1","status":"resolved","payload":` + payload + `}]}`
}

// TestPayloadMessageIsNoNewMessage: whatever the payload is, the message that repeats it is the answer and nothing else.
func TestPayloadMessageIsNoNewMessage(t *testing.T) {
	for _, payload := range []string{`{"approved":true}`, `{"name":"Bob"}`, `"Bob"`, `true`} {
		t.Run(payload, func(t *testing.T) {
			g := newRig(t, asksAbout)
			var fresh []agui.Message
			g.dialect.begin = func(r translate.Request) (translate.Out, error) { fresh = r.New; return translate.Out{}, nil }
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

// TestExpiredQuestionThatCannotBeCancelledHasAWayOn: only "cancelled" is taken, and the backend takes none.
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
					sendStream(w, stream(started, asked, finished))
					return
				}
				sendStream(w, stream(started, hello, finished))
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

// TestQuestionsThatCannotBeAnsweredHaveAWayOn: the backend gave no ids for two open questions, so no answer at all can be
// handed on.
func TestQuestionsThatCannotBeAnsweredHaveAWayOn(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, stream(started, onInterrupt("", `"A?"`), onInterrupt("", `"B?"`), finished))
			return
		}
		sendStream(w, stream(started, hello, finished))
	}, langGraph)
	g.do(input("t", "r1", ""))
	wantAWayOn(t, g)
}

// wantAWayOn: the client cancels what it has, then sends a message.
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

// TestEchoOfMastraDoesNotPassToALangGraph: also when the newest result is the tombstone of a sticky pause, which keeps its
// questions but not its dialect.
func TestEchoOfMastraDoesNotPassToALangGraph(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * time.Hour} {
		t.Run(fmt.Sprint("after ", wait), func(t *testing.T) {
			now := testNow
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, stream(started, onInterrupt(hexA, `{"question":"Delete?"}`), finished))
					return
				}
				sendStream(w, stream(started, `{"type":"RUN_ERROR","message":"kaput"}`)) // the backend waits still
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

// TestCancelOfATombstoneIsNoNewMessage: CopilotKit's message beside it is not one either.
func TestCancelOfATombstoneIsNoNewMessage(t *testing.T) {
	q := question{
		in:      agui.RunInput{HasResume: true, Messages: messages(oldUser, assistant, `{"id":"m9","role":"tool","toolCallId":"c1","content":"{\"status\":\"cancelled\"}"}`)},
		answers: []agui.Answer{cancelled("x")},
		record: store.Record{Now: testNow, Results: []store.Result{{
			PauseID: "p", IDs: []string{"x"}, How: store.Finished, Tombstone: true, Failed: true,
			Pause: &agui.Pause{ID: "p", Sticky: true, Interrupts: []agui.Interrupt{{ID: "x", Native: "n", Question: "q"}}},
		}}},
		valid: validate,
	}
	if d := admit(q); d.do != actQuiet {
		t.Errorf("action %d, want %d: the backend gets a run with a result that no tool gave", d.do, actQuiet)
	}
}

// racing lets another request of the thread go first at the moment of a claim.
type racing struct {
	store.Store
	first func()
}

func (s *racing) Claim(ctx context.Context, key store.Key, pauseID, token, digest string, lease time.Duration) error {
	if do := s.first; do != nil {
		s.first = nil
		do()
	}
	return s.Store.Claim(ctx, key, pauseID, token, digest, lease)
}

// TestRunThatLostTheClaimIsJudgedAfresh: nothing of the resume that it was going to be stays with the ordinary run that it
// becomes.
func TestRunThatLostTheClaimIsJudgedAfresh(t *testing.T) {
	s := &racing{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, stream(started, asks))
		case 2:
			sendStream(w, stream(started, finished))
		default:
			sendStream(w, stream(started, strings.ReplaceAll(asks, "n1", "n2")))
		}
	}, func(o *Options) { s.Store = o.Store; o.Store = s })
	g.do(input("t", "r1", ""))
	s.first = func() { g.do(input("t", "r2", resumeWith(yes("n1~id1")))) }
	got := g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,` + newUser + `]` + resumeWith(yes("n1~id1")) + `}`)
	if g.called() != 3 || !strings.Contains(string(g.calls[2]), "u2") {
		t.Fatalf("%d calls, %s", g.called(), types(got))
	}
	rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
	if strings.Contains(got, "MESSAGES_NOT_TAKEN") {
		t.Error("the message went to the backend, and the client is told that it did not")
	}
	if seen := string(agui.MustMarshal(rec.Pause.Seen)); !strings.Contains(seen, "u2") {
		t.Errorf("the message is forgotten, and would be sent once more with the next answers: %s", seen)
	}
}

// TestAnswersTurnedDownAfterAPreparatoryCallLeaveThePauseOpen: a 422 means the same in any exchange.
func TestAnswersTurnedDownAfterAPreparatoryCallLeaveThePauseOpen(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, stream(started, asks))
		case 2:
			sendStream(w, stream(started, finished))
		default:
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
	g.do(input("t", "r1", ""))
	g.answer(input("t", "r2", resumeWith(yes("n1~id1"))))
	if rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.Open {
		t.Errorf("the pause is %q", rec.State)
	}
}

// TestAskedOnceMore: however that goes, the question stands, once, and no answer is sent again.
func TestAskedOnceMore(t *testing.T) {
	snapshots := []string{`{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `]}`}
	a, b := onInterrupt(hexA, `{"q":"A"}`), onInterrupt(hexB, `{"q":"B"}`)
	old := func(customs ...string) string {
		return stream(append(append(append([]string{started, `{"type":"STEP_STARTED","stepName":"n"}`}, customs...), `{"type":"STEP_FINISHED","stepName":"n"}`), append(snapshots, finished)...)...)
	}
	for name, c := range map[string]struct {
		serve func(w http.ResponseWriter)
		want  string
	}{
		"status":        {func(w http.ResponseWriter) { w.WriteHeader(503) }, hexA},
		"no stream":     {func(w http.ResponseWriter) { io.WriteString(w, "{}") }, hexA},
		"cut":           {func(w http.ResponseWriter) { sendStream(w, stream(started)); panic(http.ErrAbortHandler) }, hexA},
		"before header": {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, hexA},
		"error":         {func(w http.ResponseWriter) { sendStream(w, stream(started, `{"type":"RUN_ERROR","message":"x"}`)) }, hexA},
		"error, then more": {func(w http.ResponseWriter) {
			sendStream(w, stream(started, `{"type":"RUN_ERROR","message":"x"}`, b, finished))
		}, hexA},
		"the same":    {func(w http.ResponseWriter) { sendStream(w, stream(started, a, finished)) }, hexA},
		"both":        {func(w http.ResponseWriter) { sendStream(w, stream(started, a, b, finished)) }, hexB},
		"another":     {func(w http.ResponseWriter) { sendStream(w, stream(started, b, finished)) }, hexB},
		"empty":       {func(w http.ResponseWriter) { sendStream(w, "") }, hexA},
		"nothing now": {func(w http.ResponseWriter) { sendStream(w, stream(started, finished)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1, 2:
					sendStream(w, old(a))
				default:
					c.serve(w)
				}
			}, langGraph)
			g.do(input("t", "r1", ""))
			got := g.do(input("t", "r2", resumeWith(`{"interruptId":"`+hexA+`~id1","status":"resolved","payload":{"approved":true}}`)))
			if g.called() != 3 || strings.Contains(string(g.calls[2]), "approved") {
				t.Fatalf("%d calls", g.called())
			}
			if n := strings.Count(types(got), "RUN_STARTED"); n != 1 {
				t.Errorf("%d beginnings", n)
			}
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			switch {
			case c.want == "":
				if rec.State != store.None || !strings.HasSuffix(types(got), "RUN_FINISHED") {
					t.Errorf("%q %s", rec.State, types(got))
				}
			case rec.State != store.Open || len(rec.Pause.Interrupts) != 1 || rec.Pause.Interrupts[0].Native != c.want:
				t.Errorf("%+v", rec)
			case gjson.Get(lastData(got), "outcome.interrupts.0.id").Str != rec.Pause.Interrupts[0].ID:
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestSecondExchangeHasTheHeadersOfTheFirst: ReverseProxy sends no User-Agent of its own making.
func TestSecondExchangeHasTheHeadersOfTheFirst(t *testing.T) {
	g := newRig(t, asksOnce, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
	for n, more := range []string{"", resumeWith(yes("n1~id1"))} {
		req, _ := http.NewRequest(http.MethodPost, g.front.URL, strings.NewReader(input("t", fmt.Sprint("r", n), more)))
		req.Header["User-Agent"] = nil
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	for n, h := range g.heads {
		if ua := h.Get("User-Agent"); ua != "" {
			t.Errorf("exchange %d says %q", n+1, ua)
		}
	}
}

// TestPatchThatCopiesIsBounded: a few hundred bytes of copy operations double the state again and again.
func TestPatchThatCopiesIsBounded(t *testing.T) {
	var ops []string
	for n := range 20 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/a/k%d"}`, n))
	}
	tr := newTranscript(64<<10, nil, json.RawMessage(`{"a":{"x":"`+strings.Repeat("x", 64)+`"}}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tr.add(agui.NewEvent([]byte(`{"type":"STATE_DELTA","delta":[` + strings.Join(ops, ",") + `]}`)))
	_, ok := tr.State()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; ok || used > 8<<20 {
		t.Errorf("known %v, %d MiB for a transcript of 64 KiB", ok, used>>20)
	}
}
