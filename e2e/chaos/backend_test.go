//go:build e2e

package chaos

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/translate/dialecttest"
)

// families returns one backend for each dialect that Holdpoint recognizes without configuration.
func families() []dialecttest.Backend {
	var list []dialecttest.Backend
	for _, name := range []string{"agui", "agent-framework", "aws-strands", "draft", "langgraph", "request-approval"} {
		list = append(list, dialecttest.Of(name)[0])
	}
	return list
}

// intruder is the beginning of a message that is sent while a question is open on its thread. No
// backend may get such a message.
const intruder = "intruder"

// A person may answer the questions of one thread on another thread. The id of the other thread is
// the id of the first thread, then elsewhere, then a suffix. A backend that keeps no threads gets
// this whole id.
const elsewhere = "/elsewhere-"

// A backend asks a question when a message says "ask". It carries out every answer that it gets,
// even a repeated one, and counts the answers. A request's path is the index of the family in
// families.
type backend struct {
	*httptest.Server
	families []dialecttest.Backend
	calm     atomic.Bool // whether it has stopped causing errors
	report   *report

	mu      sync.Mutex
	threads map[string]*thread
}

// A thread is the state of one conversation: what the backend knows, and below that what the person
// has seen.
type thread struct {
	family dialecttest.Backend
	name   string

	mu       sync.Mutex
	dice     *rand.Rand
	asked    int         // number of questions so far
	waits    int         // number of the question it waits for, or 0
	told     map[int]int // how many answers to each question arrived
	did      map[int]int // how often each question's action ran
	approved map[int]bool

	cancelled map[int]bool // questions that the person has cancelled
	ended     map[int]bool // questions for which the person has seen the end of the run with the answer
	last      map[int]telling
}

// A telling describes the last run in which the backend got an answer to a question.
type telling struct {
	bad    bool // whether the backend broke off that run
	moment int  // the moment of the report at which it began
}

// freed lists the dialects for which Holdpoint may send a cancel although it has already sent an
// answer, if it has not seen the end of that answer's run. The backend may still wait then, and the
// cancel frees it.
var freed = []string{"agent-framework", "aws-strands"}

// mayFree reports whether Holdpoint may send a denial of question n although the backend has
// already got an answer. Three things must hold. The denial is a cancel. The dialect is one of
// freed. It is unknown what became of the earlier answer: the backend broke off that run, or a
// fault has happened since and no client has seen the run's end. Such a cancel may be sent again
// under the same conditions. An approval must never be sent again.
func (th *thread) mayFree(n int, r *report) bool {
	last, told := th.last[n]
	return told && th.cancelled[n] && slices.Contains(freed, th.family.Dialect) &&
		(last.bad || !th.ended[n] && r.brokenSince(last.moment))
}

func startBackend(t *testing.T, r *report) *backend {
	b := &backend{families: families(), threads: map[string]*thread{}, report: r}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

// add makes a thread. Its dice come from the seed, so that the thread behaves the same whenever
// that seed is used.
func (b *backend) add(family int, name string, dice *rand.Rand) *thread {
	b.mu.Lock()
	defer b.mu.Unlock()
	th := &thread{family: b.families[family], name: name, dice: dice, told: map[int]int{}, did: map[int]int{}, approved: map[int]bool{},
		cancelled: map[int]bool{}, ended: map[int]bool{}, last: map[int]telling{}}
	b.threads[fmt.Sprint(family, "/", name)] = th
	return th
}

// ServeHTTP answers a run of the thread that the path and the body name.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	b.mu.Lock()
	name, _, _ := strings.Cut(gjson.GetBytes(body, "threadId").Str, elsewhere)
	th := b.threads[strings.TrimPrefix(r.URL.Path, "/")+"/"+name]
	b.mu.Unlock()
	if th == nil {
		b.report.violates("the backend got a request for no thread: %s %s", r.URL.Path, body)
		http.NotFound(w, r)
		return
	}
	answer, status, pace := th.run(body, b.calm.Load(), b.report)
	if status != http.StatusOK {
		http.Error(w, "kaput", status)
		return
	}
	w.Header().Set("Content-Type", th.family.MediaType)
	for _, frame := range strings.SplitAfter(answer, "\n\n") {
		if _, err := io.WriteString(w, frame); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(pace):
		}
	}
}

// run handles one request. It returns the stream, the HTTP status, and how long to wait after each
// frame.
func (th *thread) run(body []byte, calm bool, r *report) (answer string, status int, pace time.Duration) {
	th.mu.Lock()
	defer th.mu.Unlock()
	last := gjson.GetBytes(body, "messages.@reverse.0")
	if strings.HasPrefix(last.Get("content").Str, intruder) {
		r.loses("a message got to the backend past an open question", "%s: %s", th.name, body)
	}
	var answered []int
	moment := r.moment()
	answer = th.family.EndStream
	for n := 1; n <= th.asked; n++ {
		switch th.family.Reads(body, n, n == th.waits) {
		case dialecttest.Nothing:
			continue
		case dialecttest.Approves:
			if other := th.meant(body); other > 0 && other != n {
				r.violates("%s: a yes to question %d met question %d of another run: %s", th.name, other, n, body)
			}
			th.did[n]++
			r.count("carried out")
			if !th.approved[n] {
				r.violates("%s: question %d: the backend was told to do what nobody approved: %s", th.name, n, body)
			}
			if th.did[n] > 1 {
				r.loses("an approved action ran again", "%s: question %d, %d times", th.name, n, th.did[n])
			}
			answer = th.family.ActedStream
		case dialecttest.Denies:
			answer = th.family.DeniedStream
			if th.mayFree(n, r) {
				th.told[n]--
				r.count("cancelled behind a doubt")
			}
		}
		answered = append(answered, n)
		if th.told[n]++; th.told[n] > 1 {
			r.loses("an answer got to the backend again", "%s: question %d, %d times", th.name, n, th.told[n])
		}
	}
	about := th.asked
	if len(answered) > 0 {
		about = answered[len(answered)-1] // a result belongs to the call that was answered, and another question may have been asked since
	}
	answer = dialecttest.TextFor(answer, about)
	th.waits = 0
	// The dice are thrown even if the numbers are not needed. So the same seed always leads to the
	// same numbers.
	end, slow, asks := th.dice.IntN(100), th.dice.IntN(100), strings.HasPrefix(last.Get("content").Str, "ask")
	pace = time.Duration(th.dice.IntN(20)) * time.Millisecond
	for _, n := range answered {
		th.last[n] = telling{bad: !calm && end < 12, moment: moment}
	}
	if slow < 15 {
		pace = time.Duration(200+th.dice.IntN(600)) * time.Millisecond
	}
	switch {
	case !calm && end < 4:
		return "", http.StatusInternalServerError, 0
	case !calm && end < 8:
		return answer[:len(answer)/3], http.StatusOK, pace
	case !calm && end < 12:
		answer = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"RUN_ERROR\",\"message\":\"kaput\"}\n\n"
	case asks && len(answered) == 0 || len(answered) > 0 && !calm && end < 40:
		th.asked++
		th.waits = th.asked
		answer = dialecttest.TextFor(th.family.AskAfter(answer), th.asked)
		r.count("asked")
	}
	answer = strings.ReplaceAll(answer, `"threadId":"t"`, `"threadId":"`+th.name+`"`)
	return strings.ReplaceAll(answer, `"runId":"r"`, `"runId":"`+gjson.GetBytes(body, "runId").Str+`"`), http.StatusOK, pace
}

// question returns the number of the question that has the published id, or 0 if there is no such
// question. It looks for the backend's own id, which is the part of the published id before "~".
func (th *thread) question(id string) int {
	th.mu.Lock()
	defer th.mu.Unlock()
	native := id
	if at := strings.LastIndexByte(id, '~'); at > 0 {
		native = id[:at]
	}
	for n := th.asked; n > 0; n-- {
		text := dialecttest.TextFor(th.family.QuestionStream, n)
		for at := strings.Index(text, native); at >= 0; at = -1 {
			if end := at + len(native); end < len(text) && (text[end] < '0' || text[end] > '9') {
				return n
			}
		}
	}
	return 0
}

// meant returns the number of the approved question that the first entry of the resume names, or 0.
// It is for LangGraph's adapter, which ignores the id of a single entry and uses the payload for
// whichever question waits. If two ordinary runs of a thread were at the backend at once, the
// payload could reach the wrong question.
func (th *thread) meant(body []byte) int {
	if th.family.Dialect != "langgraph" {
		return 0
	}
	id := gjson.GetBytes(body, "resume.0.interruptId").Str
	for n := range th.approved {
		if id != "" && strings.Contains(dialecttest.TextFor(th.family.QuestionStream, n), `"id":"`+id+`"`) {
			return n
		}
	}
	return 0
}

func (th *thread) approve(n int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.approved[n] = true
}

func (th *thread) cancel(n int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.cancelled[n] = true
}

// end records that the person has seen the end of a run that answered the question n.
func (th *thread) end(n int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.ended[n] = true
}

// ran returns how often the action of question n was carried out.
func (th *thread) ran(n int) int {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.did[n]
}
