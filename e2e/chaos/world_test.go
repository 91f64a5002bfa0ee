//go:build e2e

package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// A world is everything that a test needs: one backend, several Holdpoints on one store, and the
// report.
type world struct {
	t        *testing.T
	report   *report
	backend  *backend
	replicas []*replica
	seed     uint64
	binary   string
	over     atomic.Bool // whether all faults have ended
}

// A replica is one process of Holdpoint.
type replica struct {
	*servers.Program
	// A kill does not let streams end, unlike a drain. kills is incremented when a kill begins, and
	// again when the process has ended. So kills is odd during a kill.
	kills atomic.Int64
}

func newWorld(t *testing.T, binary string, seed uint64, lossy bool) *world {
	w := &world{t: t, report: newReport(lossy), seed: seed, binary: binary}
	w.backend = startBackend(t, w.report)
	return w
}

func (w *world) calm() bool { return w.over.Load() }

// dice returns random numbers that depend only on the seed and on the purpose.
func (w *world) dice(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, purpose)) }

// any returns a random replica, as a load balancer without sticky sessions would.
func (w *world) any(dice *rand.Rand) *replica { return w.replicas[dice.IntN(len(w.replicas))] }

// clocks are the clocks of the processes, as values of clockVariable: one that is right, one that
// jumps, and one that is behind.
var clocks = []string{"0@0", "420@0,-180@20,300@45", "-240@0"}

// start starts one more Holdpoint. The parameter store is the address of its store, and the
// parameter more has additional variables.
func (w *world) start(store string, more ...string) {
	n := len(w.replicas)
	w.replicas = append(w.replicas, &replica{Program: servers.StartProgram(w.t, fmt.Sprint("holdpoint ", n), w.binary, func(address string) []string {
		return append([]string{
			"HOLDPOINT_LISTEN=" + address, "HOLDPOINT_UPSTREAM=" + w.backend.URL, "HOLDPOINT_STORE=" + store, "HOLDPOINT_NAME=chaos",
			"HOLDPOINT_STORE_KEYS=k:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "HOLDPOINT_ON_DISCONNECT=finish",
			"HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_DRAIN_DELAY=1s", "HOLDPOINT_LOG_LEVEL=warn", clockVariable + "=" + clocks[n%len(clocks)],
		}, more...)
	})})
}

// kill ends the process at once, and counts that in kills.
func (r *replica) kill() {
	r.kills.Add(1)
	r.Kill()
	r.kills.Add(1)
}

// A fault is one way to break something. The function do causes the fault. It returns a function
// that ends the fault, and the time to wait before that function is called. Two faults of the same
// kind never overlap.
type fault struct {
	kind, name string
	do         func(dice *rand.Rand) (mend func(), after time.Duration)
}

// some returns a random duration below most. Short durations are more frequent than long ones.
func some(dice *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(float64(most) * dice.Float64() * dice.Float64())
}

// faultsOfReplicas returns the faults that hit processes of Holdpoint.
func (w *world) faultsOfReplicas(longest time.Duration) []fault {
	return []fault{
		{"holdpoint", "holdpoint killed", func(dice *rand.Rand) (func(), time.Duration) {
			r := w.any(dice)
			r.kill()
			return r.Restart, some(dice, 2*time.Second)
		}},
		{"holdpoint", "holdpoint drained", func(dice *rand.Rand) (func(), time.Duration) {
			r := w.any(dice)
			r.Drain()
			return r.Restart, some(dice, time.Second)
		}},
		{"holdpoint", "holdpoint frozen", func(dice *rand.Rand) (func(), time.Duration) {
			r := w.any(dice)
			r.Freeze()
			return r.Thaw, some(dice, longest)
		}},
	}
}

// faultsOfConnections returns the faults that hit connections between Holdpoint and the servers of
// its store.
func faultsOfConnections(list []*servers.Proxy, longest time.Duration) []fault {
	one := func(dice *rand.Rand) *servers.Proxy { return list[dice.IntN(len(list))] }
	return []fault{
		{"connections", "connections cut", func(dice *rand.Rand) (func(), time.Duration) {
			one(dice).Sever()
			return func() {}, 0
		}},
		{"connections", "connections refused", func(dice *rand.Rand) (func(), time.Duration) {
			p := one(dice)
			p.Refuse()
			return p.Accept, some(dice, longest)
		}},
		{"connections", "connections frozen", func(dice *rand.Rand) (func(), time.Duration) {
			p := one(dice)
			p.Freeze()
			return p.Thaw, some(dice, longest)
		}},
		{"connections", "a step broken", func(dice *rand.Rand) (func(), time.Duration) {
			p := one(dice)
			moment := servers.Moments[dice.IntN(len(servers.Moments))]
			p.Arm(servers.Fault{Moment: moment, Skip: dice.IntN(6), Hang: dice.IntN(4) == 0})
			return func() { p.Disarm() }, time.Second
		}},
	}
}

// breaks causes faults for the given duration, mostly one after the other and sometimes two at the
// same time. Then it ends all faults.
func (w *world) breaks(duration time.Duration, faults []fault) {
	dice := w.dice(1)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		type mended struct {
			mend  func()
			after time.Duration
		}
		var all []mended
		kinds := map[string]bool{}
		for range 1 + dice.IntN(4)/3 {
			f := faults[dice.IntN(len(faults))]
			if kinds[f.kind] {
				continue
			}
			kinds[f.kind] = true
			w.report.breaks(f.name)
			mend, after := f.do(rand.New(rand.NewPCG(dice.Uint64(), 0)))
			w.report.happened(f.name + " done")
			w.report.count("fault: " + f.name)
			all = append(all, mended{mend, after})
		}
		var waited time.Duration
		for _, m := range all {
			if rest := m.after - waited; rest > 0 {
				time.Sleep(rest)
				waited = m.after
			}
		}
		for n := len(all) - 1; n >= 0; n-- {
			all[n].mend()
			w.report.mends()
		}
		time.Sleep(some(dice, 1500*time.Millisecond))
	}
}

// lives plays the people. Faults happen for the given duration. Then lives waits until all people
// have finished.
func (w *world) lives(duration time.Duration, people int, faults []fault) {
	var all sync.WaitGroup
	for n := range people {
		all.Go(func() {
			dice := w.dice(1000 + uint64(n))
			for k := 0; k == 0 || !w.calm(); k++ {
				family := dice.IntN(len(w.backend.families))
				name := fmt.Sprintf("thread-%d-%d", n, k)
				th := w.backend.add(family, name, rand.New(rand.NewPCG(dice.Uint64(), 0)))
				w.report.count("threads")
				(&person{w: w, th: th, path: fmt.Sprint("/", family), dice: rand.New(rand.NewPCG(dice.Uint64(), 0))}).lives()
			}
		})
	}
	w.breaks(duration, faults)
	w.over.Store(true)
	w.backend.calm.Store(true)
	all.Wait()
}
