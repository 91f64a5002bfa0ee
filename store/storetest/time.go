package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"holdpoint/store"
)

func timeCases() []testCase {
	return []testCase{
		{name: "an open pause that nobody answers is retired at the end of the retention", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			ended := *x.load(k).Pause
			x.clock.advance(x.retention - 1)
			x.state(k, store.Open, "p")
			x.clock.advance(1)
			rec := x.state(k, store.None, "")
			ended.Messages, ended.State = nil, nil
			got := rec.Results[0]
			x.same("the result", got, store.Result{
				PauseID: "p", IDs: []string{"p~1", "p~2"}, EndKind: store.Retired, SeenMessages: ended.SeenMessages, Pause: &ended, At: got.At,
			})
			if got.At.After(rec.Now) || got.At.Before(ended.Opened.Add(x.retention)) {
				x.Errorf("retired at %v", got.At)
			}
			x.open(k, pause("q"))
		}},
		{name: "the retention goes by without anybody looking", elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.clock.advance(x.retention + x.unit)
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long}))
			x.want(store.ErrNotFound, x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}}))
			x.open(k, pause("q"))
			if rec := x.state(k, store.Open, "q"); len(rec.Results) != 1 || rec.Results[0].EndKind != store.Retired {
				x.Errorf("results %s", asJSON(rec.Results))
			}
		}},
		{name: "a claimed pause is not retired", elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.clock.advance(x.retention + x.unit)
			x.state(k, store.Claimed, "p")
			x.finish(k, "t", result("r"), nil)
		}},
		{name: "a released pause keeps its age", elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.clock.advance(x.retention + x.unit)
			x.must(x.do(k, store.Release{Token: "t"}))
			if rec := x.state(k, store.None, ""); rec.Results[0].EndKind != store.Retired {
				x.Errorf("results %s", asJSON(rec.Results))
			}
		}},
		{name: "a doubt that nobody asks about ends as doubtful", elapses: true, exact: true, run: func(x *fixture) {
			lapsed, told := x.key("lapsed"), x.key("by Finish")
			x.open(lapsed, pause("p"))
			x.open(told, pause("p"))
			x.clock.advance(x.retention - x.lease)
			x.claim(told, "p", "t", "d")
			x.lapse(lapsed, "p", "t", "d")
			x.finish(told, "t", store.Result{EndKind: store.Doubtful, ByArray: true}, nil)
			x.clock.advance(x.retention - 1)
			x.state(lapsed, store.InDoubt, "p")
			x.state(told, store.InDoubt, "p")
			x.clock.advance(1)
			for _, k := range []store.Key{lapsed, told} {
				got := x.state(k, store.None, "").Results[0]
				if got.EndKind != store.Doubtful || got.Digest != "d" || got.ByArray != (k == told) {
					x.Errorf("got %s", asJSON(got))
				}
				x.want(store.ErrReplay, x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: "d", Lease: x.long}))
			}
			x.want(store.ErrStale, x.do(lapsed, store.Finish{Token: "t", Result: result("r")}))
		}},
		{name: "a result is a tombstone at the end of the replay time", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			before := x.load(k).Results
			x.clock.advance(x.replay - 1)
			x.same("the results before", x.load(k).Results, before)
			x.clock.advance(1)
			x.same("the results", x.load(k).Results, []*store.Result{tombstone(before[0])})
		}},
		{name: "a tombstone of a sticky pause keeps what was answered, and whether that failed", elapses: true, exact: true, run: func(x *fixture) {
			for name, r := range map[string]store.Result{
				"error":    {EndKind: store.Finished, Finish: json.RawMessage(`{"type":"RUN_ERROR","message":"no"}`)},
				"finished": {EndKind: store.Finished, Finish: json.RawMessage(`{"type":"RUN_FINISHED"}`)},
			} {
				k, p := x.key(name), pause("p")
				p.KeepsFirstAnswer, p.Interrupts[0].Question = true, "what"
				x.open(k, p)
				x.claim(k, "p", "t", "digest")
				x.finish(k, "t", r, nil)
				x.clock.advance(x.replay)
				got := x.load(k).Results[0]
				if !got.Tombstone || got.Digest != "digest" || got.Failed != (name == "error") || got.Finish != nil {
					x.Errorf("%s: %s", name, asJSON(got))
				}
				if got.Pause == nil || !got.Pause.KeepsFirstAnswer || got.Pause.Interrupts[0].Question != "what" || got.Pause.Interrupts[0].ID != p.Interrupts[0].ID || got.Pause.Interrupts[0].Object != nil {
					x.Errorf("%s: %s", name, asJSON(got))
				}
			}
		}},
		{name: "results become tombstones one by one, under an open pause too", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			x.clock.advance(x.replay / 2)
			x.end(k, pause("q"))
			x.open(k, pause("r"))
			x.clock.advance(x.replay / 2)
			rec := x.state(k, store.Open, "r")
			if rec.Results[0].Tombstone || !rec.Results[1].Tombstone {
				x.Errorf("results %s", asJSON(rec.Results))
			}
			if got := rec.ResultOf("p~1"); got == nil || got.PauseID != "p" {
				x.Errorf("the tombstone forgot the id: %s", asJSON(got))
			}
		}},
		{name: "a result is kept until the latest expiry of its pause", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			latest := x.clock.Now().Add(3 * x.replay)
			x.end(k, expiring("p", x.clock.Now().Add(2*x.replay), latest, x.clock.Now().Add(x.unit)))
			for now := x.clock.Now(); now.Before(latest); now = x.clock.Now() {
				if rec := x.load(k); rec.Results[0].Tombstone || rec.Results[0].Finish == nil {
					x.Fatalf("a tombstone at %v, with an expiry at %v", now, latest)
				}
				x.clock.advance(x.unit)
			}
			if rec := x.load(k); !rec.Results[0].Tombstone {
				x.Errorf("still replayable at %v", rec.Now)
			}
		}},
		{name: "an early expiry does not shorten the replay time, a bad one does nothing", elapses: true, exact: true, run: func(x *fixture) {
			early, bad := x.key("early"), x.key("bad")
			x.end(early, expiring("p", x.clock.Now().Add(x.unit)))
			p := pause("p")
			p.Interrupts[0] = interrupt("p~1", `{"reason":"input","expiresAt":"tomorrow"}`)
			x.end(bad, p)
			x.clock.advance(x.replay - 1)
			for _, k := range []store.Key{early, bad} {
				if x.load(k).Results[0].Tombstone {
					x.Errorf("%s: too early", k)
				}
			}
			x.clock.advance(1)
			for _, k := range []store.Key{early, bad} {
				if !x.load(k).Results[0].Tombstone {
					x.Errorf("%s: too late", k)
				}
			}
		}},
		{name: "an expired interrupt stays open: the store does not judge", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, expiring("p", x.clock.Now().Add(-time.Hour)))
			x.state(k, store.Open, "p")
			x.claim(k, "p", "t", "d")
		}},
		{name: "results are bounded, the newest are kept", run: func(x *fixture) {
			k := x.key("a")
			const n = store.MaxReplayable + store.MaxTombstones + 5
			for i := range n {
				x.end(k, pause(fmt.Sprintf("p%d", i)))
			}
			rec := x.load(k)
			if got, want := len(rec.Results), store.MaxReplayable+store.MaxTombstones; got != want {
				x.Fatalf("%d results, want %d", got, want)
			}
			for i, r := range rec.Results {
				if want := fmt.Sprintf("p%d", n-1-i); r.PauseID != want || r.Tombstone != (i >= store.MaxReplayable) {
					x.Fatalf("result %d is %q, tombstone %v", i, r.PauseID, r.Tombstone)
				}
				if r.Tombstone {
					x.same("a tombstone", r, tombstone(r))
				}
			}
			if rec.ResultOf("p0~1") != nil {
				x.Error("the oldest is still known")
			}
		}},
	}
}
