package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// A world is a client, two replicas on one store, and a backend, in a bubble of testing/synctest.
// The client sends one request at a time. There is one exception: while answers are at the backend,
// it may send the same answers to the other replica.
type world struct {
	t        worldTest
	store    store.Store
	replicas [2]*mortal
	at       int // the replica that gets the next request
	ids      int
	runs     int
	expires  bool
	sticky   bool // the backend keeps the first answer to a question
	finish   bool // a run continues although its client has left
	apart    bool // the backend gets new messages in a request after the answers

	// The fields up to got are the state of the client.
	pending []string // the questions it shows; only a RUN_FINISHED without interrupts empties it
	lists   [][]string
	history []string
	thread  string // the thread of its next requests; "" is the thread t
	last    string // its last request
	got     string // the response to it, or "" if there was none

	mu    sync.Mutex // held during each step of a replica; see handOver
	turns int

	leave  func()         // called when the backend gets the request: the client leaves; nil: it stays
	second sync.WaitGroup // runs the same answers at the other replica

	leaves bool  // the client leaves its next requests
	slow   bool  // the backend is slow with answers, and meanwhile a request comes
	plan   *plan // what goes wrong; nil: nothing

	// The fields up to plainRuns are the state of the backend.
	mode      string
	called    int
	kept      string // the answer that a sticky backend keeps, or ""
	inside    bool   // another request is sent while one is at the backend
	own       bool   // Holdpoint sends a request without the client
	looking   bool   // that request was begun by looks
	plainRuns int

	// The following fields record what really happened, for the checks.
	approved  map[string]bool // ids of questions that the client has ever approved
	cancelled map[string]bool // ids of questions that it has ever cancelled
	told      map[string]bool // ids of questions that it has ever got
	delivered map[string]int  // how often an answer to the id reached the backend
	violation string
	tally     *tally // what the stores did, and which events were reported
	happened  happenings
}

// worldTest has the methods of *testing.T that a world needs. rapid has a type of its own for them.
type worldTest interface {
	storetest.TB
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newWorld(t worldTest, expires, sticky bool) *world {
	w := &world{
		t: t, expires: expires, sticky: sticky,
		approved: map[string]bool{}, cancelled: map[string]bool{}, told: map[string]bool{}, delivered: map[string]int{},
		history: []string{`{"id":"u0","role":"user","content":"hi"}`},
	}
	w.tally, w.happened = newTally(), happenings{}
	w.store = countedStore{storetest.Sealed(t, memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour})), w.tally}
	w.restart(0)
	w.restart(1)
	return w
}

// restart replaces a replica by a new process.
func (w *world) restart(at int) {
	up, _ := url.Parse("http://backend/agent")
	m, disconnect := &mortal{}, DisconnectCancel
	if w.finish {
		disconnect = DisconnectFinish
	}
	o := Options{
		Upstream: up, Dialect: w.dialect(), Client: ClientOutcome, OnDisconnect: disconnect,
		OtherDoors: &OtherDoors{KeepsInput: true},
		NewID:      func() string { w.mu.Lock(); defer w.mu.Unlock(); w.ids++; return fmt.Sprintf("id%010d", w.ids) },
		Events: taker(func(e *event.Event) error {
			if m.dead.Load() {
				return errDead
			}
			return w.tally.Take(e)
		}),
		Store: &storetest.Faults{Store: w.store, At: func(_ string, do func() error) error { return w.step(m, false, do) }},
		Transport: roundTripper(func(req *http.Request) (res *http.Response, err error) {
			err = w.step(m, true, func() error { res, err = w.backend(req); return err })
			return res, err
		}),
	}
	var err error
	if m.Handler, err = New(o); err != nil {
		w.t.Fatal(err)
	}
	w.replicas[at] = m
}

// A plan says which steps of the replicas fail. The first is the step with the number from, counted
// from 1. many is the number of consecutive steps that fail.
type plan struct {
	from, many int
	done       bool // the steps are done nevertheless
	dies       bool // the replica dies at that step
	backend    bool // the backend's responses count as steps too

	seen int
	hits int
}

// hit returns the number of steps that have failed because of the plan.
func (p *plan) hit() int {
	if p == nil {
		return 0
	}
	return p.hits
}

// step does a step of a replica, unless the plan makes it fail.
func (w *world) step(m *mortal, backend bool, do func() error) error {
	w.mu.Lock()
	dead, p := m.dead.Load(), w.plan
	fails := false
	if p != nil && m == w.replicas[w.at] && (p.backend || !backend) && !dead {
		p.seen++
		fails = p.from <= p.seen && p.seen < p.from+p.many
		if fails {
			p.hits++
			w.tally.lost()
		}
	}
	if fails && p.dies && !p.done {
		m.dead.Store(true)
	}
	w.mu.Unlock()
	switch {
	case dead || fails && !p.done:
		return errDead
	case !fails:
		return do()
	}
	_ = do()
	if p.dies {
		m.dead.Store(true)
	}
	return errDead
}

func (w *world) dialect() *fakeDialect {
	switch {
	case w.sticky:
		return &fakeDialect{begin: takesNew, end: sticky}
	case w.apart:
		return sendsNewApart()
	}
	return &fakeDialect{begin: takesNew}
}

// takesNew is a begin function for a fakeDialect. The dialect sends new messages together with the
// answers, as dialects with the interrupt outcome do.
func takesNew(r *translate.Request) (translate.Out, error) {
	out := translate.Out{TakesNew: true}
	if r.Pause.ID != "" {
		out.Body = agui.MustMarshal(map[string]any{"answers": r.Answers, "new": len(r.NewMessages), "messages": agui.MessageList(r.Input.Messages)})
	}
	return out, nil
}

// sendsNewApart returns a fakeDialect that sends the answers in a first request, and new messages
// in a second one.
func sendsNewApart() *fakeDialect {
	brought := 0
	return &fakeDialect{
		begin: func(r *translate.Request) (out translate.Out, err error) {
			brought = len(r.NewMessages)
			if r.Pause.ID != "" {
				out.Body = agui.MustMarshal(map[string]any{"answers": r.Answers})
			} else {
				out.TakesNew = true
			}
			return out, nil
		},
		end: func(n int, e translate.End) (translate.Result, error) {
			if n > 1 || brought == 0 || e.Event.Type != agui.RunFinished || e.Event.Get("outcome").Exists() {
				return translate.Result{}, nil
			}
			out := translate.Out{Body: agui.MustMarshal(map[string]any{"second": brought}), TakesNew: true}
			return translate.Result{Next: &translate.Exchange{Out: out}}, nil
		},
	}
}

func (w *world) record() store.Record {
	rec, err := w.store.Load(context.Background(), recordKey("/", "t"), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return rec
}

func (w *world) violates(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
	}
}

func (w *world) body(more string, fresh bool) string {
	if fresh {
		w.history = append(w.history, fmt.Sprintf(`{"id":"u%d","role":"user","content":"more %d"}`, len(w.history), len(w.history)))
	}
	w.runs++
	return fmt.Sprintf(`{"threadId":%q,"runId":"r%d","messages":[%s]%s}`, cmp.Or(w.thread, "t"), w.runs, strings.Join(w.history, ","), more)
}

func (w *world) plain(mode string, fresh bool) { w.send(w.body("", fresh), mode) }

func (w *world) again(mode string) {
	if elsewhere(w.last) {
		mode = "finish" // the backend asks nothing on another thread, see answerElsewhere
	}
	if w.last != "" {
		w.send(w.last, mode)
	}
}

// decide answers the questions in ids. approve[n] is the answer to ids[n]: true is a yes, false a
// cancel.
func (w *world) decide(ids []string, approve []bool, fresh bool, mode string) {
	var entries []string
	for n, id := range ids {
		if approve[n] {
			w.approved[id] = true
			entries = append(entries, yes(id))
		} else {
			w.cancelled[id] = true
			entries = append(entries, no(id))
		}
	}
	w.send(w.body(resumeWith(entries...), fresh), mode)
}

// beside adds messages to the client's history, calls do, and removes them again.
func (w *world) beside(messages []string, do func()) {
	honest := w.history
	w.history = append(slices.Clone(honest), messages...)
	do()
	w.history = honest
}

// send posts a request and updates the client from the response. It returns "" if there was no
// response, or if the response was not a stream.
func (w *world) send(body, mode string) string {
	w.last, w.mode = body, mode
	m, before := w.replicas[w.at], w.plan.hit()
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if w.leaves && !w.inside {
		w.leave = leave
	}
	got, status := w.post(ctx, m, body)
	if !w.inside {
		w.got = got
		defer w.awaitSecond()
	}
	if ctx.Err() != nil {
		w.got = ""
		return ""
	}
	if m.dead.Load() {
		w.got = ""
		m.kill()
		w.restart(w.at)
		return "" // the client got no response
	}
	if status != http.StatusOK {
		if mode != "500" && mode != "422" || answering(body) {
			w.t.Fatalf("status %d: %s", status, got)
		}
		return ""
	}
	if answering(body) && !strings.Contains(got, `"type":"RUN_FINISHED"`) {
		w.violates("the client keeps its list: %s", got)
	}
	for _, ev := range dataIn(got) {
		if ev.Get("type").Str == string(agui.RunFinished) {
			w.takeList(ev)
		}
	}
	w.happened.told(got)
	w.checkStream(got)
	if !w.inside && w.plan.hit() == before {
		w.checkTold(body, got)
	}
	w.checkSuccess(body, got)
	return got
}

// awaitSecond waits for the request with the same answers at the other replica, whatever happened
// to the first request. If the claim of the first request was released, the second request sends
// the answers to the backend.
func (w *world) awaitSecond() {
	plan := w.plan
	w.inside, w.plan = true, nil
	w.handOver()
	w.second.Wait()
	w.handOver()
	w.inside, w.plan = false, plan
}

// handOver is called before and after the client's goroutine waits. Only while that goroutine
// waits, other goroutines work, and they hold mu during each step. handOver locks mu to show this
// order to the race detector.
func (w *world) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns++
}

// sleep lets time pass.
func (w *world) sleep(d time.Duration) {
	w.handOver()
	time.Sleep(d)
	w.handOver()
}

// post sends a request to a replica and returns the whole response.
func (w *world) post(ctx context.Context, m *mortal, body string) (got string, status int) {
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(ctx))
	return rec.Body.String(), rec.Code
}

// takeList updates the client's list of questions from a RUN_FINISHED.
func (w *world) takeList(finish gjson.Result) {
	w.pending = nil
	for _, i := range finish.Get("outcome.interrupts").Array() {
		w.pending = append(w.pending, i.Get("id").Str)
		w.told[i.Get("id").Str] = true
	}
	if len(w.pending) > 0 {
		w.lists = append(w.lists, slices.Clone(w.pending))
	}
}

func dataIn(stream string) (list []gjson.Result) {
	for frame := range strings.SplitSeq(stream, "\n\n") {
		if data, ok := strings.CutPrefix(frame, "data: "); ok {
			list = append(list, gjson.Parse(data))
		}
	}
	return list
}

// answering reports whether the request body contains answers.
func answering(body string) bool { return len(gjson.Get(body, "resume").Array()) > 0 }

// elsewhere reports whether the request body names a thread other than t, which has the questions.
func elsewhere(body string) bool { return gjson.Get(body, "threadId").Str != "t" }

// checkStream checks that a stream has one RUN_STARTED, and ends with a terminal event.
func (w *world) checkStream(got string) {
	if strings.Count(got, `"type":"RUN_STARTED"`) != 1 {
		w.violates("not one RUN_STARTED: %s", got)
	}
	list := dataIn(got)
	if len(list) == 0 || !json.Valid([]byte(lastData(got))) || !agui.Type(list[len(list)-1].Get("type").Str).Terminal() {
		w.violates("no valid end: %s", got)
	}
}

// checkTold checks that the client, after a request with answers, shows exactly the open questions.
func (w *world) checkTold(body, got string) {
	if !answering(body) || elsewhere(body) && strings.Contains(got, string(agui.UnknownInterruptID)) {
		return // the index may have lost the entry of the question
	}
	if elsewhere(body) && len(w.pending) == 0 && gjson.Get(body, "messages.#").Int() > 1 {
		return // it may have continued as an ordinary run of its own thread
	}
	var open []string
	if rec := w.record(); rec.State == store.Open {
		for _, i := range rec.Pause.Undecided().Interrupts {
			open = append(open, i.ID)
		}
	}
	if !slices.Equal(open, w.pending) {
		w.violates("open is %v, and the client is told %v: %s", open, w.pending, got)
	}
}

// checkSuccess checks the response got to a request with approvals. If the response contains no
// error, each approval must have reached the backend.
func (w *world) checkSuccess(body, got string) {
	if strings.Contains(got, "RUN_ERROR") || strings.Contains(got, `"refusal"`) {
		return
	}
	for _, e := range gjson.Get(body, "resume").Array() {
		if id := e.Get("interruptId").Str; e.Get("status").Str == string(agui.Resolved) && w.delivered[id] == 0 {
			w.violates("the approval of %s went well, and has reached nobody: %s", id, got)
		}
	}
}

func lastData(s string) string {
	frames := strings.Split(strings.TrimSpace(s), "\n\n")
	return strings.TrimPrefix(frames[len(frames)-1], "data: ")
}

// check compares the record with what happened, and ends the test if a rule is violated.
func (w *world) check() {
	rec := w.record()
	for _, result := range rec.Results {
		if result.EndKind == store.Retired {
			w.happened.add("nobody came")
		}
		for _, id := range result.IDs {
			switch {
			case result.EndKind == store.Finished && w.delivered[id] == 0:
				w.violates("%s has ended by an answer, and none has reached the backend", id)
			case result.EndKind == store.Withdrawn && w.told[id] && !w.cancelled[id] && !w.expires:
				w.violates("%s was told, and is withdrawn", id)
			}
		}
	}
	if wrong := w.tally.wrong(); wrong != "" {
		w.violates("what was told is not what happened: %s", wrong)
	}
	if w.violation != "" {
		w.t.Fatal(w.violation)
	}
}

// goesOn sends new messages, which also cancel the client's questions, until the backend gets one.
// First it waits until each claim of a dead replica has lapsed.
func (w *world) goesOn() {
	w.plan = nil
	w.sleep(LeaseTime)
	before := w.plainRuns
	for n := range 2 {
		w.at = (w.at + n) % 2
		more := ""
		var entries []string
		for _, id := range w.pending {
			w.cancelled[id] = true
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
	w.t.Fatalf("the thread cannot go on: state %q, list %v", w.record().State, w.pending)
}

var errUnreachable = errors.New("refused")
