package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestHabitAfterARequest: each request of a thread shows whether its client sends the whole
// conversation or only new messages. want in the table is the habit that Holdpoint notes after
// these requests.
func TestHabitAfterARequest(t *testing.T) {
	const u1, u2, u3 = `{"id":"u1","role":"user","content":"one"}`, `{"id":"u2","role":"user","content":"two"}`, `{"id":"u3","role":"user","content":"three"}`
	const a1, system, result = `{"id":"a1","role":"assistant","content":"hello"}`, `{"id":"s","role":"system","content":"be kind"}`, `{"id":"r1","role":"tool","toolCallId":"c1","content":"yes"}`
	for name, test := range map[string]struct {
		requests []string
		want     int8
	}{
		"nothing":                          {nil, 0},
		"one request":                      {[]string{u1}, 0},
		"another message":                  {[]string{u1, u2}, 1},
		"one message after the other":      {[]string{u1, u2, u3, u1}, newOnlyPageDeltas},
		"no message":                       {[]string{u1, u2, ""}, 1},
		"a result alone":                   {[]string{u1, u2, result}, 1},
		"the same system message each":     {[]string{system + "," + u1, system + "," + u2}, 1},
		"the message again":                {[]string{u1, u1}, -1},
		"the message under another id":     {[]string{u1, strings.Replace(u1, "u1", "u9", 1)}, -1},
		"the message with other words":     {[]string{u1, strings.Replace(u1, "one", "all", 1)}, -1},
		"without ids":                      {[]string{`{"role":"user","content":"one"}`, `{"role":"user","content":"two"}`}, 1},
		"without ids, the same":            {[]string{`{"role":"user","content":"one"}`, `{"role":"user","content":"one"}`}, -1},
		"the user's messages":              {[]string{u1, u1 + "," + u2}, -1},
		"the last of them edited":          {[]string{u1 + "," + u2, u1 + "," + u3}, -1},
		"the first of them left out":       {[]string{u1 + "," + u2, u2 + "," + u3}, -1},
		"the conversation":                 {[]string{u1, u1 + "," + a1 + "," + u2}, -1},
		"the conversation under other ids": {[]string{u1, `{"role":"user","content":"1"},` + a1 + "," + u2}, -1},
		"begun anew after it":              {[]string{u1, u1 + "," + a1 + "," + u2, u3}, 0},
		"deltas after it":                  {[]string{u1, u1 + "," + a1 + "," + u2, u3, u1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var h sendingHabit
			for _, list := range test.requests {
				in, _, err := agui.ParseInput([]byte(withMessages(list)))
				if err != nil {
					t.Fatal(err)
				}
				h = h.after(in.Messages)
			}
			if h.deltas != test.want {
				t.Errorf("%d deltas, want %d", h.deltas, test.want)
			}
		})
	}
	if !showsNewOnly(1, false) || showsNewOnly(0, false) || showsNewOnly(1, true) || !showsNewOnly(2, true) {
		t.Error("one delta shows it, and of a page two")
	}
}

// TestHabitOfItsSender: what a client sends on another thread or path must not count for its habit
// on this thread. The record of a question must have the habit, so that another replica knows it.
func TestHabitOfItsSender(t *testing.T) {
	plain := func(id string) string {
		return fmt.Sprintf(`"messages":[{"id":%q,"role":"user","content":%q}]`, id, id)
	}
	for name, test := range map[string]struct {
		path, thread string // of the first run; the later runs use path / and thread t
		want         bool
	}{
		"the same":       {"/", "t", true},
		"another thread": {"/", "t2", false},
		"another path":   {"/other", "t", false},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := map[string]bool{} // the value of Sessions for each run id
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				sendStream(w, streamOf(started, map[bool]string{true: asks, false: finished}[n == 2]))
			})
			g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
				sessions[r.Input.RunID] = r.Sessions
				return translate.Out{Body: r.Input.Raw, Resumes: len(r.Answers) > 0}, nil
			}
			sends := func(path, thread, run, more string) {
				body := fmt.Sprintf(`{"threadId":%q,"runId":%q,%s}`, thread, run, more)
				res, err := http.Post(g.front.URL+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Fatal(err)
				}
			}
			sends(test.path, test.thread, "r1", plain("u1"))
			sends("/", "t", "r2", plain("u2"))
			rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if err != nil || rec.State != store.Open || rec.Pause.NewOnly != test.want {
				t.Fatalf("%v, %+v", err, rec.Pause)
			}
			g.h.memory.senders.Purge() // as if another replica got the answer
			sends("/", "t", "r3", `"messages":[]`+resumeWith(yes(rec.Pause.Interrupts[0].ID)))
			if got, asked := sessions["r3"]; got != test.want || !asked {
				t.Errorf("the answer goes without the conversation: %v", got)
			}
		})
	}
}

// TestFailuresDenyTheHabit: Holdpoint sends an answer without the conversation, because of the
// client's habit, and the backend fails. Holdpoint must send the next answer of the thread with the
// conversation. So a habit that was noted wrongly cannot lock a chat.
func TestFailuresDenyTheHabit(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(w http.ResponseWriter)
		open  bool // the question is still open after the failure
	}{
		"422": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnprocessableEntity) }, true},
		"500": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, false},
		"cut": {func(w http.ResponseWriter) { sendStream(w, streamOf(started)) }, false},
		"RUN_ERROR": {func(w http.ResponseWriter) {
			sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := map[string]bool{} // the value of Sessions for each run id
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				body, _ := io.ReadAll(r.Body)
				switch in, _, _ := agui.ParseInput(body); in.RunID {
				case "asks1", "asks2":
					sendStream(w, streamOf(started, asks))
				case "answer1":
					test.fails(w)
				default:
					sendStream(w, streamOf(started, finished))
				}
			})
			g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
				sessions[r.Input.RunID] = r.Sessions
				return translate.Out{Body: r.Input.Raw, Resumes: len(r.Answers) > 0}, nil
			}
			sends := func(run, more string) {
				res, err := http.Post(g.front.URL, "application/json", strings.NewReader(fmt.Sprintf(`{"threadId":"t","runId":%q,%s}`, run, more)))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Fatal(err)
				}
			}
			says := func(run string) {
				sends(run, fmt.Sprintf(`"messages":[{"id":%q,"role":"user","content":%q}]`, run, run))
			}
			answers := func(run string) {
				rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
				if err != nil || rec.State != store.Open {
					t.Fatalf("before %s no question is open: %v, %v", run, rec.State, err)
				}
				sends(run, `"messages":[]`+resumeWith(yes(rec.Pause.Interrupts[0].ID)))
			}
			says("plain")
			says("asks1")
			answers("answer1")
			if !test.open {
				says("asks2")
			}
			answers("answer2")
			if first, second := sessions["answer1"], sessions["answer2"]; !first || second {
				t.Errorf("the first answer goes without the conversation: %v, and the second: %v", first, second)
			}
			if _, asked := sessions["answer2"]; !asked {
				t.Error("the second answer is not sent")
			}
		})
	}
}

// TestHabitNeedsItsClient: a client left before the end of its run, so it may not have the message
// of the run. Then the run must not count for the client's habit. A run that failed must not count
// either.
func TestHabitNeedsItsClient(t *testing.T) {
	g := newRig(t, func(http.ResponseWriter, *http.Request, int) {})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for n, test := range []struct {
		client context.Context
		end    string
		want   int
	}{{gone, finished, 0}, {t.Context(), `{"type":"RUN_ERROR","message":"kaput"}`, 0}, {t.Context(), finished, 1}} {
		in, _, err := agui.ParseInput([]byte(input("t", "r", "")))
		if err != nil {
			t.Fatal(err)
		}
		r := loneRun(t.Context(), g.h, "/", &in)
		r.life.client = test.client
		r.client.transcript = transcript.New(1<<20, nil, nil)
		r.exchange.Run = &fakeRun{d: g.dialect, n: 1}
		r.conclude(settle.End{End: translate.End{Event: agui.NewEvent([]byte(test.end))}}, false)
		if got := g.h.memory.senders.Len(); got != test.want {
			t.Errorf("%d: %d senders are known, want %d", n, got, test.want)
		}
	}
}
