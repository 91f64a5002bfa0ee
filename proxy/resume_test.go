package proxy

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/standard"
)

// asksOnce is a backend that asks in the first run. All other runs end normally.
func asksOnce(w http.ResponseWriter, _ *http.Request, n int) {
	if n == 1 {
		sendStream(w, streamOf(started, asks))
		return
	}
	sendStream(w, streamOf(started, hello, finished))
}

func TestPauseAndResume(t *testing.T) {
	g := newRig(t, asksOnce)
	got := g.do(input("t", "r1", ""))
	wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if !strings.Contains(got, `"interrupts":[{"id":"n1~id1","reason":"confirmation"}]`) {
		t.Errorf("id not minted: %s", got)
	}
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}

	t.Run("the same answers again are replayed", func(t *testing.T) {
		got := g.do(input("t", "r3", resumeWith(yes("n1~id1"))))
		wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
		if !strings.Contains(got, `"content":"hello"`) || !strings.Contains(got, `"runId":"r3"`) {
			t.Error(got)
		}
	})
	t.Run("other answers conflict", func(t *testing.T) {
		wantTypes(t, g.do(input("t", "r4", resumeWith(no("n1~id1")))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
	})
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

func TestRefusalsLeaveThePauseOpen(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asksTwo))
			return
		}
		sendStream(w, streamOf(started, finished))
	})
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PARTIAL_RESUME")
	if g.called() != 1 {
		t.Fatal("a refused resume reached the backend")
	}
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1"), no("n2~id2")))), "RUN_STARTED RUN_FINISHED")
}

// TestTwoEqualClicks: two equal answers arrive at the same time. Only one of them may reach the
// backend. The other must get the same end of the run.
func TestTwoEqualClicks(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 10)
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		arrived <- struct{}{}
		<-release
		sendStream(w, streamOf(started, hello, finished))
	})
	g.do(input("t", "r1", ""))
	var wg sync.WaitGroup
	results := make([]string, 2)
	for i := range results {
		wg.Go(func() { results[i] = g.do(input("t", "r2", resumeWith(yes("n1~id1")))) })
	}
	<-arrived
	wantTypes(t, g.do(input("t", "r3", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_PROGRESS")
	wantTypes(t, g.do(input("t", "r4", resumeWith(no("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
	close(release)
	wg.Wait()
	for _, got := range results {
		if !strings.Contains(got, finished[:20]) || !strings.Contains(got, "hello") {
			t.Errorf("a click got %s", got)
		}
	}
	if g.called() != 2 {
		t.Errorf("the backend was called %d times, want 2", g.called())
	}
}

// TestEqualClickAfterTheFirstWasTurnedDown: two equal answers arrive, and the second waits. The
// backend refuses the first answer, so the pause is open again. Then the second answer must reach
// the backend.
func TestEqualClickAfterTheFirstWasTurnedDown(t *testing.T) {
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		arrived <- struct{}{}
		<-release
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"detail":"no"}`)
	})
	g.do(input("t", "r1", ""))
	first := make(chan string)
	go func() { first <- g.do(input("t", "r2", resumeWith(yes("n1~id1")))) }()
	<-arrived
	// Holdpoint sends the header of the second response when the second answer begins to wait.
	res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r3", resumeWith(yes("n1~id1")))))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(release)
	wantTypes(t, <-first, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS")
	second, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantTypes(t, string(second), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_STATUS")
}

// TestEndsOfAResume: a request with answers can end in several ways. The test checks the state of
// the pause after each of them.
func TestEndsOfAResume(t *testing.T) {
	tests := []struct {
		name       string
		send       func(w http.ResponseWriter)
		state      store.State
		told, then string // what the client gets now, and then for the same answers
	}{
		{"a cut is in doubt", func(w http.ResponseWriter) { sendStream(w, streamOf(started)) }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_EOF", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 500 is in doubt", func(w http.ResponseWriter) { w.WriteHeader(500) }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 409 is in doubt", func(w http.ResponseWriter) { w.WriteHeader(409) }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 200 that is no stream is in doubt", func(w http.ResponseWriter) { io.WriteString(w, "{}") }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 408 is in doubt", func(w http.ResponseWriter) { w.WriteHeader(408) }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 425 is in doubt", func(w http.ResponseWriter) { w.WriteHeader(425) }, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS", "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"a 422 leaves it open", func(w http.ResponseWriter) { w.WriteHeader(422) }, store.Open, "", "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED"},
		{"a 429 leaves it open", func(w http.ResponseWriter) { w.WriteHeader(429) }, store.Open, "", "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED"},
		{"a 307 leaves it open", func(w http.ResponseWriter) { w.WriteHeader(307) }, store.Open, "", "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED"},
		{"RUN_ERROR is in doubt", func(w http.ResponseWriter) {
			sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
		}, store.None, "RUN_STARTED RUN_FINISHED RUN_ERROR", "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"},
		{"another pause finishes it", func(w http.ResponseWriter) { sendStream(w, streamOf(started, asks)) }, store.Open, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt", "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, streamOf(started, asks))
				case 2:
					tt.send(w)
				default:
					sendStream(w, streamOf(started, hello, finished))
				}
			})
			g.do(input("t", "r1", ""))
			if _, got := g.answer(input("t", "r2", resumeWith(yes("n1~id1")))); tt.told != "" {
				wantTypes(t, got, tt.told)
			}
			rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if err != nil || rec.State != tt.state {
				t.Errorf("state %q, want %q (%v)", rec.State, tt.state, err)
			}
			calls := g.called()
			wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), tt.then)
			if again := g.called() > calls; again != (tt.state == store.Open && tt.told == "") {
				t.Errorf("called again: %v", again)
			}
		})
	}
}

func TestUnreachableBackendLeavesThePauseOpen(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	host := g.h.opts.Upstream.Host
	g.h.opts.Upstream.Host = "127.0.0.1:1"
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UPSTREAM_UNREACHABLE")
	g.h.opts.Upstream.Host = host
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

func TestDoubtIsToldOnceAndTheThreadGoesOn(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
		} else if n == 2 {
			sendStream(w, streamOf(started))
		} else {
			sendStream(w, streamOf(started, hello, finished))
		}
	})
	g.do(input("t", "r1", ""))
	told := g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	wantTypes(t, told, "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_EOF")
	if !strings.Contains(told, "What was approved may or may not have been done.") {
		t.Errorf("the person is not told at once: %s", told)
	}
	wantTypes(t, g.do(input("t", "r4", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
	wantTypes(t, g.do(input("t", "r5", resumeWith(no("n1~id1")))), "RUN_STARTED RUN_FINISHED")
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
	wantTypes(t, g.do(`{"threadId":"t","runId":"r6","messages":[`+oldUser+`,`+newUser+`]}`), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestDoubtOfTheDialect: a backend ends a resume normally, but does not show whether it did
// anything. If the dialect reports that the pause is in doubt, the client must get RESUME_IN_DOUBT.
func TestDoubtOfTheDialect(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
		} else {
			sendStream(w, streamOf(started, hello, finished))
		}
	})
	g.do(input("t", "r1", ""))
	g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
		return translate.Result{Finish: e.Event.Clone(), Fate: translate.InDoubt}, nil
	}
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
	g.dialect.end = nil
	wantTypes(t, g.do(`{"threadId":"t","runId":"r2b","messages":[`+oldUser+`,`+newUser+`]}`), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
	wantTypes(t, g.do(input("t", "r4", resumeWith(no("n1~id1")))), "RUN_STARTED RUN_FINISHED")
	wantTypes(t, g.do(`{"threadId":"t","runId":"r5","messages":[`+oldUser+`,`+newUser+`]}`), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 4 {
		t.Errorf("%d calls", g.called())
	}
}

func TestClientLeavesAClaimedRun(t *testing.T) {
	release := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started))
		http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
			t.Error("the upstream of a claimed run was cancelled")
		}
		io.WriteString(w, streamOf(hello, finished))
	})
	g.do(input("t", "r1", ""))
	res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r2", resumeWith(yes("n1~id1")))))
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(res.Body, make([]byte, 10))
	res.Body.Close()
	time.Sleep(20 * time.Millisecond)
	close(release)
	got := g.do(input("t", "r3", resumeWith(yes("n1~id1"))))
	wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

func TestNewMessagesGoAsASecondExchange(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", "m"+string(rune('0'+n))), finished))
	})
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if n == 1 && e.Event.Get("outcome").Exists() == false && len(g.calls) == 2 {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{Body: []byte(`{"second":true}`), TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	g.do(input("t", "r1", ""))
	got := g.do(`{"threadId":"t","runId":"r2","messages":[` + oldUser + `,` + newUser + `]` + resumeWith(no("n1~id1")) + `}`)
	wantTypes(t, got, "RUN_STARTED TEXT_MESSAGE_CHUNK TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 3 || string(g.calls[2]) != `{"second":true}` {
		t.Errorf("%d calls, %s", g.called(), g.calls)
	}
}

// TestSecondExchangeAfterAStatus: the backend refuses the first request of a run with an HTTP
// status, and the dialect sends a second request. The client must get only the stream of the second
// request.
func TestSecondExchangeAfterAStatus(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			w.WriteHeader(http.StatusUnprocessableEntity)
		default:
			sendStream(w, streamOf(started, hello, finished))
		}
	})
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if e.Status == http.StatusUnprocessableEntity {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{Resumes: true, TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 3 {
		t.Errorf("%d calls", g.called())
	}
}

// TestSecondExchangeThatFails: the first exchange sent the answers and ended well. The second
// exchange of the run fails. The answers must not be in doubt.
func TestSecondExchangeThatFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		send func(w http.ResponseWriter)
		want string
	}{
		{"status", func(w http.ResponseWriter) { w.WriteHeader(422) }, "RUN_ERROR:UPSTREAM_STATUS"},
		{"cut before the header", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, "RUN_ERROR:UPSTREAM_EOF"},
		{"cut", func(w http.ResponseWriter) { sendStream(w, streamOf(started)) }, "RUN_ERROR:UPSTREAM_EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, streamOf(started, asks))
				case 2:
					sendStream(w, streamOf(started, finished))
				default:
					tt.send(w)
				}
			})
			g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
				if n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
					return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
				}
				return translate.Result{}, nil
			}
			g.do(input("t", "r1", ""))
			wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED "+tt.want)
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if rec.State != store.None {
				t.Errorf("state %q", rec.State)
			}
		})
	}
}

func TestNewMessagesThatWereNotTakenAreToldSo(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, asks)) })
	g.do(input("t", "r1", ""))
	got := g.do(`{"threadId":"t","runId":"r2","messages":[` + oldUser + `,` + newUser + `]` + resumeWith(yes("n1~id1")) + `}`)
	if !strings.Contains(got, `"metadata":{"holdpoint":{"code":"MESSAGES_NOT_TAKEN"}}`) {
		t.Errorf("not told: %s", got)
	}
	if !strings.Contains(got, "never mind") {
		t.Errorf("the snapshot would delete the client's message: %s", got)
	}
	// The message still counts as new. So Holdpoint refuses a request that has it but has no
	// answers.
	wantTypes(t, g.do(`{"threadId":"t","runId":"r3","messages":[`+oldUser+`,`+newUser+`]}`), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PENDING_INTERRUPTS")
}

// TestSnapshotOfAnExchangeWithoutTheNewMessagesKeepsThem: an exchange does not send the new
// messages to the backend. A real LangGraph adapter ends each run with a snapshot, and a client
// deletes messages that the snapshot lacks. So Holdpoint must add the new messages to the snapshot.
func TestSnapshotOfAnExchangeWithoutTheNewMessagesKeepsThem(t *testing.T) {
	snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `]}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, snapshot, asks)) })
	g.do(input("t", "r1", ""))
	got := g.do(`{"threadId":"t","runId":"r2","messages":[` + oldUser + `,` + newUser + `]` + resumeWith(yes("n1~id1")) + `}`)
	if !strings.Contains(got, `"messages":[`+oldUser+`,`+newUser+`]`) {
		t.Errorf("the client would delete its message: %s", got)
	}
}

// TestAnswersGoOverAConnectionOfTheirOwn: Holdpoint must send answers over a new connection. If it
// reused a connection, the backend might close it while Holdpoint sends the answers. Then Holdpoint
// could not know whether the backend read them.
func TestAnswersGoOverAConnectionOfTheirOwn(t *testing.T) {
	var from []string
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		from = append(from, r.RemoteAddr)
		asksOnce(w, r, n)
	})
	g.do(input("t", "r1", ""))
	g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
	g.do(input("t", "r3", ""))
	if from[1] == from[0] || from[1] == from[2] {
		t.Errorf("connections %v", from)
	}
}

// TestOldAnswersInTheCommandFormDoNotGoOutBesideANewMessage: a client has answered in
// forwardedProps.command. It repeats this old answer in a later request, together with a new
// message. Holdpoint must send the new message without the old answer.
func TestOldAnswersInTheCommandFormDoNotGoOutBesideANewMessage(t *testing.T) {
	g := newRig(t, asksOnce, func(o *Options) { o.Dialect, o.Client = new(standard.Dialect), ClientBoth })
	g.do(input("t", "r1", ""))
	const props = `,"forwardedProps":{"keep":1,"command":{"resume":true}}`
	g.do(input("t", "r2", props))
	g.do(`{"threadId":"t","runId":"r3","messages":[` + oldUser + `,{"id":"m1","role":"assistant","content":"hello"},` + newUser + `]` + props + `}`)
	if got := string(g.calls[2]); strings.Contains(got, "command") || !strings.Contains(got, `"keep":1`) {
		t.Errorf("the backend got %s", got)
	}
}

func TestNativeClientGetsNothingMadeOnAReload(t *testing.T) {
	g := newRig(t, asksOnce, func(o *Options) { o.Client = ClientNative })
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED RUN_FINISHED+interrupt")
}

func TestProtocolVersionOfTheBackendStays(t *testing.T) {
	own := `{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1"}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(own, finished)) })
	if got := g.do(input("t", "r", `,"protocolVersion":"1.0"`)); got != streamOf(own, finished) {
		t.Error(got)
	}
}

func TestReannouncedCallsAreDropped(t *testing.T) {
	call := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	}
	result := `{"type":"TOOL_CALL_RESULT","messageId":"tm1","toolCallId":"c1","content":"done"}`
	for name, c := range map[string]struct{ messages, want string }{
		"the client has it":                      {oldUser + `,{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{}"}}]}`, "RUN_STARTED TOOL_CALL_RESULT RUN_FINISHED"},
		"the client sends its new messages only": {"", "RUN_STARTED TOOL_CALL_RESULT RUN_FINISHED"},
		"the client lacks it":                    {oldUser, "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT RUN_FINISHED"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, call[0], call[1], call[2], asks))
					return
				}
				sendStream(w, streamOf(started, call[0], call[1], call[2], result, finished))
			})
			g.do(input("t", "r1", ""))
			_, got := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r2","messages":[`+c.messages+`]`+resumeWith(yes("n1~id1"))+`}`)
			wantTypes(t, got, c.want)
		})
	}
}

// TestCallOfALoneResult: in the run with the answer, a backend sends the result of a call without
// the call. If the client's conversation lacks the call, the client must get the call with its
// arguments, once and before the result. All other clients must get the stream unchanged.
func TestCallOfALoneResult(t *testing.T) {
	const (
		call   = `{"id":"c1","type":"function","function":{"name":"rm","arguments":"{\"path\":\"a\"}"}}`
		result = `{"type":"TOOL_CALL_RESULT","messageId":"tm1","toolCallId":"c1","content":"done"}`
		again  = `{"type":"TOOL_CALL_RESULT","messageId":"tm2","toolCallId":"c1","content":"done"}`
		other  = `{"type":"TOOL_CALL_RESULT","messageId":"tm3","toolCallId":"c9","content":"done"}`
		alone  = "RUN_STARTED TOOL_CALL_RESULT RUN_FINISHED"
		told   = "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT RUN_FINISHED"
	)
	for name, c := range map[string]struct {
		messages string
		stream   []string
		want     string
	}{
		"the client lacks the call":              {oldUser, []string{result}, told},
		"the client has it":                      {oldUser + `,{"id":"a1","role":"assistant","toolCalls":[` + call + `]}`, []string{result}, alone},
		"the client sends its new messages only": {"", []string{result}, alone},
		"two results of the call":                {oldUser, []string{result, again}, strings.Replace(told, " RUN_FINISHED", " TOOL_CALL_RESULT RUN_FINISHED", 1)},
		"a result of another call":               {oldUser, []string{other}, alone},
		"the dialect tells it at the run's end":  {oldUser, nil, told},
		"a result of another call before it":     {oldUser, []string{other, result}, strings.Replace(told, "RUN_STARTED ", "RUN_STARTED TOOL_CALL_RESULT ", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(append(append([]string{started}, streams("c1", "rm", `{"path":"a"}`, "")...), asks)...))
					return
				}
				sendStream(w, streamOf(append(append([]string{started}, c.stream...), finished)...))
			})
			g.do(input("t", "r1", ""))
			if c.stream == nil {
				g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
					return translate.Result{HeldEvents: []agui.Event{agui.NewEvent([]byte(result))}, Finish: e.Event}, nil
				}
			}
			_, got := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r2","messages":[`+c.messages+`]`+resumeWith(yes("n1~id1"))+`}`)
			wantTypes(t, got, c.want)
			begun := streamOf(`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm","parentMessageId":"a7"}`,
				`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"path\":\"a\"}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`)
			if strings.Contains(c.want, "ARGS") && !strings.Contains(got, begun+streamOf(result)) {
				t.Errorf("the call is told as %s", got)
			}
			for _, own := range c.stream {
				if !strings.Contains(got, streamOf(own)) {
					t.Errorf("the backend's event is told as %s", got)
				}
			}
		})
	}
}

// TestCallOfALoneResultIsRecordedOnce: no message has the call of a result, and only the question
// knows the call. The client must get the call before the result, even if the dialect holds the
// result back until the end. The record must have the arguments of the call only once.
func TestCallOfALoneResultIsRecordedOnce(t *testing.T) {
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"tm1","toolCallId":"c1","content":"done"}`
	for name, held := range map[string]bool{"in the stream": false, "held back until the end": true} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch {
				case n == 1:
					sendStream(w, streamOf(started, asks))
				case held:
					sendStream(w, streamOf(started, finished))
				default:
					sendStream(w, streamOf(started, result, finished))
				}
			})
			g.dialect.end = func(_ int, e translate.End) (translate.Result, error) {
				res := translate.Result{Finish: agui.NewEvent([]byte(finished))}
				if e.Event.Get("outcome.type").Str == "interrupt" {
					res.DetectedDialect = "fake"
					res.Asked.Interrupts = []agui.Interrupt{{
						Native: "n1", Object: []byte(`{"reason":"tool_call","toolCallId":"c1"}`), Calls: []agui.AskedCall{{ID: "c1", Name: "rm", Args: `{"path":"a"}`}},
					}}
				} else if held {
					res.HeldEvents = []agui.Event{agui.NewEvent([]byte(result))}
				}
				return res, nil
			}
			g.do(`{"threadId":"t","runId":"r1","messages":[` + oldUser + `]}`)
			answer := `{"threadId":"t","runId":"r2","messages":[` + oldUser + `]` + resumeWith(yes("n1~id1")) + `}`
			wantTypes(t, g.do(answer), "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT RUN_FINISHED")
			kept := regexp.MustCompile(`"arguments":"[^,]*"`).FindAllString(g.do(strings.Replace(answer, "r2", "r3", 1)), -1)
			if len(kept) != 1 || kept[0] != `"arguments":"{\"path\":\"a\"}"` {
				t.Errorf("the record keeps %q", kept)
			}
		})
	}
}

// TestOwnResultIsNoted: a call was answered, and the backend sends no result of it. So Holdpoint
// makes a result for a .NET client. If the store outlives the process, the record must have a note
// of this result before the client gets it.
func TestOwnResultIsNoted(t *testing.T) {
	const user = `{"role":"user","content":"go"}`
	body := func(more string) string {
		return `{"threadId":"t","runId":"run_OZLVt2DmBrMeqZz7wpQrf3r5","messages":[` + user + `]` + more + `}`
	}
	for name, c := range map[string]struct {
		result                  []string
		memory, notes, hasWords bool
	}{
		"the backend tells no result": {nil, false, true, true},
		"the store is in memory":      {nil, true, false, true},
		"the backend tells one":       {[]string{`{"type":"TOOL_CALL_RESULT","messageId":"tm1","toolCallId":"c1","content":"done"}`}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(append(append([]string{started}, streams("c1", "rm", `{"path":"a"}`, "")...), strings.Replace(asks, `"reason":"confirmation"`, `"reason":"tool_call","toolCallId":"c1"`, 1))...))
					return
				}
				sendStream(w, streamOf(append(append([]string{started}, c.result...), finished)...))
			}, func(o *Options) { o.StoreInMemory = c.memory })
			g.do(body(""))
			got := g.do(body(resumeWith(yes("n1~id1"))))
			if has := strings.Contains(got, "Holdpoint:"); has != c.hasWords {
				t.Fatalf("told %s", got)
			}
			rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if err != nil {
				t.Fatal(err)
			}
			notes := slices.ContainsFunc(rec.Notes, func(n store.Note) bool { return strings.HasPrefix(n.ID, history.OwnPrefix) })
			if notes != c.notes {
				t.Errorf("it is noted: %v; the notes are %v", notes, rec.Notes)
			}
		})
	}
}

// TestCallInChunksAgain: in the run with the answer, a backend sends the call again, in chunks.
// AGUI.Client does not have the call, because it omits the message that asked. It also fails at a
// chunk. So it must get the call in other events.
func TestCallInChunksAgain(t *testing.T) {
	const (
		chunk  = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"rm","delta":"{\"path\":"}`
		rest   = `{"type":"TOOL_CALL_CHUNK","delta":"\"a\"}"}`
		result = `{"type":"TOOL_CALL_RESULT","messageId":"tm1","toolCallId":"c1","content":"done"}`
		asks   = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"tool_call","toolCallId":"c1"}]}}`
	)
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(append(append([]string{started}, streams("c1", "rm", `{"path":"a"}`, "")...), asks)...))
			return
		}
		sendStream(w, streamOf(started, chunk, rest, result, finished))
	})
	g.do(sdkRequest)
	wantTypes(t, g.do(strings.Replace(sdkRequest, `"messages"`, strings.TrimPrefix(resumeWith(yes("n1~id1")), ",")+`,"messages"`, 1)),
		"RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT RUN_FINISHED")
}

func TestOpenItemsAreClosedBeforeAPause(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, `{"type":"STEP_STARTED","stepName":"s"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`, `{"type":"REASONING_START","messageId":"x"}`, asks))
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED STEP_STARTED TEXT_MESSAGE_START TOOL_CALL_START REASONING_START REASONING_END TOOL_CALL_END TEXT_MESSAGE_END STEP_FINISHED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

func TestRefusedBeforeTheClaim(t *testing.T) {
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
		return translate.Out{}, agui.Errorf(agui.InvalidPayload, "cannot be said")
	}
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:INVALID_PAYLOAD")
	g.dialect.begin = nil
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

func TestTwoPlainRunsOfOneThread(t *testing.T) {
	other := strings.ReplaceAll(asks, "n1", "n9")
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, map[int]string{1: asks, 2: asks, 3: other}[n]))
	})
	key := recordKey("/", "t")
	first := g.do(input("t", "r1", ""))
	// Two runs follow, as if both had been admitted before the first run paused. Each ends with a
	// question. The run with the same question gets the open pause, and the run with another
	// question gets THREAD_BUSY.
	rec, _ := g.store.Load(t.Context(), key, "")
	for _, want := range []string{"RUN_FINISHED+interrupt", "RUN_ERROR:THREAD_BUSY"} {
		r := loneRun(t.Context(), g.h, "/", &agui.RunInput{ThreadID: "t", RunID: "r"})
		r.client.transcript = transcript.New(1<<20, nil, nil)
		e := agui.NewEvent([]byte(map[string]string{"RUN_FINISHED+interrupt": asks, "RUN_ERROR:THREAD_BUSY": other}[want]))
		res, _ := (&fakeRun{d: g.dialect, n: 1}).End(translate.End{Event: e})
		var b []byte
		f := r.facts(&res, nil)
		o := settle.Settle(&f, &res, &settle.End{End: translate.End{Event: e}}, nil)
		kept := r.saveOutcome(&o)
		l := r.client.tellListener()
		for _, ev := range tell.EndOf(&l, &o, &kept).Events {
			b = stream.AppendEvent(b, ev)
		}
		wantTypes(t, string(b), want)
		if want == "RUN_FINISHED+interrupt" && !strings.Contains(string(b), rec.Pause.Interrupts[0].ID) {
			t.Errorf("the standing pause is not told: %s (first %s)", b, first)
		}
	}
}
