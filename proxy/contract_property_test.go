package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// TestContract drives the whole handler through any order of runs, resumes, replays, reloads,
// expiries, errors, lost ends and restarts, as one client that keeps its list of open interrupts on
// RUN_ERROR (as @ag-ui/client does), one that has lost it, and one that answers out of an old list.
// It holds at every step that
//
//   - the backend is never called while a question is open, but by answers that cover it exactly;
//   - what reaches the backend as approved was approved by the client, for that very question;
//   - no question's answers reach the backend twice;
//   - an approval that somebody wrote into the history never reaches it;
//   - a backend that keeps its first answer to a question, as LangGraph does, never carries it out
//     against a later one;
//   - whoever answers something is told by RUN_FINISHED what is open by then;
//
// and at the end of every sequence that the thread can go on: a client that keeps its list reaches
// an ordinary run in at most two requests.
func TestContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"plain run":          func(t *rapid.T) { w.plain(w.drawMode(t), true) },
			"reload":             func(t *rapid.T) { w.plain(w.drawMode(t), false) },
			"answer all":         func(t *rapid.T) { w.answer(t, w.pending, w.drawMode(t)) },
			"answer some":        func(t *rapid.T) { w.answerSome(t) },
			"answer an old list": func(t *rapid.T) { w.answer(t, w.oldList(t), w.drawMode(t)) },
			"same body again":    func(t *rapid.T) { w.again(w.drawMode(t)) },
			"unknown id":         func(t *rapid.T) { w.answer(t, []string{"n1~nobody"}, w.drawMode(t)) },
			"empty resume":       func(t *rapid.T) { w.send(w.body(`,"resume":[]`, false), w.drawMode(t)) },
			"time passes": func(t *rapid.T) {
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "time"))
			},
			"restart":                 func(t *rapid.T) { w.restart() },
			"crash in the middle":     func(t *rapid.T) { w.crash(t) },
			"list is lost":            func(t *rapid.T) { w.pending = nil },
			"approval in the history": func(t *rapid.T) { w.forge(t) },
			"":                        func(t *rapid.T) { w.check() },
		})
		w.goesOn()
	})
}

// A world is a client, a Handler and a backend, all in one goroutine.
type world struct {
	t       *rapid.T
	h       *Handler
	store   store.Store
	now     time.Time
	ids     int
	runs    int
	expires bool
	sticky  bool // the backend keeps the first answer to a question

	// The client's view.
	pending []string // its list: emptied by a RUN_FINISHED without interrupts only
	lists   [][]string
	history []string
	last    string

	// The backend's view.
	mode      string
	called    int
	kept      string // what it keeps, "" if nothing
	inside    bool   // a request is under way while another is at the backend
	plainRuns int

	// The truth.
	approved  map[string]bool // ids that the client has ever approved
	delivered map[string]int  // ids whose answers have reached the backend
	violation string
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC),
		approved: map[string]bool{}, delivered: map[string]int{}, expires: rapid.Bool().Draw(t, "expires"), sticky: rapid.Bool().Draw(t, "sticky"),
		history: []string{`{"id":"u0","role":"user","content":"hi"}`},
	}
	w.store = storetest.Sealed(t, memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: func() time.Time { return w.now }}))
	w.restart()
	return w
}

func (w *world) restart() {
	up, _ := url.Parse("http://backend/agent")
	h, err := New(Options{
		Upstream: up, Dialect: w.dialect(), Store: w.store, Client: ClientOutcome, Transport: w,
		Now: func() time.Time { return w.now }, NewID: func() string { w.ids++; return fmt.Sprint("id", w.ids) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.h = h
}

func (w *world) dialect() *fakeDialect {
	d := &fakeDialect{begin: takesNew}
	if w.sticky {
		d.end = sticky
	}
	return d
}

// takesNew makes the fake a dialect whose resume carries new messages along, as an outcome
// backend's does.
func takesNew(r *translate.Request) (translate.Out, error) {
	out := translate.Out{TakesNew: true}
	if r.Pause.ID != "" {
		out.Body = agui.MustMarshal(map[string]any{"answers": r.Answers, "new": len(r.New), "messages": agui.MessageList(r.Input.Messages)})
	}
	return out, nil
}

var modes = []string{"finish", "finish", "ask", "ask two", "error", "cut", "500", "422", "unreachable", "json"}

func (w *world) drawMode(t *rapid.T) string {
	mode := rapid.SampledFrom(modes).Draw(t, "backend")
	if w.sticky && mode == "ask two" { // what it keeps is for one question
		return "ask"
	}
	return mode
}

// RoundTrip is the backend.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	if w.mode == "unreachable" {
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}
	w.called++
	rec, _ := w.store.Load(req.Context(), recordKey("/", "t"), "")
	answers := gjson.GetBytes(body, "answers")
	if len(approvalsIn(kit.Loose(body))) > 0 {
		w.violation = "an approval in the history reached the backend"
	}
	if !answers.Exists() {
		w.plainRuns++
		if rec.State != store.None {
			w.violation = "an ordinary run reached the backend while the thread is " + string(rec.State)
		}
	}
	if answers.Exists() {
		w.took(answers.Array(), rec)
		w.plainRuns += int(gjson.GetBytes(body, "new").Int()) // the message has reached the backend
	}
	if answers.Exists() && !w.inside {
		w.whileClaimed()
	}
	header, status, out := http.Header{"Content-Type": {"text/event-stream"}}, 200, ""
	expiry := ""
	if w.expires {
		expiry = `,"expiresAt":"` + w.now.Add(30*time.Minute).Format(time.RFC3339) + `"`
	}
	ask := func(id string) string { return `{"id":"` + id + `","reason":"confirmation"` + expiry + `}` }
	finish := `{"type":"RUN_FINISHED","threadId":"t","runId":"x"`
	switch w.mode {
	case "finish":
		out = streamOf(started, finish+"}")
	case "ask":
		out = streamOf(started, finish+`,"outcome":{"type":"interrupt","interrupts":[`+ask("n1")+`]}}`)
	case "ask two":
		out = streamOf(started, finish+`,"outcome":{"type":"interrupt","interrupts":[`+ask("n1")+`,`+ask("n1")+`]}}`)
	case "error":
		out = streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`)
	case "cut":
		out = streamOf(started)
	case "json":
		header, out = http.Header{"Content-Type": {"application/json"}}, "{}"
	default:
		fmt.Sscan(w.mode, &status)
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(out)), Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// took checks answers that reached the backend.
func (w *world) took(answers []gjson.Result, rec store.Record) {
	if rec.State != store.Claimed || rec.Pause == nil || len(answers) != len(rec.Pause.Interrupts) {
		w.violation = "answers reached the backend that are not a whole claimed pause"
		return
	}
	for _, a := range answers {
		id := a.Get("id").Str
		if rec.Pause.Interrupt(id) == nil {
			w.violation = "an answer reached a question that it was not for: " + id
		}
		if a.Get("status").Str == "resolved" && !w.approved[id] {
			w.violation = "approved what nobody approved: " + id
		}
		if w.mode != "422" { // the backend says that it did nothing
			w.delivered[id]++
		}
		if w.delivered[id] > 1 {
			w.violation = "answers were delivered twice: " + id
		}
	}
	if w.sticky && w.mode != "422" {
		w.carryOut(answers[0].Get("status").Str)
	}
}

// carryOut is a backend that keeps the first answer to its one question until it has come to an end
// with it.
func (w *world) carryOut(answer string) {
	if w.kept != "" && w.kept != answer {
		w.violation = "the backend carried out " + w.kept + ", and the answer was " + answer
	}
	w.kept = answer
	if w.mode == "finish" || w.mode == "ask" {
		w.kept = ""
	}
}

// whileClaimed sends requests while a resume is at the backend: none of them may get there.
func (w *world) whileClaimed() {
	mode, last, pending, called := w.mode, w.last, w.pending, w.called
	w.inside = true
	for _, body := range []string{w.body("", false), w.body("", true), w.body(resumeWith(no("n1~nobody")), false)} {
		w.send(body, "finish")
	}
	if w.called != called {
		w.violation = "a request reached the backend while a resume was there"
	}
	w.inside, w.mode, w.last, w.pending = false, mode, last, pending
}

func (w *world) body(more string, fresh bool) string {
	if fresh {
		w.history = append(w.history, fmt.Sprintf(`{"id":"u%d","role":"user","content":"more %d"}`, len(w.history), len(w.history)))
	}
	w.runs++
	return fmt.Sprintf(`{"threadId":"t","runId":"r%d","messages":[%s]%s}`, w.runs, strings.Join(w.history, ","), more)
}

func (w *world) plain(mode string, fresh bool) { w.send(w.body("", fresh), mode) }

func (w *world) again(mode string) {
	if w.last != "" {
		w.send(w.last, mode)
	}
}

func (w *world) answer(t *rapid.T, ids []string, mode string) {
	if len(ids) == 0 {
		return
	}
	var entries []string
	for _, id := range ids {
		if rapid.Bool().Draw(t, "approve") {
			w.approved[id] = true
			entries = append(entries, yes(id))
		} else {
			entries = append(entries, no(id))
		}
	}
	w.send(w.body(resumeWith(entries...), rapid.IntRange(0, 3).Draw(t, "fresh") == 0), mode)
}

// forge sends an approval in the history, alone, before words or beside answers. It is not kept.
func (w *world) forge(t *rapid.T) {
	honest := w.history
	defer func() { w.history = honest }()
	forged := rapid.SampledFrom([][]string{{askCall, askYes}, {inOne}, {askCall, askYes, inOne}}).Draw(t, "approval")
	w.history = append(slices.Clone(honest), forged...)
	if rapid.Bool().Draw(t, "before words") {
		w.history = append(w.history, askWords)
	}
	if len(w.pending) > 0 && rapid.Bool().Draw(t, "beside answers") {
		w.answer(t, w.pending, w.drawMode(t))
		return
	}
	w.send(w.body("", false), w.drawMode(t))
}

func (w *world) answerSome(t *rapid.T) {
	if len(w.pending) > 1 {
		w.answer(t, w.pending[:1], w.drawMode(t))
	}
}

func (w *world) oldList(t *rapid.T) []string {
	if len(w.lists) == 0 {
		return nil
	}
	return rapid.SampledFrom(w.lists).Draw(t, "list")
}

// crash leaves a claim behind as a killed process would: nobody knows whether its answers arrived.
func (w *world) crash(t *rapid.T) {
	rec, _ := w.store.Load(t.Context(), recordKey("/", "t"), "")
	if rec.State != store.Open {
		return
	}
	var answers []agui.Answer
	for _, i := range rec.Pause.Interrupts {
		answers = append(answers, agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: json.RawMessage("true")})
		w.approved[i.ID] = true
	}
	if w.sticky && w.kept != "" && w.kept != "resolved" {
		return // such an answer is not let through
	}
	if err := w.store.Claim(t.Context(), recordKey("/", "t"), rec.Pause.ID, random128(), contract.Digest(answers), time.Second); err != nil {
		t.Fatal(err)
	}
	w.kept = "resolved"
	for _, i := range rec.Pause.Interrupts {
		w.delivered[i.ID]++
	}
	w.now = w.now.Add(time.Minute)
	w.restart()
}

// send is a request of the client, and what it makes of the answer.
func (w *world) send(body, mode string) string {
	w.last, w.mode = body, mode
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	if rec.Code != http.StatusOK {
		if mode != "500" && mode != "422" || answering(body) {
			w.t.Fatalf("status %d: %s", rec.Code, rec.Body)
		}
		return ""
	}
	got := rec.Body.String()
	if answering(body) && !strings.Contains(got, `"type":"RUN_FINISHED"`) {
		w.violation = "the client keeps its list: " + got
	}
	for frame := range strings.SplitSeq(got, "\n\n") {
		data, _ := strings.CutPrefix(frame, "data: ")
		if gjson.Get(data, "type").Str != string(agui.RunFinished) {
			continue
		}
		w.pending = nil
		for _, i := range gjson.Get(data, "outcome.interrupts").Array() {
			w.pending = append(w.pending, i.Get("id").Str)
		}
		if len(w.pending) > 0 {
			w.lists = append(w.lists, slices.Clone(w.pending))
		}
	}
	if bytes.Count([]byte(got), []byte(`"type":"RUN_STARTED"`)) != 1 {
		w.violation = "not one RUN_STARTED: " + got
	}
	if !json.Valid([]byte(lastData(got))) {
		w.violation = "no valid end: " + got
	}
	if answering(body) && !w.inside {
		w.told(got)
	}
	return got
}

// answering says whether a request answers something.
func answering(body string) bool { return len(gjson.Get(body, "resume").Array()) > 0 }

// told checks that a request that answers something is told what is open, no more and no less.
func (w *world) told(got string) {
	var open []string
	if rec, _ := w.store.Load(w.t.Context(), recordKey("/", "t"), ""); rec.State == store.Open {
		for _, i := range rec.Pause.Interrupts {
			open = append(open, i.ID)
		}
	}
	if !slices.Equal(open, w.pending) {
		w.violation = fmt.Sprintf("open is %v, and the client is told %v: %s", open, w.pending, got)
	}
}

func lastData(s string) string {
	frames := strings.Split(strings.TrimSpace(s), "\n\n")
	return strings.TrimPrefix(frames[len(frames)-1], "data: ")
}

func (w *world) check() {
	if w.violation != "" {
		w.t.Fatal(w.violation)
	}
}

// goesOn: the client cancels what is in its list beside a new message, as often as it must.
func (w *world) goesOn() {
	before := w.plainRuns
	for range 2 {
		more := ""
		var entries []string
		for _, id := range w.pending {
			entries = append(entries, no(id))
		}
		if len(entries) > 0 {
			more = resumeWith(entries...)
		}
		w.send(w.body(more, true), "finish")
		w.check()
		if w.plainRuns > before {
			return
		}
	}
	rec, _ := w.store.Load(w.t.Context(), recordKey("/", "t"), "")
	w.t.Fatalf("the thread cannot go on: state %q, list %v", rec.State, w.pending)
}
