package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "0123456789abcdef0123456789abcdef"

// A clock shows a fixed time until a test moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// events records the desk's events. If err is set, writing an event fails.
type events struct {
	list []event.Event
	err  error
}

func (e *events) Take(one *event.Event) error {
	e.list = append(e.list, *one)
	return e.err
}

// A rig is a desk on a store. Tests send it the same requests as its clients do, and each response
// is checked against docs/desk-api.yaml.
type rig struct {
	*testing.T
	store  store.Store
	clock  *clock
	desk   *Desk
	events *events
}

func newRig(t *testing.T, kept store.Store, c *clock) *rig {
	t.Helper()
	list, err := ParseTokens(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, store: kept, clock: c, events: &events{}}
	var tokens Tokens
	tokens.Set(list)
	r.desk = New(Options{Store: kept, Tokens: &tokens, Events: r.events, Now: c.now})
	return r
}

func inMemory(t *testing.T) *rig {
	t.Helper()
	c := newClock()
	return newRig(t, memory.New(memory.Options{Now: c.now, ReplayTTL: time.Hour}), c)
}

// send sends a request with the operator's token and these headers. headers has alternating names
// and values; an empty value removes the header.
func (r *rig) send(method, path string, headers ...string) *http.Response {
	r.Helper()
	req := httptest.NewRequest(method, path, nil)
	req.Header.Set("Authorization", "Bearer "+secret)
	for h := range slices.Chunk(headers, 2) {
		if req.Header.Set(h[0], h[1]); h[1] == "" {
			req.Header.Del(h[0])
		}
	}
	w := httptest.NewRecorder()
	r.desk.ServeHTTP(w, req)
	res := w.Result()
	documented(r.T, req, res, w.Body.Bytes())
	return res
}

// ask sends a request and returns the body of the response, which must have this status.
func (r *rig) ask(status int, method, path string, headers ...string) gjson.Result {
	r.Helper()
	res := r.send(method, path, headers...)
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		r.Fatalf("%s %s: status %d, want %d: %s %v", method, path, res.StatusCode, status, body, err)
	}
	return gjson.ParseBytes(body)
}

// keyOf and pauseOf return a key and a pause's id in the form that the package proxy uses.
func keyOf(n int) store.Key { return store.Key(fmt.Sprintf("%064x", n)) }
func pauseOf(n int) string  { return fmt.Sprintf("%032x", n) }
func id(n int) string       { return idOf(keyOf(n), pauseOf(n)) }

// pause returns a pause with one call, as the package proxy makes it. args are the arguments of the
// call.
func pause(n int, tool, args string) agui.Pause {
	return agui.Pause{
		ID: pauseOf(n), Dialect: "langgraph", Finish: json.RawMessage(`{"type":"RUN_FINISHED","threadId":"old","runId":"r0"}`),
		Interrupts: []agui.Interrupt{{
			ID: fmt.Sprintf("i%d", n), Object: json.RawMessage(fmt.Sprintf(`{"id":"i%d","reason":"tool_call","message":"Sure?","responseSchema":{"type":"object"}}`, n)),
			Yes: json.RawMessage(`{"approved":true}`), Calls: []agui.AskedCall{{ID: "c", Name: tool, Args: args}},
		}},
		Origin: &agui.Origin{Agent: "billing", Tenant: "acme", Path: "/a", Thread: fmt.Sprintf("t%d", n), Run: "r", Requester: "ann", ShownAs: "both"},
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) open(n int, p agui.Pause) {
	r.Helper()
	r.must(storetest.Do(r.Context(), r.store, keyOf(n), store.Ask{Pause: p}))
}

// ids returns the ids of the approvals in a list.
func ids(list gjson.Result) (got []string) {
	for _, a := range list.Get("approvals").Array() {
		got = append(got, a.Get("id").Str)
	}
	return got
}

// TestLifeOfAnApproval: an approval must be shown while it is open, while its answer is being sent,
// and after its end, until its record is forgotten. This must hold for a store in memory and in a
// file.
func TestLifeOfAnApproval(t *testing.T) {
	for name, open := range map[string]func(*clock) store.Store{
		"memory": func(c *clock) store.Store { return memory.New(memory.Options{Now: c.now, ReplayTTL: time.Hour}) },
		"bolt": func(c *clock) store.Store {
			s, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"), bolt.Options{Now: c.now, Options: engine.Options{ReplayTTL: time.Hour}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			r := newRig(t, open(c), c)
			r.lives()
		})
	}
}

func (r *rig) lives() {
	r.Helper()
	r.open(1, pause(1, "refund", `{"amount":12345678901234567890}`))
	r.clock.advance(90 * time.Second)

	a := r.ask(200, "GET", "/v1/approvals").Get("approvals.0")
	for path, want := range map[string]string{
		"id": id(1), "state": "waiting", "age": "90", "opened": "2026-11-24T10:00:00Z", "agent": "billing", "tenant": "acme",
		"path": "/a", "thread": "t1", "run": "r", "dialect": "langgraph", "requester": "ann", "shown": "both",
		"questions.0.id": "i1", "questions.0.reason": "tool_call", "questions.0.message": "Sure?",
		"questions.0.calls.0.name": "refund", "questions.0.calls.0.arguments": `{"amount":12345678901234567890}`,
		"questions.0.yesKnown": "true", "questions.0.noKnown": "false", "questions.0.responseSchema": `{"type":"object"}`,
		"end": "", "history": "",
	} {
		if got := a.Get(path).String(); got != want {
			r.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	p := pause(1, "refund", `{"amount":12345678901234567890}`)
	if got, want := a.Get("questions.0.digest").Str, p.Origin.AskedDigest(&p.Interrupts[0]); got != want {
		r.Errorf("the digest is %q, want %q", got, want)
	}

	r.must(storetest.Do(r.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "token", Digest: "digest", Lease: time.Minute}))
	if got := ids(r.ask(200, "GET", "/v1/approvals")); got != nil {
		r.Errorf("while it is claimed, what waits is %q", got)
	}
	if a := r.ask(200, "GET", "/v1/approvals?state=carrying").Get("approvals.0"); a.Get("id").Str != id(1) || a.Get("carriedUntil").Str != "2026-11-24T10:02:30Z" {
		r.Errorf("what is carried: %s", a)
	}
	if code := r.ask(409, "DELETE", "/v1/approvals/"+id(1)).Get("code").Str; code != codeInProgress {
		r.Errorf("to free what is carried: %s", code)
	}
	next := pause(2, "mail", `{}`)
	r.must(storetest.Do(r.Context(), r.store, keyOf(1), store.Finish{Token: "token", Result: store.Result{
		EndKind: store.Finished, Finish: json.RawMessage(`{"type":"RUN_FINISHED"}`),
		GivenAnswers: []store.GivenAnswer{{ID: "i1", Status: agui.Resolved, Verdict: "approved", Payload: json.RawMessage(`{"approved":true}`), Digest: "sha256:x"}},
	}, Next: &next}))

	after := idOf(keyOf(1), pauseOf(2))
	if got := ids(r.ask(200, "GET", "/v1/approvals")); !slices.Equal(got, []string{after}) {
		r.Errorf("then what waits is %q, want %q", got, after)
	}
	for what, e := range map[string]gjson.Result{
		"the end": r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("end"), "the history": r.ask(200, "GET", "/v1/approvals/"+after).Get("history.0"),
	} {
		const want = `{"id":"%s","how":"finished","door":"chat","at":"2026-11-24T10:01:30Z","next":"%s","questions":[{"id":"i1","tools":["refund"],"status":"resolved","says":"approved","payload":{"approved":true},"digest":"sha256:x"}]}`
		if got := e.Raw; got != fmt.Sprintf(want, id(1), after) {
			r.Errorf("%s is %s", what, got)
		}
	}
	r.clock.advance(2 * time.Hour)
	gone := r.ask(200, "GET", "/v1/approvals/"+id(1))
	if gone.Get("state").Str != "ended" || !gone.Get("end.forgotten").Bool() || gone.Get("end.questions.0.status").Exists() {
		r.Errorf("when it is forgotten: %s", gone)
	}
}

// TestFree: an operator frees a thread, which withdraws the thread's question. A second request to
// free it must be refused, and so must a request to free an unknown thread.
func TestFree(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	freed := r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	if freed.Get("state").Str != "ended" || freed.Get("end.how").Str != "withdrawn" || freed.Get("end.door").Str != "desk" || freed.Get("end.by").Str != "operator" {
		t.Errorf("freed: %s", freed)
	}
	rec, err := r.store.Load(t.Context(), keyOf(1), "")
	r.must(err)
	if rec.State != store.None {
		t.Errorf("the thread is %q", rec.State)
	}
	again := r.ask(409, "DELETE", "/v1/approvals/"+id(1))
	if again.Get("code").Str != codeEnded || again.Get("approval.end.by").Str != "operator" {
		t.Errorf("again: %s", again)
	}
	r.open(0xab, pause(0xab, "refund", `{}`))
	for _, path := range []string{id(2), "x", strings.ToUpper(id(0xab)), id(1) + "0", idOf(keyOf(1), pauseOf(3))} {
		for _, method := range []string{"DELETE", "GET"} {
			if code := r.ask(404, method, "/v1/approvals/"+path).Get("code").Str; code != codeNoApproval {
				t.Errorf("%s %s: %s", method, path, code)
			}
		}
	}
	if len(r.events.list) != 1 {
		t.Fatalf("%d events, want 1: %+v", len(r.events.list), r.events.list)
	}
	p := pause(1, "refund", `{}`)
	e := r.events.list[0]
	q := e.Interrupts[0]
	if e.Kind != event.Withdrawn || e.Door != event.Desk || e.Principal != "operator" || e.Agent != "billing" || e.Tenant != "acme" || e.Thread != "t1" ||
		e.Run != "r" || e.Pause != pauseOf(1) || q.ID != "i1" || q.QuestionDigest != p.Origin.AskedDigest(&p.Interrupts[0]) || !slices.Equal(q.Tools, []string{"refund"}) {
		t.Errorf("the event is %+v", e)
	}
}

// TestFreeADoubt: an operator frees a thread whose pause is in doubt. The record must keep that the
// pause ended in doubt.
func TestFreeADoubt(t *testing.T) {
	for name, lapse := range map[string]bool{"said": false, "lapsed": true} {
		t.Run(name, func(t *testing.T) {
			r := inMemory(t)
			r.open(1, pause(1, "refund", `{}`))
			r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "token", Digest: "digest", Lease: time.Minute}))
			if lapse {
				r.clock.advance(time.Minute)
			} else {
				r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Finish{Token: "token", Result: store.Result{EndKind: store.Doubtful, GivenAnswers: []store.GivenAnswer{{ID: "i1", Status: agui.Resolved}}}}))
			}
			if got := ids(r.ask(200, "GET", "/v1/approvals?state=doubt")); !slices.Equal(got, []string{id(1)}) {
				t.Errorf("in doubt: %q", got)
			}
			if given := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("end.questions.0.status").Str; (given == "resolved") == lapse {
				t.Errorf("the answer that is in doubt: %q", given)
			}
			if how := r.ask(200, "DELETE", "/v1/approvals/"+id(1)).Get("end.how").Str; how != "in doubt" {
				t.Errorf("it ended as %q", how)
			}
			if len(r.events.list) != 1 || r.events.list[0].Kind != event.InDoubt {
				t.Errorf("events: %+v", r.events.list)
			}
		})
	}
}

// A broken store fails, or loses a reply of the store behind it. The test sets which of the two.
type broken struct {
	store.Store
	load, waiting error
	close         func(do func() error) error
}

func (b *broken) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if b.load != nil {
		return store.Record{}, b.load
	}
	return b.Store.Load(ctx, key, owner)
}

func (b *broken) List(ctx context.Context, q store.Query) (store.Page, error) {
	if b.waiting != nil {
		return store.Page{}, b.waiting
	}
	return b.Store.List(ctx, q)
}

func (b *broken) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	var done store.StepResult
	do := func() (err error) { done, err = b.Store.Do(ctx, key, step); return err }
	if _, closes := step.(store.Close); closes && b.close != nil {
		err := b.close(do)
		return done, err
	}
	err := do()
	return done, err
}

var errDown = errors.New("dial tcp 10.0.0.3:6379: connection refused")

// TestFreeByALostReply: the store has closed the pause, but its reply is lost. The thread must
// count as freed once, with one line in the audit.
func TestFreeByALostReply(t *testing.T) {
	r := inMemory(t)
	times := 0
	b := &broken{Store: r.store, close: func(do func() error) error {
		if err := do(); err != nil {
			return err
		}
		times++
		return errDown
	}}
	r.desk.opts.Store = b
	r.open(1, pause(1, "refund", `{}`))
	if by := r.ask(200, "DELETE", "/v1/approvals/"+id(1)).Get("end.by").Str; by != "operator" || times != 1 || len(r.events.list) != 1 {
		t.Errorf("by %q, closed %d times, %d events", by, times, len(r.events.list))
	}
}

// TestStoreThatIsAway: if the store fails, a caller must get an error and not an empty list. No
// response may contain an internal address.
func TestStoreThatIsAway(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	b := &broken{Store: r.store}
	r.desk.opts.Store = b
	for name, c := range map[string]struct {
		breaks       broken
		method, path string
		status       int
		code         string
	}{
		"the list":          {broken{waiting: errDown}, "GET", "/v1/approvals", 503, codeStore},
		"a row of the list": {broken{load: errDown}, "GET", "/v1/approvals", 503, codeStore},
		"a later page":      {broken{waiting: errDown}, "GET", "/v1/approvals?cursor=" + r.desk.cursorFor(&Caller{}, cursor{After: "x"}), 503, codeStore},
		"one":               {broken{load: errDown}, "GET", "/v1/approvals/" + id(1), 503, codeStore},
		"to free":           {broken{load: errDown}, "DELETE", "/v1/approvals/" + id(1), 503, codeStore},
		"to close":          {broken{close: func(func() error) error { return errDown }}, "DELETE", "/v1/approvals/" + id(1), 503, codeStore},
		"unread":            {broken{load: store.ErrUnread}, "GET", "/v1/approvals/" + id(1), 500, codeUnread},
	} {
		b.load, b.waiting, b.close = c.breaks.load, c.breaks.waiting, c.breaks.close
		got := r.ask(c.status, c.method, c.path)
		if got.Get("code").Str != c.code || strings.Contains(got.Raw, "10.0.0.3") {
			t.Errorf("%s: %s", name, got)
		}
	}
	b.load, b.waiting, b.close = store.ErrUnread, nil, nil
	if l := r.ask(200, "GET", "/v1/approvals"); l.Get("unread").Int() != 1 || len(ids(l)) != 0 {
		t.Errorf("a list with a record that cannot be read: %s", l)
	}
	if len(r.events.list) != 0 {
		t.Errorf("events: %+v", r.events.list)
	}
}

// TestPages: the pages of a list must together contain each approval once, for each length of a
// page and each filter. This includes approvals that were opened in the same microsecond.
func TestPages(t *testing.T) {
	r := inMemory(t)
	const all = 450
	for n := range all {
		p := pause(n, []string{"refund", "mail"}[n%2], `{}`)
		p.Origin.Agent, p.Origin.Requester, p.Origin.RequesterHash = []string{"a", "b", "c"}[n%3], "", fmt.Sprintf("h%d", n%5)
		r.open(n, p)
		if n%10 == 9 {
			r.clock.advance(time.Duration(300+n%3*350) * time.Nanosecond)
		}
	}
	for query, each := range map[string]int{
		"limit=7": 1, "limit=200": 1, "": 1, "tool=mail&limit=3": 2, "agent=b&limit=50": 3, "requester=h4&limit=11": 5, "agent=c&tool=refund": 6,
		"agent=nobody": 0, "thread=t17": all,
	} {
		seen := map[string]int{}
		next := ""
		for pages := 0; ; pages++ {
			if pages > all {
				t.Fatalf("%s: the pages do not end", query)
			}
			l := r.ask(200, "GET", "/v1/approvals?"+strings.TrimPrefix(query+next, "&"))
			for _, one := range ids(l) {
				seen[one]++
			}
			if !l.Get("next").Exists() {
				break
			}
			next = "&cursor=" + l.Get("next").Str
		}
		want := 0
		if each > 0 {
			want = all / each
		}
		if len(seen) != want {
			t.Errorf("%q: %d approvals, want %d", query, len(seen), want)
		}
		for one, n := range seen {
			if n != 1 {
				t.Errorf("%q: %s is there %d times", query, one, n)
			}
		}
	}
}

// TestParameters: a request with an unknown parameter or a wrong value must be refused.
func TestParameters(t *testing.T) {
	r := inMemory(t)
	for query, code := range map[string]string{
		"state=open": codeParameter, "state=": codeParameter,
		"limit=0": codeParameter, "limit=201": codeParameter, "limit=x": codeParameter, "stat=waiting": codeParameter,
		"tool=a&tool=b": codeParameter, "cursor=!": codeParameter, "cursor=e30x": codeParameter, "%zz": codeParameter,
		"cursor=" + r.desk.cursorFor(&Caller{}, cursor{After: "not one"}): codeParameter,
	} {
		if got := r.ask(400, "GET", "/v1/approvals?"+query).Get("code").Str; got != code {
			t.Errorf("%s: %s, want %s", query, got, code)
		}
	}
	if got := r.ask(404, "GET", "/").Get("code").Str; got != codeNotFound {
		t.Errorf("/: %s", got)
	}
	if got := r.ask(405, "POST", "/v1/approvals").Get("code").Str; got != codeMethod {
		t.Errorf("POST: %s", got)
	}
}

// TestETag: if nothing in a list has changed except the ages of its approvals, the response must be
// 304.
func TestETag(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	tag := r.send("GET", "/v1/approvals").Header.Get("ETag")
	r.clock.advance(time.Minute)
	for _, has := range []string{tag, "*", `"x", ` + tag, strings.TrimPrefix(tag, "W/")} {
		if got := r.send("GET", "/v1/approvals", "If-None-Match", has).StatusCode; got != 304 {
			t.Errorf("If-None-Match %s: %d", has, got)
		}
	}
	if got := r.send("GET", "/v1/approvals", "If-None-Match", `W/"x"`).StatusCode; got != 200 {
		t.Errorf("another list: %d", got)
	}
	r.open(2, pause(2, "refund", `{}`))
	if got := r.send("GET", "/v1/approvals", "If-None-Match", tag).StatusCode; got != 200 {
		t.Errorf("after a new question: %d", got)
	}
}

// TestArgumentsThatAreShownRaw: if parsers may read the arguments of a call in different ways, the
// arguments must be shown as raw text, with a note.
func TestArgumentsThatAreShownRaw(t *testing.T) {
	for args, note := range map[string]string{
		`{"amount":1,"amount":10000}`:             noteTwice,
		`{"a":{"b":[{"c":1,"\u0063":2}]}}`:        noteTwice,
		`{"a":{"b":1},"b":{"a":1},"c":["a","a"]}`: "",
		`{"a":[{"x":1},{"x":1}],"x":"x","y":"x"}`: "",
		`{}`:             "",
		`[1]`:            noteNoJSON,
		`{"a":`:          noteNoJSON,
		``:               noteNoJSON,
		`{"a":"\ud800"}`: "",
		`{"a":"</script>","b":"` + "\u202e" + `x"}`: "",
	} {
		r := inMemory(t)
		r.open(1, pause(1, "refund", args))
		c := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.calls.0")
		if c.Get("note").Str != note || (note != "") != !c.Get("arguments").Exists() || note != "" && c.Get("raw").Str != args {
			t.Errorf("%s: %s", args, c)
		}
	}
	r := inMemory(t)
	p := pause(1, "refund", `{"a":1}`)
	p.Interrupts[0].Calls[0].ArgumentsUnknown = true
	r.open(1, p)
	if c := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.calls.0"); c.Get("note").Str != noteUnknown || c.Get("arguments").Exists() {
		t.Errorf("a call that is not known in full: %s", c)
	}
}

// TestLargeQuestion: a list leaves out the large values of a question. The response for a single
// approval has all of them.
func TestLargeQuestion(t *testing.T) {
	r := inMemory(t)
	args := `{"text":"` + strings.Repeat("x", maxListed) + `"}`
	r.open(1, pause(1, "refund", args))
	q := r.ask(200, "GET", "/v1/approvals").Get("approvals.0.questions.0")
	if !q.Get("cut").Bool() || q.Get("calls.0.name").Str != "refund" || q.Get("calls.0.arguments").Exists() || q.Get("message").Exists() || q.Get("digest").Str == "" {
		t.Errorf("in the list: %s", q)
	}
	q = r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0")
	if q.Get("cut").Exists() || q.Get("calls.0.arguments").Raw != args {
		t.Errorf("by itself it is cut: %t", q.Get("cut").Bool())
	}
}

// TestListOfLargeQuestions: a list has very large questions. The size of a response must be
// limited, and the next page must continue after it. A question for which no room is left must be
// shortened.
func TestListOfLargeQuestions(t *testing.T) {
	r := inMemory(t)
	const all = 150
	for n := range all {
		p := pause(n, "refund", `{"text":"`+strings.Repeat("x", maxListed/4)+`"}`)
		for range 9 {
			p.Interrupts = append(p.Interrupts, p.Interrupts[0])
			p.Interrupts[len(p.Interrupts)-1].ID += fmt.Sprint("-", len(p.Interrupts))
		}
		r.open(n, p)
	}
	seen, pages := 0, 0
	for next := ""; ; {
		l := r.ask(200, "GET", "/v1/approvals?limit=200"+next)
		seen, pages = seen+len(ids(l)), pages+1
		if len(l.Raw) > 2*maxPageBytes {
			t.Errorf("a page has %d bytes", len(l.Raw))
		}
		for _, a := range l.Get("approvals").Array() {
			if whole := 10 - int(a.Get("questions.#(cut==true)#|#").Int()); whole != 3 || a.Get("questions.#").Int() != 10 || a.Get("questions.9.calls.0.name").Str != "refund" {
				t.Fatalf("%d of %d questions are whole", whole, a.Get("questions.#").Int())
			}
		}
		if !l.Get("next").Exists() {
			break
		}
		next = "&cursor=" + l.Get("next").Str
	}
	if seen != all || pages < 2 {
		t.Errorf("%d approvals on %d pages", seen, pages)
	}
}

// TestRecordOfBefore: a record of an older version has no origin. It must be shown with the data
// that it has.
func TestRecordOfBefore(t *testing.T) {
	r := inMemory(t)
	p := pause(1, "refund", `{}`)
	p.Origin = nil
	r.open(1, p)
	a := r.ask(200, "GET", "/v1/approvals").Get("approvals.0")
	if a.Get("thread").Str != "old" || a.Get("run").Str != "r0" || a.Get("agent").Exists() || a.Get("questions.0.digest").Exists() {
		t.Errorf("it is shown as %s", a)
	}
	r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	if e := r.events.list[0]; e.Thread != "old" || e.Run != "r0" {
		t.Errorf("the event is %+v", e)
	}
}

// TestRetired: a question that nobody answered in time must end by itself.
func TestRetired(t *testing.T) {
	c := newClock()
	r := newRig(t, memory.New(memory.Options{Now: c.now, PauseRetention: time.Hour, ReplayTTL: time.Hour}), c)
	r.open(1, pause(1, "refund", `{}`))
	c.advance(time.Hour)
	if e := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("end"); e.Get("how").Str != "retired" || e.Get("door").Str != "retention" {
		t.Errorf("the end is %s", e)
	}
}

// TestAuditThatFails: the audit cannot be written. The thread must still be freed, and the log must
// report the failure.
func TestAuditThatFails(t *testing.T) {
	r := inMemory(t)
	var logged strings.Builder
	r.desk.log = slog.New(slog.NewTextHandler(&logged, nil))
	r.events.err = errDown
	r.open(1, pause(1, "refund", `{}`))
	r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	if !strings.Contains(logged.String(), "the audit log could not be written") {
		t.Errorf("the log: %s", logged.String())
	}
}

// TestAuditThatIsRequired: if the audit is required, the desk must first write a line that
// announces the end of the thread's pause. Only then may it free the thread. A second line about
// the end must follow.
func TestAuditThatIsRequired(t *testing.T) {
	r := inMemory(t)
	r.desk.opts.EventsRequired = true
	r.open(1, pause(1, "refund", `{}`))
	r.events.err = errDown
	if code := r.ask(503, "DELETE", "/v1/approvals/"+id(1)).Get("code").Str; code != codeAudit {
		t.Errorf("it says %s", code)
	}
	if state := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("state").Str; state != stateWaiting {
		t.Errorf("it is %s", state)
	}
	r.events.err, r.events.list = nil, nil
	r.ask(200, "DELETE", "/v1/approvals/"+id(1))
	var kinds []event.Kind
	for _, e := range r.events.list {
		kinds = append(kinds, e.Kind)
	}
	if want := []event.Kind{event.Freeing, event.Withdrawn}; !slices.Equal(kinds, want) {
		t.Errorf("events: %q, want %q", kinds, want)
	}
}
