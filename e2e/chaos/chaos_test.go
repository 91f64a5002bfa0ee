//go:build e2e

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

var (
	duration = flag.Duration("duration", 40*time.Second, "how long things are broken, for each store")
	seed     = flag.Uint64("seed", 0, "repeats the schedule of a run; 0 draws one")
	people   = flag.Int("people", 16, "how many threads there are at a time")
)

// TestMain lets the tests of all stores run in parallel, because they spend most of their time
// waiting.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(len(stores()))); err != nil {
		panic(err) // cannot happen: package testing has this flag
	}
	os.Exit(m.Run())
}

// TestChaos: whatever breaks, no approved action may run twice, no action may run without an
// approval, and no question that a person received may get lost. Every stream must have an end,
// unless its process was killed. In the end, an ordinary run must work in every thread.
func TestChaos(t *testing.T) {
	binary := buildWithClock(t, t.TempDir())
	drawn := *seed
	for drawn == 0 {
		drawn = uint64(rand.Uint32())
	}
	for _, s := range stores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, binary, drawn, s.lossy)
			w.lives(*duration, *people, s.begin(w))
			fmt.Printf("chaos %s, -seed %d, -duration %v\n%s", s.name, drawn, *duration, w.report)
			for n, v := range w.report.violations {
				if n == 10 {
					t.Errorf("and %d more", len(w.report.violations)-n)
					break
				}
				t.Error(v)
			}
			if w.report.counts["carried out"] == 0 || w.report.counts["threads that went on"] != w.report.counts["threads"] {
				t.Errorf("-seed %d: of %d threads %d went on, and %d approvals were carried out", drawn, w.report.counts["threads"],
					w.report.counts["threads that went on"], w.report.counts["carried out"])
			}
		})
	}
}

// A storeKind is a kind of store. begin starts its servers and the Holdpoints, and returns the
// faults that the test can cause. lossy means that the store may lose data.
type storeKind struct {
	name  string
	lossy bool
	begin func(w *world) []fault
}

func stores() []storeKind {
	return []storeKind{
		{name: "bolt", begin: onBolt},
		{name: "redis", begin: func(w *world) []fault { return onRedis(w, true) }},
		{name: "redis-defaults", lossy: true, begin: func(w *world) []fault { return onRedis(w, false) }},
		{name: "postgres", begin: onPostgres},
	}
}

// longest returns how long a fault may last. In a test of at least five minutes that is longer than
// the lease of a claim.
func longest() time.Duration {
	if *duration >= 5*time.Minute {
		return 45 * time.Second
	}
	return 5 * time.Second
}

func onBolt(w *world) []fault {
	w.start("bolt://" + filepath.ToSlash(filepath.Join(w.t.TempDir(), "state.db")))
	return w.faultsOfReplicas(longest())
}

// onRedis starts a primary and a replica whose clock is ahead, and a proxy between the primary and
// each Holdpoint. If safe is true, everything is configured as docs/state.md says. Otherwise the
// servers have the defaults of Redis: no append-only file and no wait for the replica.
func onRedis(w *world, safe bool) []fault {
	var conf, more []string
	if safe {
		more = append(more, "HOLDPOINT_STORE_REPLICAS=1")
	} else {
		conf = append(conf, "appendonly no", "save 3600 1 300 100 60 10000")
	}
	primary := servers.StartRedis(w.t, servers.RedisOptions{Conf: conf})
	replica := servers.StartRedis(w.t, servers.RedisOptions{ReplicaOf: primary, Ahead: 4 * time.Minute, Conf: conf})
	var proxies []*servers.Proxy
	for range 3 {
		p := servers.StartProxy(w.t, primary.Addr())
		proxies = append(proxies, p)
		w.start(primary.URLAt(p.Addr()), more...)
	}
	failover := func(dice *rand.Rand) (func(), time.Duration) {
		if !safe { // lets the replica fall behind
			replica.Freeze()
			time.Sleep(some(dice, 2*time.Second))
		}
		primary.Kill()
		replica.Thaw()
		time.Sleep(some(dice, time.Second))
		replica.Promote()
		for _, p := range proxies {
			p.Redirect(replica.Addr())
			p.Sever()
		}
		primary, replica = replica, primary
		return func() {
			replica.Restart()
			replica.Follow(primary)
		}, some(dice, 2*time.Second)
	}
	return append(append(w.faultsOfReplicas(longest()), faultsOfConnections(proxies, longest())...),
		fault{"store", "redis killed", func(dice *rand.Rand) (func(), time.Duration) {
			primary.Kill()
			return func() { primary.Restart(); replica.AwaitSync() }, some(dice, 2*time.Second)
		}},
		fault{"store", "redis frozen", func(dice *rand.Rand) (func(), time.Duration) {
			primary.Freeze()
			return primary.Thaw, some(dice, longest())
		}},
		fault{"store", "replica frozen", func(dice *rand.Rand) (func(), time.Duration) {
			replica.Freeze()
			return replica.Thaw, some(dice, longest())
		}},
		fault{"store", "redis failed over", failover}, fault{"store", "redis failed over", failover})
}

// onPostgres starts a primary and a synchronous standby whose clock is ahead. Each Holdpoint has
// the addresses of both, as docs/state.md says.
func onPostgres(w *world) []fault {
	primary := servers.StartPostgres(w.t, servers.PostgresOptions{})
	standby := servers.StartPostgres(w.t, servers.PostgresOptions{StandbyOf: primary, Synchronous: true, Ahead: 4 * time.Minute})
	var first, second []*servers.Proxy
	for range 3 {
		a, b := servers.StartProxy(w.t, primary.Addr()), servers.StartProxy(w.t, standby.Addr())
		first, second = append(first, a), append(second, b)
		w.start(strings.Replace(primary.URLAt(a.Addr()), a.Addr(), a.Addr()+","+b.Addr(), 1))
	}
	return append(append(w.faultsOfReplicas(longest()), faultsOfConnections(append(first, second...), longest())...),
		fault{"store", "postgres killed", func(dice *rand.Rand) (func(), time.Duration) {
			if dice.IntN(2) == 0 {
				primary.Kill()
			} else {
				primary.Crash()
			}
			return primary.Restart, some(dice, 2*time.Second)
		}},
		fault{"store", "postgres frozen", func(dice *rand.Rand) (func(), time.Duration) {
			primary.Freeze()
			return primary.Thaw, some(dice, longest())
		}},
		fault{"store", "standby frozen", func(dice *rand.Rand) (func(), time.Duration) {
			standby.Freeze()
			return standby.Thaw, some(dice, longest())
		}},
		fault{"store", "postgres failed over", func(dice *rand.Rand) (func(), time.Duration) {
			primary.Kill()
			time.Sleep(some(dice, time.Second))
			standby.Exec("ALTER SYSTEM RESET synchronous_standby_names")
			standby.Promote()
			primary, first, second = standby, second, first
			return func() { // the old primary is out of date: a new standby replaces it
				standby = servers.StartPostgres(w.t, servers.PostgresOptions{StandbyOf: primary, Synchronous: true})
				for _, p := range second {
					p.Redirect(standby.Addr())
					p.Sever()
				}
			}, some(dice, 2*time.Second)
		}})
}
