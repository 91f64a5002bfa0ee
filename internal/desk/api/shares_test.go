package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// asksAlot returns a pause with 4096 questions.
func asksAlot(n int) agui.Pause {
	p := pause(n, "refund", `{}`)
	one := p.Interrupts[0]
	p.Interrupts = make([]agui.Interrupt, 4096)
	for i := range p.Interrupts {
		p.Interrupts[i] = one
		p.Interrupts[i].ID = fmt.Sprint("q", i)
	}
	return p
}

// TestPausesOfVeryManyQuestions: a pause has very many questions. A list must have only the first
// of them, and the number of the remaining ones. Ten such pauses must not push a newer question off
// the page.
func TestPausesOfVeryManyQuestions(t *testing.T) {
	r := inMemory(t)
	for n := range 10 {
		r.open(n, asksAlot(n))
		r.clock.advance(time.Second)
	}
	last := pause(99, "mail", `{}`)
	last.Origin.Agent = "hr"
	r.open(99, last)
	for n := range 60 {
		r.must(storetest.Do(t.Context(), r.store, keyOf(0), store.Decide{PauseID: pauseOf(0), Decisions: []agui.Decision{{Question: fmt.Sprint("q", n*2), Status: agui.Cancelled, Digest: "d"}}}))
	}
	l := r.ask(200, "GET", "/v1/approvals?limit=200")
	if got := ids(l); len(got) != 11 || got[10] != id(99) || l.Get("next").Exists() {
		t.Fatalf("listed: %q, next %s", got, l.Get("next"))
	}
	if len(l.Raw) > maxPageBytes {
		t.Errorf("the page has %d bytes", len(l.Raw))
	}
	for n, a := range l.Get("approvals").Array()[:10] {
		qs := a.Get("questions").Array()
		if len(qs) != maxListedQuestions || a.Get("questionsLeft").Int() != 4096-maxListedQuestions {
			t.Errorf("%d: %d questions, %d left", n, len(qs), a.Get("questionsLeft").Int())
		}
		for _, q := range qs {
			if q.Get("decision").Exists() || !q.Get("may.operate").Bool() || q.Get("may.why.cancel").Str == codeDecided {
				t.Errorf("%d: what is decided takes the room of what is not: %s", n, q)
			}
		}
	}
	whole := r.ask(200, "GET", "/v1/approvals/"+id(0))
	if whole.Get("questions.#").Int() != 4096 || whole.Get("questionsLeft").Exists() {
		t.Errorf("by itself it has %d questions", whole.Get("questions.#").Int())
	}
}

// TestListOfAFewOfEachAgent: with the parameter perAgent, the approvals of one agent must not fill
// the response, even if they are many or large. The response must name the agents that have more.
func TestListOfAFewOfEachAgent(t *testing.T) {
	r := inMemory(t)
	text := `{"text":"` + strings.Repeat("x", maxListed-1000) + `"}`
	for n := range 2600 {
		args := `{}`
		agent := "many"
		if n < 100 {
			agent, args = "large", text
		}
		p := pause(n, "refund", args)
		p.Origin.Agent = agent
		r.open(n, p)
	}
	r.clock.advance(time.Second)
	for n := 3000; n < 3003; n++ {
		p := pause(n, "mail", `{}`)
		p.Origin.Agent = "few"
		r.open(n, p)
	}
	counts := map[string]int{}
	l := r.ask(200, "GET", "/v1/approvals?limit=200&perAgent=20")
	for _, a := range l.Get("approvals").Array() {
		counts[a.Get("agent").Str]++
	}
	// The first request looks at 2000 records to learn their agents. Later requests look only at
	// the records that they need.
	if next := l.Get("next").Str; next != "" {
		t.Errorf("it does not come to an end: %v", counts)
	}
	if counts["few"] != 3 || counts["many"] != 20 || counts["large"] < 1 || counts["large"] > 20 {
		t.Errorf("listed: %v", counts)
	}
	if got := l.Get("left").Raw; got != `["large","many"]` {
		t.Errorf("left: %s", got)
	}
	counting := &countedLoads{Store: r.store}
	r.desk.opts.Store = counting
	if again := r.ask(200, "GET", "/v1/approvals?limit=200&perAgent=20"); !slices.Equal(ids(again), ids(l)) {
		t.Errorf("another answer: %d", len(ids(again)))
	}
	if n := counting.loads.Load(); n > 100 {
		t.Errorf("the second answer loads %d records", n)
	}
	all := r.ask(200, "GET", "/v1/approvals?limit=200&agent=few&perAgent=2")
	if len(ids(all)) != 2 || all.Get("left").Raw != `["few"]` {
		t.Errorf("of one agent: %s", all)
	}
	for _, wrong := range []string{"0", "201", "x", ""} {
		r.ask(400, "GET", "/v1/approvals?perAgent="+wrong)
	}
}

type countedLoads struct {
	store.Store
	loads atomic.Int64
}

func (c *countedLoads) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	c.loads.Add(1)
	return c.Store.Load(ctx, key, owner)
}

// TestListTellsNothingOfOthers: if a caller may list no open approval, it must get the same bytes
// as if none were open, however many are open. Any caller must get every approval that it may list,
// however many approvals of others precede it.
func TestListTellsNothingOfOthers(t *testing.T) {
	r := withRights(t)
	queries := []string{"", "?limit=1", "?state=decided", "?thread=t1", "?perAgent=1", "?agent=billing", "?state=doubt&limit=200"}
	names := []string{"other", "none", "nobody", "decider"}
	type seen struct{ body, tag string }
	ask := func(name, query string) seen {
		res := r.send("GET", "/v1/approvals"+query, as(name)...)
		var b strings.Builder
		r.must(res.Write(&b))
		_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
		return seen{body, res.Header.Get("ETag")}
	}
	empty := map[string]seen{}
	for _, name := range names {
		for _, query := range queries {
			empty[name+query] = ask(name, query)
		}
	}
	for n := range maxExamined + 500 {
		p := pause(n, "refund", `{}`)
		p.Origin.Agent = "secret"
		r.open(n, p)
	}
	for _, name := range names {
		for _, query := range queries {
			for try := range 2 {
				if got := ask(name, query); got != empty[name+query] {
					t.Errorf("%s %q, try %d: %v, want %v", name, query, try, got, empty[name+query])
				}
			}
		}
	}
	r.clock.advance(time.Second)
	mine := pause(9000, "refund", `{}`)
	mine.Origin.Tenant = "umbrella"
	r.open(9000, mine)
	for n := 9100; n < 9110; n++ {
		p := pause(n, "refund", `{}`)
		p.Origin.Agent = "secret"
		r.open(n, p)
	}
	l := r.ask(200, "GET", "/v1/approvals?limit=1", as("other")...)
	if got := ids(l); !slices.Equal(got, []string{id(9000)}) || l.Get("next").Exists() {
		t.Errorf("his own: %q, next %q", got, l.Get("next").Str)
	}
}

// TestListThatTakesTooLong: a response ends when its time is over, and the next response continues
// there. A caller must learn nothing else from this about other rows. It must get all approvals
// that it may list, and the last page must name no next page.
func TestListThatTakesTooLong(t *testing.T) {
	// before and behind are the numbers of the caller's own approvals. Between them are 3000
	// approvals of others.
	for name, c := range map[string]struct{ before, behind []int }{
		"behind":            {nil, []int{9000}},
		"before":            {[]int{1}, nil},
		"before and behind": {[]int{1, 2}, []int{9000, 9001}},
		"nowhere":           {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := withRights(t)
			var want []string
			open := func(list []int) {
				for _, n := range list {
					mine := pause(n, "refund", `{}`)
					mine.Origin.Tenant = "umbrella"
					r.open(n, mine)
					r.clock.advance(time.Second)
					want = append(want, id(n))
				}
			}
			open(c.before)
			for n := range 3000 {
				p := pause(100+n, "refund", `{}`)
				r.open(100+n, p)
			}
			r.clock.advance(time.Second)
			open(c.behind)
			r.desk.opts.Store = &slowLoads{Store: r.store, clock: r.clock}
			var got []string
			cursor, asked := "", 0
			for ; asked == 0 || cursor != ""; asked++ {
				began := r.clock.now()
				l := r.ask(200, "GET", "/v1/approvals?limit=50&cursor="+url.QueryEscape(cursor), as("other")...)
				if took := r.clock.now().Sub(began); took > maxSearchTime+2*concurrentLoads*time.Second {
					t.Fatalf("an answer took %s", took)
				}
				if next := l.Get("next").Str; next != "" && next == cursor {
					t.Fatal("it goes on where it began")
				}
				got, cursor = append(got, ids(l)...), l.Get("next").Str
			}
			if !slices.Equal(got, want) || asked < 3000/(20+2*concurrentLoads) || asked > 3000/20+2 {
				t.Errorf("%d answers list %q, want %q", asked, got, want)
			}
		})
	}
}

// A slowLoads store needs a second to load a record.
type slowLoads struct {
	store.Store
	clock *clock
}

func (s *slowLoads) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	s.clock.advance(time.Second)
	return s.Store.Load(ctx, key, owner)
}
