//go:build unix

package redis_test

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/redis"
	"holdpoint/store/storetest"
)

// TestNameMoves: a primary has become a replica, and its name now leads to the new primary. The
// store must give up the connections to the old one, read nothing from it, and continue on the new
// primary.
func TestNameMoves(t *testing.T) {
	for name, c := range map[string]struct {
		conf     string
		replicas int
	}{
		"it answers what it had":        {"replica-serve-stale-data yes", 0},
		"it answers nothing":            {"replica-serve-stale-data no", 0},
		"changes must be on a replica":  {"replica-serve-stale-data yes", 1},
		"changes must be, and it hides": {"replica-serve-stale-data no", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := servers.RedisOptions{Conf: []string{c.conf}}
			old := servers.StartRedis(t, o)
			o.ReplicaOf = old
			next := servers.StartRedis(t, o)
			p := servers.StartProxy(t, old.Addr())
			s := open(t, old.URLAt(p.Addr()), redis.Options{Replicas: c.replicas, ReplicaTimeout: 5 * time.Second})
			must(t, storetest.Do(t.Context(), s, "before", store.Ask{Pause: pause("p")}))
			next.AwaitSync()
			next.Promote()
			if c.replicas > 0 {
				o.ReplicaOf = next
				servers.StartRedis(t, o)
			}
			old.Do("REPLICAOF", "127.0.0.1", "1") // so that it gets nothing from the new primary
			must(t, storetest.Do(t.Context(), open(t, next.URL(), redis.Options{}), "after", store.Ask{Pause: pause("p")}))
			p.Redirect(next.Addr())
			rec, err := s.Load(t.Context(), "after", "")
			if err != nil || rec.State != store.Open {
				t.Errorf("a question of the new primary: error %v, the state is %q", err, rec.State)
			}
			must(t, storetest.Do(t.Context(), s, "before", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
			must(t, storetest.Do(t.Context(), s, "new", store.Ask{Pause: pause("p")}))
			must(t, storetest.Do(t.Context(), s, "before", store.Renew{Token: "token", Lease: time.Hour}))
		})
	}
}

// TestNameMovesLate: while the name still leads to the old primary, each step fails. The store must
// make only a few connections.
func TestNameMovesLate(t *testing.T) {
	t.Parallel()
	old := servers.StartRedis(t, servers.RedisOptions{})
	s := open(t, old.URL(), redis.Options{})
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p")}))
	old.Do("REPLICAOF", "127.0.0.1", "1")
	connections := func() int {
		for line := range strings.SplitSeq(old.Do("INFO", "stats").(string), "\r\n") {
			if n, ok := strings.CutPrefix(line, "total_connections_received:"); ok {
				n, err := strconv.Atoi(n)
				must(t, err)
				return n
			}
		}
		t.Fatal("INFO does not say how many connections there were")
		return 0
	}
	before, began := connections(), time.Now()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 10 {
				_, err := s.Load(t.Context(), "k", "")
				if err == nil || !strings.Contains(err.Error(), "this Redis is a replica") {
					t.Errorf("Load: %v", err)
				}
			}
		})
	}
	all.Wait()
	if made, most := connections()-before, 3+int(time.Since(began)/time.Second); made > most {
		t.Errorf("%d connections were made, want %d at most", made, most)
	}
	old.Do("REPLICAOF", "NO", "ONE")
	must(t, storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
}

// TestSlotMoves: a cluster moves the slot of the questions to a server that the store does not know
// yet. Meanwhile questions must be opened and answered.
func TestSlotMoves(t *testing.T) {
	for _, replicas := range []int{0, 1} {
		t.Run(fmt.Sprint(replicas, " replicas must have it"), func(t *testing.T) {
			t.Parallel()
			o := servers.RedisOptions{User: "holdpoint", Password: "secret", Rules: "~holdpoint:* -@all " + rights + " +cluster"}
			c := servers.StartRedisCluster(t, 1, o)
			from := c.Nodes[0]
			if replicas > 0 {
				c.AddReplica(from, o)
			}
			s := open(t, "redis+cluster://holdpoint:secret@"+from.Addr(), redis.Options{Replicas: replicas, ReplicaTimeout: 20 * time.Second, Timeout: time.Minute})
			var turn atomic.Int64
			step := func() {
				key := keyIn(7, turn.Add(1))
				if _, err := s.Do(t.Context(), key, store.Ask{Pause: pause("p")}); err != nil {
					t.Errorf("Open: %v", err)
				}
				if _, err := s.Do(t.Context(), key, store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}); err != nil {
					t.Errorf("Claim: %v", err)
				}
			}
			for range 50 {
				step()
			}
			to := c.Add(o)
			if replicas > 0 {
				c.AddReplica(to, o)
			}
			slot, _ := from.Do("CLUSTER", "KEYSLOT", "{07}").(int64)
			stop := make(chan struct{})
			var load sync.WaitGroup
			for range 4 {
				load.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							step()
						}
					}
				})
			}
			c.MoveSlot(int(slot), from, to)
			for range 50 {
				step()
			}
			close(stop)
			load.Wait()
			if n, _ := to.Do("CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(int(slot))).(int64); n != turn.Load()+2 {
				t.Errorf("the new server has %d keys, want %d rows and two lists", n, turn.Load())
			}
		})
	}
}

// keyIn returns the key of a thread. Redis has the rows in 64 parts, and the row of this thread is
// in the part with the number part. With another n, the key is another one.
func keyIn(part uint32, n int64) store.Key {
	for i := 0; ; i++ {
		key := fmt.Sprintf("thread %d %d", n, i)
		h := fnv.New32a()
		h.Write([]byte(key))
		if h.Sum32()%64 == part {
			return store.Key(key)
		}
	}
}

// TestIdleConnectionsEnd: connections of the pool were closed while they were idle. No later step
// may fail because of that.
func TestIdleConnectionsEnd(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprint("encrypted: ", encrypted), func(t *testing.T) {
			t.Parallel()
			o := servers.RedisOptions{TLS: encrypted}
			r := servers.StartRedis(t, o)
			o.ReplicaOf = r
			servers.StartRedis(t, o)
			p := servers.StartProxy(t, r.Addr())
			address := r.URLAt(p.Addr())
			if encrypted {
				address += "?ca_file=" + r.CAFile()
			}
			s := open(t, address, redis.Options{Replicas: 1, ReplicaTimeout: 20 * time.Second, Timeout: time.Minute})
			for round := range 5 {
				var all sync.WaitGroup
				for n := range 16 {
					all.Go(func() {
						if _, err := s.Do(t.Context(), store.Key(fmt.Sprint(round, " ", n)), store.Ask{Pause: pause("p")}); err != nil {
							t.Errorf("Open: %v", err)
						}
					})
				}
				all.Wait()
				list, _ := r.Do("CLIENT", "LIST", "TYPE", "normal").(string)
				if n := strings.Count(list, "name=holdpoint"); n < 3 {
					t.Errorf("the store has %d connections only", n)
				}
				p.Sever()
				for n := range 16 { // the pool uses its newest connection first
					must(t, storetest.Do(t.Context(), s, store.Key(fmt.Sprint(round, " ", n)), store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
				}
			}
		})
	}
}
