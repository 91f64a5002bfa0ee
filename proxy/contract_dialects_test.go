package proxy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/proxy"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/dialecttest/ask"
	"holdpoint/translate/dialecttest/confirm"
)

// TestContractOfEveryDialect drives the whole handler. For each dialect, Holdpoint stands before a
// backend of the dialect's family (see dialecttest). Random sequences contain questions, answers in
// every form, replays, new messages, reloads, lost ends and restarts. The test checks at every step
// that
//
//   - the backend is told to do only what the client approved, by an answer to that very question;
//   - an answer to a question reaches the backend only once. A cancel may follow an answer whose
//     end was not seen: it frees a backend that still waits, and runs nothing;
//   - the client gets a valid stream;
//
// and at the end that the thread can continue, and that a plain yes is carried out and a plain no
// is not. The same must hold for decisions of the desk that Holdpoint sends without the client.
func TestContractOfEveryDialect(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		list := dialecttest.Of(name)
		if len(list) == 0 {
			t.Errorf("no backend of dialect %s stands in translate/dialecttest/backends.go: "+
				"add one, so that the dialect is held to the contract (see docs/new-dialect.md)", name)
		}
		for _, b := range list {
			t.Run(b.Name(), func(t *testing.T) {
				switch fewer(t, 30); {
				case proxy.RaceDetector:
					fewer(t, 10)
				case testing.Short():
					fewer(t, 3)
				}
				rapid.Check(t, func(t *rapid.T) { chat(t, b, dialects.All()) })
			})
		}
	}
}

// TestContractOfTheExample checks the contract of TestContractOfEveryDialect for the two dialects
// that docs/new-dialect.md shows.
func TestContractOfTheExample(t *testing.T) {
	fewer(t, 30)
	t.Run("ask", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { chat(t, dialecttest.Example(), dialects.With(dialects.All(), ask.Name, ask.New)) })
	})
	t.Run("confirm", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			chat(t, dialecttest.ExampleOfWords(), dialects.With(dialects.All(), confirm.Name, confirm.New))
		})
	})
}

// printed records the text that a failing test prints.
type printed struct {
	*testing.T
	text strings.Builder
}

func (p *printed) Logf(format string, args ...any)   { fmt.Fprintf(&p.text, format+"\n", args...) }
func (p *printed) Errorf(format string, args ...any) { p.Logf(format, args...) }
func (p *printed) Log(args ...any)                   { fmt.Fprintln(&p.text, args...) }

// TestFailedChatIsReadable: if a random sequence violates the contract, rapid must print each
// request and each stream as text.
func TestFailedChatIsReadable(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(before) }()
	}
	fewer(t, 30)
	b := dialecttest.Example()
	b.Reads = func([]byte, int, bool) dialecttest.Meaning { return dialecttest.Approves }
	p := &printed{T: t}
	rapid.Check(p, func(t *rapid.T) { chat(t, b, dialects.With(dialects.All(), ask.Name, ask.New)) })
	for _, want := range []string{
		`the client sends {"threadId":"t","runId":"r`,
		`the backend gets POST / {"threadId":"t","runId":"r`,
		"the backend sends\ndata: {\"type\":\"RUN_STARTED\"",
		"the client gets\ndata: {\"type\":\"RUN_STARTED\"",
	} {
		if !strings.Contains(p.text.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, p.text.String())
		}
	}
}

// fewer limits the number of random sequences that rapid tries to checks, which is fewer than
// rapid's default. If the flag -rapid.checks is set, its number is used instead.
func fewer(t *testing.T, checks int) {
	t.Helper()
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			checks, _ = strconv.Atoi(f.Value.String())
		}
	})
	if testing.Short() {
		checks *= 5 // with -short rapid tries only a fifth, which could be none
	}
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// chat runs one random sequence of actions.
func chat(t *rapid.T, b dialecttest.Backend, list dialects.List) {
	c := newChatter(t, b, list)
	t.Repeat(map[string]func(*rapid.T){
		"a new message":      func(t *rapid.T) { c.words(); c.send("", drawEnd(t)) },
		"the page is loaded": func(t *rapid.T) { c.send("", drawEnd(t)) },
		"answer":             func(t *rapid.T) { c.answer(c.pending, drawHow(t), rapid.Bool().Draw(t, "beside words"), drawEnd(t)) },
		"answer an old one":  func(t *rapid.T) { c.answer(c.oldOne(t), drawHow(t), rapid.Bool().Draw(t, "beside words"), drawEnd(t)) },
		"reply": func(t *rapid.T) {
			c.reply(c.asked, rapid.Bool().Draw(t, "yes"), rapid.Bool().Draw(t, "before words"), drawEnd(t))
		},
		"reply to an old one": func(t *rapid.T) {
			if c.asked > 1 {
				c.reply(rapid.IntRange(1, c.asked-1).Draw(t, "question"), rapid.Bool().Draw(t, "yes"), rapid.Bool().Draw(t, "before words"), drawEnd(t))
			}
		},
		"the same body again": func(t *rapid.T) { c.again(drawEnd(t)) },
		"decide elsewhere":    func(t *rapid.T) { c.decide(rapid.SampledFrom(hows[:3]).Draw(t, "decision")) },
		"carry":               func(t *rapid.T) { c.carry(drawEnd(t)) },
		"restart":             func(t *rapid.T) { c.restart() },
		"":                    func(t *rapid.T) { c.check() },
	})
	c.goesOn()
	c.plainAnswers()
	c.plainDecisions()
}

// hows are the ways to answer a question. "cancel with a yes" is an entry with the status cancelled
// and an approving payload. It must count as a cancel.
var hows = []string{"yes", "no", "cancel", "cancel with a yes"}

func drawHow(t *rapid.T) string { return rapid.SampledFrom(hows).Draw(t, "answer") }

// ends are the ways in which the backend ends a run. With "ask at once", the backend sends no text
// before the call that asks the question.
var ends = []string{"end", "ask", "ask at once", "error", "cut"}

func drawEnd(t *rapid.T) string { return rapid.SampledFrom(ends).Draw(t, "backend") }

// textFrames matches the frames of the assistant's texts.
var textFrames = regexp.MustCompile(`data: \{"type":"TEXT_MESSAGE_[^\n]*\n\n`)

// A chatter is a client, a Holdpoint and a backend, all in one goroutine.
type chatter struct {
	t     *rapid.T
	b     dialecttest.Backend
	list  dialects.List
	h     *proxy.Handler
	store store.Store
	now   time.Time
	ids   int

	dialect  string // the name in HOLDPOINT_DIALECT
	sessions bool   // the operator has set HOLDPOINT_SESSIONS
	page     bool   // the client is a page in a browser

	// The state of the client.
	runs     int
	history  []agui.Message
	marks    int      // number of its own messages
	pending  string   // the published id of the open question
	call     string   // id of the call of the newest question, or ""
	old      []string // published ids of all its questions
	last     string
	question map[string]int // number of the question, by published id
	replied  map[int]bool   // questions that the client has answered by a message

	// The state of the backend.
	end                 string // how the backend ends the current run
	asked               int    // number of questions so far
	waits               int    // number of the question that it waits for, or 0
	did                 map[int]int
	told                map[int]int  // how many answers it got, by question
	doubtful, cancelled map[int]bool // the last answer's end was not seen; the client has cancelled
	seen                []byte       // the body of the last request
	bodies              [][]byte     // bodies of all requests
	got                 string       // the last stream

	approved  map[int]bool // questions that the client has approved at some time
	violation string
}

func newChatter(t *rapid.T, b dialecttest.Backend, list dialects.List) *chatter {
	c := &chatter{
		t: t, b: b, list: list, dialect: b.Dialect, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC),
		question: map[string]int{}, replied: map[int]bool{}, did: map[int]int{}, told: map[int]int{}, approved: map[int]bool{}, doubtful: map[int]bool{}, cancelled: map[int]bool{},
	}
	c.store = storetest.Sealed(t, memory.New(memory.Options{
		Entries: 10, ReplayTTL: time.Hour, PauseRetention: 240 * time.Hour, Now: func() time.Time { return c.now },
	}))
	c.restart()
	c.words()
	return c
}

func (c *chatter) restart() {
	for _, err := range c.list.Read(c.b.Environment) {
		c.t.Fatal(err)
	}
	d, err := c.list.New(c.dialect, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.h, err = proxy.New(proxy.Options{
		Upstream: &url.URL{Scheme: "http", Host: "backend", Path: "/"}, Dialect: d, Store: c.store,
		Client: proxy.ClientOutcome, Sessions: c.sessions, Transport: c, Now: func() time.Time { return c.now },
		NewID:      func() string { c.ids++; return fmt.Sprint("id", c.ids) },
		OtherDoors: &proxy.OtherDoors{KeepsInput: true},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// RoundTrip plays the backend: it returns the response to a request.
func (c *chatter) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if c.b.Other != nil {
		if beside := c.b.Other(req.Method, req.URL.Path, c.waits, c.asked); beside != "" {
			return answerOf(req, "application/json", beside), nil
		}
	}
	c.t.Logf("the backend gets %s %s %s", req.Method, req.URL.Path, body)
	c.seen, c.bodies = body, append(c.bodies, body)
	answer := c.b.EndStream
	for n := 1; n <= c.asked; n++ {
		switch c.b.Reads(body, n, n == c.waits) {
		case dialecttest.Nothing:
			continue
		case dialecttest.Approves:
			c.did[n]++
			answer = c.b.ActedStream
			if !c.approved[n] {
				c.violation = fmt.Sprintf("question %d: the backend was told to do what nobody approved: %s", n, body)
			}
		case dialecttest.Denies:
			answer = c.b.DeniedStream
			if c.doubtful[n] && c.cancelled[n] {
				c.told[n]-- // the backend may still wait, and a cancel frees it
			}
		}
		c.doubtful[n] = c.end == "cut" || c.end == "error"
		if c.told[n]++; c.told[n] > 1 {
			c.violation = fmt.Sprintf("question %d: an answer reached the backend a second time: %s", n, body)
		}
	}
	answer = dialecttest.TextFor(answer, c.asked)
	c.waits = 0
	switch c.end {
	case "ask", "ask at once":
		if c.end == "ask at once" {
			answer = textFrames.ReplaceAllString(answer, "")
		}
		c.asked++
		c.waits = c.asked
		answer = dialecttest.TextFor(c.b.AskAfter(answer), c.asked)
		c.end = "end" // the end of a second request in the same run
	case "error":
		answer = "data: {\"type\":\"RUN_ERROR\",\"message\":\"kaput\"}\n\n"
	case "cut":
		answer = answer[:len(answer)/3]
	}
	// This request sets the state of a thread. LangGraph's server gets a no in this way.
	if strings.HasSuffix(req.URL.Path, "/state") {
		return answerOf(req, "application/json", "{}"), nil
	}
	c.t.Logf("the backend sends\n%s", answer)
	return answerOf(req, c.b.MediaType, answer), nil
}

func answerOf(req *http.Request, mediaType, body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {mediaType}}, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// words adds a new user message to the history.
func (c *chatter) words() {
	c.marks++
	c.add(fmt.Sprintf(`{"id":"u%d","role":"user","content":"words %d."}`, c.marks, c.marks))
}

func (c *chatter) add(message string) {
	c.history = append(c.history, agui.ParseMessage(json.RawMessage(message)))
}

// answer answers the question with this published id, in the resume array. how is one of hows. If
// words is true, the request also has a new user message.
func (c *chatter) answer(id, how string, words bool, end string) {
	if id == "" {
		return
	}
	if words {
		c.words()
	}
	status, payload := "resolved", `,"payload":`+c.b.Yes
	switch how {
	case "yes":
		c.approved[c.question[id]] = true
	case "no":
		payload = `,"payload":` + c.b.No
	case "cancel":
		status, payload = "cancelled", ""
	default:
		status = "cancelled"
	}
	if status == "cancelled" {
		c.cancelled[c.question[id]] = true
	}
	c.send(fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":%q%s}]`, id, status, payload), end)
}

// reply answers question n by a message in the backend's own form. It does so at most once for each
// question, because a client shows a question once.
func (c *chatter) reply(n int, yes, words bool, end string) {
	if c.b.Reply == "" || n == 0 || c.replied[n] {
		return
	}
	c.replied[n] = true
	if yes {
		c.approved[n] = true
	}
	c.add(c.b.ReplyMessage(n, yes))
	if words {
		c.words()
	}
	c.send("", end)
}

// open returns the key and the pause of the open question. The pause is nil if no question is open.
func (c *chatter) open() (store.Key, *agui.Pause) {
	page, err := c.store.List(c.t.Context(), store.Query{Limit: store.MaxPage})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, row := range page.Rows {
		rec, err := c.store.Load(c.t.Context(), row.Key, "")
		if err != nil {
			c.t.Fatal(err)
		}
		if rec.State == store.Open {
			return row.Key, rec.Pause
		}
	}
	return "", nil
}

// decide records a decision of the desk on the open question.
func (c *chatter) decide(how string) {
	key, p := c.open()
	if p == nil {
		return
	}
	id := p.Interrupts[0].ID
	if _, known := c.question[id]; !known {
		c.question[id] = c.asked // the client has not seen the question yet
		c.old = append(c.old, id)
	}
	w := door.Decision{Question: id, Status: agui.Resolved, Payload: json.RawMessage(c.b.Yes)}
	switch how {
	case "no":
		w.Payload = json.RawMessage(c.b.No)
	case "cancel":
		w.Status, w.Payload = agui.Cancelled, nil
	}
	_, err := c.h.Decide(c.t.Context(), key, p.ID, door.Decider{Door: "desk", Name: "Maria"}, []door.Decision{w})
	if err == nil && how == "yes" {
		c.approved[c.question[id]] = true
	}
}

// carry makes Holdpoint send the desk's decisions on the open pause to the backend, without the
// client. end is the way in which the backend ends this run.
func (c *chatter) carry(end string) {
	key, p := c.open()
	if p == nil {
		return
	}
	waits := len(c.h.ChatOnlyReasons(p)) > 0 // only the chat has all its messages
	c.end, c.seen = end, nil
	err := c.h.Carry(c.t.Context(), key)
	if !p.Decided() {
		return
	}
	if (err != nil) != waits || waits && c.seen != nil {
		c.t.Fatalf("carried, waits for the chat %v: %v, the backend got %s", waits, err, c.seen)
	}
	if waits {
		c.send("", end) // the chat's next request sends the decision, whatever it contains
	}
}

func (c *chatter) oldOne(t *rapid.T) string {
	if len(c.old) == 0 {
		return ""
	}
	return rapid.SampledFrom(c.old).Draw(t, "id")
}

func (c *chatter) again(end string) {
	if c.last != "" {
		c.post(c.last, end)
	}
}

// send sends a run with the client's history. more has further members of the request body. end is
// the way in which the backend ends the run.
func (c *chatter) send(more, end string) {
	c.runs++
	c.post(fmt.Sprintf(`{"threadId":"t","runId":"r%d","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":%s%s}`,
		c.runs, agui.MessageList(c.history), more), end)
}

func (c *chatter) post(body, end string) {
	c.last, c.end = body, end
	c.t.Logf("the client sends %s", body)
	rec, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	if c.page {
		req.Header.Set("Origin", "https://chat.example")
	}
	c.h.ServeHTTP(rec, req)
	c.t.Logf("the client gets\n%s", rec.Body.Bytes())
	if rec.Code != http.StatusOK {
		c.t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	for _, complaint := range lint(rec.Body.Bytes()) {
		c.t.Fatalf("%s\n%s", complaint, rec.Body)
	}
	c.got = rec.Body.String()
	c.fold(c.got)
}

// fold reads a stream that the client got, and updates the client's history and its list of
// questions.
func (c *chatter) fold(stream string) {
	shown := transcript.New(1<<20, c.history, nil)
	frames, _ := split(stream)
	for _, frame := range frames {
		data, ok := dataOf(frame)
		if !ok {
			continue
		}
		ev := agui.NewEvent([]byte(data))
		shown.Add(ev)
		if ev.Type != agui.RunFinished {
			continue
		}
		c.pending = ev.Get("outcome.interrupts.0.id").Str
		if c.pending == "" {
			continue
		}
		c.call = ev.Get("outcome.interrupts.0.toolCallId").Str
		if _, known := c.question[c.pending]; !known {
			c.question[c.pending] = c.asked
			c.old = append(c.old, c.pending)
		}
	}
	list, _ := shown.Messages()
	c.history = nil
	for _, m := range list {
		c.history = append(c.history, agui.ParseMessage(slices.Clone(m)))
	}
}

func (c *chatter) check() {
	if c.violation != "" {
		c.t.Fatal(c.violation)
	}
}

// goesOn sends new messages until the backend gets one of them. Each request also cancels the open
// question. goesOn fails if the backend gets none of three messages.
func (c *chatter) goesOn() {
	for range 3 {
		if c.words(); c.pending != "" {
			c.answer(c.pending, "cancel", false, "end")
		} else {
			c.send("", "end")
		}
		c.check()
		if strings.Contains(string(c.seen), fmt.Sprintf("words %d.", c.marks)) {
			return
		}
	}
	c.t.Fatalf("the thread cannot go on; %s came of %s", c.got, c.last)
}

// plainAnswers checks that the backend carries out a yes and does not carry out a no.
func (c *chatter) plainAnswers() {
	for _, how := range []string{"yes", "no"} {
		c.words()
		c.send("", "ask")
		n := c.asked
		if c.waits != n || c.pending == "" {
			c.t.Fatalf("the backend's question was not told: %s", dialecttest.TextFor(c.b.QuestionStream, n))
		}
		c.answer(c.pending, how, false, "end")
		c.check()
		if c.told[n] != 1 || (c.did[n] == 1) != (how == "yes") {
			c.t.Fatalf("%s: the backend was told %d times, and did it %d times: %s", how, c.told[n], c.did[n], c.seen)
		}
	}
	if !gjson.ValidBytes(c.seen) {
		c.t.Fatalf("no JSON: %s", c.seen)
	}
}

// plainDecisions checks that Holdpoint sends a decision of the desk once, without the client. When
// the client comes back, it must see the result.
func (c *chatter) plainDecisions() {
	for _, how := range hows[:3] {
		c.words()
		c.send("", "ask")
		n := c.asked
		c.decide(how)
		c.carry("end")
		c.check()
		if c.told[n] > 1 || (c.did[n] == 1) != (how == "yes") || how == "yes" && c.told[n] != 1 {
			c.t.Fatalf("%s elsewhere: the backend was told %d times, and did it %d times: %s", how, c.told[n], c.did[n], c.seen)
		}
		c.seen = nil
		// If the client has no messages to send, Holdpoint cannot know what the client has missed.
		empty := len(c.history) == 0
		c.send("", "end")
		// If Holdpoint gave the question up, the backend got no answer to it.
		if c.check(); !empty && c.told[n] == 1 && c.seen != nil || c.pending != "" {
			c.t.Fatalf("%s elsewhere: a reload asks the backend for %s, and is told %s", how, c.seen, c.got)
		}
		c.goesOn()
	}
}
