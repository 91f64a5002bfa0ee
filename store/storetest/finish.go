package storetest

import (
	"encoding/json"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

func finishCases() []testCase {
	return []testCase{
		{name: "the store says which pause ended, when, and by which answers", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			ended := *x.load(k).Pause
			x.clock.advance(x.unit)
			x.claim(k, "p", "t", "d")
			r := result("r")
			// The store sets these fields itself, so it must ignore the values that the caller
			// gives them.
			r.PauseID, r.IDs, r.Digest, r.Next, r.Tombstone = "x", []string{"x"}, "x", "x", true
			r.At, r.Pause, r.Receipt = time.Unix(0, 0), &agui.Pause{ID: "x"}, "x"
			x.finish(k, "t", r, nil)
			rec := x.state(k, store.None, "")
			if rec.Token != "" || rec.Digest != "" || !rec.Lease.IsZero() || len(rec.Results) != 1 {
				x.Fatalf("the claim is not over: %s", asJSON(rec))
			}
			got := rec.Results[0]
			x.near("At", got.At, x.clock.Now())
			ended.Messages, ended.State = nil, nil
			want := result("r")
			want.PauseID, want.IDs, want.Digest, want.Pause = "p", []string{"p~1", "p~2"}, "d", &ended
			want.At, want.Receipt = got.At, got.Receipt
			x.same("the result", got, want)
			if rec.ResultOf("p~2") != rec.Results[0] || rec.ResultOf("p") != nil || rec.ResultOf("") != nil {
				x.Error("ResultOf does not find the result by its published ids alone")
			}
		}},
		{name: "the next pause opens in the same step", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.clock.advance(x.unit)
			next := pause("q")
			x.finish(k, "t", result("r"), &next)
			rec := x.state(k, store.Open, "q")
			x.near("Opened", rec.Pause.Opened, x.clock.Now())
			next.Opened = rec.Pause.Opened
			x.same("the next pause", rec.Pause, &next)
			if rec.Token != "" || rec.Digest != "" || !rec.Lease.IsZero() {
				x.Errorf("the next pause has the old claim: %s", asJSON(rec))
			}
			if rec.Results[0].Next != "q" {
				x.Errorf("Next is %q", rec.Results[0].Next)
			}
		}},
		{name: "what is kept for a secret goes with the end of its question", run: func(x *fixture) {
			k := x.key("a")
			p := pause("p")
			p.Interrupts[0].Secret, p.Interrupts[0].Private = true, json.RawMessage(`{"client":"secret"}`)
			p.Interrupts[1].Private = json.RawMessage(`{"plain":1}`)
			x.open(k, p)
			x.decide(k, "p",
				agui.Decision{Question: "p~1", Status: agui.Resolved, Payload: json.RawMessage(`"given"`), Digest: "d1"},
				agui.Decision{Question: "p~2", Status: agui.Resolved, Payload: json.RawMessage(`"shown"`), Digest: "d2"})
			if open := x.load(k).Pause; open.Interrupts[0].Private == nil || open.Decisions[0].Payload == nil {
				x.Fatalf("it is needed until then: %s", asJSON(open))
			}
			x.claim(k, "p", "t", store.MarshalAnswers([]store.AnswerDigest{{Question: "p~1", Digest: "d1"}, {Question: "p~2", Digest: "d2"}}))
			x.finish(k, "t", result("r"), nil)
			ended := x.load(k).Results[0].Pause
			if ended.Interrupts[0].Private != nil || ended.Decisions[0].Payload != nil || ended.Decisions[0].Digest != "d1" || !ended.Interrupts[0].Secret {
				x.Errorf("of the secret there is %s", asJSON(ended))
			}
			if ended.Interrupts[1].Private == nil || ended.Decisions[1].Payload == nil {
				x.Errorf("of the other there is %s", asJSON(ended))
			}
		}},
		{name: "results are the newest first", run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			x.end(k, pause("q"))
			x.open(k, pause("r"))
			x.close(k, "r", store.Lost)
			rec := x.load(k)
			got := []string{rec.Results[0].PauseID, rec.Results[1].PauseID, rec.Results[2].PauseID}
			x.same("the order", got, []string{"r", "q", "p"})
		}},
		{name: "a lapsed claim that nobody has acted upon still finishes", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			next := pause("q")
			x.finish(k, "t", result("r"), &next)
			if rec := x.state(k, store.Open, "q"); rec.Results[0].EndKind != store.Finished || rec.Results[0].Digest != "d" {
				x.Errorf("got %s", asJSON(rec.Results[0]))
			}
		}},
		{name: "a lost reply: the same finish again is nil, another is stale", run: func(x *fixture) {
			changes := map[string]func(r *store.Result){
				"How":      func(r *store.Result) { r.EndKind = store.Lost },
				"doubt":    func(r *store.Result) { r.EndKind = store.Doubtful },
				"ByArray":  func(r *store.Result) { r.ByArray = !r.ByArray },
				"Finish":   func(r *store.Result) { r.Finish = json.RawMessage(`{}`) },
				"Messages": func(r *store.Result) { r.Messages = nil },
				"State":    func(r *store.Result) { r.State = json.RawMessage(`{"n":3}`) },
				"Seen":     func(r *store.Result) { r.SeenMessages = r.SeenMessages[:1] },
				"a digest": func(r *store.Result) { r.SeenMessages[0].Digest = "other" },
			}
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
			before := x.load(k)
			x.clock.advance(x.unit)
			x.finish(k, "t", result("r"), nil)
			for what, change := range changes {
				r := result("r")
				change(&r)
				if _, err := x.Do(x.Context(), k, store.Finish{Token: "t", Result: r}); !is(err, store.ErrStale) {
					x.Errorf("with another %s: got error %v", what, err)
				}
			}
			next := pause("q")
			x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r"), Next: &next}))
			x.want(store.ErrStale, x.do(k, store.Finish{Token: "t2", Result: result("r")}))
			x.same("the record", x.load(k), before)
		}},
		{name: "a lost reply: the same finish with a next pause, whatever became of it", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			next, other := pause("q"), pause("other")
			again := func(when string) {
				x.Helper()
				before := x.load(k)
				if _, err := x.Do(x.Context(), k, store.Finish{Token: "t", Result: result("r"), Next: &next}); err != nil {
					x.Errorf("%s: %v", when, err)
				}
				x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r"), Next: &other}))
				x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r")}))
				x.same("the record", x.load(k), before)
			}
			x.finish(k, "t", result("r"), &next)
			again("open")
			x.claim(k, "q", "t2", "d2")
			again("claimed")
			x.finish(k, "t2", result("r2"), nil)
			again("finished")
			x.open(k, pause("s"))
			again("another is open")
		}},
		{name: "a lost reply is known from the tombstone too", elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
			x.clock.advance(x.replay)
			x.finish(k, "t", result("r"), nil)
			if got := x.load(k).Results; len(got) != 1 || !got[0].Tombstone {
				x.Errorf("got %s", asJSON(got))
			}
		}},
	}
}

func doubtCases() []testCase {
	// doubt opens the pause "p" and finishes it as Doubtful, which leaves it in doubt. It returns
	// the result that it passed to Finish.
	doubt := func(x *fixture, k store.Key) store.Result {
		x.Helper()
		x.open(k, pause("p"))
		x.claim(k, "p", "t", "d")
		r := result("r")
		r.EndKind = store.Doubtful
		x.finish(k, "t", r, nil)
		return r
	}
	return []testCase{
		{name: "a doubtful finish is in doubt at once and waits to be told", run: func(x *fixture) {
			k := x.key("a")
			r := doubt(x, k)
			rec := x.state(k, store.InDoubt, "p")
			x.near("Lease", rec.Lease, x.clock.Now())
			if rec.Token != "t" || rec.Digest != "d" || len(rec.Results) != 0 || rec.ResultOf("p~1") != nil {
				x.Fatalf("got %s", asJSON(rec))
			}
			r.PauseID, r.IDs, r.Digest = "p", []string{"p~1", "p~2"}, "d"
			r.At, r.Receipt = rec.Doubt.At, rec.Doubt.Receipt
			x.same("Doubt", rec.Doubt, &r)
			x.clock.advance(10 * x.unit)
			x.state(k, store.InDoubt, "p")
		}},
		{name: "a doubtful finish is the end of its claim", run: func(x *fixture) {
			k := x.key("a")
			r := doubt(x, k)
			x.finish(k, "t", r, nil) // the same Finish again, as if its reply was lost
			x.want(store.ErrStale, x.do(k, store.Renew{Token: "t", Lease: x.long}))
			x.want(store.ErrStale, x.do(k, store.Release{Token: "t"}))
			x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r")}))
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long}))
			x.state(k, store.InDoubt, "p")
		}},
		{name: "told once, it is closed, with what Finish left", run: func(x *fixture) {
			k := x.key("a")
			r := doubt(x, k)
			x.must(x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}}))
			x.want(store.ErrNotFound, x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}}))
			rec := x.state(k, store.None, "")
			if rec.Doubt != nil || len(rec.Results) != 1 {
				x.Fatalf("got %s", asJSON(rec))
			}
			got := rec.Results[0]
			r.PauseID, r.IDs, r.Digest = "p", []string{"p~1", "p~2"}, "d"
			r.At, r.Pause, r.Receipt = got.At, got.Pause, got.Receipt
			x.same("the result", got, r)
			x.want(store.ErrReplay, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: "d", Lease: x.long}))
			r.EndKind = store.Doubtful
			// the same Finish as at first, as if its reply was lost; by now the pause has ended
			x.finish(k, "t", r, nil)
		}},
		{name: "what Close brings itself comes first", run: func(x *fixture) {
			k := x.key("a")
			r := doubt(x, k)
			own := store.Result{EndKind: store.Lost, Finish: json.RawMessage(`{"own":1}`), SeenMessages: []agui.SeenMessage{{ID: "own"}}}
			x.must(x.do(k, store.Close{PauseID: "p", Result: own}))
			got := x.load(k).Results[0]
			if got.EndKind != store.Lost || !got.ByArray {
				x.Errorf("got %s", asJSON(got))
			}
			x.same("Finish", got.Finish, own.Finish)
			x.same("Seen", got.SeenMessages, own.SeenMessages)
			x.same("Messages", got.Messages, r.Messages)
			x.same("State", got.State, r.State)
		}},
		{name: "a lapsed claim is told by Close, after which its claimer is stale", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.close(k, "p", store.Doubtful)
			if got := x.load(k).Results[0]; got.EndKind != store.Doubtful || got.Digest != "d" {
				x.Errorf("got %s", asJSON(got))
			}
			x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r")}))
			x.want(store.ErrStale, x.do(k, store.Release{Token: "t"}))
			x.want(store.ErrStale, x.do(k, store.Renew{Token: "t", Lease: x.long}))
		}},
	}
}

func closeCases() []testCase {
	return []testCase{
		{name: "an open pause ends without an answer, as the caller says", run: func(x *fixture) {
			for _, how := range []store.EndKind{store.Withdrawn, store.Retired, store.Lost} {
				k := x.key(string(how))
				x.open(k, pause("p"))
				ended := *x.load(k).Pause
				r := result("r")
				r.EndKind = how
				r.Digest, r.Receipt, r.Next = "x", "x", "x"
				x.must(x.do(k, store.Close{PauseID: "p", Result: r}))
				rec := x.state(k, store.None, "")
				got := rec.Results[0]
				x.near("At", got.At, x.clock.Now())
				ended.Messages, ended.State = nil, nil
				r.PauseID, r.IDs, r.Digest, r.Receipt, r.Next = "p", []string{"p~1", "p~2"}, "", "", ""
				r.At, r.Pause = got.At, &ended
				x.same("the result", got, r)
			}
		}},
		{name: "a claimed pause is not closed under its claimer", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.want(store.ErrExists, x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}}))
			x.finish(k, "t", result("r"), nil)
		}},
		{name: "a doubt is not closed after its claim was released", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.state(k, store.InDoubt, "p") // a caller sees the doubt, and is about to close it
			x.must(x.do(k, store.Release{Token: "t"}))
			x.want(store.ErrExists, x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}}))
			if rec := x.state(k, store.Open, "p"); len(rec.Results) != 0 {
				x.Errorf("got %s", asJSON(rec))
			}
			x.claim(k, "p", "t2", "d")
		}},
		{name: "a released pause ends without a digest", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			x.close(k, "p", store.Withdrawn)
			if got := x.load(k).Results[0].Digest; got != "" {
				x.Errorf("digest %q of answers that never arrived", got)
			}
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long}))
		}},
	}
}
