//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// newestLangGraph is the version of the adapter as of November 2026. It uses langgraph 1.2, where
// each interrupt within a task has its own id.
const newestLangGraph = "0.0.47"

// everyLangGraph runs test with each version of the adapter in each of its modes, behind a
// Holdpoint with default settings.
func everyLangGraph(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	list := slices.Clone(shared.backends)
	server := need(t, "langgraph", newestLangGraph)
	for _, mode := range []string{"default", "outcome", "quiet"} {
		list = append(list, &backend{name: newestLangGraph + "-" + mode, mode: mode, server: server})
	}
	for _, b := range list {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			h := shared.proxies[b.name]
			if h == nil {
				h = ownHoldpoint(t, b.url(), nil)
			}
			test(t, world{b: b, h: h, version: newest})
		})
	}
}

// alone returns the step s without the checks of its stream. The snapshots of some graphs contain
// no message of the person. That is correct, but the checks would report it.
func alone(s step) step {
	s.loose = true
	return s
}

// TestAnApprovalInTheFirstNodeIsNotLost: the first node of a graph asks. Then the thread contains
// none of the person's messages, for one of three reasons: the state has no conversation, the node
// has replaced it, or the node asks in a loop. The approved action must run once, and no client may
// be told that the question was lost.
func TestAnApprovalInTheFirstNodeIsNotLost(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		t.Run("no conversation in the state", func(t *testing.T) {
			c := w.client(t, "bare")
			c.run(t, alone(step{say: "go"}))
			c.finish(t, alone(c.answer(c.answers(accept), yes)))
			w.did(t, c, 2, map[string]int{"delete": 1})
		})
		t.Run("a node that replaces the conversation", func(t *testing.T) {
			c := w.paused(t, "replaces", 1)
			s := c.answer(c.answers(accept), yes)
			if w.b.mode == "quiet" { // without RAW events the stream is that of a graph that starts again
				c.refused(t, s, "RESUME_IN_DOUBT", false)
			} else {
				c.finish(t, s)
			}
			w.did(t, c, 2, map[string]int{"delete": 1})
		})
		for _, graph := range []string{"bareagain", "talkagain"} {
			t.Run("a loop of equal questions, "+graph, func(t *testing.T) {
				c := w.client(t, graph)
				c.run(t, alone(step{say: "go"}))
				for range 2 {
					if a := c.run(t, alone(c.answer(c.answers(accept), yes))).answer(t); len(a.outcome()) != 1 || a.code() != "" {
						t.Fatalf("no further question: %s", terminal(a))
					}
				}
				c.finish(t, alone(c.answer(c.answers(reject), no)))
				w.did(t, c, 4, map[string]int{"delete": 2})
			})
		}
	})
}

// TestAGraphThatAsksFirstBeginsAnew: the graphs of TestAnApprovalInTheFirstNodeIsNotLost wait for
// an answer, and the backend loses their threads. If the stream has RAW events, the client must
// learn that the question is lost. If it has none, the question is asked again. The lost answer
// must run nothing, and a later approval must run the action once.
func TestAGraphThatAsksFirstBeginsAnew(t *testing.T) {
	t.Parallel()
	need(t, "langgraph", newestLangGraph)
	for _, version := range []string{"0.0.42", "0.0.43", newestLangGraph} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s, err := startServer(stack{"langgraph", version}, filepath.Join(t.TempDir(), "ledger"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.kill() })
			type asked struct {
				w     world
				graph string
				c     *client
			}
			var all []asked
			for _, mode := range s.modes {
				if mode == "outcomeonly" {
					continue
				}
				b := &backend{name: version + "-" + mode, mode: mode, server: s}
				w := world{b: b, h: ownHoldpoint(t, b.url(), nil), version: newest}
				for _, graph := range []string{"bare", "replaces", "bareagain", "talkagain", "hitl"} {
					c := w.client(t, graph)
					if a := c.run(t, alone(step{say: "go"})).answer(t); len(a.outcome()) == 0 {
						t.Fatalf("%s does not ask: %s", graph, terminal(a))
					}
					all = append(all, asked{w, graph, c})
				}
			}
			s.crash()
			s.back(t)
			for _, a := range all {
				t.Run(a.w.b.mode+"/"+a.graph, func(t *testing.T) {
					w, c := a.w, a.c
					got := c.run(t, alone(c.answer(c.answers(accept), yes))).answer(t)
					w.effects(t, c, nil)
					quiet := w.b.mode == "quiet"
					switch {
					case !quiet && got.code() != "BACKEND_LOST_INTERRUPT":
						t.Fatalf("RAW events show that the graph began anew: %s", terminal(got))
					case quiet && a.graph == "hitl" && got.code() != "RESUME_IN_DOUBT":
						t.Fatalf("an end without a question: %s", terminal(got))
					case quiet && a.graph != "hitl" && (got.code() != "" || len(got.outcome()) != 1):
						t.Fatalf("not asked anew: %s", terminal(got))
					}
					if a.graph == "hitl" {
						return
					}
					for n := 0; len(got.outcome()) == 0; n++ {
						if got = c.run(t, alone(c.denying(step{say: "go"}, nil))).answer(t); n > 2 {
							t.Fatal("never asked again")
						}
					}
					c.run(t, alone(c.answer(c.answers(accept), yes)))
					w.effects(t, c, map[string]int{"delete": 1})
				})
			}
		})
	}
}

// TestToolsThatAskAtOnce: the tools of one ToolNode run concurrently, and each asks a question.
// LangGraph gives the first answer to the tool that happens to ask first. The person wants to
// approve one call and deny the other. LangGraph could give the approval to the call that the
// person denies, so Holdpoint must refuse it. Nothing may run, and the thread must continue.
func TestToolsThatAskAtOnce(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		if w.b.mode == "quiet" {
			return // its stream does not show the order of the questions
		}
		threads := 24
		if w.b.server.version == newestLangGraph && w.b.mode == "default" {
			threads = 200
		}
		next := make(chan int)
		var refused atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for n := range next {
					refused.Add(w.oneOfTwoCalls(t, []string{"delete_all", "read_one"}[n%2]))
				}
			})
		}
		for n := range threads {
			next <- n
		}
		close(next)
		all.Wait()
		if refused.Load() == 0 {
			t.Error("nobody ever tried to approve")
		}
	})
}

// oneOfTwoCalls answers each question as it is asked. It approves the call with the name approved,
// and denies the other call. If Holdpoint refuses the approval, oneOfTwoCalls denies both calls. It
// returns how many approvals were refused.
func (w world) oneOfTwoCalls(t *testing.T, approved string) (refusals int64) {
	thread := fresh("at-once")
	var messages, resume []any
	say := func(text string) {
		messages = append(messages, map[string]any{"id": fresh("user"), "role": "user", "content": text})
	}
	say("go")
	var took []string
	for range 8 {
		end, code := w.post(t, "atonce", thread, messages, resume)
		if code != "" && code != "APPROVAL_AMBIGUOUS" {
			t.Errorf("%s: %s", thread, code)
			return refusals
		}
		open := end.interrupts()
		if len(open) == 0 {
			break
		}
		resume = nil
		for _, i := range open {
			payload := any(no)
			if code == "" && i.str("message") == "Run "+approved+"?" {
				payload = yes
			}
			resume = append(resume, map[string]any{"interruptId": i.str("id"), "status": "resolved", "payload": payload})
		}
		if code != "" {
			refusals++
		} else {
			took = append(took, open[0].str("message"))
		}
	}
	say("plain and simple")
	end, code := w.post(t, "atonce", thread, messages, nil)
	if open := end.interrupts(); code != "" || len(open) > 0 {
		t.Errorf("%s: the thread does not go on: %s, %d open after %v", thread, code, len(open), took)
	}
	l := w.b.ledger(t, thread)
	for name, n := range l.Counts {
		// Holdpoint may accept an approval only if no other call could get it. Here another call
		// always could, so no call may have run.
		t.Errorf("%s: %s ran %d times (approved %s; asked %v, %d refusals)", thread, name, n, approved, took, refusals)
	}
	return refusals
}

// post sends a run of a graph. It returns the last RUN_FINISHED of the stream, and the code of its
// RUN_ERROR, or "".
func (w world) post(t *testing.T, graph, thread string, messages, resume []any) (finished event, code string) {
	body := map[string]any{"threadId": thread, "runId": fresh("run"), "state": map[string]any{}, "messages": messages,
		"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}}
	if resume != nil {
		body["resume"] = resume
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return nil, "?"
	}
	res, err := http.Post(w.h.address+"/"+graph, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Error(err)
		return nil, "?"
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e event
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		switch e.kind() {
		case "RUN_FINISHED":
			finished = e
		case "RUN_ERROR":
			code = e.str("code")
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	return finished, code
}

// TestAToolBesideOneThatAsks: two tools are called in one turn. One asks a question, and the other
// has ended without asking. The question must still accept an approval.
func TestAToolBesideOneThatAsks(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		c := w.paused(t, "besidefree", 1)
		c.finish(t, c.answer(c.answers(accept), yes))
		w.did(t, c, 2, map[string]int{"delete_all": 1})
		c.goesOn(t, nil)
	})
}

// TestToolsThatAskAtOnceAfterARestart: two tools ask at the same time. Holdpoint is restarted with
// its store in memory, and the adapter asks again without sending the calls. If a person then
// approves, LangGraph could give the approval to either call. So Holdpoint must refuse it.
func TestToolsThatAskAtOnceAfterARestart(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		if w.b.mode == "quiet" {
			return
		}
		c := w.paused(t, "atonce", 1)
		after := ownHoldpoint(t, w.b.url(), nil)
		c.d.call(t, "new", map[string]any{"client": c.name, "version": c.version, "url": after.address + "/atonce", "threadId": c.thread, "messages": c.messages}, &struct{}{})
		if a := c.run(t, step{empty: true}).answer(t); len(a.outcome()) != 1 {
			t.Fatalf("not asked again: %s", terminal(a))
		}
		c.refused(t, c.answer(c.answers(accept), yes), "APPROVAL_AMBIGUOUS", true)
		for n := 0; len(c.pending) > 0 && n < 4; n++ {
			c.run(t, c.answer(c.answers(reject), no))
		}
		w.effects(t, c, nil)
		c.goesOn(t, nil)
	})
}

// TestWordsOnWhichTheBackendOnlyAskedAgain: after a restart of Holdpoint, the client sends a
// message. The backend does not reply to it, and only asks its question again. Holdpoint must keep
// the message, and send it after the answer to this question.
func TestWordsOnWhichTheBackendOnlyAskedAgain(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		after := ownHoldpoint(t, w.b.url(), nil)
		c.d.call(t, "new", map[string]any{"client": c.name, "version": c.version, "url": after.address + "/approve", "threadId": c.thread, "messages": c.messages}, &struct{}{})
		said := "plain words " + fresh("n")
		if a := c.run(t, step{say: said}).answer(t); len(a.outcome()) != 1 {
			t.Fatalf("not asked again: %s", terminal(a))
		}
		c.finish(t, c.answer(c.answers(accept), yes))
		w.effects(t, c, map[string]int{"delete": 1})
		if !c.echoed(said) {
			t.Errorf("the words were never answered: %v", fmt.Sprint(c.messages))
		}
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"delete": 1})
	})
}
