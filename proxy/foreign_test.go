package proxy

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
)

// A foreignDialect is a fakeDialect whose backend does not send AG-UI, but lines of text. The line
// `asks` becomes a pause, the line `ends` the end of the run, and the line `fails` an error of
// Decode. The line `many` becomes a text, the end of the run and a second text. Any other line
// becomes a text.
type foreignDialect struct {
	fakeDialect
	untaken bool
	endless bool // there is no line `ends`: the run ends when the stream ends cleanly
}

func (*foreignDialect) Route(path string) (string, bool) {
	return "/agent", path == "/" || path == "/run"
}

func (d *foreignDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, inner, err := d.fakeDialect.Begin(r)
	out.Path, out.Header = "/native", map[string][]string{"X-Session-id": {"s1"}}
	if out.Body == nil {
		out.Body = []byte(`{"prompt":"p"}`)
	}
	return out, &foreignRun{Run: inner, d: d, messages: r.Input.Messages}, err
}

type foreignRun struct {
	translate.Run
	d        *foreignDialect
	messages []agui.Message
	asked    bool
}

func (*foreignRun) Framing(mediaType string) translate.Framing {
	return map[string]translate.Framing{
		"text/event-stream": translate.Frames, "application/x-ndjson": translate.Lines, "": translate.Lines,
		"text/plain": translate.Text, "application/json": translate.Whole,
	}[mediaType]
}

func text(s string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(map[string]string{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": s}))
}

func (r *foreignRun) Decode(p translate.Piece, emit func(agui.Event)) error {
	switch s := string(p.Data); s {
	case "asks":
		r.asked = true
	case "ends":
		emit(agui.NewEvent([]byte(finished)))
	case "many":
		emit(text("one"))
		emit(agui.NewEvent([]byte(finished)))
		emit(text("two"))
	case "fails":
		return agui.Errorf(agui.UpstreamStatus, "not understood")
	default:
		emit(text(string(p.Name) + "|" + s))
	}
	return nil
}

func (r *foreignRun) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: agui.NewEvent([]byte(finished))}
	switch {
	case r.asked:
		res.Asked = translate.AskedPause{Interrupts: []agui.Interrupt{{Native: "n1", Object: []byte(`{"reason":"confirmation"}`)}}}
		if r.d.untaken {
			res.UnacceptedMessages = r.messages[len(r.messages)-1:]
		}
	case e.Event.Type == agui.Unknown && (!r.d.endless || e.Cut):
		res.Finish = agui.Event{}
	}
	return res, nil
}

func newForeignRig(t *testing.T, d *foreignDialect, serve func(w http.ResponseWriter, r *http.Request, n int), change ...func(*Options)) *rig {
	return newRig(t, serve, append(change, func(o *Options) { o.Dialect, o.MaxFrameBytes = d, 64<<10 })...)
}

func answers(mediaType, body string) func(w http.ResponseWriter, r *http.Request, n int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header()["Content-Type"] = []string{mediaType}
		if mediaType == "" {
			w.Header()["Content-Type"] = nil
		}
		io.WriteString(w, body)
	}
}

// deltas returns the deltas of a stream's events, separated by spaces.
func deltas(s string) string {
	var list []string
	for block := range strings.SplitSeq(s, "\n\n") {
		if d := gjson.Get(strings.TrimPrefix(block, "data: "), "delta"); d.Exists() {
			list = append(list, d.Str)
		}
	}
	return strings.Join(list, " ")
}

func TestForeignFramings(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	for name, c := range map[string]struct{ mediaType, body, want, end string }{
		"frames":                      {"text/event-stream; charset=utf-8", ": hi\n\nevent: a\ndata: 1\ndata:  2\n\nevent: b\n\ndata: [DONE]\r\n\r\ndata: ends\n\n", "a|1\n 2 |[DONE]", "RUN_FINISHED"},
		"a last frame without end":    {"text/event-stream", "data: ends", "", "RUN_FINISHED"},
		"lines":                       {"application/x-ndjson", "one\r\n\n \ntwo\nends\n", "|one |two", "RUN_FINISHED"},
		"a line longer than a buffer": {"application/x-ndjson", long + "\nends\n", "|" + long, "RUN_FINISHED"},
		"a last line without end":     {"", "one\nends", "|one", "RUN_FINISHED"},
		"text":                        {"text/plain", "grün", "|grün", "RUN_ERROR:UPSTREAM_EOF"},
		"a body":                      {"application/json", "{}\n", "|{}\n", "RUN_ERROR:UPSTREAM_EOF"},
		"no end":                      {"application/x-ndjson", "one\n", "|one", "RUN_ERROR:UPSTREAM_EOF"},
		"what follows the end":        {"application/x-ndjson", "many\nthree\n", "one", "RUN_FINISHED"},
		"an error":                    {"application/x-ndjson", "one\nfails\nends\n", "|one", "RUN_ERROR:UPSTREAM_STATUS"},
		"a line too long":             {"application/x-ndjson", strings.Repeat("x", 64<<10+1) + "\nends\n", "", "RUN_ERROR:FRAME_TOO_LARGE"},
		"a line just not too long":    {"application/x-ndjson", strings.Repeat("x", 64<<10) + "\nends\n", "|" + strings.Repeat("x", 64<<10), "RUN_FINISHED"},
		"a frame too long":            {"text/event-stream", "data: " + strings.Repeat("x", 64<<10) + "\n\ndata: ends\n\n", "", "RUN_ERROR:FRAME_TOO_LARGE"},
		"a body too long":             {"application/json", strings.Repeat("x", 64<<10+1), "", "RUN_ERROR:FRAME_TOO_LARGE"},
		"a type that is not read":     {"text/html", "<p>", "", "RUN_ERROR:UPSTREAM_STATUS"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newForeignRig(t, &foreignDialect{}, answers(c.mediaType, c.body))
			got := g.do(input("t", "r", ""))
			if deltas(got) != c.want {
				t.Errorf("texts %.200q, want %.200q", deltas(got), c.want)
			}
			if list := strings.Fields(types(got)); list[0] != "RUN_STARTED" || list[len(list)-1] != c.end || strings.Count(got, "RUN_STARTED") != 1 {
				t.Errorf("types %s, want an end of %s", types(got), c.end)
			}
			if strings.HasPrefix(c.body, ":") != strings.Contains(got, ": hi\n\n") {
				t.Errorf("comments: %q", got)
			}
		})
	}
}

func TestForeignCompressed(t *testing.T) {
	g := newForeignRig(t, &foreignDialect{}, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "one\nends\n")
		z.Close()
	})
	if got := g.do(input("t", "r", "")); deltas(got) != "|one" {
		t.Error(got)
	}
}

// TestForeignPiecesGoOutAtOnce: Holdpoint sends RUN_STARTED and each piece immediately. It must not
// wait for the next piece.
func TestForeignPiecesGoOutAtOnce(t *testing.T) {
	next := make(chan string)
	g := newForeignRig(t, &foreignDialect{}, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		for s := range next {
			io.WriteString(w, s)
			http.NewResponseController(w).Flush()
		}
	})
	res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	buf := make([]byte, 1024)
	for _, want := range []string{"RUN_STARTED", "|one", "|two", "RUN_FINISHED"} {
		n, err := res.Body.Read(buf)
		if got := string(buf[:n]); !strings.Contains(got, want) {
			t.Fatalf("%q (%v), want %s", got, err, want)
		}
		switch want {
		case "RUN_STARTED":
			next <- "one\n"
		case "|one":
			next <- "two\n"
		case "|two":
			next <- "ends\n"
			close(next)
		}
	}
}

// TestForeignRequest: the backend gets the path, the body and the headers that the dialect sets. It
// does not get the client's media type.
func TestForeignRequest(t *testing.T) {
	g := newForeignRig(t, &foreignDialect{}, answers("application/x-ndjson", "ends\n"))
	req, _ := http.NewRequest(http.MethodPost, g.front.URL+"/run?q=1", strings.NewReader(input("t", "r", "")))
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("X-Session-Id", "stolen")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	head := g.heads[0]
	if g.paths[0] != "/agent/native?q=1" || string(g.calls[0]) != `{"prompt":"p"}` || head.Get("Content-Type") != "application/json" ||
		strings.Join(head["X-Session-Id"], ",") != "s1" {
		t.Errorf("%s %s %v", g.paths[0], g.calls[0], head)
	}
}

// TestForeignPlaces: on the paths of an agent that does not speak AG-UI, Holdpoint must accept only
// a RunAgentInput. On other paths it must forward every request, even a run.
func TestForeignPlaces(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		status             int
		calls              string
	}{
		{"POST", "/", `{"prompt":[{"interruptResponse":{"interruptId":"a","response":"y"}}]}`, 400, ""},
		{"POST", "/run", `"yes"`, 400, ""},
		{"POST", "//run/", `{}`, 400, ""},
		{"POST", "/RUN", `[]`, 400, ""},
		{"POST", "/", ``, 400, ""},
		{"POST", "/other", `{"input":{}}`, 200, `/agent/other {"input":{}}`},
		{"POST", "/other", input("t", "r", ""), 200, "/agent/other " + input("t", "r", "")},
		{"GET", "/run", ``, 200, "/agent/run "},
		{"POST", "/run", input("t", "r", ""), 200, `/agent/native {"prompt":"p"}`},
	} {
		g := newForeignRig(t, &foreignDialect{}, answers("application/x-ndjson", "ends\n"))
		req := httptest.NewRequest(c.method, "http://x"+c.path, strings.NewReader(c.body))
		req.URL.Path = c.path
		rec := httptest.NewRecorder()
		g.h.ServeHTTP(rec, req)
		got := ""
		if len(g.calls) > 0 {
			got = g.paths[0] + " " + string(g.calls[0])
		}
		if rec.Code != c.status || got != c.calls {
			t.Errorf("%s %s %s: %d, backend %q", c.method, c.path, c.body, rec.Code, got)
		}
		if c.status == 400 && !strings.Contains(rec.Body.String(), "RunAgentInput") {
			t.Errorf("%s: %s", c.path, rec.Body)
		}
	}
}

// TestForeignPlacesShareARecord: one agent has two paths. A thread must have the same record on
// both.
func TestForeignPlacesShareARecord(t *testing.T) {
	g := newForeignRig(t, &foreignDialect{}, answers("application/x-ndjson", "asks\n"))
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	rec := httptest.NewRecorder()
	more := strings.Replace(input("t", "r2", ""), oldUser, oldUser+`,{"id":"u9","role":"user","content":"and?"}`, 1)
	g.h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/run", strings.NewReader(more)))
	wantTypes(t, rec.Body.String(), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PENDING_INTERRUPTS")
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
}

// TestForeignUntaken: the backend did not accept a message, because it was waiting for an answer.
// The client gets the code MESSAGES_NOT_TAKEN. The message counts as new when the client sends it
// again with the answer.
func TestForeignUntaken(t *testing.T) {
	d := &foreignDialect{untaken: true}
	var fresh []agui.Message
	d.begin = func(r *translate.Request) (translate.Out, error) {
		if r.Pause.ID != "" {
			fresh = r.NewMessages
		}
		return translate.Out{}, nil
	}
	g := newForeignRig(t, d, func(w http.ResponseWriter, r *http.Request, n int) {
		answers("application/x-ndjson", map[int]string{1: "asks\n", 2: "ends\n"}[n])(w, r, n)
	})
	user := `{"id":"u9","role":"user","content":"and?"}`
	with := func(more string) string { return strings.Replace(input("t", "r", more), oldUser, oldUser+","+user, 1) }
	first := g.do(with(""))
	if !strings.Contains(first, `"metadata":{"holdpoint":{"code":"MESSAGES_NOT_TAKEN"}}`) || !strings.Contains(first, `"content":"and?"`) {
		t.Errorf("%s", first)
	}
	g.do(with(resumeWith(yes("n1~id1"))))
	if len(fresh) != 1 || fresh[0].ID != "u9" {
		t.Errorf("new input at the resume: %v", fresh)
	}
}

// TestReadOn: by ReadOn, the dialect says that its backend continues without a reader. The client
// leaves, and then the backend asks. Holdpoint must keep the question. Until the run ends, the
// thread must accept no other run.
func TestReadOn(t *testing.T) {
	d := &foreignDialect{}
	d.begin = func(*translate.Request) (translate.Out, error) { return translate.Out{ReadOn: true}, nil }
	var g *rig
	g = newForeignRig(t, d, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(g.logs.String(), "client left"); time.Sleep(time.Millisecond) {
			if r.Context().Err() != nil || time.Now().After(deadline) {
				t.Errorf("the backend was hung up on (%v), or nobody noticed that the client has left", r.Context().Err())
				return
			}
		}
		wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED RUN_ERROR:THREAD_BUSY")
		io.WriteString(w, "data: asks\n\n")
	})
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	if err := g.h.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantTypes(t, g.do(input("t", "r3", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if g.called() != 1 || len(g.h.runs.alone) != 0 {
		t.Errorf("%d calls, %d runs without a client", g.called(), len(g.h.runs.alone))
	}
}

// TestReadOnAsksWhileAnotherIsJudged: while Holdpoint judges the second run of a thread, the first
// run, whose client has left, asks a question. Holdpoint must not send the second run to the
// backend while the question is open.
func TestReadOnAsksWhileAnotherIsJudged(t *testing.T) {
	d := &foreignDialect{}
	d.begin = func(*translate.Request) (translate.Out, error) { return translate.Out{ReadOn: true}, nil }
	goOn := make(chan struct{})
	g := newForeignRig(t, d, func(w http.ResponseWriter, _ *http.Request, n int) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		if n == 1 {
			<-goOn
		}
		io.WriteString(w, "data: asks\n\n")
	})
	until := func(what string, is func() bool) {
		for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error(what)
				return
			}
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.front.URL, strings.NewReader(input("t", "r", "")))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	key := recordKey("/agent", "t")
	until("nobody noticed that the client has left", func() bool { return g.h.runs.busyAlone(key) })
	inner := g.h.opts.Store
	once := sync.OnceFunc(func() {
		close(goOn)
		until("the first run does not end", func() bool { return !g.h.runs.busyAlone(key) })
	})
	g.h.opts.Store = &loads{inner, once}
	more := strings.Replace(input("t", "r2", ""), oldUser, oldUser+`,{"id":"u9","role":"user","content":"and?"}`, 1)
	wantTypes(t, g.do(more), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PENDING_INTERRUPTS")
	if g.called() != 1 {
		t.Errorf("%d calls", g.called())
	}
}

// A loads is a store that calls after when it has loaded a record. So a test can change the record
// before the caller of Load uses it.
type loads struct {
	store.Store
	after func()
}

func (l *loads) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	rec, err := l.Store.Load(ctx, key, owner)
	l.after()
	return rec, err
}

// TestFailedPausesAreTold: a dialect gets the ended pauses of the thread. If the run that sent the
// answers to a pause failed, Failed of this pause must be true.
func TestFailedPausesAreTold(t *testing.T) {
	for end, want := range map[string]bool{"ends\n": false, "fails\n": true, "": true} {
		d := &foreignDialect{}
		var ended []translate.EndedPause
		d.begin = func(r *translate.Request) (translate.Out, error) {
			ended = r.EndedPauses
			return translate.Out{}, nil
		}
		g := newForeignRig(t, d, func(w http.ResponseWriter, r *http.Request, n int) {
			answers("application/x-ndjson", map[int]string{1: "asks\n", 2: end, 3: "ends\n"}[n])(w, r, n)
		})
		g.do(input("t", "r", ""))
		g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
		more := strings.Replace(input("t", "r3", ""), oldUser, oldUser+`,{"id":"u9","role":"user","content":"and?"}`, 1)
		for range 2 { // a pause in doubt refuses the first request
			g.do(more)
		}
		if len(ended) != 1 || ended[0].Failed != want {
			t.Errorf("%q: %+v", end, ended)
		}
	}
}

// TestMethodsInLowerCaseAreJudged: werkzeug (the library under Flask) converts the method of a
// request to upper case. So Holdpoint must judge the method "post" like "POST".
func TestMethodsInLowerCaseAreJudged(t *testing.T) {
	native := `{"prompt":[{"interruptResponse":{"interruptId":"a","response":"y"}}]}`
	for name, c := range map[string]struct {
		rig  *rig
		body string
	}{
		"the agent's own request": {newForeignRig(t, &foreignDialect{}, answers("application/x-ndjson", "ends\n")), native},
		"answers to nothing":      {newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) }), input("t", "r", resumeWith(yes("n1~x")))},
	} {
		rec := httptest.NewRecorder()
		c.rig.h.ServeHTTP(rec, httptest.NewRequest("post", "/", strings.NewReader(c.body)))
		if c.rig.called() != 0 {
			t.Errorf("%s reached the backend: %d %s", name, rec.Code, rec.Body)
		}
	}
}

// TestFailedPausesAreToldAfterTheReplayTime: the run with the answers failed, and the replay time
// has passed. The dialect must still get the ended pause, because the answers may still take
// effect. The record no longer has the questions of that pause.
func TestFailedPausesAreToldAfterTheReplayTime(t *testing.T) {
	for end, want := range map[string]int{"ends\n": 0, "fails\n": 1, "": 1} {
		d := &foreignDialect{}
		var ended []translate.EndedPause
		d.begin = func(r *translate.Request) (translate.Out, error) {
			ended = r.EndedPauses
			return translate.Out{}, nil
		}
		now := testNow
		g := newForeignRig(t, d, func(w http.ResponseWriter, r *http.Request, n int) {
			answers("application/x-ndjson", map[int]string{1: "asks\n", 2: end, 3: "ends\n"}[n])(w, r, n)
		}, func(o *Options) {
			o.Now = func() time.Time { return now }
			o.Store = memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: o.Now})
		})
		g.do(input("t", "r", ""))
		g.do(input("t", "r2", resumeWith(yes("n1~id1"))))
		more := strings.Replace(input("t", "r3", ""), oldUser, oldUser+`,{"id":"u9","role":"user","content":"and?"}`, 1)
		g.do(more)
		now = now.Add(2 * time.Hour)
		g.do(more)
		if len(ended) != want || want > 0 && (!ended[0].Failed || ended[0].Interrupts != nil) {
			t.Errorf("%q: %+v", end, ended)
		}
	}
}
