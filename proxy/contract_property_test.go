package proxy

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"holdpoint/store"
)

// TestContract drives two replicas with one store through random sequences of runs, resumes,
// replays, reloads, expiries, errors, lost ends and restarts.
//
// There are four kinds of clients. One keeps its list of open interrupts on RUN_ERROR, as
// @ag-ui/client does. One has lost its list. One answers from an old list, and one answers on
// another thread. Each request goes to one of the replicas.
//
// A replica may die during a request, at any step of the store or at the backend. The store may
// lose the reply to a step, or not do the step. The client may leave during a request, and a
// replica may be cut off until its claim has lapsed. The test checks at every step that
//
//   - the backend is never called while a question is open, except with answers to all of its open
//     questions;
//   - an approval that reaches the backend was given by the client for that very question;
//   - a recorded decision is what reaches the backend;
//   - the answers to a question reach the backend at most once;
//   - an approval that somebody wrote into the history never reaches the backend;
//   - a backend that keeps its first answer to a question, as LangGraph does, never uses it for a
//     later question;
//   - a client that answers something gets the open questions with RUN_FINISHED;
//   - if a client is told that an approval succeeded, the approval has reached the backend;
//   - a question that was shown ends only by an answer, a doubt or its expiry;
//   - every stream of a replica that stays alive has one RUN_STARTED and ends in a terminal event;
//
// and at the end of every sequence that the thread can continue: a client that keeps its list gets
// an ordinary run with at most two requests.
//
// Some questions are decided or given up at the desk: some or all questions of a pause, in time or
// too late. A replica, its search for decided questions, or the chat sends the decisions to the
// backend. Each of these events must have happened (see atTheDesk).
func TestContract(t *testing.T) {
	happened := happenings{}
	sequence := func(t *rapid.T) {
		w := newWorld(t, rapid.Bool().Draw(t, "expires"), rapid.Bool().Draw(t, "sticky"))
		w.happened = happened
		w.finish = rapid.Bool().Draw(t, "finish")
		w.restart(0)
		w.restart(1)
		at := func(do func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) {
				w.at = rapid.IntRange(0, 1).Draw(t, "replica")
				do(t)
				w.plan, w.leaves, w.leave, w.slow = nil, false, nil, false
			}
		}
		plain := func(t *rapid.T) { w.plain(w.drawMode(t), true) }
		answer := func(t *rapid.T) { w.answer(t, w.pending, w.drawMode(t)) }
		either := func(t *rapid.T) {
			if len(w.pending) > 0 && rapid.IntRange(0, 3).Draw(t, "answers") > 0 {
				answer(t)
			} else {
				plain(t)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"plain run":              at(plain),
			"reload":                 at(func(t *rapid.T) { w.plain(w.drawMode(t), false) }),
			"answer all":             at(answer),
			"answer elsewhere":       at(func(t *rapid.T) { w.answerElsewhere(t, w.pending) }),
			"old list elsewhere":     at(func(t *rapid.T) { w.answerElsewhere(t, w.oldList(t)) }),
			"killed elsewhere":       at(func(t *rapid.T) { w.plan = drawDeath(t); w.answerElsewhere(t, w.pending) }),
			"stumbles elsewhere":     at(func(t *rapid.T) { w.plan = drawStumble(t); w.answerElsewhere(t, w.pending) }),
			"answer some":            at(func(t *rapid.T) { w.answerSome(t) }),
			"answer an old list":     at(func(t *rapid.T) { w.answer(t, w.oldList(t), w.drawMode(t)) }),
			"decided elsewhere":      at(func(t *rapid.T) { w.opens(t); w.elsewhere(w.drawWords(t)) }),
			"decided by a dying one": at(func(t *rapid.T) { w.opens(t); w.plan = drawDeath(t); w.elsewhere(w.drawWords(t)) }),
			"decided on a bad store": at(func(t *rapid.T) { w.opens(t); w.plan = drawStumble(t); w.elsewhere(w.drawWords(t)) }),
			"carried":                at(func(t *rapid.T) { w.decides(t); w.carry(w.drawMode(t)) }),
			"carried by a dying one": at(func(t *rapid.T) { w.decides(t); w.plan = drawDeath(t); w.carry(w.drawMode(t)) }),
			"carried on a bad store": at(func(t *rapid.T) { w.decides(t); w.plan = drawStumble(t); w.carry(w.drawMode(t)) }),
			"looked for":             at(func(t *rapid.T) { w.decides(t); w.looks(w.drawMode(t)) }),
			"decided, and the chat":  at(func(t *rapid.T) { w.decides(t); either(t) }),
			"given up at the desk":   at(func(*rapid.T) { w.frees() }),
			"same body again":        at(func(t *rapid.T) { w.again(w.drawMode(t)) }),
			"unknown id":             at(func(t *rapid.T) { w.answer(t, []string{"n1~nobody"}, w.drawMode(t)) }),
			"empty resume":           at(func(t *rapid.T) { w.send(w.body(`,"resume":[]`, false), w.drawMode(t)) }),
			"time passes": func(t *rapid.T) {
				time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 11 * 24 * time.Hour}).Draw(t, "time"))
			},
			"restart":                 at(func(*rapid.T) { w.restart(w.at) }),
			"killed in the middle":    at(func(t *rapid.T) { w.plan = drawDeath(t); either(t) }),
			"client leaves":           at(func(t *rapid.T) { w.leaves = true; either(t) }),
			"slow, and cut off":       at(func(t *rapid.T) { w.slow, w.plan = true, drawCut(t); either(t) }),
			"the store stumbles":      at(func(t *rapid.T) { w.plan = drawStumble(t); either(t) }),
			"list is lost":            func(*rapid.T) { w.pending = nil },
			"approval in the history": at(func(t *rapid.T) { w.forge(t) }),
			"":                        func(*rapid.T) { w.check() },
		})
		w.goesOn()
	}
	var missing []string
	for range 40 { // with 10, one of 24 short test runs missed a rare event
		checkInBubbles(t, sequence)
		missing = slices.DeleteFunc(atTheDesk(), func(what string) bool { return happened[what] > 0 })
		if t.Failed() || len(missing) == 0 {
			return
		}
	}
	t.Errorf("no sequence had these: %q", missing)
}

// checkInBubbles does the same as rapid.Check, but it runs each check in a bubble of
// testing/synctest. rapid itself must stay outside of the bubbles, because its deadlines use real
// time.
func checkInBubbles(t *testing.T, check func(*rapid.T)) {
	rapid.Check(t, func(rt *rapid.T) {
		var failed any
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }() // rapid ends a check by a panic
			check(rt)
		})
		if failed != nil {
			panic(failed)
		}
	})
}

// drawDeath returns a random plan: a replica dies at a step of the store or at the backend.
func drawDeath(t *rapid.T) *plan {
	return &plan{
		from: rapid.IntRange(1, 8).Draw(t, "dies at step"), many: 1, dies: true, backend: true,
		done: rapid.Bool().Draw(t, "the step is done"),
	}
}

// drawStumble returns a random plan in which some steps of the store fail.
func drawStumble(t *rapid.T) *plan {
	return &plan{
		from: rapid.IntRange(1, 8).Draw(t, "fails at step"), many: rapid.IntRange(1, 4).Draw(t, "failures"),
		done: rapid.Bool().Draw(t, "the steps are done"),
	}
}

// drawCut returns a random plan: a replica makes a claim, and is then cut off from the store, so
// that it cannot renew the claim.
func drawCut(t *rapid.T) *plan {
	return &plan{from: 3, many: rapid.IntRange(0, 9).Draw(t, "cut off for")}
}

func (w *world) drawMode(t *rapid.T) string {
	mode := rapid.SampledFrom(modes).Draw(t, "backend")
	// A sticky backend keeps the first answer that it gets. It can do so for only one question at a
	// time, so it never asks two.
	if w.sticky && mode == "ask two" {
		return "ask"
	}
	return mode
}

func (w *world) answer(t *rapid.T, ids []string, mode string) {
	if len(ids) == 0 {
		return
	}
	approve := make([]bool, len(ids))
	for n := range ids {
		approve[n] = rapid.Bool().Draw(t, "approve")
	}
	w.decide(ids, approve, rapid.IntRange(0, 3).Draw(t, "fresh") == 0, mode)
}

// answerElsewhere answers on another thread. The backend asks nothing in this run, because the
// model of the test follows only one thread. If the pause is given up, the run continues as an
// ordinary run of the other thread.
func (w *world) answerElsewhere(t *rapid.T, ids []string) {
	w.thread = rapid.SampledFrom([]string{"t2", "t3"}).Draw(t, "thread")
	defer func() { w.thread = "" }()
	mode := w.drawMode(t)
	if strings.HasPrefix(mode, "ask") {
		mode = "finish"
	}
	w.answer(t, ids, mode)
}

// forge sends an approval that somebody wrote into the history. The approval is alone, before other
// messages, or together with answers. Later requests of the client do not contain it.
func (w *world) forge(t *rapid.T) {
	forged := rapid.SampledFrom([][]string{{askCall, askYes}, {inOne}, {askCall, askYes, inOne}}).Draw(t, "approval")
	if rapid.Bool().Draw(t, "before words") {
		forged = append(forged[:len(forged):len(forged)], askWords)
	}
	w.beside(forged, func() {
		if len(w.pending) > 0 && rapid.Bool().Draw(t, "beside answers") {
			w.answer(t, w.pending, w.drawMode(t))
			return
		}
		w.send(w.body("", false), w.drawMode(t))
	})
}

// opens usually makes the backend ask a question, if none is open. Sometimes opens then lets so
// much time pass that it is too late for an answer.
func (w *world) opens(t *rapid.T) {
	if w.record().State == store.None && rapid.IntRange(0, 3).Draw(t, "asks first") > 0 {
		mode := rapid.SampledFrom([]string{"ask", "ask two"}).Draw(t, "asks")
		if w.sticky {
			mode = "ask"
		}
		w.plain(mode, true)
	}
	if rapid.IntRange(0, 7).Draw(t, "late") == 0 {
		time.Sleep(31 * time.Minute)
	}
}

// decides usually makes the desk decide all open questions. Sometimes time passes afterwards.
func (w *world) decides(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "decides first") == 0 {
		return
	}
	w.opens(t)
	words := w.drawWords(t)
	if rec := w.record(); rec.State == store.Open {
		for _, i := range rec.Pause.Interrupts {
			if _, says := words[i.ID]; !says && rec.Pause.Decision(i.ID) == nil {
				words[i.ID] = rapid.Bool().Draw(t, "approve")
			}
		}
	}
	w.elsewhere(words)
	time.Sleep(rapid.SampledFrom([]time.Duration{0, 0, 31 * time.Minute, 61 * time.Minute}).Draw(t, "then"))
}

// drawWords returns random decisions of the desk on some of the open questions. The keys of the map
// are the published ids of the questions, and true is an approval.
func (w *world) drawWords(t *rapid.T) map[string]bool {
	words := map[string]bool{}
	if rec := w.record(); rec.State == store.Open {
		for _, i := range rec.Pause.Interrupts {
			if rapid.IntRange(0, 3).Draw(t, "decides") > 0 {
				words[i.ID] = rapid.Bool().Draw(t, "approve")
			}
		}
	}
	return words
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
