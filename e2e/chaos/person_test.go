//go:build e2e

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// A person uses one thread: the person asks for something, receives a question, answers it, and
// continues until an ordinary run has ended.
type person struct {
	w     *world
	th    *thread
	path  string
	dice  *rand.Rand
	shown history
	runs  int
	words int
	on    string // thread on which the open questions arrived
}

// bound is how long a person keeps trying one thing after the last fault has ended. It is much
// longer than the lease of a claim.
const bound = 3 * time.Minute

// lives plays everything that a person does.
func (p *person) lives() {
	for range 1 + p.dice.IntN(2) {
		p.answers(p.asks())
	}
	p.goesOn()
}

// say adds a user message to the person's history.
func (p *person) say(what string) {
	p.words++
	p.shown.add(fmt.Sprintf(`{"id":"u%d","role":"user","content":"%s %d"}`, p.words, what, p.words))
}

func (p *person) body(more string) string {
	p.runs++
	return fmt.Sprintf(`{"threadId":%q,"runId":"%s-%d","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":%s%s}`,
		p.th.name, p.th.name, p.runs, p.shown.json(), more)
}

// sends sends a body to a random replica, and returns the reply.
func (p *person) sends(body string) reply {
	return post(p.w.any(p.dice), p.path, body, p.patience(), p.w.report)
}

// patience returns how long the person waits for a response. Sometimes that is short, as if the
// person left early or the connection broke.
func (p *person) patience() time.Duration {
	if !p.w.calm() && p.dice.IntN(5) == 0 {
		return time.Duration(10+p.dice.IntN(600)) * time.Millisecond
	}
	return 70 * time.Second
}

// until repeats try until it returns true. It gives up when no fault has happened for the duration
// bound.
func (p *person) until(what string, try func() bool) bool {
	var since time.Time
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if try() {
			return true
		}
		switch {
		case !p.w.calm():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > bound:
			p.w.report.violates("%s (%s): %s did not come to an end", p.th.name, p.th.family.Name(), what)
			return false
		}
		time.Sleep(pause)
	}
}

// asks sends a message that makes the backend ask a question, and returns the ids of the open
// questions.
func (p *person) asks() (open []string) {
	p.say("ask")
	p.until("a run", func() bool {
		r := p.sends(p.body(""))
		switch {
		case r.again() || r.code != "" && r.code != "PENDING_INTERRUPTS":
			return false
		case r.code != "":
			open = p.reloads()
			return len(open) > 0
		}
		open = p.takes(r)
		return true
	})
	return open
}

// takes adds the events of a complete response to the person's history, and returns the ids of the
// questions in it. There may be several, because Microsoft's agents still wait for the questions of
// an earlier run.
func (p *person) takes(r reply) (open []string) {
	p.shown.take(r.events)
	p.on = r.thread
	for range r.asks {
		p.w.report.count("told")
	}
	return r.asks
}

// reloads plays a reload of the page: the person's history is empty, and the open questions must
// come again. It returns their ids.
func (p *person) reloads() (open []string) {
	kept := p.shown
	p.shown = history{}
	r := p.sends(p.body(""))
	if !r.again() && r.code == "" {
		open = p.takes(r)
	}
	if len(open) == 0 {
		p.shown = kept
	}
	return open
}

// answers answers questions until none is open.
func (p *person) answers(open []string) {
	for len(open) > 0 {
		p.looksAgain(open)
		open = p.decides(open)
	}
}

// looksAgain plays what some people do before they answer: they open another tab, or send a message
// without an answer.
//
// The questions may have arrived on another thread than the person's own, and may belong to that
// thread. This happens if a cancel was sent there, Holdpoint could not find the thread of the
// cancelled question, and the request went on as an ordinary run. Then looksAgain does nothing,
// because the person's own thread need not have these questions.
func (p *person) looksAgain(open []string) {
	own := p.on == p.th.name
	if p.dice.IntN(4) == 0 && own {
		r := p.sends(p.body(""))
		if !r.again() && (r.code != "" || !slices.Equal(r.asks, open)) {
			p.w.report.loses("a question was told and is not open", "%s (%s): %s, and a reload got %q %s %s", p.th.name, p.th.family.Name(), open, r.asks, r.code, r.message)
		}
	}
	if p.dice.IntN(4) == 0 && own {
		kept := p.shown
		p.shown = history{slices.Clone(kept.list)}
		p.shown.add(fmt.Sprintf(`{"id":"intruder-%d","role":"user","content":%q}`, p.runs, intruder))
		r := p.sends(p.body(""))
		p.shown = kept
		if !r.again() && r.code != "PENDING_INTERRUPTS" {
			p.w.report.loses("a message was not refused before a question", "%s (%s): it got %s %s %q", p.th.name, p.th.family.Name(), r.code, r.message, r.asks)
		}
	}
}

// decides answers all open questions in one request, and returns the ids of the questions that
// follow.
func (p *person) decides(open []string) (next []string) {
	var questions []int
	for _, id := range open {
		n := p.th.question(id)
		if n == 0 {
			p.w.report.violates("%s (%s): told of %s, which the backend never asked", p.th.name, p.th.family.Name(), id)
			return nil
		}
		questions = append(questions, n)
	}
	entries := func(status, payload string) string {
		list := make([]string, len(open))
		for i, id := range open {
			list[i] = fmt.Sprintf(`{"interruptId":%q,"status":%q%s}`, id, status, payload)
		}
		return p.body(`,"resume":[` + strings.Join(list, ",") + `]`)
	}
	yes := entries("resolved", `,"payload":`+p.th.family.Yes)
	no := entries("resolved", `,"payload":`+p.th.family.No)
	how, bodies := "approved", []string{yes}
	switch at := p.dice.IntN(100); {
	case at < 50:
	case at < 70:
		how, bodies = "denied", []string{no}
	case at < 80:
		how, bodies = "cancelled", []string{entries("cancelled", "")}
	default:
		how, bodies = "approved and denied at once", []string{yes, no}
	}
	if slices.Contains(bodies, yes) {
		for _, n := range questions {
			p.th.approve(n)
		}
	}
	if how == "cancelled" {
		for _, n := range questions {
			p.th.cancel(n)
		}
	}
	p.w.report.count(how)
	threads := []string{p.th.name} // one of these threads has the question; the other is tried if the first does not find it
	if p.on != p.th.name {
		threads = append(threads, p.on)
	}
	if p.dice.IntN(4) == 0 {
		threads = append([]string{""}, threads...) // first on a new thread, as a .NET client does
	}
	var end reply
	if !p.until("an answer", func() bool {
		for _, end = range p.sendsAll(bodies, threads[0]) {
			if len(threads) > 1 && end.code == "UNKNOWN_INTERRUPT_ID" {
				if threads[0] == "" {
					p.w.report.count("the index had lost the way")
				}
				threads = threads[1:]
				return false
			}
			if end.code == "UNKNOWN_INTERRUPT_ID" || end.code == "PARTIAL_RESUME" {
				p.w.report.loses("an answer found no question", "%s (%s): %s: %s", p.th.name, p.th.family.Name(), open, end.message)
				return true
			}
			if !end.again() && (len(bodies) == 1 || end.code != "RESUME_CONFLICT") {
				return true
			}
		}
		return false
	}) {
		return nil
	}
	switch end.code {
	case "":
		for at, n := range questions {
			if !slices.Contains(end.asks, open[at]) {
				p.th.end(n)
			}
			if how == "approved" && p.th.ran(n) != 1 {
				p.w.report.loses("a yes was told as done and was not", "%s (%s): question %d ran %d times", p.th.name, p.th.family.Name(), n, p.th.ran(n))
			}
		}
		return p.takes(end)
	case "the backend's own", "RESUME_IN_DOUBT", "UPSTREAM_EOF", "UPSTREAM_STATUS", "UNKNOWN_INTERRUPT_ID", "PARTIAL_RESUME":
		return nil
	}
	p.w.report.violates("%s (%s): %s: an answer got %s: %s", p.th.name, p.th.family.Name(), how, end.code, end.message)
	return nil
}

// sendsAll sends the bodies at the same time, on the thread. Sometimes it sends each body twice. If
// thread is "", each body goes to some other thread.
func (p *person) sendsAll(bodies []string, thread string) []reply {
	if p.dice.IntN(3) == 0 {
		bodies = slices.Concat(bodies, bodies)
	}
	replies := make([]reply, len(bodies))
	var all sync.WaitGroup
	for n, body := range bodies {
		on := thread
		if on == "" {
			p.w.report.count("answered on another thread")
			on = fmt.Sprint(p.th.name, elsewhere, p.runs, "-", p.dice.IntN(3))
		}
		body = strings.Replace(body, fmt.Sprintf(`"threadId":%q`, p.th.name), fmt.Sprintf(`"threadId":%q`, on), 1)
		at, patience := p.w.any(p.dice), p.patience()
		all.Go(func() { replies[n] = post(at, p.path, body, patience, p.w.report) })
	}
	all.Wait()
	return replies
}

// goesOn checks that an ordinary message is answered in the end, whatever has happened before.
func (p *person) goesOn() {
	p.say("hello")
	if p.until("an ordinary run", func() bool {
		r := p.sends(p.body(""))
		switch {
		case r.code == "PENDING_INTERRUPTS": // the question of a run whose end the person did not see
			p.answers(p.reloads())
			return false
		case len(r.asks) > 0 && !r.again():
			p.answers(p.takes(r))
			p.say("hello")
			return false
		}
		return r.finished && r.code == ""
	}) {
		p.w.report.count("threads that went on")
	}
}
