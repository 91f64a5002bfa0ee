//go:build unix

package servers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

func TestRedis(t *testing.T) {
	for name, o := range map[string]servers.RedisOptions{
		"as it is":               {},
		"an ACL user, encrypted": {User: "holdpoint", Password: "p w/@", TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := servers.StartRedis(t, o)
			if (r.CAFile() != "") != o.TLS || strings.HasPrefix(r.URL(), "rediss://") != o.TLS || strings.Contains(r.URL(), "holdpoint:") != (o.User != "") {
				t.Errorf("%s, authority %q", r.URL(), r.CAFile())
			}
			r.Do("SET", "k", "v")
			r.Kill()
			r.Kill() // the process has ended, so Kill must do nothing
			r.Restart()
			if v := r.Do("GET", "k"); v != "v" {
				t.Errorf("after a kill the value is %v", v)
			}
			r.Do("SET", "k", "w")
			r.Freeze()
			r.Thaw()
			r.Restart()
			if v := r.Do("GET", "k"); v != "w" {
				t.Errorf("after a stop the value is %v", v)
			}
		})
	}
}

func TestRedisReplica(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
	primary.Do("SET", "k", "v")
	replica.AwaitSync() // WAIT does not help here: on a new connection it returns 1 at once
	primary.Kill()
	replica.Promote()
	replica.Restart()
	if v := replica.Do("GET", "k"); v != "v" {
		t.Errorf("the value is %v", v)
	}
	replica.Do("SET", "k", "w")
	primary.Restart()
	primary.Follow(replica)
	if v := primary.Do("GET", "k"); v != "w" {
		t.Errorf("the value is %v", v)
	}
}

func TestRedisSentinels(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: "secret"})
	replica := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: "secret", ReplicaOf: primary})
	s := servers.StartSentinels(t, primary, 3, 1)
	if s.Primary() != primary.Addr() || len(s.Addrs()) != 3 {
		t.Fatalf("the sentinels %v name %s", s.Addrs(), s.Primary())
	}
	primary.Kill()
	s.AwaitPromotion(replica)
	replica.Do("SET", "k", "v")
}

func TestRedisCluster(t *testing.T) {
	t.Parallel()
	c := servers.StartRedisCluster(t, 3, servers.RedisOptions{})
	held := 0
	for _, node := range c.Nodes {
		n, _ := node.Do("CLUSTER", "COUNTKEYSINSLOT", "0").(int64)
		held += int(n)
	}
	if held != 0 || len(c.Addrs()) != 3 {
		t.Errorf("%d keys at %v", held, c.Addrs())
	}
	c.Nodes[1].Kill()
	c.Nodes[1].Restart()
	c.AwaitAgreement()
}

// TestClockAhead checks only that the clock is hours ahead, because its precision depends on the
// machine.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.RedisServer, servers.PostgreSQL, servers.FakeTime)
	r := servers.StartRedis(t, servers.RedisOptions{Ahead: 24 * time.Hour})
	p := servers.StartPostgres(t, servers.PostgresOptions{Ahead: 24 * time.Hour})
	said, _ := r.Do("TIME").([]any)
	for what, seconds := range map[string]any{"Redis": said[0], "PostgreSQL": p.Exec("SELECT extract(epoch FROM clock_timestamp())::bigint")} {
		n, err := strconv.ParseInt(fmt.Sprint(seconds), 10, 64)
		if d := time.Until(time.Unix(n, 0)); err != nil || d < 12*time.Hour {
			t.Errorf("the clock of %s is ahead by %v (%v)", what, d, err)
		}
	}
}
