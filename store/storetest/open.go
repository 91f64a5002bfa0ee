package storetest

import (
	"encoding/json"
	"time"

	"holdpoint/store"
)

func openCases() []testCase {
	return []testCase{
		{name: "an open pause is kept as it came, with the store's time", run: func(x *fixture) {
			k := x.key("a")
			p := pause("p")
			p.Opened = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
			x.clock.advance(x.unit)
			x.open(k, p)
			rec := x.state(k, store.Open, "p")
			x.near("Opened", rec.Pause.Opened, x.clock.Now())
			p.Opened = rec.Pause.Opened
			x.same("the pause", rec.Pause, &p)
			if rec.Token != "" || rec.Digest != "" || !rec.Lease.IsZero() || rec.Doubt != nil || len(rec.Results) != 0 {
				x.Errorf("a claim or a result out of nothing: %s", asJSON(rec))
			}
		}},
		{name: "a lost reply: the same open again changes nothing", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			before := x.load(k)
			x.clock.advance(x.unit)
			again := pause("p")
			again.Finish = json.RawMessage(`{"other":1}`)
			x.open(k, again)
			x.same("the record", x.load(k), before)
		}},
		{name: "a pause that is open or claimed is never replaced", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			refused := func() {
				x.Helper()
				done, err := x.Do(x.Context(), k, store.Ask{Pause: pause("q")})
				x.want(store.ErrExists, err)
				want, err := x.Load(x.Context(), k, "")
				x.must(err)
				x.same("the standing record", done.Standing, &want)
			}
			refused()
			x.state(k, store.Open, "p")
			x.claim(k, "p", "t", "d")
			refused()
			x.state(k, store.Claimed, "p")
		}},
		{name: "an id that was used is not opened again", run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			x.open(k, pause("q"))
			x.close(k, "q", store.Withdrawn)
			x.want(store.ErrExists, x.do(k, store.Ask{Pause: pause("p")}))
			x.want(store.ErrExists, x.do(k, store.Ask{Pause: pause("q")}))
			x.state(k, store.None, "")
		}},
		{name: "the next pause opens after the end of the last", run: func(x *fixture) {
			k := x.key("a")
			x.end(k, pause("p"))
			x.open(k, pause("q"))
			rec := x.state(k, store.Open, "q")
			if len(rec.Results) != 1 || rec.Results[0].PauseID != "p" || rec.Results[0].Next != "" {
				x.Errorf("results %s", asJSON(rec.Results))
			}
		}},
		{name: "a lapsed claim gives way, its result stays", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.open(k, pause("q"))
			rec := x.state(k, store.Open, "q")
			want := store.Result{
				PauseID: "p", IDs: []string{"p~1", "p~2"}, Digest: "d", EndKind: store.Doubtful, SeenMessages: pause("p").SeenMessages,
			}
			got := rec.Results[0]
			x.near("At", got.At, x.clock.Now())
			want.At, want.Pause = got.At, got.Pause
			x.same("the result", got, want)
			if rec.Token != "" || rec.Digest != "" || !rec.Lease.IsZero() {
				x.Errorf("the new pause has the old claim: %s", asJSON(rec))
			}
		}},
		{name: "a doubt by Finish gives way, its result stays", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			r := result("r")
			r.EndKind = store.Doubtful
			x.finish(k, "t", r, nil)
			x.open(k, pause("q"))
			rec := x.state(k, store.Open, "q")
			if rec.Doubt != nil {
				x.Errorf("the new pause has the old doubt: %s", asJSON(rec.Doubt))
			}
			got := rec.Results[0]
			r.PauseID, r.IDs, r.Digest = "p", []string{"p~1", "p~2"}, "d"
			r.At, r.Pause, r.Receipt = got.At, got.Pause, got.Receipt
			x.same("the result", got, r)
		}},
	}
}
