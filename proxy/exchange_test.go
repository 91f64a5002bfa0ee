package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestExchangeAfterNoneIsSent: a dialect sends nothing to the backend for a cancelled answer. So
// the next exchange of the run causes the first request to the backend. This request must contain
// the new messages.
func TestExchangeAfterNoneIsSent(t *testing.T) {
	if !child(t) {
		return
	}
	g := newRig(t, asksOnce)
	g.do(input("t", "r1", ""))
	g.dialect.begin = func(*translate.Request) (translate.Out, error) { return translate.Out{None: true}, nil }
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if e.None {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	_, got := post(t, g.front.URL, "application/json", `{"threadId":"t","runId":"r2","messages":[`+oldUser+`,`+newUser+`]`+resumeWith(no("n1~id1"))+`}`)
	wantTypes(t, got, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestSecondExchangeAfterAnEndWithoutItsBlankLine: a run has two exchanges. The last frame of the
// first stream lacks its blank line. The client must still get this frame and the frames of the
// second stream as separate frames.
func TestSecondExchangeAfterAnEndWithoutItsBlankLine(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			sendStream(w, streamOf(started, asks))
		case 2:
			sendStream(w, strings.TrimRight(streamOf(started, finished), "\n"))
		default:
			sendStream(w, streamOf(started, hello, finished))
		}
	})
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
		}
		return translate.Result{}, nil
	}
	g.do(input("t", "r1", ""))
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
}

// TestSecondExchangeGoesToTheClientsPath: if the Out of the second exchange has no Path and no
// Header, the second request must use the path and the headers of the client, and not those of the
// first request.
func TestSecondExchangeGoesToTheClientsPath(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started, finished))
	}, func(o *Options) { o.Dialect = prepDialect{&fakeDialect{}} })
	post(t, g.front.URL+"/?q=1", "application/json", input("t", "r1", ""))
	post(t, g.front.URL+"/?q=1", "application/json", input("t", "r2", resumeWith(yes("n1~id1"))))
	if g.called() != 3 || g.paths[1] != "/agent/prepare?q=1" || g.paths[2] != "/agent?q=1" || g.heads[2].Get("X-Step") != "" {
		t.Errorf("%q, X-Step %q", g.paths, g.heads[len(g.heads)-1].Get("X-Step"))
	}
}

// TestEndIsCalledOnce: Holdpoint must call the End of a run once, even if the client leaves after
// the terminal event and before the end of the backend's stream.
func TestEndIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := 0
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started, finished))
			<-ctx.Done()
			return ctx.Err()
		}, func(o *Options) {
			o.Dialect = &fakeDialect{end: func(int, translate.End) (translate.Result, error) { ends++; return translate.Result{}, nil }}
		})
		gone := &recorder{ResponseRecorder: httptest.NewRecorder(), fail: true}
		b.h.ServeHTTP(gone, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", ""))))
		if ends != 1 {
			t.Errorf("End was called %d times", ends)
		}
	})
}

// TestAskedOnceMore: a dialect may send a second request, which asks the backend whether it still
// waits for the answer. Whatever the backend replies, the question must be open exactly once
// afterwards, and Holdpoint must not send an answer again.
func TestAskedOnceMore(t *testing.T) {
	snapshots := []string{`{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `]}`}
	a, b := onInterrupt(hexA, `{"q":"A"}`), onInterrupt(hexB, `{"q":"B"}`)
	old := func(customs ...string) string {
		return streamOf(append(append(append([]string{started, `{"type":"STEP_STARTED","stepName":"n"}`}, customs...), `{"type":"STEP_FINISHED","stepName":"n"}`), append(snapshots, finished)...)...)
	}
	for name, c := range map[string]struct {
		serve func(w http.ResponseWriter)
		want  string
	}{
		"status":        {func(w http.ResponseWriter) { w.WriteHeader(503) }, hexA},
		"no stream":     {func(w http.ResponseWriter) { io.WriteString(w, "{}") }, hexA},
		"cut":           {func(w http.ResponseWriter) { sendStream(w, streamOf(started)); panic(http.ErrAbortHandler) }, hexA},
		"before header": {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, hexA},
		"error":         {func(w http.ResponseWriter) { sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"x"}`)) }, hexA},
		"error, then more": {func(w http.ResponseWriter) {
			sendStream(w, streamOf(started, `{"type":"RUN_ERROR","message":"x"}`, b, finished))
		}, hexA},
		"the same":    {func(w http.ResponseWriter) { sendStream(w, streamOf(started, a, finished)) }, hexA},
		"both":        {func(w http.ResponseWriter) { sendStream(w, streamOf(started, a, b, finished)) }, hexB},
		"another":     {func(w http.ResponseWriter) { sendStream(w, streamOf(started, b, finished)) }, hexB},
		"empty":       {func(w http.ResponseWriter) { sendStream(w, "") }, hexA},
		"nothing now": {func(w http.ResponseWriter) { sendStream(w, streamOf(started, finished)) }, ""},
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

// TestSecondExchangeHasTheHeadersOfTheFirst: if the client sends no User-Agent, the backend must
// get no User-Agent either, in the first request and in the second.
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

// TestEndedPauses: a dialect must get the earlier pauses of the thread, however they ended. They
// include the pause that the current request gives up.
func TestEndedPauses(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, strings.ReplaceAll(asks, "n1", fmt.Sprint("n", n))))
	})
	var seen string
	g.dialect.begin = func(r *translate.Request) (translate.Out, error) {
		seen = "after"
		for _, p := range r.EndedPauses {
			seen += " " + p.Interrupts[0].Native
		}
		if len(r.Answers) > 0 && r.Answers[0].Status == agui.Cancelled {
			return translate.Out{}, agui.Errorf(agui.InvalidPayload, "no word for it")
		}
		return translate.Out{}, nil
	}
	for _, turn := range []struct{ body, want string }{
		{input("t", "r1", ""), "after"},
		{input("t", "r2", resumeWith(yes("n1~id1"))), "after"},
		{input("t", "r3", resumeWith(yes("n2~id2"))), "after n1"},
		{strings.Replace(input("t", "r4", resumeWith(no("n3~id3"))), "]", `,{"id":"u2","role":"user","content":"And?"}]`, 1), "after n3 n2 n1"},
	} {
		g.do(turn.body)
		if seen != turn.want {
			t.Errorf("%s: begun %q, want %q", turn.body, seen, turn.want)
		}
	}
}

// chain returns an end function for a fakeDialect. With it, a run continues with the exchanges of
// list, one after another. The function makes each Exchange anew, because the Run of an Exchange is
// used once.
func chain(list ...translate.Out) func(n int, e translate.End) (translate.Result, error) {
	return func(n int, e translate.End) (translate.Result, error) {
		if n <= len(list) && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
			return translate.Result{Next: &translate.Exchange{Out: list[n-1]}}, nil
		}
		return translate.Result{}, nil
	}
}

// TestExchangesAreAlike: a run may send several requests to the backend. Each of them must look
// like the first one, and the client must see one run.
func TestExchangesAreAlike(t *testing.T) {
	for exchanges := range 6 {
		g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
			w.Header().Set("X-Exchange", fmt.Sprint(n))
			sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", fmt.Sprint("m", n)), finished))
		})
		g.dialect.end = chain(make([]translate.Out, exchanges)...)
		req, _ := http.NewRequest(http.MethodPost, g.front.URL+"/?q=1", strings.NewReader(input("t", "r1", "")))
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Connection": {"X-Hop"}, "X-Hop": {"mine"}, "Te": {"deflate"}, "Keep-Alive": {"9"},
			"Proxy-Authorization": {"p"}, "X-Forwarded-For": {"192.0.2.7"}, "Authorization": {"mine"}, "User-Agent": nil,
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		wantTypes(t, string(got), "RUN_STARTED"+strings.Repeat(" TEXT_MESSAGE_CHUNK", exchanges+1)+" RUN_FINISHED")
		if g.called() != exchanges+1 || res.Header.Get("X-Exchange") != "1" {
			t.Fatalf("%d exchanges, header of exchange %q", g.called(), res.Header.Get("X-Exchange"))
		}
		for n, h := range g.heads {
			if fmt.Sprint(h) != fmt.Sprint(g.heads[0]) || g.paths[n] != "/agent?q=1" || string(g.calls[n]) != input("t", "r1", "") {
				t.Errorf("exchange %d: %s %v %s\nwant %v", n+1, g.paths[n], h, g.calls[n], g.heads[0])
			}
			if h.Get("X-Hop")+h.Get("Te")+h.Get("Keep-Alive")+h.Get("Proxy-Authorization")+h.Get("User-Agent") != "" ||
				h.Get("Authorization") != "mine" || !strings.HasPrefix(h.Get("X-Forwarded-For"), "192.0.2.7, ") {
				t.Errorf("exchange %d: %v", n+1, h)
			}
		}
	}
}

// TestAnswersAmongManyExchanges: a run sends several requests to the backend, and the last one
// fails. The pause must be open again if no request had the answers, or if the failed request was
// the only one that had them. Otherwise the pause must end: if the failed request had answers, in
// doubt.
func TestAnswersAmongManyExchanges(t *testing.T) {
	plain, resumes := translate.Out{}, translate.Out{Resumes: true}
	for name, c := range map[string]struct {
		first  bool            // the first exchange carries the answers
		behind []translate.Out // the later exchanges; the last one fails
		want   store.State
		how    store.EndKind
	}{
		"before the answers":          {false, []translate.Out{plain, plain}, store.Open, ""},
		"at the answers":              {false, []translate.Out{plain, resumes}, store.Open, ""},
		"at answers late in a chain":  {false, []translate.Out{plain, plain, plain, resumes}, store.Open, ""},
		"behind the answers":          {false, []translate.Out{resumes, plain}, store.None, store.Finished},
		"far behind the answers":      {true, []translate.Out{plain, plain, plain}, store.None, store.Finished},
		"at the rest of the answers":  {true, []translate.Out{plain, resumes}, store.None, store.Doubtful},
		"at the last of many answers": {false, []translate.Out{resumes, resumes, resumes}, store.None, store.Doubtful},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					sendStream(w, streamOf(started, asks))
				case 2 + len(c.behind):
					w.WriteHeader(http.StatusBadRequest)
				default:
					sendStream(w, streamOf(started, finished))
				}
			}, func(o *Options) { o.Dialect = stepsDialect{&fakeDialect{end: chain(c.behind...)}, c.first} })
			g.do(input("t", "r1", ""))
			open := map[bool]string{true: "+interrupt"}[c.want == store.Open]
			wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED"+open+" RUN_ERROR:UPSTREAM_STATUS")
			rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if rec.State != c.want || c.how != "" && rec.Results[0].EndKind != c.how || g.called() != 2+len(c.behind) {
				t.Errorf("%d calls, record %+v", g.called(), rec)
			}
		})
	}
}

// A stepsDialect is a fakeDialect. The first request of a resume has the answers only if first is
// true.
type stepsDialect struct {
	*fakeDialect
	first bool
}

func (d stepsDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, run, err := d.fakeDialect.Begin(r)
	out.Resumes = out.Resumes && d.first
	return out, run, err
}

// TestExchangesEnd: after each exchange, a dialect asks for another exchange. Holdpoint must end
// the run with UPSTREAM_STATUS.
func TestExchangesEnd(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, streamOf(started, asks)) })
	g.do(input("t", "r1", ""))
	g.dialect.begin = func(*translate.Request) (translate.Out, error) { return translate.Out{None: true}, nil }
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		return translate.Result{Next: &translate.Exchange{Out: translate.Out{None: true}}}, nil
	}
	wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_STATUS")
	if rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State == store.Claimed || g.called() != 1 {
		t.Errorf("%d calls, record %+v", g.called(), rec)
	}
}
