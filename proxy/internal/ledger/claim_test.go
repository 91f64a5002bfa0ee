package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// pause returns a pause with one question.
func pause(id string) *agui.Pause {
	return &agui.Pause{ID: id, Digest: "asked " + id, Interrupts: []agui.Interrupt{{
		ID: "question of " + id, Object: []byte(`{"id":"question of ` + id + `","reason":"tool_call"}`),
	}}}
}

// open opens a pause with one question, and returns it.
func open(t *testing.T, l *Ledger, id string) *agui.Pause {
	t.Helper()
	p := pause(id)
	if err := l.Open(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// yes and no return a list with one answer, to the question of the pause p.
func yes(p *agui.Pause) []agui.Answer { return answered(p, `{"approved":true}`) }

func no(p *agui.Pause) []agui.Answer { return answered(p, `{"approved":false}`) }

func answered(p *agui.Pause, payload string) []agui.Answer {
	return []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte(payload)}}
}

// take claims the pause p for the answers in list.
func take(l *Ledger, p *agui.Pause, list []agui.Answer) (*Claim, error) {
	return l.ClaimPause(p, list, make([]agui.Reading, len(list)), time.Now())
}

// decided returns the decision that has the content of the answer a, as if somebody made it at the
// desk.
func decided(p *agui.Pause, a agui.Answer) []agui.Decision {
	return []agui.Decision{{Question: a.ID, Status: a.Status, Payload: a.Payload, Digest: contract.DigestOf(a), Door: string(event.Desk)}}
}

const (
	claiming = "resume.claiming"
	claimed  = "resume.claimed"
	released = "resume.released"
	resolved = "interrupt.resolved"
	raised   = "interrupt.raised"
	inDoubt  = "resume.in_doubt"
)

// TestTake checks which claims succeed, which events a claim reports, and what is in the record
// afterwards.
func TestTake(t *testing.T) {
	// end returns a function that claims the pause for the answers of list, and ends the pause.
	end := func(list func(*agui.Pause) []agui.Answer) func(*testing.T, *Ledger, *faults, *agui.Pause) {
		return func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
			c, err := take(l, p, list(p))
			if err == nil {
				err = l.Keep(c, &settle.Outcome{End: store.Result{EndKind: store.Finished}}).Err
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	claim := func(list func(*agui.Pause) []agui.Answer) func(*testing.T, *Ledger, *faults, *agui.Pause) {
		return func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
			c, err := take(l, p, list(p))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Stop)
		}
	}
	nothing := func(*testing.T, *Ledger, *faults, *agui.Pause) {}
	for situation, c := range map[string]struct {
		before  func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		fails   []event.Kind // events that the sink rejects, as a required audit log
		err     error        // nil: the claim succeeds
		quicker bool
		state   store.State
		heard   string
		steps   string // the steps that the store gets after before
	}{
		"the question is open": {
			before: nothing, state: store.Claimed, heard: claiming + " " + claimed, steps: "Claim",
		},
		"the reply is lost": {
			before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.loses("Claim", 1) },
			state:  store.Claimed, heard: claiming + " " + claimed, steps: "Claim Claim",
		},
		"both replies are lost: nothing was sent, so the pause is given back": {
			before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.loses("Claim", 2) },
			err:    errDown, state: store.Open, heard: claiming, steps: "Claim Claim Release",
		},
		"the store is away": {
			before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.refuses("Claim") },
			err:    errDown, state: store.Open, heard: claiming, steps: "Claim Claim Release",
		},
		"the same answers are on their way": {
			before: claim(yes), err: store.ErrReplay, quicker: true, state: store.Claimed, heard: claiming, steps: "Claim",
		},
		"other answers are on their way": {
			before: claim(no), err: store.ErrConflict, quicker: true, state: store.Claimed, heard: claiming, steps: "Claim",
		},
		"the same answers have ended it": {
			before: end(yes), err: store.ErrReplay, quicker: true, heard: claiming, steps: "Claim",
		},
		"other answers have ended it": {
			before: end(no), err: store.ErrConflict, quicker: true, heard: claiming, steps: "Claim",
		},
		"it was closed without an answer": {
			before: func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
				if err := l.Close(p.ID, store.Result{EndKind: store.Withdrawn}); err != nil {
					t.Fatal(err)
				}
			},
			err: store.ErrConflict, quicker: true, heard: claiming, steps: "Claim",
		},
		"its question was decided otherwise at the desk": {
			before: func(t *testing.T, l *Ledger, _ *faults, p *agui.Pause) {
				if err := l.Decide(p, decided(p, no(p)[0])); err != nil {
					t.Fatal(err)
				}
			},
			err: store.ErrStale, quicker: true, state: store.Open, heard: claiming, steps: "Claim",
		},
		"the store does not know it": {
			before: func(_ *testing.T, l *Ledger, _ *faults, _ *agui.Pause) { l.Key = "another" },
			err:    store.ErrNotFound, quicker: true, heard: claiming, steps: "Claim",
		},
		"the audit is required, and cannot write that it is claimed": {
			before: nothing, fails: []event.Kind{event.Claiming}, err: door.ErrNotWritten, state: store.Open, steps: "Release",
		},
		"the audit cannot write it after the step: it is given back": {
			before: nothing, fails: []event.Kind{event.Claimed}, err: door.ErrNotWritten, state: store.Open, heard: claiming, steps: "Claim Release",
		},
	} {
		t.Run(situation, func(t *testing.T) {
			f, h := newFaults(), &hearer{}
			l := New(f, "t", heardBy(h, true), nil)
			p := open(t, l, "p")
			c.before(t, l, f, p)
			h.kinds, h.fails = nil, c.fails
			f.asked()
			got, err := take(l, p, yes(p))
			got.Stop()
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || got.Held() != (c.err == nil) || !errors.Is(l.Refused(), c.err) {
				t.Fatalf("held %t (%v, refused %v), want %v", got.Held(), err, l.Refused(), c.err)
			}
			if err != nil && IsOvertaken(err) != c.quicker {
				t.Errorf("somebody was quicker: %t, want %t", IsOvertaken(err), c.quicker)
			}
			if state := f.record(t, l.Key).State; state != c.state {
				t.Errorf("the record is %q, want %q", state, c.state)
			}
			if heard := h.heard(); heard != c.heard {
				t.Errorf("heard %q, want %q", heard, c.heard)
			}
			if steps := strings.Join(f.asked(), " "); steps != c.steps {
				t.Errorf("steps %q, want %q", steps, c.steps)
			}
		})
	}
}

// TestNoClaim checks the methods of a nil Claim. A run without answers has a nil Claim.
func TestNoClaim(t *testing.T) {
	var c *Claim
	c.Stop()
	if err := c.CheckLease(t.Context()); c.Held() || err != nil {
		t.Errorf("held %t, stands: %v", c.Held(), err)
	}
}

// lapse waits until the lease of a new claim has lapsed. The store refuses every renewal.
func lapse(f *faults) {
	f.refuses("Renew")
	time.Sleep(LeaseTime + renewAgain/2)
}

// TestStands: a run with a claim wants to send its next request to the backend. CheckLease must
// permit this only if the claim has not lapsed.
func TestStands(t *testing.T) {
	for situation, c := range map[string]struct {
		before func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		err    error
		asks   bool // the store is asked
	}{
		"it was taken just now": {before: func(*testing.T, *Ledger, *faults, *agui.Pause) {}},
		"it has renewed itself": {before: func(*testing.T, *Ledger, *faults, *agui.Pause) { time.Sleep(10 * LeaseTime) }},
		"the store lost replies for a time": {before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			time.Sleep(leaseRenew + time.Second)
			f.refuses("Renew")
			time.Sleep(leaseRenew + time.Second)
			f.heals()
			time.Sleep(LeaseTime)
		}},
		"its lease has lapsed, and nobody came": {before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			lapse(f)
			f.heals()
		}, asks: true},
		"its lease has lapsed, and the store is away": {before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			lapse(f)
		}, err: ErrNotKnown, asks: true},
		"its lease has lapsed, and the doubt was told": {before: func(t *testing.T, l *Ledger, f *faults, p *agui.Pause) {
			lapse(f)
			f.heals()
			if err := l.Close(p.ID, store.Result{EndKind: store.Doubtful}); err != nil {
				t.Fatal(err)
			}
		}, err: ErrLapsed, asks: true},
		"the store's clock is ahead, and the doubt was told": {before: func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) {
			f.decide(func(step string, do func() error) error {
				if step == "Renew" {
					return store.ErrStale
				}
				return do()
			})
			time.Sleep(LeaseTime / 2)
		}, err: ErrLapsed, asks: true},
	} {
		t.Run(situation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFaults()
				l := New(f, "t", EventReporter{}, nil)
				p := open(t, l, "p")
				claim, err := take(l, p, yes(p))
				if err != nil {
					t.Fatal(err)
				}
				c.before(t, l, f, p)
				claim.Stop()
				synctest.Wait()
				f.asked()
				if err := claim.CheckLease(context.Background()); err != c.err {
					t.Errorf("stands: %v, want %v", err, c.err)
				}
				if asked := slices.Contains(f.asked(), "Renew"); asked != c.asks {
					t.Errorf("the store is asked: %t, want %t", asked, c.asks)
				}
			})
		})
	}
}

// TestLargeAnswerIsNotKept: if an answer is large, the result of the pause must keep only its
// digest. If several answers are large together, the result must keep only the digest of those that
// do not fit.
func TestLargeAnswerIsNotKept(t *testing.T) {
	for size, kept := range map[int]bool{maxGivenBytes: true, maxGivenBytes + 1: false} {
		payload := []byte(`"` + strings.Repeat("x", size-2) + `"`)
		list := givenAnswers(&agui.Pause{}, []agui.Answer{{ID: "i", Status: agui.Resolved, Payload: payload}}, make([]agui.Reading, 1))
		if got := list[0]; (got.Payload != nil) != kept || got.Digest == "" {
			t.Errorf("%d bytes: kept %t, digest %q", size, got.Payload != nil, got.Digest)
		}
	}
	half := []byte(`"` + strings.Repeat("x", maxGivenBytes/2) + `"`)
	list := givenAnswers(&agui.Pause{}, []agui.Answer{{ID: "i", Status: agui.Resolved, Payload: half}, {ID: "j", Status: agui.Resolved, Payload: half}, {ID: "k", Payload: []byte("1")}}, make([]agui.Reading, 3))
	if list[0].Payload == nil || list[1].Payload != nil || list[1].Digest == "" || list[2].Payload == nil {
		t.Errorf("of three answers are kept: %t, %t, %t", list[0].Payload != nil, list[1].Payload != nil, list[2].Payload != nil)
	}
}
