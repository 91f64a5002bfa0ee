package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdpoint/store"
)

func snapshotCases() []testCase {
	kept := func(x *fixture, k store.Key, pauseID string, at store.Moment) store.Snapshots {
		x.Helper()
		s, err := x.Snapshots(x.Context(), k, pauseID, at)
		x.must(err)
		return s
	}
	asked := store.Snapshots{Messages: pause("p").Messages, State: pause("p").State}
	ended := store.Snapshots{Messages: result("r").Messages, State: result("r").State}
	return []testCase{
		{name: "Load leaves them out, and says how many bytes they are", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			rec, err := x.Load(x.Context(), k, "")
			x.must(err)
			if p := rec.Pause; p.Messages != nil || p.State != nil || p.SnapshotBytes != len(asked.Messages)+len(asked.State) || p.LacksSnapshots {
				x.Errorf("the pause is %s", asJSON(p))
			}
			x.same("the snapshots", kept(x, k, "p", store.AtPause), asked)
		}},
		{name: "those of a pause stay until it has ended, those of its end as long as that can be replayed", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.same("claimed", kept(x, k, "p", store.AtPause), asked)
			x.must(x.do(k, store.Release{Token: "t"}))
			x.same("released", kept(x, k, "p", store.AtPause), asked)
			x.claim(k, "p", "t2", "d")
			next := pause("q")
			x.finish(k, "t2", result("r"), &next)
			x.same("of the pause that has ended", kept(x, k, "p", store.AtPause), store.Snapshots{})
			x.same("of its end", kept(x, k, "p", store.AtEnd), ended)
			x.same("of the next pause", kept(x, k, "q", store.AtPause), asked)
			x.same("of its end, which is to come", kept(x, k, "q", store.AtEnd), store.Snapshots{})
			x.close(k, "q", store.Withdrawn)
			for i := range store.MaxReplayable {
				x.end(k, pause(fmt.Sprint("r", i)))
			}
			x.same("of a tombstone", kept(x, k, "p", store.AtEnd), store.Snapshots{})
		}},
		{name: "those of a doubt stay when it is told, unless the end brings others", run: func(x *fixture) {
			for name, r := range map[string]store.Result{"none": {EndKind: store.Doubtful}, "others": result("other")} {
				k := x.key(name)
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				doubt := result("r")
				doubt.EndKind = store.Doubtful
				x.finish(k, "t", doubt, nil)
				x.same("of the doubt", kept(x, k, "p", store.AtEnd), ended)
				want := ended
				if r.Messages != nil {
					r.Messages, r.State = json.RawMessage(`[{"id":"other"}]`), nil
					want = store.Snapshots{Messages: r.Messages}
				}
				x.must(x.do(k, store.Close{PauseID: "p", Result: r}))
				x.same("once it was told", kept(x, k, "p", store.AtEnd), want)
				x.same("of the pause", kept(x, k, "p", store.AtPause), store.Snapshots{})
			}
		}},
		{name: "there are none of what is not known", run: func(x *fixture) {
			k := x.key("a")
			x.same("of nothing", kept(x, k, "p", store.AtPause), store.Snapshots{})
			x.open(k, pause("p"))
			x.same("of another pause", kept(x, k, "q", store.AtPause), store.Snapshots{})
			x.same("of another thread", kept(x, x.key("b"), "p", store.AtPause), store.Snapshots{})
		}},
		{name: "a record that is too large loses them, the oldest first, and never a pause", record: 72 << 10, run: func(x *fixture) {
			k := x.key("a")
			big := func(n int) json.RawMessage { return json.RawMessage(`["` + strings.Repeat("x", n) + `"]`) }
			for i := range 3 {
				id := fmt.Sprint("p", i)
				x.open(k, pause(id))
				x.claim(k, id, "t"+id, "d")
				r := result(id)
				r.Messages = big(20 << 10)
				x.finish(k, "t"+id, r, nil)
			}
			last := pause("p3")
			last.Messages = big(20 << 10)
			x.open(k, last)
			for id, want := range map[string]bool{"p0": false, "p1": true, "p2": true} {
				if got := kept(x, k, id, store.AtEnd).Messages != nil; got != want {
					x.Errorf("the snapshots of the end of %s are kept: %v", id, got)
				}
			}
			x.close(k, "p3", store.Withdrawn)
			huge := pause("p4")
			huge.Messages = big(100 << 10)
			x.open(k, huge)
			rec := x.state(k, store.Open, "p4")
			if !rec.Pause.LacksSnapshots || len(rec.Pause.Interrupts) != 2 || len(rec.Results) != 4 {
				x.Errorf("the record is %.500s", asJSON(rec))
			}
			x.same("of the pause", kept(x, k, "p4", store.AtPause), store.Snapshots{})
			x.claim(k, "p4", "t4", "d")
			x.finish(k, "t4", result("r"), nil)
			x.same("of its end", kept(x, k, "p4", store.AtEnd), ended)
		}},
	}
}
