package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// decision returns a decision. Every field that a caller of the store sets has a value.
func decision(question, digest string) agui.Decision {
	return agui.Decision{
		Question: question, Status: agui.Resolved, Payload: json.RawMessage(`{ "ok":true,"n":1.0}`), OwnForm: true,
		Verdict: "approved", Edited: true, Digest: digest, QuestionDigest: "asked", Door: "desk", By: "Maria <&>", Comment: "fine",
	}
}

// saying returns the digest of a claim with these answers. Each argument has the form `<question>
// <digest of its answer>`.
func saying(answers ...string) string {
	list := make([]store.AnswerDigest, len(answers))
	for n, answer := range answers {
		at := max(strings.LastIndexByte(answer, ' '), 0)
		list[n] = store.AnswerDigest{Question: answer[:at], Digest: strings.TrimPrefix(answer[at:], " ")}
	}
	return store.MarshalAnswers(list)
}

func (x *fixture) decide(k store.Key, pauseID string, list ...agui.Decision) {
	x.Helper()
	x.must(x.do(k, store.Decide{PauseID: pauseID, Decisions: list}))
}

func decideCases() []testCase {
	yes, no := decision("p~1", "yes"), decision("p~1", "no")
	other := decision("p~2", "other")
	// stand ends the test unless the thread's pause has exactly the decisions want. The pause may
	// be open or ended.
	stand := func(x *fixture, k store.Key, want ...agui.Decision) {
		x.Helper()
		rec := x.load(k)
		p := rec.Pause
		if p == nil {
			p = rec.Results[0].Pause
		}
		got := append([]agui.Decision{}, p.Decisions...)
		for n := range got {
			if n < len(want) {
				x.near("At", got[n].At, x.clock.Now())
				want[n].At = got[n].At
			}
		}
		x.same("what stands", got, append([]agui.Decision{}, want...))
	}
	fails := func(x *fixture, k store.Key, want error, list ...agui.Decision) {
		x.Helper()
		before := x.load(k)
		x.want(want, x.do(k, store.Decide{PauseID: "p", Decisions: list}))
		x.same("the record", x.load(k), before)
	}
	return []testCase{
		{name: "a decision stands with all that it says, and nothing else changes", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			before := x.load(k)
			x.decide(k, "p", yes)
			stand(x, k, yes)
			if before.Pause.Decisions != nil {
				x.Error("a record that was loaded before has changed")
			}
			after := x.load(k)
			if after.State != store.Open || after.Pause.Decided() || after.Pause.Decision("p~1") == nil || after.Pause.Decision("p~2") != nil {
				x.Errorf("the record is %s", asJSON(after))
			}
			p := *after.Pause
			p.Decisions = nil
			after.Pause, after.Now = &p, before.Now
			x.same("the record", after, before)
		}},
		{name: "a pause is decided with its last question", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", other)
			x.decide(k, "p", yes)
			stand(x, k, other, yes)
			if !x.load(k).Pause.Decided() {
				x.Error("it is not decided")
			}
			x.want(store.ErrExists, x.do(k, store.Ask{Pause: pause("q")}))
		}},
		{name: "all of a list or none of it", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			fails(x, k, store.ErrConflict, other, no)
			fails(x, k, store.ErrConflict, no, other)
			fails(x, k, store.ErrNotFound, other, decision("q~1", "yes"))
			x.decide(k, "p", other, yes)
			stand(x, k, yes, other)
		}},
		{name: "the first one stands: the same again is the same, another is a conflict", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			again := yes
			again.By, again.Comment, again.Door = "somebody else", "", "agui"
			x.decide(k, "p", again)
			fails(x, k, store.ErrConflict, no)
			stand(x, k, yes)
		}},
		{name: "a claim must say what is decided, whatever else it says", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			before := x.load(k)
			for _, digest := range []string{"d", saying("p~1 no", "p~2 other"), saying("p~2 other"), saying("p~1 yes2"), saying("xp~1 yes")} {
				x.want(store.ErrStale, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: digest, Lease: x.long}))
			}
			x.same("the record", x.load(k), before)
			x.claim(k, "p", "t", saying("p~1 yes", "p~2 whatever"))
			x.state(k, store.Claimed, "p")
			stand(x, k, yes)
		}},
		{name: "ids with line feeds and spaces are decided and claimed as any other", run: func(x *fixture) {
			k := x.key("a")
			p := pause("p")
			p.Interrupts[0].ID, p.Interrupts[1].ID = "a\nb c~1", "a\nb"
			x.open(k, p)
			first, second := decision("a\nb c~1", "yes"), decision("a\nb", "no")
			x.decide(k, "p", first, second)
			for _, digest := range []string{saying("a\nb c~1 no", "a\nb no"), saying("b yes", "a no"), "a\nb c~1 yes\na\nb no"} {
				x.want(store.ErrStale, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: digest, Lease: x.long}))
			}
			x.claim(k, "p", "t", saying("a\nb c~1 yes", "a\nb no"))
			x.want(store.ErrReplay, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: saying("a\nb no", "a\nb c~1 yes"), Lease: x.long}))
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: saying("a\nb no", "a\nb c~1 no"), Lease: x.long}))
		}},
		{name: "a digest of an earlier record, with a line for each answer, is read", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			x.claim(k, "p", "t", "p~1 yes\np~2 other")
			x.want(store.ErrReplay, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: saying("p~2 other", "p~1 yes"), Lease: x.long}))
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: saying("p~2 other2", "p~1 yes"), Lease: x.long}))
		}},
		{name: "what is claimed is not decided any more, but for what stands", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			x.claim(k, "p", "t", saying("p~1 yes", "p~2 other"))
			x.decide(k, "p", yes)
			fails(x, k, store.ErrConflict, other)
			fails(x, k, store.ErrConflict, no)
			x.must(x.do(k, store.Release{Token: "t"}))
			stand(x, k, yes)
			x.decide(k, "p", other)
			stand(x, k, yes, other)
		}},
		{name: "in doubt", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			x.lapse(k, "p", "t", saying("p~1 yes", "p~2 other"))
			x.decide(k, "p", yes)
			fails(x, k, store.ErrConflict, other)
			x.close(k, "p", store.Doubtful)
			x.decide(k, "p", yes)
			fails(x, k, store.ErrConflict, other)
		}},
		{name: "what stood is known of an ended pause, and the next one has none", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			x.claim(k, "p", "t", saying("p~1 yes", "p~2 other"))
			next := pause("q")
			// the store must drop decisions that a caller brings
			next.Decisions = []agui.Decision{decision("q~1", "yes")}
			x.finish(k, "t", result("r"), &next)
			rec := x.state(k, store.Open, "q")
			if rec.Pause.Decisions != nil || len(rec.Results[0].Pause.Decisions) != 1 {
				x.Errorf("the record is %s", asJSON(rec))
			}
			x.decide(k, "p", yes)
			fails(x, k, store.ErrConflict, other)
			fails(x, k, store.ErrConflict, no)
		}},
		{name: "who closes a pause gives up no decision that he has not seen", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			closes := func(seen int) error {
				return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}, Decided: &seen})
			}
			x.decide(k, "p", yes)
			x.want(store.ErrStale, closes(0))
			if rec := x.state(k, store.Open, "p"); len(rec.Pause.Decisions) != 1 || len(rec.Results) != 0 {
				x.Errorf("the record is %s", asJSON(rec))
			}
			x.must(closes(1))
			x.state(k, store.None, "")
		}},
		{name: "a pause that was given up is decided no more", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes)
			x.close(k, "p", store.Withdrawn)
			stand(x, k, yes)
			fails(x, k, store.ErrConflict, other)
		}},
		{name: "retired with what was decided", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.clock.advance(x.retention - 1)
			x.decide(k, "p", yes)
			x.clock.advance(1)
			fails(x, k, store.ErrConflict, other)
			if rec := x.load(k); rec.Results[0].EndKind != store.Retired || len(rec.Results[0].Pause.Decisions) != 1 {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "a tombstone knows nothing of them", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.decide(k, "p", yes, other)
			x.claim(k, "p", "t", saying("p~1 yes", "p~2 other"))
			x.finish(k, "t", result("r"), nil)
			x.clock.advance(x.replay)
			x.open(k, pause("q"))
			fails(x, k, store.ErrNotFound, yes)
		}},
		{name: "no pause, another pause and another question", run: func(x *fixture) {
			k := x.key("a")
			fails(x, k, store.ErrNotFound, yes)
			x.open(k, pause("q"))
			fails(x, k, store.ErrNotFound, yes)
			x.want(store.ErrNotFound, x.do(k, store.Decide{PauseID: "q", Decisions: []agui.Decision{yes}}))
		}},
		{name: "a new question begins without decisions", run: func(x *fixture) {
			k := x.key("a")
			p := pause("p")
			p.Decisions = []agui.Decision{yes}
			x.open(k, p)
			stand(x, k)
		}},
		{name: "they tell others of it in the same step", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			n := store.Notice{ID: "n", Body: json.RawMessage(`{}`)}
			x.must(x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{yes}, Notices: []store.Notice{n}}))
			if rec := x.load(k); rec.Outbox == nil || rec.Outbox.Notices[0].ID != "n" {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "a decided pause is due until it is claimed, and when it is given back", run: func(x *fixture) {
			k := x.key("a")
			due := func(want bool) {
				x.Helper()
				found := false
				for q := (store.Query{Due: x.clock.Now().Add(5 * time.Second), Limit: 100}); ; {
					page, err := x.List(x.Context(), q)
					x.must(err)
					found = found || slices.ContainsFunc(page.Rows, func(r store.Row) bool { return r.Key == k })
					if q.After = page.Next; q.After == "" {
						break
					}
				}
				if found != want {
					x.Fatalf("due: %v, want %v", found, want)
				}
			}
			x.open(k, pause("p"))
			due(false)
			x.decide(k, "p", yes)
			x.decide(k, "p", other)
			due(true)
			x.must(x.do(k, store.Occupy{Token: "run", Lease: x.long}))
			x.load(k)
			due(true)
			x.must(x.do(k, store.Occupy{Token: "run"}))
			due(true)
			x.claim(k, "p", "t", saying("p~1 yes", "p~2 other"))
			due(false)
			x.must(x.do(k, store.Release{Token: "t"}))
			due(true)
			x.claim(k, "p", "t2", saying("p~1 yes", "p~2 other"))
			x.finish(k, "t2", result("r"), nil)
			due(false)
		}},
		{name: "what the chat has missed is noted until it has caught up", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.See{PauseID: "p"}))
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			r := result("r")
			r.EndUnseen = true
			x.finish(k, "t", r, nil)
			if rec := x.load(k); !rec.Results[0].EndUnseen {
				x.Fatalf("the record is %s", asJSON(rec))
			}
			before := x.load(k)
			x.must(x.do(k, store.See{PauseID: "q"}))
			x.same("the record", x.load(k).Results, before.Results)
			for range 2 {
				x.must(x.do(k, store.See{PauseID: "p"}))
				if rec := x.load(k); rec.Results[0].EndUnseen {
					x.Fatalf("the record is %s", asJSON(rec))
				}
			}
			if !before.Results[0].EndUnseen {
				x.Error("a record that was loaded before has changed")
			}
		}},
		{name: "of 16 that decide a question otherwise at once one is heard", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				errs := race(16, func(i int) error {
					return x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{decision("p~1", fmt.Sprint("d", i))}})
				})
				if n := winners(x, "Decide", errs, store.ErrConflict); n != 1 {
					x.Fatalf("%d were heard: %v", n, errs)
				}
				stands := x.load(k).Pause.Decisions
				if len(stands) != 1 || errs[indexOf(stands[0].Digest)] != nil {
					x.Fatalf("%s stands: %v", asJSON(stands), errs)
				}
			}
		}},
		{name: "a decision and a claim at once: the claim says it or one of the two fails", run: func(x *fixture) {
			for round := range 40 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				errs := race(2, func(i int) error {
					if i == 0 {
						return x.do(k, store.Decide{PauseID: "p", Decisions: []agui.Decision{no}})
					}
					return x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: saying("p~1 yes", "p~2 other"), Lease: x.long})
				})
				switch {
				case errs[0] == nil && is(errs[1], store.ErrStale):
					x.state(k, store.Open, "p")
					stand(x, k, no)
				case errs[1] == nil && is(errs[0], store.ErrConflict):
					x.state(k, store.Claimed, "p")
					stand(x, k)
				default:
					x.Fatalf("the decision: %v; the claim: %v", errs[0], errs[1])
				}
			}
		}},
	}
}

func indexOf(digest string) (n int) {
	_, _ = fmt.Sscanf(digest, "d%d", &n)
	return n
}
