package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

func loadCases() []testCase {
	return []testCase{
		{name: "a thread that nothing is known of has a zero record with the time", run: func(x *fixture) {
			rec := x.load(x.key("a"))
			x.near("Now", rec.Now, x.clock.Now())
			x.same("the record", rec, store.Record{})
		}},
		{name: "Now goes on", run: func(x *fixture) {
			before := x.load(x.key("a")).Now
			x.clock.advance(x.unit)
			if after := x.load(x.key("a")).Now; after.Sub(before) < x.unit {
				x.Errorf("%v after %v", after, before)
			}
		}},
		{name: "every record that was written names the format", run: func(x *fixture) {
			k := x.key("a")
			version := func(after string) {
				x.Helper()
				if got := x.load(k).Version; got != store.Version {
					x.Errorf("after %s: version %d", after, got)
				}
			}
			x.open(k, pause("p"))
			version("Open")
			x.claim(k, "p", "t", "d")
			version("Claim")
			next := pause("q")
			x.finish(k, "t", result("r"), &next)
			version("Finish")
			x.close(k, "q", store.Withdrawn)
			version("Close")
			k = x.key("b")
			_, err := x.Load(x.Context(), k, "owner")
			x.must(err)
			version("Load for an owner")
		}},
		{name: "threads do not see each other", run: func(x *fixture) {
			x.open(x.key("a"), pause("p"))
			x.same("the other's record", x.load(x.key("b")), store.Record{})
			x.want(store.ErrNotFound, x.do(x.key("b"), store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long}))
			x.want(store.ErrNotFound, x.do(x.key("b"), store.Close{PauseID: "p", Result: store.Result{EndKind: store.Lost}}))
			x.open(x.key("b"), pause("p"))
			x.claim(x.key("b"), "p", "t", "d")
			x.want(store.ErrStale, x.do(x.key("a"), store.Release{Token: "t"}))
			x.state(x.key("a"), store.Open, "p")
		}},
	}
}

func misuseCases() []testCase {
	calls := []struct {
		name string
		do   func(x *fixture, k store.Key) error
	}{
		{"Open without an id", func(x *fixture, k store.Key) error { return x.do(k, store.Ask{}) }},
		{"Claim without an id", func(x *fixture, k store.Key) error {
			return x.do(k, store.Claim{Token: "t", Digest: "d", Lease: x.long})
		}},
		{"Claim without a token", func(x *fixture, k store.Key) error {
			return x.do(k, store.Claim{PauseID: "p", Digest: "d", Lease: x.long})
		}},
		{"Claim without a digest", func(x *fixture, k store.Key) error {
			return x.do(k, store.Claim{PauseID: "p", Token: "t", Lease: x.long})
		}},
		{"Decide without an id", func(x *fixture, k store.Key) error {
			return x.do(k, store.Decide{Decisions: []agui.Decision{decision("p~1", "d")}})
		}},
		{"Decide without a decision", func(x *fixture, k store.Key) error { return x.do(k, store.Decide{PauseID: "p"}) }},
		{"Decide without a question", func(x *fixture, k store.Key) error {
			return x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{decision("", "d")}})
		}},
		{"Decide without a digest", func(x *fixture, k store.Key) error {
			return x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{decision("p~1", "")}})
		}},
		{"Decide with a question twice", func(x *fixture, k store.Key) error {
			return x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{decision("p~1", "d"), decision("p~1", "d")}})
		}},
		{"Close without an id", func(x *fixture, k store.Key) error {
			return x.do(k, store.Close{Result: store.Result{EndKind: store.Lost}})
		}},
		{"Close without how", func(x *fixture, k store.Key) error { return x.do(k, store.Close{PauseID: "p", Result: store.Result{}}) }},
		{"Finish without how", func(x *fixture, k store.Key) error {
			return x.do(k, store.Finish{Token: "t", Result: store.Result{}})
		}},
		{"Finish in doubt with a next pause", func(x *fixture, k store.Key) error {
			return x.do(k, store.Finish{Token: "t", Result: store.Result{EndKind: store.Doubtful}, Next: &agui.Pause{ID: "q"}})
		}},
		{"Finish with a next pause without an id", func(x *fixture, k store.Key) error {
			return x.do(k, store.Finish{Token: "t", Result: result("r"), Next: &agui.Pause{}})
		}},
	}
	var cases []testCase
	for _, c := range calls {
		cases = append(cases, testCase{name: c.name + " fails and does nothing", run: func(x *fixture) {
			for name, prepare := range map[string]func(k store.Key){
				"nothing": func(store.Key) {},
				"open":    func(k store.Key) { x.open(k, pause("p")) },
				"claimed": func(k store.Key) { x.open(k, pause("p")); x.claim(k, "p", "t", "d") },
			} {
				k := x.key(name)
				prepare(k)
				before := x.load(k)
				unlisted(x, name, c.do(x, k))
				x.same("the record", x.load(k), before)
			}
		}})
	}
	return append(cases,
		testCase{name: "Finish with a next pause whose id was used fails and does nothing", run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("o"))
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			before := x.load(k)
			for _, used := range []string{"o", "p"} {
				next := pause(used)
				unlisted(x, used, x.do(k, store.Finish{Token: "t", Result: result("r"), Next: &next}))
			}
			x.same("the record", x.load(k), before)
		}},
		testCase{name: "no token is nobody's claim", run: func(x *fixture) {
			x.open(x.key("a"), pause("p"))
			x.want(store.ErrStale, x.do(x.key("a"), store.Renew{Lease: x.long}))
			x.want(store.ErrStale, x.do(x.key("a"), store.Release{}))
			x.want(store.ErrStale, x.do(x.key("a"), store.Finish{Result: result("r")}))
		}},
		testCase{name: "a context that is done fails and does nothing", run: func(x *fixture) {
			done, cancel := context.WithCancel(x.Context())
			cancel()
			k, free := x.key("a"), x.key("b")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			before := x.load(k)
			_, err := x.Load(done, free, "owner")
			unlisted(x, "Load", err)
			unlisted(x, "Open", Do(done, x, free, store.Ask{Owner: "owner", Pause: pause("p")}))
			unlisted(x, "Claim", Do(done, x, k, store.Claim{PauseID: "p", Token: "t2", Digest: "d", Lease: x.long}))
			unlisted(x, "Renew", Do(done, x, k, store.Renew{Token: "t", Lease: x.long}))
			unlisted(x, "Finish", Do(done, x, k, store.Finish{Token: "t", Result: result("r")}))
			unlisted(x, "Release", Do(done, x, k, store.Release{Token: "t"}))
			unlisted(x, "Close", Do(done, x, k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Lost}}))
			x.same("the record", x.load(k), before)
			x.same("the other record", x.load(free), store.Record{})
		}},
	)
}

// unlisted checks that err is an error, but not one of the store's errors, which all say something
// about the pause.
func unlisted(x *fixture, what string, err error) {
	x.Helper()
	if err == nil {
		x.Errorf("%s: no error", what)
	}
	for _, e := range knownErrors() {
		if is(err, e) {
			x.Errorf("%s: %v", what, err)
		}
	}
}

func copyCases() []testCase {
	return []testCase{
		{name: "the caller's pause and result are his own afterwards", run: func(x *fixture) {
			k := x.key("a")
			p, q, r := pause("p"), pause("q"), result("r")
			x.open(k, p)
			scribble(&p)
			before := x.load(k)
			x.same("the first interrupt", before.Pause.Interrupts[0], pause("p").Interrupts[0])
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", r, &q)
			scribble(&q)
			r.SeenMessages[0].ID = "scribbled"
			if s := asJSON(x.load(k)); strings.Contains(s, "scribbled") {
				x.Errorf("the store sees what the caller did later: %s", s)
			}
			r = result("r2")
			x.close(k, "q", store.Withdrawn)
			x.open(k, pause("s"))
			x.must(x.do(k, store.Close{PauseID: "s", Result: r}))
			r.SeenMessages[0].ID = "scribbled"
			if s := asJSON(x.load(k)); strings.Contains(s, "scribbled") {
				x.Errorf("the store sees what the caller did later: %s", s)
			}
		}},
		// At the end of each test, Sealed compares every record that was loaded with what it was
		// then. This test takes a record through all its states. With a real clock it takes longer
		// than a short retention.
		{name: "a loaded record stays as it was", exact: true, elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			x.load(k)
			x.open(k, pause("q"))
			x.load(k)
			x.claim(k, "q", "t", "d")
			x.load(k)
			doubt := result("r")
			doubt.EndKind = store.Doubtful
			x.finish(k, "t", doubt, nil)
			x.load(k)
			x.close(k, "q", store.Doubtful)
			x.load(k)
			for n := range store.MaxReplayable + store.MaxTombstones {
				x.end(k, pause(fmt.Sprint("s", n)))
				x.load(k)
			}
			x.clock.advance(x.replay)
			x.load(k)
		}},
		{name: "payloads keep their bytes", run: func(x *fixture) {
			k := x.key("a")
			raw, big := awkward(1), awkward(256<<10)
			p := pause("p")
			p.Private, p.Finish, p.NativeFinish, p.Messages, p.State = raw, raw, raw, big, raw
			p.Native = []json.RawMessage{raw, raw}
			p.Interrupts[0].Object, p.Interrupts[0].Private = raw, raw
			x.open(k, p)
			got := *x.load(k).Pause
			got.Opened = time.Time{}
			x.same("the pause", got, p)

			r := store.Result{EndKind: store.Finished, Finish: raw, Messages: raw, State: big}
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", r, nil)
			res := x.load(k).Results[0]
			for what, c := range map[string]struct{ got, want json.RawMessage }{
				"Finish": {res.Finish, raw}, "Messages": {res.Messages, raw}, "State": {res.State, big},
				"Pause.Private": {res.Pause.Private, raw}, "Interrupt.Object": {res.Pause.Interrupts[0].Object, raw},
			} {
				if string(c.got) != string(c.want) {
					x.Errorf("%s: %d bytes came back as %d others", what, len(c.want), len(c.got))
				}
			}
		}},
		{name: "what was absent stays absent", run: func(x *fixture) {
			k := x.key("a")
			p := agui.Pause{ID: "p", Interrupts: []agui.Interrupt{{ID: "i", Object: json.RawMessage(`{"reason":"input"}`)}}}
			x.open(k, p)
			got := x.load(k).Pause
			if got.Messages != nil || got.State != nil || got.Private != nil || got.Native != nil ||
				got.NativeFinish != nil || got.Finish != nil || got.SeenMessages != nil || got.Interrupts[0].Private != nil {
				x.Errorf("got %#v", got)
			}
			x.close(k, "p", store.Lost)
			if r := x.load(k).Results[0]; r.Finish != nil || r.Messages != nil || r.State != nil || r.SeenMessages != nil {
				x.Errorf("got %#v", r)
			}
		}},
	}
}

func scribble(p *agui.Pause) {
	p.ID = "scribbled"
	p.Interrupts[0].ID = "scribbled"
	p.Interrupts[0].Calls[0].Args = "scribbled"
	p.Native[0] = json.RawMessage(`"scribbled"`)
	p.SeenMessages[0].ID = "scribbled"
}

// awkward returns at least size bytes of JSON. It has no white space, and many decoders would
// change it.
func awkward(size int) json.RawMessage {
	const odd = `"z":12345678901234567890,"a":1.0,"b":1e2,"c":-0,"d":0.1000,"html":"<&>","sep":"` + "\u2028" +
		`","esc":"\u00e9\/","null":null,"empty":{},"a":"again","":[],"nul":"\u0000"`
	var b strings.Builder
	fmt.Fprintf(&b, `{%s,"max":%d,"list":[`, odd, uint64(math.MaxUint64))
	for b.Len() < size {
		fmt.Fprintf(&b, `{%s},`, odd)
	}
	b.WriteString(`0]}`)
	return json.RawMessage(b.String())
}
