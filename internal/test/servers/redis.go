//go:build unix

package servers

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RedisOptions configure a Redis server. With the zero value the server has no password, and writes
// each change to its disk before it answers.
type RedisOptions struct {
	ReplicaOf *Redis // makes the new server a replica of this server
	// User and Password are the ACL user with which clients log in. If they are set, the default
	// user is off. Rules are the rights of that user, by default all. Redis.Do does not use it: it
	// always logs in as a user with all rights.
	User, Password, Rules string
	// accept only TLS connections, with a certificate that CAFile verifies
	TLS bool
	// how far the server's clock is ahead of the machine's (needs FakeTime)
	Ahead time.Duration
	Conf  []string // further lines of the configuration, which override others

	clusterNode *Redis // another node of the same cluster
}

// A Redis is a running redis-server.
type Redis struct {
	process
	options      RedisOptions
	port         int
	admin        string // the password of the user admin, if User is set
	cert         certificate
	sentinelConf []string // the configuration of a sentinel, or nil for a server
}

// StartRedis starts a redis-server. The server ends with the test. If it is a replica, StartRedis
// returns when the replica has all data of its primary.
func StartRedis(t testing.TB, o RedisOptions) *Redis {
	t.Helper()
	r := startRedis(t, o)
	if o.ReplicaOf != nil {
		r.AwaitSync()
	}
	return r
}

func startRedis(t testing.TB, o RedisOptions) *Redis {
	t.Helper()
	r := &Redis{options: o}
	if o.User != "" {
		r.admin = rand.Text()
		if peer := r.peer(); peer != nil {
			r.admin = peer.admin
		}
	}
	r.firstStart(t)
	return r
}

// firstStart starts the server for the first time.
func (r *Redis) firstStart(t testing.TB, args ...string) {
	t.Helper()
	Need(t, RedisServer)
	dir := folder(t, nil)
	conf := filepath.Join(dir, "redis.conf")
	r.process = process{
		t: t, name: "redis-server", path: find(RedisServer), args: append([]string{conf}, args...), env: aheadEnvironment(t, r.options.Ahead), dir: dir,
		stopSignal: syscall.SIGTERM, endSignal: syscall.SIGKILL, ready: r.checkAnswer,
	}
	if r.options.TLS {
		if peer := r.peer(); peer != nil {
			r.cert = peer.cert // the same certificate, so that the two servers trust each other
		} else {
			r.cert = makeCertificate(t, dir, nil)
		}
	}
	t.Cleanup(r.cleanUp)
	onFreePort(t, func(port int) error {
		r.port = port
		write(t, conf, strings.Join(r.conf(), "\n")+"\n", nil)
		return r.start()
	})
}

// Configure adds lines to the configuration. They take effect at the next start.
func (r *Redis) Configure(lines ...string) {
	r.t.Helper()
	r.options.Conf = append(r.options.Conf, lines...)
	write(r.t, filepath.Join(r.dir, "redis.conf"), strings.Join(r.conf(), "\n")+"\n", nil)
}

// peer returns the primary if the server is started as its replica, or the first node if it is
// started for a cluster. Otherwise it returns nil.
func (r *Redis) peer() *Redis {
	if r.options.ReplicaOf != nil {
		return r.options.ReplicaOf
	}
	return r.options.clusterNode
}

func (r *Redis) conf() []string {
	o := r.options
	if r.sentinelConf != nil {
		return append([]string{"bind 127.0.0.1", "dir " + r.dir, fmt.Sprint("port ", r.port)}, r.sentinelConf...)
	}
	lines := []string{
		"bind 127.0.0.1", "dir " + r.dir, `save ""`, "appendonly yes", "appendfsync always", "repl-diskless-sync-delay 0",
	}
	if o.TLS {
		lines = append(lines, "port 0", fmt.Sprint("tls-port ", r.port), "tls-cert-file "+r.cert.cert,
			"tls-key-file "+r.cert.key, "tls-ca-cert-file "+r.cert.ca, "tls-auth-clients no", "tls-replication yes", "tls-cluster yes")
	} else {
		lines = append(lines, fmt.Sprint("port ", r.port))
	}
	if o.User != "" {
		rules := o.Rules
		rules = cmp.Or(rules, "~* &* +@all")
		lines = append(lines, "user default off", fmt.Sprintf("user %s on %q %s", o.User, ">"+o.Password, rules),
			fmt.Sprintf("user admin on >%s ~* &* +@all", r.admin), "masteruser admin", "masterauth "+r.admin)
	}
	if o.ReplicaOf != nil {
		lines = append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", o.ReplicaOf.port))
	}
	return append(lines, o.Conf...)
}

// checkAnswer returns nil if this process answers. It compares the process id, because another
// process may use the port.
func (r *Redis) checkAnswer() error {
	info, err := r.ask("INFO", "server")
	if err != nil {
		return err
	}
	text, _ := info.(string)
	if !strings.Contains(text, fmt.Sprintf("process_id:%d\r\n", r.cmd.Process.Pid)) {
		return errors.New("another process answers at its port")
	}
	_, err = r.ask("PING") // PING fails while the server loads its data
	return err
}

// Addr returns the host and the port.
func (r *Redis) Addr() string { return address(r.port) }

// URL returns the URL of the server for a client, redis:// or rediss://, with user and password.
func (r *Redis) URL() string { return r.URLAt(r.Addr()) }

// URLAt returns the same URL as URL with another host and port, such as those of a Proxy.
func (r *Redis) URLAt(address string) string {
	u := url.URL{Scheme: "redis", Host: address}
	if r.options.TLS {
		u.Scheme = "rediss"
	}
	if r.options.User != "" {
		u.User = url.UserPassword(r.options.User, r.options.Password)
	}
	return u.String()
}

// CAFile returns the name of the PEM file of the authority that signed the server's certificate. It
// returns "" if the server does not use TLS.
func (r *Redis) CAFile() string { return r.cert.ca }

// Do sends a command over a new connection, as a user with all rights. The reply is a string, an
// int64, nil or a []any of these. An error fails the test.
func (r *Redis) Do(args ...string) any {
	r.t.Helper()
	v, err := r.ask(args...)
	if err != nil {
		r.t.Fatalf("redis %s: %v", strings.Join(args, " "), err)
	}
	return v
}

func (r *Redis) ask(args ...string) (any, error) {
	var login []string
	if r.admin != "" {
		login = []string{"admin", r.admin}
	}
	return ask(r.Addr(), r.options.TLS, login, args...)
}

// role returns the role that the server reports: master, slave or sentinel.
func (r *Redis) role() (role string, details []any, err error) {
	v, err := r.ask("ROLE")
	if err != nil {
		return "", nil, err
	}
	details, _ = v.([]any)
	if len(details) == 0 {
		return "", nil, fmt.Errorf("ROLE is %v", v)
	}
	role, _ = details[0].(string)
	return role, details, nil
}

// AwaitSync waits until the replica is connected to its primary and has all of the primary's
// current data, also on its disk.
func (r *Redis) AwaitSync() {
	r.t.Helper()
	primary := r.options.ReplicaOf
	awaitState(r.t, "the replica is not in step", func() error {
		role, details, err := r.role()
		if err != nil {
			return err
		}
		if role != "slave" || len(details) < 5 || details[3] != "connected" {
			return fmt.Errorf("the replica says %v", details)
		}
		_, of, err := primary.role()
		if err != nil {
			return err
		}
		if offset, _ := details[4].(int64); len(of) < 3 || offset != of[1] {
			return fmt.Errorf("the replica says %v, its primary %v", details, of)
		}
		if list, _ := of[2].([]any); len(list) == 0 {
			return errors.New("the primary has no replica")
		}
		info, err := r.ask("INFO", "persistence")
		if text, _ := info.(string); err == nil && strings.Contains(text, "aof_rewrite_in_progress:1") {
			err = errors.New("the replica writes its first file")
		}
		return err
	})
}

// Promote makes a replica a primary. It is still a primary after a restart.
func (r *Redis) Promote() {
	r.t.Helper()
	r.Do("REPLICAOF", "NO", "ONE")
	r.Do("CONFIG", "REWRITE")
	r.options.ReplicaOf = nil
}

// Follow makes the server a replica of primary. The data of primary replace the server's own data.
func (r *Redis) Follow(primary *Redis) {
	r.t.Helper()
	r.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(primary.port))
	r.Do("CONFIG", "REWRITE")
	r.options.ReplicaOf = primary
	r.AwaitSync()
}

// aheadEnvironment returns the environment variables that set a program's clock ahead by d. Timers
// are not affected.
func aheadEnvironment(t testing.TB, d time.Duration) []string {
	t.Helper()
	if d == 0 {
		return nil
	}
	Need(t, FakeTime)
	// Debian's Redis uses jemalloc, which reads the time before libfaketime is ready. If the C
	// library is also in LD_PRELOAD, Redis uses the allocator of the C library instead.
	return []string{"LD_PRELOAD=" + find(FakeTime) + " libc.so.6", fmt.Sprintf("FAKETIME=%+.3f", d.Seconds()), "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"}
}
