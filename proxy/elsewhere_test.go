package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// TestStepsOfAnAnswerOnAnotherThread checks the cost of the index: an answer on another thread must
// take exactly the steps of the store that docs/state.md states.
func TestStepsOfAnAnswerOnAnotherThread(t *testing.T) {
	var mu sync.Mutex
	var steps []string
	g := mintedRig(t, asksOnce, func(o *Options) {
		o.Store = &storetest.Faults{Store: o.Store, At: func(name string, do func() error) error {
			mu.Lock()
			steps = append(steps, name)
			mu.Unlock()
			return do()
		}}
	})
	takes := func(body, want string) {
		t.Helper()
		g.do(body)
		g.logs.ended(t, g.called())
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(steps); got != want {
			t.Errorf("it takes %s, want %s", got, want)
		}
		steps = nil
	}
	takes(input("t", "r1", ""), "[Load Remember Open]")
	takes(input("t2", "r2", resumeWith(yes(mintedID("n1", 1)))), "[Load Load Load Load Snapshots Claim Occupy Load Finish Occupy]")
}

// mintedRig returns a rig whose ids have the form of real ids of Holdpoint.
func mintedRig(t *testing.T, serve func(w http.ResponseWriter, r *http.Request, n int), change ...func(*Options)) *rig {
	t.Helper()
	var mu sync.Mutex
	n := 0
	ids := func(o *Options) {
		o.NewID = func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprintf("id%010d", n) }
	}
	return newRig(t, serve, append([]func(*Options){ids}, change...)...)
}

func mintedID(native string, n int) string { return fmt.Sprintf("%s~id%010d", native, n) }

func (g *rig) at(thread string) store.Record {
	g.t.Helper()
	rec, err := g.store.Load(g.t.Context(), recordKey("/", thread), "")
	if err != nil {
		g.t.Fatal(err)
	}
	return rec
}

// TestAnswerOnAnotherThread: an answer has the published id of a question, and arrives on any
// thread. The record of the question must judge the answer. So the answer counts once, and is
// refused for the same reasons as on the thread of the question.
func TestAnswerOnAnotherThread(t *testing.T) {
	id := mintedID("n1", 1)
	asking := func(t *testing.T, change ...func(*Options)) *rig {
		g := mintedRig(t, asksOnce, change...)
		if got := g.do(input("t", "r1", "")); !strings.Contains(got, id) {
			t.Fatal(got)
		}
		return g
	}

	t.Run("is taken once, and told again to who repeats it", func(t *testing.T) {
		g := asking(t)
		got := g.do(input("t2", "r2", resumeWith(yes(id))))
		wantTypes(t, got, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		if !strings.Contains(got, `"threadId":"t2"`) || strings.Contains(got, `"threadId":"t"`) {
			t.Errorf("the client is told another thread: %s", got)
		}
		for _, thread := range []string{"t2", "t3", "t"} {
			got := g.do(input(thread, "r3", resumeWith(yes(id))))
			if wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED"); !strings.Contains(got, `"threadId":"`+thread+`"`) {
				t.Error(got)
			}
			wantTypes(t, g.do(input(thread, "r4", resumeWith(no(id)))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
		}
		if g.called() != 2 {
			t.Errorf("%d calls", g.called())
		}
		if rec := g.at("t"); rec.State != store.None || len(rec.Results) != 1 {
			t.Errorf("the record is %+v", rec)
		}
		if rec := g.at("t2"); rec.Version != 0 {
			t.Errorf("the other thread has a record: %+v", rec)
		}
	})
	t.Run("a backend that keeps its threads gets the one that asked", func(t *testing.T) {
		g := asking(t)
		g.do(input("t2", "r2", resumeWith(yes(id))))
		if got := gjson.GetBytes(g.last(), "threadId").Str; got != "t" {
			t.Errorf("the backend got thread %q", got)
		}
	})
	t.Run("the same refusals", func(t *testing.T) {
		g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				sendStream(w, streamOf(started, asksTwo))
				return
			}
			sendStream(w, streamOf(started, finished))
		})
		g.do(input("t", "r1", ""))
		one, two := mintedID("n1", 1), mintedID("n2", 2)
		wantTypes(t, g.do(input("t2", "r2", resumeWith(yes(one)))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PARTIAL_RESUME")
		wantTypes(t, g.do(input("t2", "r2", resumeWith(yes(one), yes("n3~AAAAAAAAAAAA")))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
		if g.called() != 1 {
			t.Fatal("a refused resume reached the backend")
		}
		wantTypes(t, g.do(input("t3", "r3", resumeWith(no(two), yes(one)))), "RUN_STARTED RUN_FINISHED")
	})
	t.Run("words on a new thread go on", func(t *testing.T) {
		g := asking(t)
		wantTypes(t, g.do(input("t2", "r2", "")), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		if rec := g.at("t"); rec.State != store.Open {
			t.Error("the question is gone")
		}
	})
	t.Run("a thread that waits is answered first", func(t *testing.T) {
		g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n <= 2 {
				sendStream(w, streamOf(started, asks))
				return
			}
			sendStream(w, streamOf(started, finished))
		})
		g.do(input("t", "r1", ""))
		g.do(input("t2", "r2", ""))
		wantTypes(t, g.do(input("t2", "r3", resumeWith(yes(mintedID("n1", 1))))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
		if g.called() != 2 {
			t.Errorf("%d calls", g.called())
		}
	})
	t.Run("an entry without its pause is an unknown question", func(t *testing.T) {
		g := asking(t)
		g.do(input("t", "r2", resumeWith(yes(id))))
		h := loneRun(t.Context(), g.h, "/", &agui.RunInput{ThreadID: "t9"})
		note := store.Note{ID: "gone", Text: agui.MustMarshal(ledger.Place{Key: recordKey("/", "t"), Pause: "gone"})}
		if _, err := g.store.Do(t.Context(), h.judge.indexKey(ledger.ByQuestion, "n1~AAAAAAAAAAAA"), store.Remember{Note: note, Most: 8}); err != nil {
			t.Fatal(err)
		}
		wantTypes(t, g.do(input("t2", "r2", resumeWith(yes("n1~AAAAAAAAAAAA")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	})
	t.Run("a cancel of what has ended is a way on, and asks nothing of the other thread", func(t *testing.T) {
		g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n <= 2 {
				sendStream(w, streamOf(started, asks))
				return
			}
			sendStream(w, streamOf(started, finished))
		})
		g.do(input("t", "r1", ""))
		g.do(input("t2", "r2", resumeWith(yes(id)))) // this run asks again
		if rec := g.at("t"); rec.State != store.Open {
			t.Fatalf("the next question is not of the thread that asked: %+v", rec)
		}
		fresh := strings.Replace(input("t3", "r3", resumeWith(no(id))), oldUser, oldUser+","+newUser, 1)
		wantTypes(t, g.do(fresh), "RUN_STARTED RUN_FINISHED")
		if g.called() != 3 || gjson.GetBytes(g.last(), "threadId").Str != "t3" {
			t.Errorf("%d calls, the last %s", g.called(), g.last())
		}
		wantTypes(t, g.do(input("t4", "r4", resumeWith(yes(mintedID("n1", 2))))), "RUN_STARTED RUN_FINISHED")
	})
}

// TestThreadsOfARunElsewhere: a run on the second thread has the answer to a question of the first
// thread. Until this run ends, neither of the two threads may accept another run.
func TestThreadsOfARunElsewhere(t *testing.T) {
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= 2 {
			sendStream(w, streamOf(started, asks))
			return
		}
		arrived <- struct{}{}
		<-release
		sendStream(w, streamOf(started, hello, finished))
	})
	first, second := mintedID("n1", 1), mintedID("n1", 2)
	g.do(input("t", "r1", ""))
	g.do(input("u", "r1", ""))
	var all sync.WaitGroup
	var told [3]string
	all.Go(func() { told[0] = g.do(input("t2", "r2", resumeWith(yes(first)))) })
	<-arrived
	wantTypes(t, g.do(input("t", "r3", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_PROGRESS")
	wantTypes(t, g.do(input("t2", "r3", "")), "RUN_STARTED RUN_ERROR:THREAD_BUSY")
	wantTypes(t, g.do(input("t2", "r3", resumeWith(yes(second)))), "RUN_STARTED RUN_FINISHED RUN_ERROR:THREAD_BUSY")
	wantTypes(t, g.do(input("t3", "r3", resumeWith(no(first)))), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
	for n, thread := range []string{"t2", "t3"} { // these wait for the end of that run
		all.Go(func() { told[n+1] = g.do(input(thread, "r4", resumeWith(yes(first)))) })
	}
	close(release)
	all.Wait()
	for _, got := range told {
		if !strings.Contains(got, "hello") || strings.Contains(got, "RUN_ERROR") {
			t.Errorf("told %s", got)
		}
	}
	if rec := g.at("u"); rec.State != store.Open {
		t.Errorf("the question that was turned away is %q", rec.State)
	}
	wantTypes(t, g.do(input("t2", "r5", resumeWith(yes(second)))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 4 {
		t.Errorf("%d calls", g.called())
	}
	if rec := g.at("t2"); len(rec.Occupants) > 0 {
		t.Errorf("the thread is kept: %+v", rec.Occupants)
	}
}

// TestAnotherPrincipalAnswersNothingElsewhere: a principal knows the id of another principal's
// question, and answers it on a thread of its own. The response must be the same as for an unknown
// id.
func TestAnotherPrincipalAnswersNothingElsewhere(t *testing.T) {
	g := mintedRig(t, asksOnce, gated{}.by(t))
	g.as("ann", input("t", "r1", ""))
	id, unknown := mintedID("n1", 1), "n1~AAAAAAAAAAAA"
	without := func(s, id string) string { return strings.ReplaceAll(s, id, "ID") }
	told := g.as("bob", input("t2", "r2", resumeWith(yes(id))))
	nobodys := g.as("bob", input("t2", "r2", resumeWith(yes(unknown))))
	if without(told, id) != without(nobodys, unknown) {
		t.Errorf("told\n%s\nof another's question, and\n%s\nof none", told, nobodys)
	}
	if g.called() != 1 {
		t.Fatal("the backend was asked")
	}
	wantTypes(t, g.as("ann", input("t3", "r3", resumeWith(yes(id)))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

// TestPlainRunDoesNotAskTheIndex: a run answers no question, and its history has the call of each
// result. Such a run must cost one step of the store, as before the index existed.
func TestPlainRunDoesNotAskTheIndex(t *testing.T) {
	var steps []string
	g := newTurnRig(t, "auto", nil, func(o *Options) {
		o.Store = &storetest.Faults{Store: o.Store, At: func(name string, do func() error) error { steps = append(steps, name); return do() }}
	})
	for name, body := range map[string]string{
		"a plain run":                    talk("t", ""),
		"with the result of a call":      talk("t", declaresColor, `{"id":"a","role":"assistant","toolCalls":[`+ownColor+`]}`, colorIs),
		"with a call that has no result": talk("t", "", turnOf(openCallA), noWords),
	} {
		steps = nil
		if g.do(body); fmt.Sprint(steps) != "[Load]" {
			t.Errorf("%s takes %v", name, steps)
		}
	}
}

// TestCallThatTheRecordLacks: a history has a result without its call. Whether or not the record
// has the call, Holdpoint may take only one more step of the store: it loads the messages of the
// newest question.
func TestCallThatTheRecordLacks(t *testing.T) {
	var steps []string
	asking := func(n int) []string {
		call := fmt.Sprint("g", n)
		list := append([]string{started}, streams(call, "delete_file", fmt.Sprintf(`{"path":"%d.txt"}`, n), "")...)
		return append(list, fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i%d","reason":"tool_call","toolCallId":%q}]}}`, n, call))
	}
	g := newTurnRig(t, "agui", [][]string{asking(1), asking(2), asking(3)}, func(o *Options) {
		o.NewID = func() string { return "AAAAAAAAAAAA" }
		o.Store = &storetest.Faults{Store: o.Store, At: func(name string, do func() error) error { steps = append(steps, name); return do() }}
	})
	told := g.do(talk("t", ""))
	for range 3 {
		_, id, _ := strings.Cut(told, `"interrupts":[{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		told = g.do(talk("t", resumeWith(yes(id))))
	}
	if rec := g.at("t"); rec.State != store.None || len(rec.Results) != 3 {
		t.Fatalf("the record is %+v", rec)
	}
	result := func(call string) string {
		return fmt.Sprintf(`{"id":"r1","role":"tool","toolCallId":%q,"content":"done"}`, call)
	}
	for _, call := range []string{"g9", "g3", "g1"} {
		steps = nil
		g.do(talk("t", "", result(call), noWords))
		if fmt.Sprint(steps) != "[Load Snapshots]" {
			t.Errorf("the result of %s takes %v", call, steps)
		}
		if has := strings.Contains(string(g.last()), `"id":"`+call+`"`); has != (call != "g9") {
			t.Errorf("the call %s reaches the backend: %v: %s", call, has, g.last())
		}
	}
}

// These are the messages of a turn of the in-tree .NET host (in agent-framework's own sources),
// which asks by request_approval, and the answers of the in-tree client, which keeps no thread.
const (
	inTreeUser  = `{"name":null,"id":"0123456789abcdef0123456789abcdef","role":"user","content":"delete a.txt"}`
	otherUser   = `{"name":null,"id":"fedcba9876543210fedcba9876543210","role":"user","content":"delete a.txt"}`
	pairedArgs  = `{"request":{"approval_id":"ficc_c1","function_name":"delete_file","function_arguments":{"path":"a.txt"},"message":"Approve execution of 'delete_file'?"}}`
	pairAnswer  = `{"toolCallId":"ficc_c1","error":null,"id":"ficc_c1","role":"tool","content":"{\"approval_id\":\"ficc_c1\",\"approved\":true}"}`
	pairRefusal = `{"toolCallId":"ficc_c1","error":null,"id":"ficc_c1","role":"tool","content":"{\"approval_id\":\"ficc_c1\",\"approved\":false}"}`
)

// approvalCall returns the assistant message with the call of request_approval. args are the
// arguments of the call. approvalCall escapes characters in them as the in-tree client does.
func approvalCall(args string) string {
	escaped := strings.ReplaceAll(strings.ReplaceAll(args, `'`, `\u0027`), `"`, `\u0022`)
	text, _ := json.Marshal(strings.ReplaceAll(escaped, `\u0022`, `"`))
	return `{"name":null,"toolCalls":[{"id":"ficc_c1","type":"function","function":{"name":"request_approval","arguments":` + string(text) + `}}],"id":"ficc_c1","role":"assistant","content":""}`
}

func inTreeRun(thread string, messages ...string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[%s],"context":[]}`, thread, strings.Join(messages, ","))
}

// newPairRig returns a rig whose backend is an in-tree host. In the first runs the host asks, and
// asks is the number of these runs.
func newPairRig(t *testing.T, asks int, change ...func(*Options)) *rig {
	t.Helper()
	turn := append([]string{started}, streams("ficc_c1", "request_approval", pairedArgs, "")...)
	turn = append(turn, finished)
	turns := make([][]string, asks)
	for n := range turns {
		turns[n] = turn
	}
	native := func(o *Options) { o.Client = ClientNative }
	return newTurnRig(t, "request-approval", turns, append([]func(*Options){native}, change...)...)
}

// TestNativeAnswerOnAnotherThread: an answer in the backend's own form arrives on another thread
// than the question. By the call in the answer, Holdpoint must find the question. It may do so only
// if the request belongs to the same conversation or to the same principal.
func TestNativeAnswerOnAnotherThread(t *testing.T) {
	const unknown = "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID"
	t.Run("is taken once, and goes under the thread that the client names", func(t *testing.T) {
		g := newPairRig(t, 1)
		if got := g.do(inTreeRun("t", inTreeUser)); !strings.Contains(got, "request_approval") || g.at("t").State != store.Open {
			t.Fatal(got)
		}
		wantTypes(t, g.do(inTreeRun("t2", inTreeUser, approvalCall(pairedArgs), pairAnswer)), "RUN_STARTED RUN_FINISHED")
		if got := gjson.GetBytes(g.last(), "threadId").Str; got != "t2" || !strings.Contains(string(g.last()), `\"approved\":true`) {
			t.Errorf("the backend got %s", g.last())
		}
		for _, thread := range []string{"t3", "t4", "t"} {
			if got := g.do(inTreeRun(thread, inTreeUser, approvalCall(pairedArgs), pairAnswer)); strings.Contains(got, "RUN_ERROR") {
				t.Errorf("the same answer again got %s", got)
			}
			if got := g.do(inTreeRun(thread, inTreeUser, approvalCall(pairedArgs), pairRefusal)); !strings.Contains(got, "RUN_ERROR") {
				t.Errorf("another answer got %s", got)
			}
		}
		if g.called() != 2 {
			t.Errorf("%d calls", g.called())
		}
		// A later request has the call and its answer in the history. Here it arrives on yet
		// another thread.
		more := strings.Replace(otherUser, "delete a.txt", "thanks", 1)
		if got := g.do(inTreeRun("t5", inTreeUser, approvalCall(pairedArgs), pairAnswer, more)); strings.Contains(got, "RUN_ERROR") || g.called() != 3 {
			t.Errorf("%d calls: %s", g.called(), got)
		}
	})
	t.Run("another user's do not count", func(t *testing.T) {
		g := newPairRig(t, 1)
		g.do(inTreeRun("t", inTreeUser))
		for n := range 1000 {
			other := strings.Replace(otherUser, "fedcba98", fmt.Sprintf("%08x", n), 1)
			if n%3 == 0 {
				other = `{"role":"user","content":"delete a.txt"}`
			}
			if got := g.do(inTreeRun(fmt.Sprint("other", n), other, approvalCall(pairedArgs), pairAnswer)); types(got) != unknown {
				t.Fatalf("answer %d: %s", n, got)
			}
		}
		if g.called() != 1 || g.at("t").State != store.Open {
			t.Fatalf("%d calls", g.called())
		}
		wantTypes(t, g.do(inTreeRun("t2", inTreeUser, approvalCall(pairedArgs), pairAnswer)), "RUN_STARTED RUN_FINISHED")
	})
	for name, messages := range map[string][]string{
		"the question asked about other arguments": {inTreeUser, approvalCall(strings.Replace(pairedArgs, "a.txt", "evil.txt", 1)), pairAnswer},
		"the call has another id":                  {inTreeUser, strings.ReplaceAll(approvalCall(pairedArgs), "ficc_c1", "ficc_c2"), strings.ReplaceAll(pairAnswer, "ficc_c1", "ficc_c2")},
		"an id that can be guessed":                {strings.Replace(inTreeUser, "0123456789abcdef0123456789abcdef", "u1", 1), approvalCall(pairedArgs), pairAnswer},
		"the message is the assistant's":           {strings.Replace(inTreeUser, `"user"`, `"assistant"`, 1), approvalCall(pairedArgs), pairAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			g := newPairRig(t, 1)
			first := inTreeUser
			if strings.Contains(name, "guessed") {
				first = messages[0]
			}
			g.do(inTreeRun("t", first))
			if got := g.do(inTreeRun("t2", messages...)); !strings.Contains(got, string(agui.UnknownInterruptID)) || g.called() != 1 {
				t.Errorf("%d calls: %s", g.called(), got)
			}
		})
	}
	t.Run("two questions that it could mean", func(t *testing.T) {
		g := newPairRig(t, 2)
		g.do(inTreeRun("t", inTreeUser))
		g.do(inTreeRun("u", inTreeUser))
		wantTypes(t, g.do(inTreeRun("t2", inTreeUser, approvalCall(pairedArgs), pairAnswer)), unknown)
		wantTypes(t, g.do(inTreeRun("u", inTreeUser, approvalCall(pairedArgs), pairAnswer)), "RUN_STARTED RUN_FINISHED")
		wantTypes(t, g.do(inTreeRun("t2", inTreeUser, approvalCall(pairedArgs), pairAnswer)), unknown)
		if g.called() != 3 || g.at("t").State != store.Open {
			t.Errorf("%d calls", g.called())
		}
	})
	t.Run("a principal needs no message, and no other has his", func(t *testing.T) {
		g := newPairRig(t, 1, gated{}.by(t))
		g.as("ann", inTreeRun("t", inTreeUser))
		wantTypes(t, g.as("bob", inTreeRun("t2", inTreeUser, approvalCall(pairedArgs), pairAnswer)), unknown)
		bare := `{"role":"user","content":"delete a.txt"}`
		wantTypes(t, g.as("ann", inTreeRun("t3", bare, approvalCall(pairedArgs), pairAnswer)), "RUN_STARTED RUN_FINISHED")
		if g.called() != 2 {
			t.Errorf("%d calls", g.called())
		}
	})
}

// TestNativeResumeOnAnotherThread: a resume entry with the host's own id arrives on another thread
// than the question. By the call in the entry's payload, Holdpoint must find the question.
func TestNativeResumeOnAnotherThread(t *testing.T) {
	entry := `,"resume":[{"interruptId":"ficc_g1","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"g1","name":"delete_file","arguments":{"path":"a.txt"}}}}]`
	run := func(thread, more string, messages ...string) string {
		return fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[%s]%s}`, thread, strings.Join(messages, ","), more)
	}
	native := func(o *Options) { o.Client = ClientNative }
	asking := append([]string{started}, frontgate(true)[4:]...)
	carried := append(append([]string{started}, streams("g1", "delete_file", `{"path":"a.txt"}`, "")...),
		`{"type":"TOOL_CALL_RESULT","messageId":"g1","toolCallId":"g1","content":"deleted"}`, finished)
	for name, c := range map[string]struct {
		user, entry string
		taken       bool
	}{
		"of the conversation":    {inTreeUser, entry, true},
		"of another":             {otherUser, entry, false},
		"without an id":          {`{"role":"user","content":"delete a.txt"}`, entry, false},
		"about another call":     {inTreeUser, strings.Replace(entry, "callId\":\"g1", "callId\":\"g2", 1), false},
		"of another tool":        {inTreeUser, strings.Replace(entry, "delete_file", "wipe", 1), false},
		"with a wrong host's id": {inTreeUser, strings.Replace(entry, "ficc_g1", "ficc_g2", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTurnRig(t, "auto", [][]string{asking, carried}, native)
			g.do(run("t", "", inTreeUser))
			if g.at("t").State != store.Open {
				t.Fatal("it has not asked")
			}
			got := g.do(run("t2", c.entry, c.user))
			if taken := g.called() == 2 && !strings.Contains(got, "RUN_ERROR"); taken != c.taken {
				t.Fatalf("taken: %v, %d calls: %s", taken, g.called(), got)
			}
			g.do(run("t3", c.entry, c.user))
			if g.called() > 2 || g.called() > 1 != c.taken {
				t.Errorf("%d calls", g.called())
			}
		})
	}
}

// TestEditedResumeOnAnotherThread: a resume arrives on another thread than the question, and the
// call in it has other arguments. It must edit the question about the call with the same id and
// tool, if the request contains the user message of the paused run under its id. The same principal
// is not enough, because the answer might be for another question about such a call.
func TestEditedResumeOnAnotherThread(t *testing.T) {
	edited := `,"resume":[{"interruptId":"ficc_g1","status":"resolved","payload":{"approved":true,"toolCall":{"callId":"g1","name":"delete_file","arguments":{"path":"z.txt"}}}}]`
	bare := `{"role":"user","content":"delete a.txt"}`
	counted := `{"id":"1","role":"user","content":"delete a.txt"}`
	native := func(o *Options) { o.Client = ClientNative }
	asking := append([]string{started}, frontgate(true)[4:]...)
	carried := append(append([]string{started}, streams("g1", "delete_file", `{"path":"z.txt"}`, "")...),
		`{"type":"TOOL_CALL_RESULT","messageId":"g1","toolCallId":"g1","content":"deleted"}`, finished)
	run := func(thread, entry string, messages ...string) string {
		return fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[%s]%s}`, thread, strings.Join(messages, ","), entry)
	}
	words := strings.Replace(otherUser, "delete a.txt", "and be quick", 1)
	for name, c := range map[string]struct {
		asks, answers string // the principals who ask and answer
		asked         string // user message of the run that asks
		entry         string
		messages      []string
		taken         bool
	}{
		"of the conversation":              {"", "", inTreeUser, edited, []string{inTreeUser}, true},
		"with words beside it":             {"", "", inTreeUser, edited, []string{inTreeUser, words}, true},
		"of the principal":                 {"ann", "ann", inTreeUser, edited, []string{inTreeUser}, true},
		"of another conversation":          {"", "", inTreeUser, edited, []string{otherUser}, false},
		"of another one of the principal":  {"ann", "ann", inTreeUser, edited, []string{otherUser}, false},
		"of the principal, without an id":  {"ann", "ann", inTreeUser, edited, []string{bare}, false},
		"asked by a message without an id": {"ann", "ann", bare, edited, []string{bare}, false},
		"asked by a message that is counted": {
			"ann", "ann", counted, edited, []string{counted}, false,
		},
		"of another principal":   {"ann", "bob", inTreeUser, edited, []string{inTreeUser}, false},
		"about another call":     {"", "", inTreeUser, strings.Replace(edited, `:"g1"`, `:"g2"`, 1), []string{inTreeUser}, false},
		"of another tool":        {"", "", inTreeUser, strings.Replace(edited, "delete_file", "wipe", 1), []string{inTreeUser}, false},
		"with a wrong host's id": {"", "", inTreeUser, strings.Replace(edited, "ficc_g1", "ficc_g2", 1), []string{inTreeUser}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var by func(*Options)
			if by = func(*Options) {}; c.asks != "" {
				by = gated{}.by(t)
			}
			g := newTurnRig(t, "auto", [][]string{asking, carried}, native, by)
			g.as(c.asks, run("t", "", c.asked))
			if g.at("t").State != store.Open {
				t.Fatal("it has not asked")
			}
			got := g.as(c.answers, run("t2", c.entry, c.messages...))
			if taken := g.called() == 2 && !strings.Contains(got, "RUN_ERROR"); taken != c.taken {
				t.Fatalf("taken: %v, %d calls: %s", taken, g.called(), got)
			}
			if refused := strings.Contains(got, `"UNKNOWN_INTERRUPT_ID"`) && g.at("t").State == store.Open; refused == c.taken {
				t.Errorf("refused, and open still: %v: %s", refused, got)
			}
			if c.taken && !strings.Contains(string(g.last()), "z.txt") {
				t.Errorf("the backend got %s", g.last())
			}
			again := g.as(c.answers, run("t3", c.entry, c.messages...))
			if g.called() > 2 || g.called() > 1 != c.taken || c.taken == strings.Contains(again, "RUN_ERROR") {
				t.Errorf("%d calls, told %s", g.called(), again)
			}
		})
	}
}

// TestOpenCallOfAnotherUser: the first user was asked about a call. A run of the second user left
// an equal call open. When the second user continues, this open call must reach the backend.
func TestOpenCallOfAnotherUser(t *testing.T) {
	talks := func(thread, user string, messages ...string) string {
		return strings.Replace(talk(thread, declaresColor, messages...), oldUser, user, 1)
	}
	turn := turnOf(ownColor, openCallA)
	g := newTurnRig(t, "auto", [][]string{frontgate(true), frontgate(false)})
	g.do(talks("t", inTreeUser))
	g.do(talks("u", otherUser))
	g.do(talks("u2", otherUser, turn, colorIs))
	if !g.reached() {
		t.Errorf("the other user's own call was taken out: %s", g.last())
	}
	g.do(talks("t2", inTreeUser, turn, colorIs))
	if g.reached() {
		t.Errorf("a call that a question of the conversation is about reached the backend: %s", g.last())
	}
}

// TestOpenCallOfAnotherPrincipalsQuestion: the principal "ann" was asked about a call. If "bob"
// sends an equal call, it must reach the backend, even if no run is known that left it open.
func TestOpenCallOfAnotherPrincipalsQuestion(t *testing.T) {
	declared := `,"tools":[{"name":"pick_color"},{"name":"delete_file"}]`
	for user, reaches := range map[string]bool{"ann": false, "bob": true} {
		g := newTurnRig(t, "auto", [][]string{frontgate(true)}, gated{}.by(t))
		g.as("ann", talk("t", declaresColor))
		g.as(user, talk("t2", declared, turnOf(ownColor, openCallA), colorIs))
		if got := g.reached(); got != reaches {
			t.Errorf("%s: the call reached the backend: %v, want %v", user, got, reaches)
		}
	}
}

// TestOpenCallAskedOnAnotherThreadAfterARestart: a question on thread t was about a call, and
// Holdpoint was restarted. Then the call arrives on thread t2. The index must still lead to the
// question, so the call must not reach the backend.
func TestOpenCallAskedOnAnotherThreadAfterARestart(t *testing.T) {
	declared := `,"tools":[{"name":"pick_color"},{"name":"delete_file"}]`
	g := newTurnRig(t, "auto", [][]string{frontgate(true)}, func(o *Options) { o.StoreInMemory = false })
	g.do(talk("t", declaresColor))
	kept := g.store
	g = newTurnRig(t, "auto", nil, func(o *Options) { o.StoreInMemory, o.Store = false, kept })
	g.do(talk("t2", declared, turnOf(ownColor, openCallA), colorIs))
	if g.reached() {
		t.Errorf("a call that was asked about reached the backend: %s", g.last())
	}
}

// TestOneQuestionOnTwoThreads: a question of one thread is answered on another thread. The desk and
// the events must show one question only, on the thread that asked it.
func TestOneQuestionOnTwoThreads(t *testing.T) {
	var mu sync.Mutex
	heard := map[string]int{}
	approvals := map[string]bool{}
	g := mintedRig(t, asksOnce, func(o *Options) {
		o.Events = taker(func(e *event.Event) error {
			mu.Lock()
			defer mu.Unlock()
			if heard[string(e.Kind)]++; e.Approval != "" {
				approvals[e.Approval] = true
			}
			return nil
		})
	})
	g.do(input("t", "r1", ""))
	waiting := func() []store.Row {
		page, err := g.store.List(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Rows
	}
	if rows := waiting(); len(rows) != 1 || rows[0].Key != recordKey("/", "t") {
		t.Fatalf("waiting are %+v", rows)
	}
	g.do(input("t2", "r2", resumeWith(yes(mintedID("n1", 1)))))
	g.do(input("t3", "r3", resumeWith(yes(mintedID("n1", 1)))))
	if rows := waiting(); len(rows) > 0 {
		t.Errorf("waiting are %+v", rows)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(approvals) != 1 || heard[string(event.Raised)] != 1 || heard[string(event.Claimed)] != 1 {
		t.Errorf("heard of %v, of %d questions", heard, len(approvals))
	}
}

// TestAnswerOnAnotherThreadAfterARotation: a question was recorded under the old key, and the keys
// were rotated. Under the new key, Holdpoint must still recognize the principal of the question.
func TestAnswerOnAnotherThreadAfterARotation(t *testing.T) {
	kept := memory.New(memory.Options{Entries: 100})
	older := newPairRig(t, 1, gated{}.by(t), func(o *Options) { o.Store = kept })
	older.as("ann", inTreeRun("t", inTreeUser))
	for user, taken := range map[string]bool{"bob": false, "ann": true} {
		g := newPairRig(t, 0, gated{ring: ringNew + "," + ringOld}.by(t), func(o *Options) { o.Store = kept })
		g.as(user, inTreeRun("t-"+user, `{"role":"user","content":"delete a.txt"}`, approvalCall(pairedArgs), pairAnswer))
		if got := g.called() == 1; got != taken {
			t.Errorf("%s: taken: %v, want %v", user, got, taken)
		}
	}
}

// TestPairThatNamesAPublishedID: the sample client of the AG-UI SDK reads the interrupt outcome,
// and answers by a pair: a call and its tool message. The pair names the published id of the
// question. On any thread, Holdpoint must find the question by this id.
func TestPairThatNamesAPublishedID(t *testing.T) {
	told := regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`)
	bare := `{"role":"user","content":"delete a.txt"}`
	for name, c := range map[string]struct {
		thread, call, args string
		taken              bool
	}{
		"on its thread":     {"t", "ficc_c1", pairedArgs, true},
		"on another thread": {"t2", "ficc_c1", pairedArgs, true},
		"on another call":   {"t2", "ficc_c2", pairedArgs, false},
		// the backend gets the arguments of the record
		"with other arguments":    {"t2", "ficc_c1", strings.Replace(pairedArgs, "a.txt", "evil.txt", 1), true},
		"with an id that is made": {"t2", "ficc_c1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			minted := 0
			g := newPairRig(t, 1, func(o *Options) {
				o.Client, o.NewID = ClientOutcome, func() string { minted++; return fmt.Sprintf("id%010d", minted) }
			})
			id := told.FindStringSubmatch(g.do(inTreeRun("t", bare)))[1]
			if c.args == "" {
				id, c.args = "ficc_c1~AAAAAAAAAAAA", pairedArgs
			}
			named := func(s string) string {
				s = strings.ReplaceAll(s, `approval_id\":\"ficc_c1`, `approval_id\":\"`+id)
				return strings.ReplaceAll(s, `"ficc_c1"`, fmt.Sprintf("%q", c.call))
			}
			got := g.do(inTreeRun(c.thread, bare, named(approvalCall(c.args)), named(pairAnswer)))
			if taken := g.called() == 2; taken != c.taken || taken && strings.Contains(string(g.last()), "evil") {
				t.Fatalf("taken: %v: %s\nthe backend got %s", taken, got, g.last())
			}
			g.do(inTreeRun("t3", bare, named(approvalCall(c.args)), named(pairAnswer)))
			if g.called() > 2 || g.called() == 2 != c.taken {
				t.Errorf("%d calls", g.called())
			}
		})
	}
}

// TestOldDecisionOnAnotherThread: a history contains a decision, and after it a user message. The
// decision must not answer a question of another thread, even if the call, the principal and the
// first message are the same.
func TestOldDecisionOnAnotherThread(t *testing.T) {
	words := `{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","role":"user","content":"what time is it"}`
	asksWords := strings.Replace(words, "what time is it", "delete a.txt once more", 1)
	for name, c := range map[string]struct {
		change   []func(*Options)
		as       string
		asked    []string // messages of the run that asks
		messages []string
	}{
		"another chat of the principal":  {[]func(*Options){gated{}.by(t)}, "ann", []string{inTreeUser}, []string{otherUser, approvalCall(pairedArgs), pairAnswer, words}},
		"its denial":                     {[]func(*Options){gated{}.by(t)}, "ann", []string{inTreeUser}, []string{otherUser, approvalCall(pairedArgs), pairRefusal, words}},
		"an old request of another chat": {[]func(*Options){gated{}.by(t)}, "ann", []string{inTreeUser}, []string{otherUser, approvalCall(pairedArgs), pairAnswer}},
		"an equal message with another id": {[]func(*Options){gated{}.by(t)}, "ann", []string{inTreeUser}, []string{
			strings.Replace(inTreeUser, "0123", "3210", 1), approvalCall(pairedArgs), pairAnswer}},
		"a branch":                {nil, "", []string{inTreeUser}, []string{inTreeUser, approvalCall(pairedArgs), pairAnswer, words}},
		"an old request":          {nil, "", []string{inTreeUser, asksWords}, []string{inTreeUser, approvalCall(pairedArgs), pairAnswer}},
		"an edited message":       {nil, "", []string{inTreeUser}, []string{strings.Replace(inTreeUser, "delete a.txt", "keep a.txt", 1), approvalCall(pairedArgs), pairAnswer}},
		"words before the answer": {nil, "", []string{inTreeUser}, []string{inTreeUser, words, approvalCall(pairedArgs), pairAnswer}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newPairRig(t, 1, c.change...)
			g.as(c.as, inTreeRun("t", c.asked...))
			told := g.as(c.as, inTreeRun("t9", c.messages...))
			if g.at("t").State != store.Open || strings.Contains(string(g.last()), "approved") {
				t.Errorf("the question is %q, told %s, the backend got %s", g.at("t").State, told, g.last())
			}
			if c.messages[len(c.messages)-1] == words {
				// the new message is sent to the backend
				wantTypes(t, told, "RUN_STARTED RUN_FINISHED")
			} else {
				wantTypes(t, told, "RUN_STARTED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
			}
			answered := append(c.asked[:len(c.asked):len(c.asked)], approvalCall(pairedArgs), pairAnswer)
			wantTypes(t, g.as(c.as, inTreeRun("t10", answered...)), "RUN_STARTED RUN_FINISHED")
			if g.at("t").State != store.None || !strings.Contains(string(g.last()), `\"approved\":true`) {
				t.Errorf("its own answer was not taken: the backend got %s", g.last())
			}
		})
	}
}

// TestSameCallAgainOnAnotherThread: models repeat the ids of calls, so two questions are about
// equal calls. An answer must belong to the question that followed the same user message as the
// answer.
func TestSameCallAgainOnAnotherThread(t *testing.T) {
	turn := append(append([]string{started}, streams("ficc_c1", "request_approval", pairedArgs, "")...), finished)
	more := `{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","role":"user","content":"delete a.txt once more"}`
	native := func(o *Options) { o.Client = ClientNative }
	pair := []string{approvalCall(pairedArgs), pairAnswer}
	for name, c := range map[string]struct {
		change []func(*Options)
		as     string
		second []string // messages of the run that asks again
	}{
		"in another chat of the principal": {[]func(*Options){gated{}.by(t)}, "ann", []string{otherUser}},
		"in another chat":                  {nil, "", []string{otherUser}},
		"in the same chat":                 {nil, "", []string{inTreeUser, pair[0], pair[1], more}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTurnRig(t, "request-approval", [][]string{turn, {started, finished}, turn, {started, finished}}, append(c.change, native)...)
			g.as(c.as, inTreeRun("t", inTreeUser))
			wantTypes(t, g.as(c.as, inTreeRun("t2", append([]string{inTreeUser}, pair...)...)), "RUN_STARTED RUN_FINISHED")
			g.as(c.as, inTreeRun("t3", c.second...))
			if g.at("t3").State != store.Open {
				t.Fatal("it has not asked again")
			}
			answer := append(c.second[:len(c.second):len(c.second)], pair...)
			wantTypes(t, g.as(c.as, inTreeRun("t4", answer...)), "RUN_STARTED RUN_FINISHED")
			if g.called() != 4 || g.at("t3").State != store.None || !strings.Contains(string(g.last()), `\"approved\":true`) {
				t.Errorf("%d calls, the last %s", g.called(), g.last())
			}
			// each repeated answer gets the end of its own question
			for _, again := range [][]string{answer, append([]string{inTreeUser}, pair...)} {
				if got := g.as(c.as, inTreeRun("t5", again...)); strings.Contains(got, "RUN_ERROR") || g.called() != 4 {
					t.Errorf("%d calls: %s", g.called(), got)
				}
			}
		})
	}
}

// TestRandomIDs checks which message ids count as ids that nobody can guess.
func TestRandomIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef":          true,
		"f3b1c9a0-5c1e-4a7e-9d53-0a5f3c7b2e11":      true,
		"ck-f3b1c9a0-5c1e-4a7e-9d53-0a5f3c7b2e11":   true,
		"V1StGXR8_Z5jdHi6B-my":                      true,
		"user-message-0001":                         false,
		"user-message-00000000000000001":            false,
		"message 00000000000000000000A":             false,
		"1":                                         false,
		"1764298765432":                             false,
		"conversation-2026-11-28-user-message-0001": false,
	} {
		if got := isRandom(id); got != want {
			t.Errorf("%s: random: %v", id, got)
		}
	}
}

// TestOlderPairsAreNotLookedUp: a history contains pairs of a call and its answer, and after them a
// user message. Holdpoint must not look up these pairs in the store, however many there are.
func TestOlderPairsAreNotLookedUp(t *testing.T) {
	var mu sync.Mutex
	var steps []string
	g := newPairRig(t, 0, func(o *Options) {
		o.Store = &storetest.Faults{Store: o.Store, At: func(name string, do func() error) error {
			mu.Lock()
			steps = append(steps, name)
			mu.Unlock()
			return do()
		}}
	})
	messages := []string{inTreeUser}
	for n := range 6 {
		id := fmt.Sprint("ficc_c", n+1)
		messages = append(messages, strings.ReplaceAll(approvalCall(pairedArgs), "ficc_c1", id), strings.ReplaceAll(pairAnswer, "ficc_c1", id))
	}
	wantTypes(t, g.do(inTreeRun("t", append(messages, otherUser)...)), "RUN_STARTED RUN_FINISHED")
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(steps) != "[Load]" {
		t.Errorf("it takes %v", steps)
	}
}

// TestResumeNamesOneOfTwoQuestions: two questions are open, and the messages contain both calls
// without a result. The id in the resume entry must decide which question the entry answers.
func TestResumeNamesOneOfTwoQuestions(t *testing.T) {
	asking := func(id string) []string {
		return append(append([]string{started}, streams(id, "request_approval", strings.ReplaceAll(pairedArgs, "ficc_c1", id), "")...), finished)
	}
	native := func(o *Options) { o.Client = ClientNative }
	g := newTurnRig(t, "request-approval", [][]string{asking("ficc_c1"), asking("ficc_c2")}, native)
	first := approvalCall(pairedArgs)
	second := strings.ReplaceAll(first, "ficc_c1", "ficc_c2")
	g.do(inTreeRun("t", inTreeUser))
	g.do(inTreeRun("u", inTreeUser))
	if g.at("t").State != store.Open || g.at("u").State != store.Open {
		t.Fatal("they have not asked")
	}
	named := g.at("u").Pause.Interrupts[0].ID
	entry := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]}`, named)
	got := g.do(strings.TrimSuffix(inTreeRun("v", inTreeUser, first, second), "}") + entry)
	if strings.Contains(got, "RUN_ERROR") || g.at("t").State != store.Open || g.at("u").State != store.None {
		t.Errorf("the questions are %q and %q: %s", g.at("t").State, g.at("u").State, got)
	}
}

// TestSameCallAgainInOneTurn: the run that sends the first answer asks the same question again, in
// the same record and after the same user message. If the client repeats the first answer, it must
// not answer the second question.
func TestSameCallAgainInOneTurn(t *testing.T) {
	g := newPairRig(t, 2)
	first := []string{inTreeUser, approvalCall(pairedArgs), pairAnswer}
	g.do(inTreeRun("t", inTreeUser))
	g.do(inTreeRun("t2", first...))
	if g.at("t").State != store.Open {
		t.Fatal("it has not asked again")
	}
	g.do(inTreeRun("t3", first...))
	if g.called() != 2 || g.at("t").State != store.Open {
		t.Fatalf("the first answer was taken again: %d calls, %s", g.called(), g.last())
	}
	second := append(first, approvalCall(pairedArgs), pairAnswer)
	wantTypes(t, g.do(inTreeRun("t4", second...)), "RUN_STARTED RUN_FINISHED")
	if g.called() != 3 || g.at("t").State != store.None {
		t.Errorf("%d calls, the last %s", g.called(), g.last())
	}
}

// TestCancelThatCannotBeSaidOnAnotherThread: a request on thread t2 has new messages, and a cancel
// of a question of thread t. The dialect cannot send the cancel to the backend. The new messages
// must go to the backend on thread t2.
func TestCancelThatCannotBeSaidOnAnotherThread(t *testing.T) {
	g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= 2 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started, finished))
	})
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
		if r.Pause.ID != "" && r.Answers[0].Status == agui.Cancelled {
			return translate.Out{}, agui.Errorf(agui.InvalidPayload, "cannot be cancelled")
		}
		return translate.Out{}, nil
	}
	g.do(input("t", "r1", ""))
	cancel := `{"interruptId":"` + mintedID("n1", 1) + `","status":"cancelled"}`
	g.do(strings.Replace(input("t2", "r2", resumeWith(cancel)), oldUser, oldUser+","+newUser, 1))
	if got := gjson.GetBytes(g.last(), "threadId").Str; g.called() != 2 || got != "t2" {
		t.Errorf("the run of t2 went to thread %q", got)
	}
	if g.at("t").State != store.None || g.at("t2").State != store.Open {
		t.Errorf("the records are %q and %q", g.at("t").State, g.at("t2").State)
	}
	wantTypes(t, g.do(input("t2", "r3", resumeWith(yes(mintedID("n1", 2))))), "RUN_STARTED RUN_FINISHED")
	if got := gjson.GetBytes(g.last(), "threadId").Str; got != "t2" {
		t.Errorf("the answer went to thread %q", got)
	}
}

// TestOwnThreadAfterARotation: a question of thread t was recorded under the old key. A request on
// thread t2 cancels it and has new messages. The record of t2 is under the new key. If the run of
// the new messages asks a question, the record of t2 must keep this question.
func TestOwnThreadAfterARotation(t *testing.T) {
	kept := memory.New(memory.Options{Entries: 100})
	var minted atomic.Int64
	shared := func(o *Options) {
		o.Store, o.NewID = kept, func() string { return fmt.Sprintf("id%010d", minted.Add(1)) }
	}
	asksAlways := func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, asks)) }
	older := newRig(t, asksAlways, gated{}.by(t), shared)
	older.as("ann", input("t", "r1", ""))
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 2 {
			sendStream(w, streamOf(started, finished))
			return
		}
		sendStream(w, streamOf(started, asks))
	}, gated{ring: ringNew + "," + ringOld}.by(t), shared)
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
		if r.Pause.ID != "" && r.Answers[0].Status == agui.Cancelled {
			return translate.Out{}, agui.Errorf(agui.InvalidPayload, "cannot be cancelled")
		}
		return translate.Out{}, nil
	}
	g.as("ann", input("t2", "r2", ""))
	g.as("ann", input("t2", "r3", resumeWith(yes(mintedID("n1", 2)))))
	if g.at("t2").State != store.None || g.at("t2").Owner == g.at("t").Owner {
		t.Fatalf("the records are of %q and %q", g.at("t").Owner, g.at("t2").Owner)
	}
	cancel := `{"interruptId":"` + mintedID("n1", 1) + `","status":"cancelled"}`
	told := g.as("ann", strings.Replace(input("t2", "r4", resumeWith(cancel)), oldUser, oldUser+","+newUser, 1))
	if strings.Contains(told, "RUN_ERROR") || g.at("t").State != store.None || g.at("t2").State != store.Open {
		t.Fatalf("the records are %q and %q: %s", g.at("t").State, g.at("t2").State, told)
	}
	wantTypes(t, g.as("ann", input("t2", "r5", resumeWith(yes(mintedID("n1", 3))))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

// TestRunsAloneMoveWithTheirKey: a run that continues without its client makes its thread busy. If
// the run moves to another thread, only the other thread may be busy.
func TestRunsAloneMoveWithTheirKey(t *testing.T) {
	g := newRig(t, nil)
	in := agui.RunInput{ThreadID: "t"}
	r := loneRun(t.Context(), g.h, "/", &in)
	own := r.judge.ledger.Key
	r.life.key, r.life.log = own, g.h.log
	r.life.enter(&g.h.runs, t.Context())
	r.life.goOnAlone()
	for _, key := range []store.Key{"other", own, "other"} {
		r.judge.setKey(key)
		for _, one := range []store.Key{"other", own} {
			if busy := g.h.runs.busyAlone(one); busy != (one == key) {
				t.Errorf("on %s: %s is busy: %v", key, one, busy)
			}
		}
	}
	r.life.leave(nil, nil)
	if len(g.h.runs.alone) > 0 {
		t.Errorf("kept busy by a run that has ended: %v", g.h.runs.alone)
	}
}

// TestWordsBesideAnOldAnswerCatchUp: a request on thread t2 has a new message, and repeats the
// answer to an older question of thread t. Meanwhile a question of t2 was decided and sent. The
// chat must first get the end of that run, and the backend its messages, as if the new message came
// alone.
func TestWordsBesideAnOldAnswerCatchUp(t *testing.T) {
	for name, resume := range map[string]string{"alone": "", "beside the answer": resumeWith(yes(mintedID("n1", 1)))} {
		t.Run(name, func(t *testing.T) {
			g := mintedRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n%2 == 1 {
					sendStream(w, streamOf(started, asks))
					return
				}
				sendStream(w, streamOf(started, hello, finished))
			}, func(o *Options) { o.OtherDoors = &OtherDoors{KeepsInput: true} })
			g.do(input("t", "r1", ""))
			g.do(input("t", "r2", resumeWith(yes(mintedID("n1", 1)))))
			g.do(input("t2", "r3", ""))
			key := recordKey("/", "t2")
			word := door.Decision{Question: mintedID("n1", 2), Status: agui.Resolved, Payload: []byte(`true`)}
			if _, err := g.h.Decide(t.Context(), key, g.at("t2").Pause.ID, maria, []door.Decision{word}); err != nil {
				t.Fatal(err)
			}
			if err := g.h.Carry(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if rec := g.at("t2"); rec.State != store.None || g.called() != 4 {
				t.Fatalf("not carried: %+v", rec)
			}
			told := g.do(strings.Replace(input("t2", "r5", resume), oldUser, oldUser+","+newUser, 1))
			wantTypes(t, told, "RUN_STARTED MESSAGES_SNAPSHOT MESSAGES_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
			if got := gjson.GetBytes(g.last(), "messages.#").Int(); got != 3 || gjson.GetBytes(g.last(), "threadId").Str != "t2" {
				t.Errorf("the backend got %s", g.last())
			}
		})
	}
}

// TestEntryThatIsGone: the store still has a question, but it has lost the entry of the index for
// it, or cannot read the entry. An answer on another thread must then be refused as unknown. On the
// thread of the question, the answer must be accepted.
func TestEntryThatIsGone(t *testing.T) {
	gone := false
	g := mintedRig(t, asksOnce, func(o *Options) {
		kept := o.Store
		o.Store = &forgetful{Store: kept, keeps: func(key store.Key) bool { return !gone || key == recordKey("/", "t") }}
	})
	g.do(input("t", "r1", ""))
	gone = true
	id := mintedID("n1", 1)
	wantTypes(t, g.do(input("t2", "r2", resumeWith(yes(id)))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes(id)))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if g.called() != 2 {
		t.Errorf("%d calls", g.called())
	}
}

// A forgetful is a store. It returns records only for the keys for which keeps returns true.
type forgetful struct {
	store.Store

	keeps func(store.Key) bool
}

func (f *forgetful) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	rec, err := f.Store.Load(ctx, key, owner)
	if !f.keeps(key) {
		rec = store.Record{Now: rec.Now}
	}
	return rec, err
}

// TestEntriesLeadToAPause: the store must keep an entry of the index as long as the result of the
// entry's question. So the store must be able to distinguish entries of the index from other notes.
func TestEntriesLeadToAPause(t *testing.T) {
	var notes []store.Note
	g := mintedRig(t, asksOnce, func(o *Options) {
		o.Store = &noting{Store: o.Store, note: func(n store.Note) { notes = append(notes, n) }}
	})
	g.do(input("t", "r1", ""))
	if len(notes) == 0 {
		t.Fatal("nothing was noted")
	}
	for _, n := range notes {
		if !n.RefersToPause {
			t.Errorf("the note %s leads to no pause", n.Text)
		}
	}
}

// A noting is a store that calls note with each note that a caller writes.
type noting struct {
	store.Store

	note func(store.Note)
}

func (s *noting) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if remember, is := step.(store.Remember); is {
		s.note(remember.Note)
	}
	return s.Store.Do(ctx, key, step)
}

// TestWordsBesideAnOldAnswerOnALockedThread: a request on the second thread has a new message, and
// repeats the answer to an older question of the first thread. The backend still waits for an
// answer on the second thread, and would refuse a message. So Holdpoint must first cancel the
// question of the second thread. Then the new message must go to the backend, as if it came alone.
func TestWordsBesideAnOldAnswerOnALockedThread(t *testing.T) {
	const (
		paused = "6f15201c-63b4-4e97-bbe2-90443e19e4b2"
		cancel = `[{"interruptId":"hook:beforeToolCall:g2:myapp-approval","status":"resolved","payload":"n"}]`
	)
	native := func(n int) string { return fmt.Sprintf("hook:beforeToolCall:g%d:myapp-approval", n) }
	asking := func(n int) []string {
		return []string{
			started,
			fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"g%d","toolCallName":"delete_files","parentMessageId":%q}`, n, paused),
			fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"g%d","delta":"{}"}`, n),
			fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"g%d"}`, n),
			fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":%q,"reason":"confirmation","message":"{}","metadata":{"strandsName":"myapp-approval"}}]}}`, native(n)),
		}
	}
	ended := []string{started, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"g1","content":"done"}`, finished}
	holds := fmt.Sprintf(`{"id":%q,"role":"assistant","content":"","toolCalls":[{"id":"g1","type":"function","function":{"name":"delete_files","arguments":"{}"}}]}`, paused)
	answer := func(id string) string {
		return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, id)
	}
	for name, c := range map[string]struct {
		first  []string // stream of the backend's response to the older answer
		resume string
	}{
		"alone":                  {ended, ""},
		"beside the answer":      {ended, answer(native(1) + "~id0000000001")},
		"beside one that failed": {[]string{started, `{"type":"RUN_ERROR","message":"kaput"}`}, answer(native(1) + "~id0000000001")},
	} {
		for lock, lost := range map[string]bool{"an answer's end was not seen": false, "its question is lost": true} {
			t.Run(name+"/"+lock, func(t *testing.T) {
				turns := [][]string{asking(1), c.first, asking(2), {started}}
				if lost {
					turns = turns[:2]
				}
				n := 0
				g := newTurnRig(t, "aws-strands", turns, func(o *Options) {
					o.NewID = func() string { n++; return fmt.Sprintf("id%010d", n) }
				})
				g.do(talk("t", ""))
				g.do(talk("t", answer(native(1)+"~id0000000001"), holds))
				if lost {
					g.do(talk("t2", answer(native(2)+"~AAAAAAAAAAAA"), holds))
				} else {
					g.do(talk("t2", ""))
					g.do(talk("t2", answer(native(2)+"~id0000000002")))
				}
				before := g.called()
				if before != len(turns) {
					t.Fatalf("%d calls", before)
				}
				told := g.do(talk("t2", c.resume, holds, newUser))
				if strings.Contains(told, `"RUN_ERROR"`) || !strings.Contains(told, `"RUN_FINISHED"`) {
					t.Errorf("told %s", told)
				}
				if failed := len(c.first) != len(ended); failed != strings.Contains(told, `"refusal"`) {
					t.Errorf("what became of the older answer: %s", told)
				}
				var sent []string
				for at := before; at < g.called(); at++ {
					if request := g.sent(at); request.Get("threadId").Str != "t2" {
						t.Errorf("the backend got %s", request.Raw)
					}
					sent = append(sent, g.sent(at).Get("resume").Raw)
				}
				if len(sent) != 2 || sent[0] != cancel || sent[1] != "" {
					t.Errorf("sent %q", sent)
				}
				if last := string(g.last()); !strings.Contains(last, newUser) {
					t.Errorf("the words are gone: %s", last)
				}
				if rec := g.at("t2"); rec.State != store.None || rec.Pause != nil {
					t.Errorf("the thread waits: %+v", rec)
				}
			})
		}
	}
}
