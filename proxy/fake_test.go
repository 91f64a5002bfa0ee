package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
	"holdpoint/translate/dialects"
)

var testNow = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)

const (
	oldUser   = `{"id":"u1","role":"user","content":"hi"}`
	newUser   = `{"id":"u2","role":"user","content":"never mind"}`
	assistant = `{"id":"a1","role":"assistant","content":"?"}`
)

// A fakeDialect reads a pause from the outcome of RUN_FINISHED, and sends answers in a body of its
// own, so that these tests do not depend on the format of a real backend. A test sets the fields
// that it needs.
type fakeDialect struct {
	// reads returns the payload if the message m answers the interrupt i, and "" otherwise.
	reads func(m agui.Message, i agui.Interrupt) (payload string)
	keys  []string // the Keys of each question
	begin func(r *translate.Request) (translate.Out, error)
	event func(ev agui.Event, emit func(agui.Event)) error
	// The parameter n of end is the number of the exchange in the run, from 1.
	end func(n int, e translate.End) (translate.Result, error)
	bug func(method string) error // called first by Answers, Begin and End; it may panic
}

func (*fakeDialect) Name() string { return "fake" }

func (d *fakeDialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if d.bug != nil {
		if err := d.bug("Answers"); err != nil {
			return nil, err
		}
	}
	var list []agui.Answer
	for _, e := range in.Resume {
		list = append(list, agui.Answer{ID: e.InterruptID, Status: e.Status, Payload: e.Payload})
	}
	return list, nil
}

// Replies returns the native approvals and all other tool messages. For a pair of request_approval
// (a call and its tool message), it sets Keep.
func (d *fakeDialect) Replies(in agui.RunInput, _ string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		paired := map[int]bool{}
		for _, one := range approvalsIn(in) {
			paired[one.At] = true
			one.Dialect, one.Keep, one.Key = "fake", one.Key == "request_approval", in.Messages[one.At].ToolCallID
			if one.Key == "" {
				one.Key = in.Messages[one.At].ID
			}
			if !yield(one) {
				return
			}
		}
		for at, m := range in.Messages {
			if m.ToolCallID != "" && !paired[at] && !yield(translate.Reply{Dialect: "fake", At: at, Key: m.ToolCallID}) {
				return
			}
		}
	}
}

// approvalsIn returns the native approvals in the messages of in. It reads them with the dialect
// agui, whose own backends have no native approvals.
func approvalsIn(in agui.RunInput) []translate.Reply {
	return slices.Collect(strayReader().Replies(in, strayReader().Name()))
}

var strayReader = sync.OnceValue(func() interface {
	translate.Dialect
	translate.HistoryReader
} {
	d, err := dialects.All().New("agui", nil)
	if err != nil {
		panic(err)
	}
	return d.(interface {
		translate.Dialect
		translate.HistoryReader
	})
})

func (d *fakeDialect) AnswerIn(m agui.Message, _ translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	if d.reads == nil {
		return agui.Answer{}, false
	}
	payload := d.reads(m, i)
	return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}, payload != ""
}

func (d *fakeDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	var out translate.Out
	if d.bug != nil {
		if err := d.bug("Begin"); err != nil {
			return out, nil, err
		}
	}
	if d.begin != nil {
		var err error
		if out, err = d.begin(r); err != nil {
			return out, nil, err
		}
	}
	if r.Pause.ID != "" {
		out.Resumes = true
		if out.Body == nil && !out.None {
			out.Body = agui.MustMarshal(map[string]any{"threadId": r.Input.ThreadID, "runId": r.Input.RunID, "answers": r.Answers})
		}
	}
	return out, &fakeRun{d: d, n: 1}, nil
}

type fakeRun struct {
	d *fakeDialect
	n int
}

func (r *fakeRun) Event(ev agui.Event, emit func(agui.Event)) error {
	if r.d.event != nil {
		return r.d.event(ev, emit)
	}
	emit(ev)
	return nil
}

func (r *fakeRun) End(e translate.End) (translate.Result, error) {
	if r.d.bug != nil {
		if err := r.d.bug("End"); err != nil {
			return translate.Result{}, err
		}
	}
	if r.d.end != nil {
		res, err := r.d.end(r.n, e)
		if res.Next != nil {
			res.Next.Run = &fakeRun{d: r.d, n: r.n + 1}
		}
		if err != nil || res.Next != nil || res.Fate == translate.Lost || res.Fate == translate.Untouched || res.Finish.Type != agui.Unknown {
			return res, err
		}
	}
	res := translate.Result{Finish: e.Event.Clone()}
	if e.Event.Type == agui.RunFinished && e.Event.Get("outcome.type").Str == "interrupt" {
		res.DetectedDialect = "fake"
		res.Asked.NativeFinish = res.Finish.JSON
		for _, i := range e.Event.Get("outcome.interrupts").Array() {
			res.Asked.Interrupts = append(res.Asked.Interrupts, agui.Interrupt{Native: i.Get("id").Str, Object: agui.DeleteKey([]byte(i.Raw), "id"), Keys: r.d.keys})
		}
		res.Finish = res.Finish.WithJSON(agui.DeleteKey(res.Finish.JSON, "outcome"))
	}
	return res, nil
}

// A rig is a Handler between a scripted backend and a test's client, over real HTTP.
type rig struct {
	t       *testing.T
	h       *Handler
	front   *httptest.Server
	store   store.Store
	dialect *fakeDialect
	logs    *lockedBuffer

	mu    sync.Mutex
	calls [][]byte // bodies that reached the backend
	heads []http.Header
	paths []string
}

// newRig returns a rig whose backend calls serve for each request; n counts the requests from 1.
func newRig(t *testing.T, serve func(w http.ResponseWriter, r *http.Request, n int), change ...func(*Options)) *rig {
	t.Helper()
	g := &rig{t: t, dialect: &fakeDialect{}, logs: &lockedBuffer{}}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.mu.Lock()
		g.calls = append(g.calls, body)
		g.heads = append(g.heads, r.Header.Clone())
		g.paths = append(g.paths, r.URL.RequestURI())
		n := len(g.calls)
		g.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		serve(w, r, n)
	}))
	t.Cleanup(backend.Close)
	up, _ := url.Parse(backend.URL + "/agent")
	g.store = memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour})
	var ids atomic.Int64 // atomic, because concurrent runs take ids
	o := Options{
		Upstream: up, Dialect: g.dialect, Store: g.store, Client: ClientOutcome,
		NewID:  func() string { return fmt.Sprintf("id%d", ids.Add(1)) },
		Logger: slog.New(slog.NewTextHandler(g.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	g.store = storetest.Sealed(t, o.Store)
	o.Store = g.store
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g.h = h
	g.front = httptest.NewServer(h)
	t.Cleanup(func() {
		g.front.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := h.Drain(ctx); err != nil {
			t.Error(err)
		}
		if std, ok := h.transports.shared.(*http.Transport); ok {
			std.CloseIdleConnections()
		}
	})
	return g
}

// recordKey returns the key of a thread's record, without a tenant and an agent's name.
func recordKey(path, thread string) store.Key { return ids.ThreadKey("", "", path, thread) }

// loneRun returns a run without a client, made as ServeHTTP makes it, for tests that call parts of
// a run directly.
func loneRun(ctx context.Context, h *Handler, path string, in *agui.RunInput) *run {
	if h.memory == nil {
		h.memory = &processMemory{routes: routes{finder: translate.FinderOf(h.opts.Dialect)}}
		h.memory.savedPauses, _ = lru.New[string, struct{}](1)
		h.memory.senders, _ = lru.New[sender, sendingHabit](1)
	}
	r := &run{h: h, log: h.log}
	r.judge = judge{thread: thread{opts: &h.opts, memory: h.memory, log: h.log, request: request{path: path, input: in}}, runs: &h.runs, life: &r.life}
	r.judge.nextAttempt()
	r.judge.ledger = ledger.New(h.opts.Store, recordKey(path, in.ThreadID), ledger.EventReporter{}, h.log)
	r.judge.setContext(ctx)
	r.client.judge, r.exchange.judge, r.exchange.life = &r.judge, &r.judge, &r.life
	r.life.ctx = ctx
	return r
}

// bodyOver returns a response body for the run r that reads the backend's stream from up. up may be
// nil.
func bodyOver(r *run, up io.ReadCloser, framing translate.Framing) *body {
	b := newBody(r)
	b.read(up, framing)
	return b
}

// A lockedBuffer is a log that may be read while it is written. Tests need it because a run writes
// its last log line after its response.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed by the next write; nil if no test waits
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.b.Write(p)
}

// wait returns the text of the buffer as soon as is(text) is true. It checks the text after each
// write, and fails the test after a minute without a write.
func (l *lockedBuffer) wait(t *testing.T, what string, is func(text string) bool) string {
	t.Helper()
	for {
		l.mu.Lock()
		text := l.b.String()
		if l.written == nil {
			l.written = make(chan struct{})
		}
		written := l.written
		l.mu.Unlock()
		if is(text) {
			return text
		}
		select {
		case <-written:
		case <-time.After(time.Minute):
			t.Fatalf("%s in\n%s", what, text)
		}
	}
}

// ended waits until the log says of this many runs that they have ended, and returns the text of
// the log.
func (l *lockedBuffer) ended(t *testing.T, runs int) string {
	t.Helper()
	return l.wait(t, fmt.Sprintf("not %d runs that have ended", runs), func(text string) bool { return strings.Count(text, `msg="run ended"`) >= runs })
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (g *rig) called() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

// do posts body and returns the stream of the response.
func (g *rig) do(body string) string {
	g.t.Helper()
	res, got := g.answer(body)
	if res.StatusCode != http.StatusOK {
		g.t.Fatalf("status %d: %s", res.StatusCode, got)
	}
	return got
}

func (g *rig) answer(body string) (*http.Response, string) {
	g.t.Helper()
	res, err := http.Post(g.front.URL+"/", "application/json", strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatalf("the stream did not end cleanly: %v\n%s", err, got)
	}
	return res, string(got)
}

// input returns the body of a run with one user message. more contains further members, such as
// `,"resume":[]`.
func input(thread, run, more string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[%s]%s}`, thread, run, oldUser, more)
}

func resumeWith(entries ...string) string { return `,"resume":[` + strings.Join(entries, ",") + `]` }

func yes(id string) string {
	return fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":true}`, id)
}

func no(id string) string { return fmt.Sprintf(`{"interruptId":%q,"status":"cancelled"}`, id) }

// streamOf returns the events as an event stream.
func streamOf(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

func sendStream(w http.ResponseWriter, s string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, s)
}

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	asks     = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation"}]}}`
	asksTwo  = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation"},{"id":"n2","reason":"confirmation"}]}}`
	hello    = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"hello"}`
)

// types returns the types of the events of a stream, separated by spaces. A code follows its type
// after ":", and the type of an outcome after "+".
func types(s string) string {
	var list []string
	for block := range strings.SplitSeq(s, "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok {
			continue
		}
		name := gjson.Get(data, "type").Str
		if code := gjson.Get(data, "code").Str; code != "" {
			name += ":" + code
		}
		if gjson.Get(data, "outcome").Exists() {
			name += "+" + gjson.Get(data, "outcome.type").Str
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func wantTypes(t *testing.T, got, want string) {
	t.Helper()
	if types(got) != want {
		t.Errorf("got  %s\nwant %s\n%s", types(got), want, got)
	}
}

// until calls is until it returns true, and fails the test after a minute. Use it to wait for
// something that another goroutine of a real server does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}
