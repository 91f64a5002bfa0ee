package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/store"
)

// A machine makes the same calls on a store and on a model of each thread, and compares both.
type machine struct {
	x       *fixture
	prefix  string
	start   time.Time
	threads map[string]*thread
	calls   []call
	pauses  int // number of pauses made so far
}

type thread struct {
	model
	laws laws
}

// runModel makes random sequences of calls on the engine and on the model.
func (s suite) runModel(t *testing.T) {
	t.Parallel()
	x := s.fixture(t, Options{}, false)
	sequence := 0
	rapid.Check(t, func(rt *rapid.T) {
		sequence++
		m := &machine{x: x, prefix: fmt.Sprint("model ", sequence, " "), start: x.clock.Now(), threads: map[string]*thread{}}
		for _, name := range []string{"a", "b"} {
			m.threads[name] = &thread{
				model: model{start: m.start, replay: x.replay, retention: x.retention},
				laws:  laws{holder: map[string]string{}, over: map[string]bool{}},
			}
		}
		actions := map[string]func(*rapid.T){
			"":     m.check,
			"call": func(rt *rapid.T) { m.do(rt, m.draw(rt)) },
			// makes this action twice as likely
			"call2": func(rt *rapid.T) { m.do(rt, m.draw(rt)) },
			"again": func(rt *rapid.T) {
				if len(m.calls) == 0 {
					rt.Skip("nothing was called yet")
				}
				// The repeated call is most likely one of the latest, as when a reply is lost and
				// the caller repeats the call at once.
				back := rapid.IntRange(0, len(m.calls)-1).Draw(rt, "calls back")
				m.do(rt, m.calls[len(m.calls)-1-back])
			},
		}
		if !s.ownClock {
			actions["time"] = func(rt *rapid.T) {
				units := rapid.SampledFrom([]int{1, 1, 2, 4, 10, 30}).Draw(rt, "units")
				x.clock.advance(time.Duration(units) * x.unit)
			}
		}
		rt.Repeat(actions)
	})
}

// draw returns a random call. Most of these calls fit the state of the thread.
func (m *machine) draw(rt *rapid.T) call {
	ops := []string{"Load", "Open", "Open", "Claim", "Claim", "Claim", "Renew", "Finish", "Finish", "Release", "Close", "Decide", "Decide"}
	c := call{
		op:     rapid.SampledFrom(ops).Draw(rt, "op"),
		thread: rapid.SampledFrom(slices.Sorted(maps.Keys(m.threads))).Draw(rt, "thread"),
		owner:  rapid.SampledFrom([]string{"", "", "", "alice", "bob"}).Draw(rt, "owner"),
		digest: rapid.SampledFrom([]string{"d1", "d2"}).Draw(rt, "digest"),
		how:    rapid.SampledFrom([]store.EndKind{store.Finished, store.Finished, store.Lost, store.Doubtful}).Draw(rt, "how"),
		mark:   rapid.SampledFrom([]string{"r1", "r2"}).Draw(rt, "mark"),
		lease:  m.x.long,
	}
	th := m.threads[c.thread]
	if th.owner != "" && rapid.IntRange(0, 9).Draw(rt, "by the owner") > 0 {
		c.owner = th.owner
	}
	if !m.x.ownClock && rapid.Bool().Draw(rt, "short lease") {
		c.lease = m.x.lease
	}
	c.pause = m.drawPause(rt, th, c.op == "Open")
	c.question = fmt.Sprint(c.pause, "~", rapid.IntRange(1, 2).Draw(rt, "question"))
	if l := th.find(c.pause); c.op == "Claim" && l != nil && rapid.IntRange(0, 9).Draw(rt, "says what is decided") > 1 {
		c.digest = saying(append([]string{c.digest}, l.decided...)...)
	}
	c.token = fmt.Sprint("t", rapid.IntRange(1, 3).Draw(rt, "token"), " of ", c.pause)
	if c.op == "Open" && rapid.Bool().Draw(rt, "expires") {
		after := time.Duration(rapid.IntRange(1, 40).Draw(rt, "units")) * m.x.unit
		c.expires = m.x.clock.Now().Sub(m.start) + after
	}
	if cur := th.current(); cur != nil && cur.token != "" && rapid.Bool().Draw(rt, "by the claim") {
		c.token = cur.token
	}
	if c.op == "Finish" && c.how != store.Doubtful && rapid.Bool().Draw(rt, "pauses again") {
		c.next = m.fresh()
	}
	return c
}

func (m *machine) drawPause(rt *rapid.T, th *thread, fresh bool) string {
	n := len(th.lives)
	which := rapid.IntRange(0, 9).Draw(rt, "pause")
	switch {
	case fresh && which < 7, n == 0, which == 9:
		return m.fresh()
	case which < 7:
		return th.lives[n-1].id
	}
	return th.lives[rapid.IntRange(0, n-1).Draw(rt, "earlier pause")].id
}

func (m *machine) fresh() string {
	m.pauses++
	return fmt.Sprint("p", m.pauses)
}

func (m *machine) key(thread string) store.Key { return m.x.key(m.prefix + thread) }

// do makes the call on the store and on the model, and fails if their errors differ.
func (m *machine) do(rt *rapid.T, c call) {
	th := m.threads[c.thread]
	_, _, got := c.do(m.x.Context(), m.x.Store, m.key(c.thread), m.start)
	want := th.do(c, m.x.clock.Now())
	m.calls = append(m.calls, c)
	if !is(got, want) {
		rt.Fatalf("%+v: got error %v, want %v", c, got, want)
	}
	if got == nil {
		th.laws.called(rt, c)
	}
}

// check fails if the store and the model show different states of a thread.
func (m *machine) check(rt *rapid.T) {
	for name, th := range m.threads {
		rec, err := m.x.Load(m.x.Context(), m.key(name), "")
		if err != nil {
			rt.Fatalf("Load: %v", err)
		}
		if !m.x.ownClock {
			if got, want := view(rec), th.view(m.x.clock.Now()); got != want {
				rt.Fatalf("thread %s is\n%swant\n%s", name, got, want)
			}
		}
		th.laws.seen(rt, rec, m.x.retention)
	}
}

// laws check rules that must hold for the store's replies, whatever the model says.
type laws struct {
	// pause → token, from the Claim that returned nil to the Release that did
	holder map[string]string
	over   map[string]bool // pauses that a Finish or a Close ended by returning nil
	open   string          // the pause last seen open, unless it was claimed or closed since
}

// called checks the laws for a call that returned nil.
func (w *laws) called(rt *rapid.T, c call) {
	switch c.op {
	case "Claim":
		if h := w.holder[c.pause]; h != "" && h != c.token {
			rt.Fatalf("pause %s was claimed by %s and by %s", c.pause, h, c.token)
		}
		if w.over[c.pause] {
			rt.Fatalf("pause %s was claimed after its end", c.pause)
		}
		w.holder[c.pause] = c.token
	case "Close":
		if w.over[c.pause] {
			rt.Fatalf("pause %s was closed after its end", c.pause)
		}
		w.over[c.pause] = true
	case "Finish":
		for p, h := range w.holder {
			if h == c.token {
				w.over[p] = w.over[p] || c.how != store.Doubtful
			}
		}
	case "Release":
		for p, h := range w.holder {
			if h == c.token && !w.over[p] {
				delete(w.holder, p)
			}
		}
	}
	if c.op == "Claim" && c.pause == w.open || c.op == "Close" && c.pause == w.open {
		w.open = ""
	}
}

// seen checks the laws for a record that was loaded.
func (w *laws) seen(rt *rapid.T, rec store.Record, retention time.Duration) {
	id := ""
	if rec.Pause != nil {
		id = rec.Pause.ID
	}
	if (rec.State == store.None) != (rec.Pause == nil) {
		rt.Fatalf("state %q with pause %q", rec.State, id)
	}
	if w.open != "" && (rec.State != store.Open || id != w.open) {
		if r := resultOfPause(rec, w.open); r == nil || r.EndKind != store.Retired {
			rt.Fatalf("the open pause %s went away, the record is %s", w.open, asJSON(rec))
		}
	}
	if id != "" && w.over[id] {
		rt.Fatalf("pause %s is %s after its end", id, rec.State)
	}
	w.open = ""
	if rec.State == store.Open {
		if w.holder[id] != "" {
			rt.Fatalf("pause %s is open while %s has it", id, w.holder[id])
		}
		if rec.Now.Sub(rec.Pause.Opened) >= retention {
			rt.Fatalf("pause %s is open after the retention", id)
		}
		w.open = id
	}
	ids := map[string]bool{id: true}
	for _, r := range rec.Results {
		if ids[r.PauseID] {
			rt.Fatalf("pause %s is there twice: %s", r.PauseID, asJSON(rec))
		}
		ids[r.PauseID] = true
	}
}

func resultOfPause(rec store.Record, pauseID string) *store.Result {
	for _, r := range rec.Results {
		if r.PauseID == pauseID {
			return r
		}
	}
	return nil
}

// runFull makes random calls on a store that is mostly full.
func (s suite) runFull(t *testing.T) {
	if s.unbounded {
		t.Skip("the engine has no bounds")
	}
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		entries := rapid.IntRange(1, 4).Draw(rt, "entries")
		x := s.fixture(t, Options{Entries: entries, ReplayBytes: rapid.SampledFrom([]int{1, 2 << 10, 1 << 20}).Draw(rt, "bytes"), Bytes: rapid.SampledFrom([]int{64 << 10, 1 << 20}).Draw(rt, "all")}, false)
		waits := map[string]string{} // thread → its open pause
		pauses := 0
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				for th, p := range waits {
					rec, err := x.Load(x.Context(), x.key(th), "")
					if err != nil || rec.State == store.None || rec.Pause.ID != p || rec.Owner != "owner of "+th {
						rt.Fatalf("thread %s waits for %s: error %v, %s", th, p, err, asJSON(rec))
					}
				}
			},
			"open": func(rt *rapid.T) {
				th := name.Draw(rt, "thread")
				pauses++
				p := fmt.Sprint("p", pauses)
				var want error
				switch {
				case waits[th] != "":
					want = store.ErrExists
				case len(waits) == entries:
					want = store.ErrFull
				}
				if _, err := x.Do(x.Context(), x.key(th), store.Ask{Owner: "owner of " + th, Pause: pause(p)}); !is(err, want) {
					rt.Fatalf("Open with %d of %d waiting: got error %v, want %v", len(waits), entries, err, want)
				} else if err == nil {
					waits[th] = p
				}
			},
			"answer": func(rt *rapid.T) {
				th := name.Draw(rt, "thread")
				p := waits[th]
				if p == "" {
					rt.Skip("it does not wait")
				}
				_, err := x.Do(x.Context(), x.key(th), store.Claim{PauseID: p, Token: "t " + p, Digest: "d", Lease: x.long})
				if err == nil {
					_, err = x.Do(x.Context(), x.key(th), store.Finish{Token: "t " + p, Result: result("r")})
				}
				if err != nil {
					rt.Fatalf("the answer to %s: %v", p, err)
				}
				delete(waits, th)
			},
			"load": func(rt *rapid.T) {
				th := name.Draw(rt, "thread")
				if _, err := x.Load(x.Context(), x.key(th), "owner of "+th); err != nil {
					rt.Fatalf("Load: %v", err)
				}
			},
		})
	})
}
