package storetest

import (
	"holdpoint/store"
)

func ownerCases() []testCase {
	owner := func(x *fixture, k store.Key, asks, want string) {
		x.Helper()
		rec, err := x.Load(x.Context(), k, asks)
		x.must(err)
		if rec.Owner != want {
			x.Fatalf("Load for %q says that %q owns the thread, want %q", asks, rec.Owner, want)
		}
	}
	return []testCase{
		{name: "the first to ask gets the thread, record or not", run: func(x *fixture) {
			k := x.key("a")
			owner(x, k, "alice", "alice")
			owner(x, k, "bob", "alice")
			owner(x, k, "", "alice")
			owner(x, k, "alice", "alice")
		}},
		{name: "who asks without a name gets nothing", run: func(x *fixture) {
			k := x.key("a")
			owner(x, k, "", "")
			owner(x, k, "bob", "bob")
		}},
		{name: "an unowned pause is given too, and only once", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			owner(x, k, "alice", "alice")
			owner(x, k, "bob", "alice")
			x.state(k, store.Open, "p")
		}},
		{name: "Open gives the thread as Load does", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p")}))
			owner(x, k, "bob", "alice")
		}},
		{name: "Open for another owner fails and leaves no trace", run: func(x *fixture) {
			k := x.key("a")
			owner(x, k, "alice", "alice")
			for _, who := range []string{"bob", ""} {
				x.want(store.ErrOwner, x.do(k, store.Ask{Owner: who, Pause: pause("p")}))
			}
			x.state(k, store.None, "")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p")}))
			// The stranger gets the same error with the id of the open pause.
			x.want(store.ErrOwner, x.do(k, store.Ask{Owner: "bob", Pause: pause("p")}))
		}},
		{name: "the owner outlives pauses", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p")}))
			x.claim(k, "p", "t", "d")
			owner(x, k, "bob", "alice")
			next := pause("q")
			x.finish(k, "t", result("r"), &next)
			owner(x, k, "bob", "alice")
			x.lapse(k, "q", "t2", "d")
			owner(x, k, "bob", "alice")
			x.close(k, "q", store.Doubtful)
			owner(x, k, "bob", "alice")
		}},
		{name: "the owner outlives the retention and the replay time", elapses: true, run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p")}))
			x.clock.advance(x.retention)
			owner(x, k, "bob", "alice")
			x.clock.advance(x.replay)
			owner(x, k, "bob", "alice")
		}},
	}
}
