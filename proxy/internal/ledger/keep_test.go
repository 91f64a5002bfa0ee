package ledger

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

var (
	finished = store.Result{EndKind: store.Finished, Finish: []byte(`{"type":"RUN_FINISHED"}`)}
	errored  = store.Result{EndKind: store.Finished, Finish: []byte(`{"type":"RUN_ERROR","code":"X"}`)}
)

// same returns a pause with another id, but with the same question as the pause "as".
func same(id string, as *agui.Pause) *agui.Pause {
	p := pause(id)
	p.Digest = as.Digest
	return p
}

// TestKeepWithAClaim checks Keep for a run with a claim: its result, the record and the events.
func TestKeepWithAClaim(t *testing.T) {
	// doubted lets the lease lapse. Then it closes the pause as doubtful. Another request does the
	// same when it has reported the doubt to its client.
	doubted := func(t *testing.T, l *Ledger, f *faults, p *agui.Pause) {
		lapse(f)
		if err := New(f, "t", EventReporter{}, nil).Close(p.ID, store.Result{EndKind: store.Doubtful}); err != nil {
			t.Fatal(err)
		}
		f.heals()
	}
	// begun does what doubted does, and then opens a question, as another run does.
	begun := func(id string) func(t *testing.T, l *Ledger, f *faults, p *agui.Pause) {
		return func(t *testing.T, l *Ledger, f *faults, p *agui.Pause) {
			doubted(t, l, f, p)
			open(t, New(f, "t", EventReporter{}, nil), id)
		}
	}
	lapsed := func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { lapse(f) }
	for situation, c := range map[string]struct {
		before func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		end    store.Result
		back   bool   // the run gives the pause back
		asks   string // the pause with which the run ends, or ""
		// kept is the SavedOutcome of Keep as inShort writes it: the pause for the client, "stands:
		// " with another open pause, "back", "in doubt", or an error.
		kept  string
		state store.State
		heard string
	}{
		"the run has ended":                 {end: finished, heard: resolved},
		"the run has ended with an error":   {end: errored, heard: resolved},
		"nobody knows what the backend did": {end: store.Result{EndKind: store.Doubtful}, kept: "in doubt", state: store.InDoubt, heard: inDoubt},
		"the backend does not know it":      {end: store.Result{EndKind: store.Lost}, heard: "interrupt.lost"},
		"the run asks something else":       {end: finished, asks: "q", kept: "q", state: store.Open, heard: resolved + " " + raised},
		"the backend did nothing":           {back: true, kept: "back", state: store.Open, heard: released},

		"the reply is lost":                    {before: loses("Finish"), end: finished, heard: resolved},
		"the reply is lost, and the run asks":  {before: loses("Finish"), end: finished, asks: "q", kept: "q", state: store.Open, heard: resolved + " " + raised},
		"the reply is lost, of giving it back": {before: loses("Release"), back: true, kept: "back", state: store.Open, heard: released},
		"the store is away":                    {before: refuses("Finish"), end: finished, kept: errDown.Error(), state: store.Claimed, heard: inDoubt},
		"the store is away, and the run asks":  {before: refuses("Finish"), end: finished, asks: "q", kept: errDown.Error(), state: store.Claimed, heard: inDoubt},
		"the store is away, to give it back":   {before: refuses("Release"), back: true, kept: errDown.Error(), state: store.Claimed},

		"the claim has lapsed, and nobody came":                           {before: lapsed, end: finished, heard: resolved},
		"the claim has lapsed, the doubt was told":                        {before: doubted, end: finished},
		"the claim has lapsed, the doubt was told, the run asks":          {before: doubted, end: finished, asks: "q", kept: "q", state: store.Open, heard: raised},
		"the claim has lapsed, the doubt was told: nothing is given back": {before: doubted, back: true},
		"the claim has lapsed, and another run asks":                      {before: begun("q"), end: finished, state: store.Open},
		"the claim has lapsed, and another run asks something else":       {before: begun("q"), end: finished, asks: "r", kept: "stands: q", state: store.Open},
	} {
		t.Run(situation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, h := newFaults(), &hearer{}
				l := New(f, "t", heardBy(h, false), nil)
				p := open(t, l, "p")
				claim, err := take(l, p, yes(p))
				if err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					c.before(t, l, f, p)
				}
				h.kinds = nil
				o := settle.Outcome{End: c.end, ReopensPause: c.back}
				if c.asks != "" {
					o.Ask = pause(c.asks)
				}
				kept := l.Keep(claim, &o)
				f.heals()
				rec := f.record(t, "t")
				if got := inShort(kept); got != c.kept {
					t.Errorf("kept %q, want %q", got, c.kept)
				}
				if heard := h.heard(); heard != c.heard {
					t.Errorf("heard %q, want %q", heard, c.heard)
				}
				if rec.State != c.state {
					t.Errorf("the record is %q, want %q", rec.State, c.state)
				}
				if strings.Contains(c.heard, resolved) {
					if g := rec.Results[0].GivenAnswers; len(g) != 1 || g[0].ID != p.Interrupts[0].ID || string(g[0].Payload) != `{"approved":true}` {
						t.Errorf("the result keeps the answers %+v", g)
					}
				}
				if again := l.Keep(claim, &settle.Outcome{ReopensPause: true}); claim.Held() || inShort(again) != "" {
					t.Errorf("a claim that has ended: held %t, kept %q", claim.Held(), inShort(again))
				}
				f.asked()
				time.Sleep(3 * LeaseTime)
				if steps := f.asked(); slices.Contains(steps, "Renew") {
					t.Errorf("renewed after its end: %q", steps)
				}
			})
		})
	}
}

// TestKeepWithoutAClaim checks Keep for a run without a claim.
func TestKeepWithoutAClaim(t *testing.T) {
	for situation, c := range map[string]struct {
		open      *agui.Pause // the pause that is already open, or nil
		before    func(t *testing.T, l *Ledger, f *faults, p *agui.Pause)
		asks      *agui.Pause
		kept      string
		contested bool
		steps     string
		heard     string
	}{
		"it asks nothing":   {},
		"it asks":           {asks: pause("q"), kept: "q", steps: "Open", heard: raised},
		"the reply is lost": {before: loses("Open"), asks: pause("q"), kept: "q", steps: "Open Open", heard: raised},
		"the store is away": {before: refuses("Open"), asks: pause("q"), kept: errDown.Error(), steps: "Open Open"},
		"the same question is open already": {
			open: pause("p"), asks: same("q", pause("p")), kept: "p", steps: "Open",
		},
		"another question is open": {
			open: pause("p"), asks: pause("q"), kept: "stands: p", contested: true, steps: "Open Contest",
		},
		"another question is open, and the reply of the note is lost": {
			open: pause("p"), before: loses("Contest"), asks: pause("q"), kept: "stands: p", contested: true, steps: "Open Contest Contest",
		},
		"another question is open, and the reply that says which is lost": {
			open: pause("p"), before: loses("Open"), asks: pause("q"), kept: "stands: p", contested: true, steps: "Open Open Contest",
		},
		"another question is open, and the store reads nothing else": {
			open: pause("p"), before: refuses("Load"), asks: pause("q"), kept: "stands: p", contested: true, steps: "Open Contest",
		},
	} {
		t.Run(situation, func(t *testing.T) {
			f, h := newFaults(), &hearer{}
			if c.open != nil {
				if err := New(f, "t", EventReporter{}, nil).Open(c.open); err != nil {
					t.Fatal(err)
				}
			}
			l := New(f, "t", heardBy(h, false), nil)
			if c.before != nil {
				c.before(t, l, f, c.open)
			}
			f.asked()
			kept := l.Keep(nil, &settle.Outcome{Ask: c.asks, End: finished})
			steps := strings.Join(f.asked(), " ")
			f.heals()
			if got := inShort(kept); got != c.kept || steps != c.steps {
				t.Errorf("kept %q by %q, want %q by %q", got, steps, c.kept, c.steps)
			}
			if heard := h.heard(); heard != c.heard {
				t.Errorf("heard %q, want %q", heard, c.heard)
			}
			if p := f.record(t, "t").Pause; p != nil && p.Contested != c.contested {
				t.Errorf("contested: %t, want %t", p.Contested, c.contested)
			}
		})
	}
}

// inShort returns a SavedOutcome as a short text.
func inShort(k settle.SavedOutcome) string {
	var list []string
	if k.Pause != nil {
		list = append(list, k.Pause.ID)
	}
	if k.Standing != nil {
		list = append(list, "stands: "+k.Standing.Pause.ID)
	} else if k.Err != nil {
		list = append(list, k.Err.Error())
	}
	if k.Reopened {
		list = append(list, "back")
	}
	if k.Doubtful {
		list = append(list, "in doubt")
	}
	return strings.Join(list, " ")
}
