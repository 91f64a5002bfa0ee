//go:build unix

package redis_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/redis"
	"holdpoint/store/storetest"
)

// open opens a store and stops it at the end of the test.
func open(t *testing.T, address string, o redis.Options) *engine.Store {
	t.Helper()
	s, err := try(t, address, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func try(t *testing.T, address string, o redis.Options) (*engine.Store, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	a, err := redis.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	o.Sweep = -1
	s, err := redis.Open(t.Context(), a, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.Store, nil
}

var prefixes atomic.Int64

// prefixed adds a prefix to the address, so that each store on a shared server has its own keys.
func prefixed(address string) string {
	sign := "?"
	if strings.Contains(address, "?") {
		sign = "&"
	}
	return fmt.Sprintf("%s%sprefix=test%d:", address, sign, prefixes.Add(1))
}

// slow skips the test unless make test runs it.
func slow(t *testing.T) {
	t.Helper()
	if !servers.Required() {
		t.Skip("the same contract on more servers takes a minute: make test runs it (TEST_SERVERS=required)")
	}
}

// contract runs the tests of storetest on a server. The caller sets a long Timeout, because some
// tests have thousands of concurrent callers.
func contract(t *testing.T, address string, o redis.Options) {
	storetest.Run(t, func(t *testing.T, _ *storetest.Clock, with storetest.Options) store.Store {
		o := o
		o.Options = engine.Options{ReplayTTL: with.ReplayTTL, PauseRetention: with.PauseRetention, RecordBytes: with.RecordBytes, Entries: with.Entries}
		return open(t, prefixed(address), o)
	}, storetest.Unbounded, storetest.OwnClock)
}

func TestContract(t *testing.T) {
	t.Run("a server", func(t *testing.T) {
		t.Parallel()
		contract(t, servers.StartRedis(t, servers.RedisOptions{}).URL(), redis.Options{Timeout: time.Minute})
	})
	t.Run("encrypted, with an ACL user, and a replica that must have it", func(t *testing.T) {
		slow(t)
		t.Parallel()
		user := servers.RedisOptions{User: "holdpoint", Password: "p w/@", TLS: true, Rules: "~* &* -@all " + rights}
		primary := servers.StartRedis(t, user)
		user.ReplicaOf = primary
		servers.StartRedis(t, user)
		contract(t, primary.URL()+"?ca_file="+primary.CAFile(), redis.Options{Replicas: 1, ReplicaTimeout: 30 * time.Second, Timeout: time.Minute})
	})
	t.Run("a cluster", func(t *testing.T) {
		slow(t)
		t.Parallel()
		c := servers.StartRedisCluster(t, 3, servers.RedisOptions{})
		contract(t, "redis+cluster://"+c.Addrs()[0]+"?addr="+c.Addrs()[1], redis.Options{Timeout: time.Minute})
	})
	t.Run("sentinels", func(t *testing.T) {
		slow(t)
		t.Parallel()
		primary := servers.StartRedis(t, servers.RedisOptions{})
		servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
		s := servers.StartSentinels(t, primary, 3, 1)
		contract(t, sentinelURL(s), redis.Options{Replicas: 1, ReplicaTimeout: 30 * time.Second, Timeout: time.Minute})
	})
}

// rights are the rights that docs/state.md lists for the user of Holdpoint.
const rights = "+@connection +info +evalsha +eval +hget +hmget +hset +hdel +zadd +zrem +zrangebyscore +zscore +zcard +persist +pexpireat +time +wait"

func sentinelURL(s *servers.Sentinels) string {
	return "redis+sentinel://" + s.Addrs()[0] + "?primary=" + s.Name + "&addr=" + strings.Join(s.Addrs()[1:], "&addr=")
}

func pause(id string) agui.Pause {
	return agui.Pause{
		ID: id, Dialect: "ask", Interrupts: []agui.Interrupt{{ID: id + "~1", Native: "n", Object: []byte(`{"id":"` + id + `~1"}`)}},
		Messages: []byte(`[{"id":"m1"}]`), State: []byte(`{"n":1}`),
	}
}

func peerHasClosed() store.Result {
	return store.Result{EndKind: store.Finished, Finish: []byte(`{"type":"RUN_FINISHED"}`), Messages: []byte(`[{"id":"m2"}]`)}
}

// TestBrokenConnection breaks the connection at each moment of each request of each step. The step
// must either succeed, or return an error and succeed when it is repeated.
func TestBrokenConnection(t *testing.T) {
	for _, kind := range []string{"alone", "with a replica"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := servers.StartRedis(t, servers.RedisOptions{})
			o := redis.Options{ReplicaTimeout: 5 * time.Second}
			if kind != "alone" {
				servers.StartRedis(t, servers.RedisOptions{ReplicaOf: r})
				o.Replicas = 1
			}
			p := servers.StartProxy(t, r.Addr())
			direct, through := open(t, r.URL(), o), open(t, r.URLAt(p.Addr()), o)
			for name, s := range steps() {
				for _, at := range servers.Moments {
					struck, told := 0, 0
					for skip := 0; ; skip++ {
						key := store.Key(fmt.Sprint(name, " ", at, " ", skip))
						if s.before != nil {
							must(t, s.before(t, direct, key))
						}
						p.Arm(servers.Fault{Moment: at, Skip: skip})
						err := s.do(t, through, key)
						if !p.Disarm() {
							must(t, err)
							break
						}
						struck++
						if err != nil {
							told++
						}
						// other connections of the pool may be broken too
						for again := 0; err != nil && again < 20; again++ {
							err = s.do(t, through, key)
						}
						if err != nil && s.again != nil {
							err = s.again(err)
						}
						if err != nil {
							t.Errorf("%s: made again: %v", key, err)
						}
						rec, err := direct.Load(t.Context(), key, "")
						must(t, err)
						if rec.State != s.state {
							t.Errorf("%s: the state is %q, want %q", key, rec.State, s.state)
						}
					}
					if struck == 0 {
						t.Errorf("%s: no request was broken %v", name, at)
					}
					// a request that changes something is sent only once, so the caller gets an
					// error
					if told == 0 && name != "Snapshots" {
						t.Errorf("%s: the connection broke %v, and that was never an error", name, at)
					}
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A step describes one step of a store for a test: what is done before it, the step itself, and the
// state after it.
type step struct {
	before, do func(*testing.T, *engine.Store, store.Key) error
	again      func(error) error // the meaning of an error if the step is already done
	state      store.State
}

func steps() map[string]step {
	opens := func(t *testing.T, s *engine.Store, k store.Key) error {
		return storetest.Do(t.Context(), s, k, store.Ask{Owner: "owner", Pause: pause("p")})
	}
	claims := func(t *testing.T, s *engine.Store, k store.Key) error {
		return storetest.Do(t.Context(), s, k, store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour})
	}
	claimed := func(t *testing.T, s *engine.Store, k store.Key) error {
		must(t, opens(t, s, k))
		return claims(t, s, k)
	}
	return map[string]step{
		"Load": {do: func(t *testing.T, s *engine.Store, k store.Key) error {
			rec, err := s.Load(t.Context(), k, "owner")
			if err == nil && rec.Owner != "owner" {
				err = fmt.Errorf("the owner is %q", rec.Owner)
			}
			return err
		}},
		"Open":  {do: opens, state: store.Open},
		"Claim": {before: opens, do: claims, state: store.Claimed},
		"Renew": {before: claimed, state: store.Claimed, do: func(t *testing.T, s *engine.Store, k store.Key) error {
			return storetest.Do(t.Context(), s, k, store.Renew{Token: "token", Lease: time.Hour})
		}},
		"Finish": {before: claimed, state: store.Open, do: func(t *testing.T, s *engine.Store, k store.Key) error {
			next := pause("next")
			return storetest.Do(t.Context(), s, k, store.Finish{Token: "token", Result: peerHasClosed(), Next: &next})
		}},
		"Release": {before: claimed, state: store.Open, do: func(t *testing.T, s *engine.Store, k store.Key) error {
			return storetest.Do(t.Context(), s, k, store.Release{Token: "token"})
		}},
		"Close": {before: opens, do: func(t *testing.T, s *engine.Store, k store.Key) error {
			return storetest.Do(t.Context(), s, k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}})
		}, again: func(err error) error {
			if strings.Contains(err.Error(), store.ErrNotFound.Error()) {
				return nil
			}
			return err
		}},
		"Occupy": {do: func(t *testing.T, s *engine.Store, k store.Key) error {
			return storetest.Do(t.Context(), s, k, store.Occupy{Token: "token", Lease: time.Hour})
		}},
		"Snapshots": {before: opens, state: store.Open, do: func(t *testing.T, s *engine.Store, k store.Key) error {
			got, err := s.Snapshots(t.Context(), k, "p", store.AtPause)
			if err == nil && string(got.State) != `{"n":1}` {
				err = fmt.Errorf("the state is %s", got.State)
			}
			return err
		}},
	}
}
