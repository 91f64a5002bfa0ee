package proxy

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A journey is a sequence of requests by one client. The client repeats a request if it gets no
// response, or if the response says that it should try again.
type journey struct {
	*world
	log []string // the types of the events of each response
}

// journeys are the journeys that the tests play. Each of them uses the steps of the store in a
// different order.
var journeys = map[string]struct {
	expires, sticky, apart, slow bool

	passes func(j *journey)
}{
	"pause": {passes: func(j *journey) { j.say("ask") }},
	"resume": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "finish")
	}},
	"two questions": {passes: func(j *journey) {
		j.say("ask two")
		j.answer(true, "finish")
	}},
	"second exchange": {apart: true, passes: func(j *journey) {
		j.say("ask")
		j.answerAndSay(true, "finish")
	}},
	"slow, second exchange": {apart: true, slow: true, passes: func(j *journey) {
		j.say("ask")
		j.answerAndSay(true, "finish")
	}},
	"next pause": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "ask")
		j.answer(true, "finish")
	}},
	"slow": {slow: true, passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "finish")
	}},
	"slow, next pause": {slow: true, passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "ask")
		j.answer(true, "finish")
	}},
	"slow, failed": {slow: true, passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "error")
		j.say("finish")
	}},
	"not reached": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "unreachable")
		j.answer(true, "finish")
	}},
	"turned down": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "422")
		j.answer(true, "finish")
	}},
	"failed": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "error")
		j.say("finish")
	}},
	"in doubt": {passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "cut")
		j.say("finish")
	}},
	"denied": {passes: func(j *journey) {
		j.say("ask")
		j.answer(false, "finish")
	}},
	"given up": {sticky: true, passes: func(j *journey) {
		j.say("ask")
		j.answer(true, "cut")
		j.say("ask")
		j.say("ask")
		j.answerAndSay(false, "finish")
	}},
	"expired": {expires: true, passes: func(j *journey) {
		j.say("ask")
		time.Sleep(time.Hour)
		j.say("finish")
	}},
}

func (j *journey) say(mode string) { j.persist(func() { j.plain(mode, true) }) }

func (j *journey) answer(approve bool, mode string) { j.settle(approve, false, mode) }

func (j *journey) answerAndSay(approve bool, mode string) { j.settle(approve, true, mode) }

func (j *journey) settle(approve, words bool, mode string) {
	if len(j.pending) == 0 {
		j.reload() // the client may have missed an open question
	}
	if len(j.pending) == 0 {
		return
	}
	how := make([]bool, len(j.pending))
	for n := range how {
		how[n] = approve
	}
	j.persist(func() { j.decide(j.pending, how, words, mode) })
}

func (j *journey) reload() { j.persist(func() { j.plain("finish", false) }) }

// persist sends a request. If the client does not learn the outcome, persist repeats the request,
// at one replica and the other in turn.
func (j *journey) persist(do func()) {
	do()
	for range 5 {
		j.check()
		j.log = append(j.log, types(j.got))
		if j.got != "" && !strings.Contains(j.got, "STORE_UNAVAILABLE") && !strings.Contains(j.got, "RESUME_IN_PROGRESS") {
			break
		}
		time.Sleep(LeaseTime / 4)
		j.at = 1 - j.at
		j.again(j.mode)
	}
}

// travel plays the journey with this name, and steps fail as the plan p says. wrong is true if a
// step failed. log has what the client got.
func travel(t *testing.T, name string, p plan) (wrong bool, log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		way := journeys[name]
		w := newWorld(t, way.expires, way.sticky)
		w.apart, w.slow = way.apart, way.slow
		w.restart(0)
		w.restart(1)
		w.plan = &p
		j := &journey{world: w}
		way.passes(j)
		wrong, log = p.hits > 0, j.log
		j.plan = nil
		time.Sleep(LeaseTime)
		if j.reload(); len(j.pending) > 0 {
			open, how := j.pending, make([]bool, len(j.pending))
			for n := range how {
				how[n] = !w.expires && (!w.sticky || w.kept == "" || w.kept == "resolved")
			}
			j.decide(open, how, false, "finish")
			for n, id := range open {
				if how[n] && w.delivered[id] == 0 {
					t.Errorf("%s was told and approved, and has reached nobody: %s", id, w.got)
				}
			}
		}
		w.goesOn()
	})
	return wrong, log
}

// TestStoreFailsAtAnyStep plays the journeys again and again. Each time, something else goes wrong
// at one step. The store does not do the step, or it does the step and its reply is lost, once or
// several times. Or the replica dies before or after the step, which may also be a request to the
// backend.
//
// In each case the rules of TestContract must hold, and a question that the client got must be
// answerable. If only one step fails or only one reply is lost, the client must not notice it.
func TestStoreFailsAtAnyStep(t *testing.T) {
	several := []int{2, 3, 8}
	switch {
	case testing.Short():
		several = nil
	case RaceDetector:
		several = []int{3}
	}
	for name := range journeys {
		t.Run(name, func(t *testing.T) {
			_, smooth := travel(t, name, plan{})
			for _, done := range []bool{true, false} {
				passesAll(t, name, plan{many: 1, done: done}, smooth)
				for _, many := range several {
					passesAll(t, name, plan{many: many, done: done}, nil)
				}
				passesAll(t, name, plan{many: 1, dies: true, backend: true, done: done}, nil)
			}
		})
	}
}

// passesAll plays a journey once for each step at which the plan p can fail. want is what the
// client must get. If want is nil, passesAll does not compare it.
func passesAll(t *testing.T, name string, p plan, want []string) {
	t.Helper()
	for p.from = 1; ; p.from++ {
		wrong, log := travel(t, name, p)
		if want != nil && !slices.Equal(log, want) {
			t.Errorf("told %q\nnot  %q", log, want)
		}
		if t.Failed() {
			t.Fatalf("with %+v", p)
		}
		if !wrong {
			break
		}
	}
	if p.from < 3 {
		t.Errorf("only %d places for %+v", p.from-1, p)
	}
}
