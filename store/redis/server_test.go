//go:build unix

package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/test/pages"
	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/redis"
	"holdpoint/store/storetest"
)

// TestReplicaIsStopped: a change must be on a replica, and the replica does not confirm it. The
// step must fail, and no client may get its result.
func TestReplicaIsStopped(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
	s := open(t, primary.URL(), redis.Options{Replicas: 1, ReplicaTimeout: 30 * time.Second, Timeout: time.Minute})
	quick := open(t, primary.URL(), redis.Options{Replicas: 1, ReplicaTimeout: 100 * time.Millisecond})
	must(t, storetest.Do(t.Context(), s, "asked", store.Ask{Pause: pause("p")}))
	must(t, storetest.Do(t.Context(), s, "claimed", store.Ask{Pause: pause("p")}))
	must(t, storetest.Do(t.Context(), s, "claimed", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
	for _, end := range []struct {
		name     string
		how, end func()
	}{{"frozen", replica.Freeze, replica.Thaw}, {"stopped", replica.Stop, replica.Restart}} {
		end.how()
		key := store.Key("new, " + end.name)
		if _, err := quick.Do(t.Context(), key, store.Ask{Pause: pause("p")}); !errors.Is(err, engine.ErrNotGuarded) {
			t.Errorf("%s: Open: %v", end.name, err)
		}
		if _, err := quick.Do(t.Context(), "asked", store.Claim{PauseID: "p", Token: "token " + end.name, Digest: "digest", Lease: time.Hour}); !errors.Is(err, engine.ErrNotGuarded) {
			t.Errorf("%s: Claim: %v", end.name, err)
		}
		next := pause("next")
		if _, err := quick.Do(t.Context(), "claimed", store.Finish{Token: "token", Result: peerHasClosed(), Next: &next}); !errors.Is(err, engine.ErrNotGuarded) {
			t.Errorf("%s: Finish with a next pause: %v", end.name, err)
		}
		// this step needs no replica
		must(t, storetest.Do(t.Context(), s, key, store.Occupy{Token: "token", Lease: time.Hour}))
		// After the failed Claim the question is open, because its answers were not sent, and the
		// client can give them again. The question of the failed Ask stays in the record, but no
		// client may get it before the replica has it.
		if rec, err := s.Load(t.Context(), "asked", ""); err != nil || rec.State != store.Open {
			t.Errorf("%s: after Claim the state is %q (%v)", end.name, rec.State, err)
		}
		if rec, err := quick.Load(t.Context(), key, ""); !errors.Is(err, engine.ErrNotGuarded) {
			t.Errorf("%s: after Open the state is %q (%v)", end.name, rec.State, err)
		}
		end.end()
		replica.AwaitSync()
		if rec, err := s.Load(t.Context(), key, ""); err != nil || rec.State != store.Open {
			t.Errorf("%s: with the replica the state is %q (%v)", end.name, rec.State, err)
		}
		must(t, storetest.Do(t.Context(), s, "claimed", store.Finish{Token: "token", Result: peerHasClosed(), Next: &next}))
	}
	must(t, storetest.Do(t.Context(), s, "asked", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
}

// TestCallerThatGivesUp: a step must return when its caller gives up, whether it waits for a reply,
// for a new connection or for replicas.
func TestCallerThatGivesUp(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
	replica.AwaitSync()
	proxy := servers.StartProxy(t, primary.Addr())
	for situation, freeze := range map[string]struct {
		do, mend func()
		steps    []string
	}{
		"the server is frozen":  {proxy.Freeze, proxy.Thaw, []string{"Load", "Open", "Occupy", "Snapshots"}},
		"the replica is frozen": {replica.Freeze, replica.Thaw, []string{"Open", "Claim"}},
	} {
		s := open(t, prefixed(primary.URLAt(proxy.Addr())), redis.Options{Replicas: 1, ReplicaTimeout: 20 * time.Second, Timeout: 20 * time.Second})
		must(t, storetest.Do(t.Context(), s, "asked", store.Ask{Pause: pause("p")}))
		freeze.do()
		steps := map[string]func(ctx context.Context) error{
			"Load":      func(ctx context.Context) error { _, err := s.Load(ctx, "k", ""); return err },
			"Open":      func(ctx context.Context) error { return storetest.Do(ctx, s, "k", store.Ask{Pause: pause("p")}) },
			"Occupy":    func(ctx context.Context) error { return storetest.Do(ctx, s, "k", store.Occupy{Token: "token"}) },
			"Snapshots": func(ctx context.Context) error { _, err := s.Snapshots(ctx, "k", "p", store.AtPause); return err },
			"Claim": func(ctx context.Context) error {
				return storetest.Do(ctx, s, "asked", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour})
			},
		}
		// ctx has no deadline, because the client library rueidis would use it
		ctx, giveUp := context.WithCancel(t.Context())
		returned := make(chan error, len(steps))
		for _, name := range freeze.steps {
			go func() { returned <- steps[name](ctx) }()
		}
		time.AfterFunc(200*time.Millisecond, giveUp)
		late := time.After(8 * time.Second)
		for range freeze.steps {
			select {
			case err := <-returned:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", situation, err)
				}
			case <-late:
				t.Fatalf("%s: a step does not return", situation)
			}
		}
		freeze.mend()
	}
}

// TestSentinelFailover: when the primary is gone, the store must continue on the replica, with
// every change that it reported as safe.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
	sentinels := servers.StartSentinels(t, primary, 3, 1)
	before := open(t, sentinelURL(sentinels), redis.Options{Replicas: 1, ReplicaTimeout: 5 * time.Second})
	after := open(t, sentinelURL(sentinels), redis.Options{})
	must(t, storetest.Do(t.Context(), before, "k", store.Ask{Pause: pause("p")}))
	primary.Kill()
	if _, err := before.Load(t.Context(), "k", ""); err == nil {
		t.Error("the store that is gone answers")
	}
	sentinels.AwaitPromotion(replica)
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err = after.Do(t.Context(), "k", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}); err == nil {
			break
		}
	}
	must(t, err)
}

// TestRestartedServer: after a restart of the server, the store must reconnect by itself and find
// the open questions.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{})
	s := open(t, r.URL(), redis.Options{Timeout: time.Second})
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p")}))
	r.Freeze()
	if _, err := s.Load(t.Context(), "k", ""); err == nil {
		t.Error("a frozen server answers")
	}
	r.Kill()
	if _, err := s.Load(t.Context(), "k", ""); err == nil {
		t.Error("a killed server answers")
	}
	r.Restart()
	must(t, storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour}))
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	lru := servers.StartRedis(t, servers.RedisOptions{Conf: []string{"maxmemory-policy allkeys-lru"}})
	plain := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: "secret"})
	cluster := servers.StartRedisCluster(t, 3, servers.RedisOptions{})
	for address, want := range map[string]string{
		lru.URL(): "allkeys-lru, which drops open questions",
		"redis+cluster://holdpoint:secret@" + plain.Addr():                           "is not part of a cluster",
		"redis+cluster://holdpoint:secret@" + plain.Addr() + "?addr=" + plain.Addr(): "cluster support disabled",
		"redis://" + cluster.Addrs()[0]:                                              "want redis+cluster://",
	} {
		_, err := try(t, address, redis.Options{})
		switch {
		case want == "":
		case err == nil:
			t.Errorf("%s is taken", address)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error holds the password: %v", address, err)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	lru.Do("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	open(t, lru.URL(), redis.Options{})
}

// TestServersThatAreAwaited: Holdpoint must start even if its server cannot be used. Each step must
// fail, and the log must have the reason once. If waiting alone will not help, the reason must have
// the level ERROR.
func TestServersThatAreAwaited(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	plain := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: "secret"})
	secure := servers.StartRedis(t, servers.RedisOptions{TLS: true})
	for address, want := range map[string]string{
		servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary}).URL(): "level=ERROR, a replica accepts no changes",
		"redis://" + plain.Addr():                          "level=ERROR, Redis wants a password",
		"redis://who:secret@" + plain.Addr():               "level=ERROR, Redis does not accept the user or the password",
		"redis://holdpoint:secret@" + plain.Addr() + "/99": "level=ERROR, DB index",
		"rediss://" + primary.Addr():                       "level=WARN, deadline exceeded",
		secure.URL():                                       "level=ERROR, certificate",
		"redis://127.0.0.1:1":                              "level=WARN, refused",
		"redis+cluster://127.0.0.1:1":                      "level=WARN, refused",
		"redis+sentinel://127.0.0.1:1?primary=p":           "level=WARN, refused",
	} {
		var log logged
		o := redis.Options{Timeout: 2 * time.Second}
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s, err := try(t, address, o)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		_, err = s.Load(t.Context(), "k", "")
		level, text, _ := strings.Cut(want, ", ")
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Load: %v, want %q", address, err, text)
		}
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, level) || !strings.Contains(said, text) || strings.Contains(said, "secret") {
			t.Errorf("%s: the log is %s, want %q", address, said, want)
		}
	}
}

// A logged is a log that may be read while it is written.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestStartWithoutServer: the store starts without a server. It must work as soon as the server can
// be reached. If that server has a setting that Holdpoint refuses, each step must fail until the
// setting is changed.
func TestStartWithoutServer(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{})
	r.Stop()
	var log logged
	var o redis.Options
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := open(t, r.URL(), o)
	if _, err := s.Load(t.Context(), "k", ""); err == nil || !strings.Contains(err.Error(), "the store is not there yet") {
		t.Errorf("without a server: %v", err)
	}
	r.Configure("maxmemory-policy allkeys-lfu")
	r.Restart()
	eventually(t, "the log does not say why", func() bool { return strings.Contains(log.String(), "level=ERROR") })
	if _, err := s.Do(t.Context(), "k", store.Ask{Pause: pause("p")}); err == nil || !strings.Contains(err.Error(), "allkeys-lfu, which drops open questions") {
		t.Errorf("with a refused setting: %v", err)
	}
	r.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	eventually(t, "the store is not there", func() bool { return strings.Contains(log.String(), "the store is there") })
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p")}))
	if n := strings.Count(log.String(), "\n"); n != 3 {
		t.Errorf("%d lines in the log: %s", n, log.String())
	}
}

// eventually waits until the function is returns true. Tests use it to wait for work that a
// goroutine of the store or a server does by itself.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestWarnings: the log at the start must warn of settings that cannot be read, or that may lose
// data.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]servers.RedisOptions{
		"may not call INFO":             {User: "holdpoint", Password: "secret", Rules: "~* &* +@all -info"},
		"no append-only file":           {Conf: []string{"appendonly no"}},
		"fewer replicas than HOLDPOINT": {},
	} {
		var log bytes.Buffer
		with := redis.Options{Replicas: 1}
		with.Logger = slog.New(slog.NewTextHandler(&log, nil))
		open(t, servers.StartRedis(t, o).URL(), with)
		if !strings.Contains(log.String(), want) || strings.Contains(log.String(), "secret") {
			t.Errorf("want %q in the log: %s", want, log.String())
		}
	}
}

// TestErrorsSayWhatToDo: if Redis refuses a step, the step must fail, change nothing, and say why.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{Conf: []string{"enable-debug-command yes", "enable-protected-configs yes"}})
	s := open(t, r.URL(), redis.Options{})
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p")}))
	set := func(name, value, back string) (func(), func()) {
		return func() { r.Do("CONFIG", "SET", name, value) }, func() { r.Do("CONFIG", "SET", name, back) }
	}
	full, empty := set("maxmemory", "1", "0")
	alone, accompanied := set("min-replicas-to-write", "1", "0")
	orphan := func() { r.Do("REPLICAOF", "127.0.0.1", "1") }
	primary := func() {
		r.Do("REPLICAOF", "NO", "ONE")
		r.Do("CONFIG", "SET", "replica-serve-stale-data", "yes")
	}
	for _, c := range []struct {
		name       string
		make, mend func()
		want       string
	}{
		{"OOM", full, empty, "Redis has no memory left"},
		{"NOREPLICAS", alone, accompanied, "Redis has fewer replicas than"},
		{"READONLY", orphan, primary, "this Redis is a replica, which accepts no changes"},
		{"MASTERDOWN", func() {
			r.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			orphan()
		}, primary, "this Redis is a replica without its primary"},
		{"LOADING", func() { load(t, r) }, func() {
			r.Do("CONFIG", "SET", "key-load-delay", "0")
			eventually(t, "it loads for ever", func() bool { return !loads(r) })
		}, "Redis still loads its data"},
		{"MISCONF", func() { // no process can create a file in /proc
			r.Do("CONFIG", "SET", "save", "3600 1", "dir", "/proc")
			r.Do("BGSAVE")
			eventually(t, "it could write its file", func() bool {
				return strings.Contains(r.Do("INFO", "persistence").(string), "rdb_last_bgsave_status:err")
			})
		}, func() { r.Do("CONFIG", "SET", "save", "") }, "Redis cannot write to its disk"},
	} {
		c.make()
		for name, do := range map[string]func() error{
			"Open": func() error {
				return storetest.Do(t.Context(), s, store.Key("new "+c.name), store.Ask{Pause: pause("p")})
			},
			"Claim": func() error {
				return storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: time.Hour})
			},
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", c.name, name, err, c.want)
			}
		}
		c.mend()
		eventually(t, c.name+" does not end", func() bool {
			_, err := s.Load(t.Context(), "k", "")
			return err == nil
		})
		rec, err := s.Load(t.Context(), "k", "")
		must(t, err)
		if rec.State != store.Open {
			t.Errorf("%s: the state is %q", c.name, rec.State)
		}
		page, err := s.List(t.Context(), store.Query{})
		must(t, err)
		if len(page.Rows) != 1 {
			t.Errorf("%s: %d rows wait, want 1", c.name, len(page.Rows))
		}
	}
}

// load makes the server load its data again, slowly. It returns when the loading has begun.
func load(t *testing.T, r *servers.Redis) {
	t.Helper()
	r.Do("DEBUG", "POPULATE", "2000", "filler", "1000")
	// While it loads, the server handles requests after each kilobyte, and pauses at each key.
	// Loading takes 40 s, unless the delay is removed.
	r.Do("CONFIG", "SET", "loading-process-events-interval-bytes", "1024", "key-load-delay", "20000")
	var all sync.WaitGroup
	all.Go(func() { r.Do("DEBUG", "RELOAD") })
	t.Cleanup(all.Wait)
	eventually(t, "it does not load", func() bool { return loads(r) })
}

func loads(r *servers.Redis) bool {
	return strings.Contains(r.Do("INFO", "persistence").(string), "\nloading:1")
}

// TestRights: with the rights that docs/state.md lists, all steps must work. If one right is
// missing, the store must report it at the start, not in the middle of a change.
func TestRights(t *testing.T) {
	t.Parallel()
	user := servers.RedisOptions{User: "holdpoint", Password: "secret"}
	with := func(rules string) servers.RedisOptions {
		o := user
		o.Rules = "~holdpoint:* -@all " + rules
		return o
	}
	for _, command := range []string{"+evalsha", "+eval", "+hget", "+hmget", "+hset", "+hdel", "+zadd", "+zrem", "+zrangebyscore", "+zscore", "+zcard", "+persist", "+pexpireat", "+time"} {
		r := servers.StartRedis(t, with(strings.Replace(rights+" ", command+" ", "", 1)))
		s := open(t, r.URL(), redis.Options{Replicas: 1, ReplicaTimeout: time.Millisecond})
		if _, err := s.Load(t.Context(), "k", ""); err == nil || !strings.Contains(err.Error(), "the Redis user may not do this") {
			t.Errorf("without %s: %v", command, err)
		}
		r.Stop()
	}
	c := servers.StartRedisCluster(t, 1, with(rights))
	s := open(t, "redis+cluster://holdpoint:secret@"+c.Addrs()[0], redis.Options{})
	if _, err := s.Load(t.Context(), "k", ""); err == nil || !strings.Contains(err.Error(), "the Redis user may not do this") {
		t.Errorf("without +cluster: %v", err)
	}
	c = servers.StartRedisCluster(t, 1, with(rights+" +cluster"))
	s = open(t, "redis+cluster://holdpoint:secret@"+c.Addrs()[0], redis.Options{})
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p")}))
	slot, _ := c.Nodes[0].Do("CLUSTER", "KEYSLOT", "{07}").(int64)
	c.Nodes[0].Do("CLUSTER", "DELSLOTS", fmt.Sprint(slot))
	if _, err := s.Load(t.Context(), keyIn(7, 1), ""); err == nil || !strings.Contains(err.Error(), "the Redis cluster is incomplete: some of its slots are on no server") {
		t.Errorf("without a slot: %v", err)
	}
}

// TestRowsThatWaitStay: the row of an open thread must have no time to live. Every other row must
// have one.
func TestRowsThatWaitStay(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{})
	s := open(t, r.URL()+"?prefix=mine:", redis.Options{})
	live := func() (rows, lists int64) {
		keys, _ := r.Do("KEYS", "*").([]any)
		for _, key := range keys {
			name := key.(string)
			if !strings.HasPrefix(name, "mine:{") {
				t.Errorf("the key %q has another prefix", name)
			}
			ttl, _ := r.Do("PTTL", name).(int64)
			if strings.Contains(name, ":r:") {
				rows = ttl
			} else {
				lists++
			}
		}
		return rows, lists
	}
	for round := range 2 {
		id := fmt.Sprint("p", round)
		must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause(id)}))
		if ttl, lists := live(); ttl != -1 || lists != 2 {
			t.Errorf("open: it lives for %d ms and is in %d lists", ttl, lists)
		}
		must(t, storetest.Do(t.Context(), s, "k", store.Claim{PauseID: id, Token: "token of " + id, Digest: "digest", Lease: time.Hour}))
		if ttl, lists := live(); ttl != -1 || lists != 2 {
			t.Errorf("claimed: it lives for %d ms and is in %d lists", ttl, lists)
		}
		must(t, storetest.Do(t.Context(), s, "k", store.Finish{Token: "token of " + id, Result: peerHasClosed()}))
		if ttl, lists := live(); ttl <= 0 || lists != 0 {
			t.Errorf("ended: it lives for %d ms and is in %d lists", ttl, lists)
		}
	}
}

// TestUnsentOutlivesItsRow: Redis drops a row by itself, although the row has notices to send. The
// row's entry in the list of unsent notices remains. The next Take must remove the entry.
func TestUnsentOutlivesItsRow(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{})
	s := open(t, r.URL()+"?prefix=mine:", redis.Options{})
	must(t, storetest.Do(t.Context(), s, "k", store.Ask{Pause: pause("p"), Notices: []store.Notice{{ID: "n", Body: []byte("{}")}}}))
	listed := func() int {
		page, err := s.List(t.Context(), store.Query{WithNotices: true, Due: time.Now().Add(time.Minute)})
		must(t, err)
		return len(page.Rows)
	}
	keys, _ := r.Do("KEYS", "*:r:*").([]any)
	if len(keys) != 1 || listed() != 1 {
		t.Fatalf("%d rows, %d listed", len(keys), listed())
	}
	r.Do("DEL", keys[0].(string))
	if n := listed(); n != 1 {
		t.Fatalf("%d listed", n)
	}
	_, err := s.Do(t.Context(), "k", store.Take{Hold: time.Minute})
	must(t, err)
	if n := listed(); n != 0 {
		t.Errorf("%d listed", n)
	}
}

// TestPagesOfWhatWaits: the pages must contain each open thread once, in order, even if many
// threads were opened in the same microsecond.
func TestPagesOfWhatWaits(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{})
	s := open(t, r.URL(), redis.Options{})
	const n = 500
	for i := range n {
		must(t, storetest.Do(t.Context(), s, store.Key(fmt.Sprintf("k%03d", i)), store.Ask{Pause: pause("p")}))
	}
	if waiting := countedAsThePageSays(t, r); waiting != fmt.Sprintln(n) {
		t.Errorf("%s rows in the lists, want %d", waiting, n)
	}
	for part := range 64 { // as if most were opened in the same microsecond
		for _, list := range []string{"opened", "due"} {
			key := fmt.Sprintf("holdpoint:{%02d}:%s", part, list)
			names, _ := r.Do("ZRANGE", key, "0", "-1").([]any)
			for _, name := range names {
				if name.(string) > "k100" {
					r.Do("ZADD", key, "1700000000000001", name.(string))
				}
			}
		}
	}
	for _, due := range []time.Time{{}, time.Now().Add(10_000 * time.Hour)} {
		for _, limit := range []int{1, 7, 100, 1000} {
			seen := map[store.Key]bool{}
			var last store.Row
			for q := (store.Query{Limit: limit, Due: due}); ; {
				page, err := s.List(t.Context(), q)
				must(t, err)
				for _, row := range page.Rows {
					at, before := row.Opened, last.Opened
					if !due.IsZero() {
						at, before = row.Due, last.Due
					}
					if seen[row.Key] || at.Before(before) || at.Equal(before) && row.Key < last.Key {
						t.Fatalf("limit %d: %v after %v", limit, row, last)
					}
					seen[row.Key], last = true, row
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if len(seen) != n {
				t.Errorf("limit %d: %d rows, want %d", limit, len(seen), n)
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	for _, good := range []string{
		"redis://localhost", "redis://[::1]:6380/3", "rediss://who:p%40@redis.internal",
		"redis+sentinel://s1?addr=s2&addr=s3:26380&primary=main&sentinel_user=u&sentinel_password=p", "rediss+cluster://n1:7000?addr=n2:7000&prefix=a:",
	} {
		u, err := url.Parse(good)
		must(t, err)
		if _, err := redis.Parse(u); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"redis://":                           "want a host",
		"redis:localhost":                    "want a host",
		"redis://h/x":                        "is not a database",
		"redis+cluster://h/1":                "is not a database",
		"redis://h?primary=x":                "redis+sentinel://, and it alone",
		"redis+sentinel://h":                 "primary",
		"redis://h?addr=x":                   "have the parameter addr",
		"redis://h?prefix={x}":               "slot",
		"redis://h?prefix=a&prefix=b":        "twice",
		"redis://h?db=1":                     "db is not a parameter",
		"redis://h?ca_file=x":                "only rediss:// has",
		"rediss://h?ca_file=" + file:         "no certificate",
		"redis://h?password_file=/none/such": "password_file is not a parameter",
		"http://h":                           "want one of",
	} {
		u, err := url.Parse(bad)
		must(t, err)
		if _, err := redis.Parse(u); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"redis://localhost", "rediss://a:b@h:1/2?prefix=x", "redis+sentinel://s?primary=m&addr=x", "redis+cluster://[::1]?addr="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || strings.Contains(u.RawQuery, "file") {
			return // a fuzzer need not read files
		}
		_, err = redis.Parse(u)
		if p, ok := u.User.Password(); ok && len(p) > 8 && err != nil && strings.Contains(err.Error(), p) && !strings.Contains(strings.Replace(text, p, "", 1), p) {
			t.Errorf("the error holds the password: %v", err)
		}
	})
}

// TestSize: a thread must be one key in Redis, and take little more space than its contents.
func TestSize(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t, servers.RedisOptions{Conf: []string{"appendfsync no"}})
	s := open(t, r.URL(), redis.Options{Timeout: time.Minute})
	const n = 1000
	waiting, ended := storetest.Measure(t, s, n, func() int64 {
		for line := range strings.SplitSeq(r.Do("INFO", "memory").(string), "\r\n") {
			if bytes, ok := strings.CutPrefix(line, "used_memory:"); ok {
				n, err := strconv.ParseInt(bytes, 10, 64)
				must(t, err)
				return n
			}
		}
		t.Fatal("INFO does not say how much memory is in use")
		return 0
	})
	if waiting > 12_000 || ended > 20_000 {
		t.Errorf("a thread that waits takes %d bytes, and %d after its end", waiting, ended)
	}
	if keys, _ := r.Do("DBSIZE").(int64); keys != n {
		t.Errorf("%d keys for %d threads that do not wait", keys, n)
	}
}

// countedAsThePageSays returns the output of the command in docs/state.md that counts open threads.
func countedAsThePageSays(t *testing.T, r *servers.Redis) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range pages.Blocks(string(text)) {
		if b.Language != "sh" || !strings.Contains(b.Text, "ZCARD") {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", "redis-cli() { command redis-cli -u '"+r.URL()+"' \"$@\"; }\n"+b.Text).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Text)
		}
		return string(out)
	}
	t.Fatal("the page does not say how to count")
	return ""
}
