//go:build unix

package servers

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// PostgresOptions configure a PostgreSQL server. With the zero value the server writes each change
// to its disk before it answers.
type PostgresOptions struct {
	StandbyOf *Postgres // makes a standby of this server (streaming replication)
	// Synchronous makes the primary of a standby wait for the standby: the primary confirms a
	// change only after the standby has written it to disk.
	Synchronous bool
	TLS         bool // also accept TLS connections, with a certificate that CAFile verifies
	// how far the server's clock is ahead of the machine's (needs FakeTime)
	Ahead time.Duration
	Conf  []string // further lines of the configuration, which override others
}

// A client logs in with this role, and uses this database. The role owns the database and is not a
// superuser.
const (
	PostgresUser     = "holdpoint"
	PostgresPassword = "p w/@"
	PostgresDatabase = "holdpoint"
)

// A Postgres is a running PostgreSQL server.
type Postgres struct {
	process
	options PostgresOptions
	port    int
	sockets string // the folder of the server's Unix socket, through which no password is needed
	ca      string
}

// StartPostgres starts a server with an empty database. The server ends with the test. PostgreSQL
// refuses to run as root, so if the test runs as root, the server runs as the user postgres or
// nobody.
func StartPostgres(t testing.TB, o PostgresOptions) *Postgres {
	t.Helper()
	Need(t, PostgreSQL)
	as := unprivilegedUser(t)
	dir := folder(t, as)
	p := &Postgres{options: o, sockets: dir}
	data := filepath.Join(dir, "data")
	p.process = process{
		t: t, name: "postgres", path: find(PostgreSQL), args: []string{"-D", data}, dir: dir, user: as, env: append(aheadEnvironment(t, o.Ahead), "TZ=UTC"),
		stopSignal: syscall.SIGINT, endSignal: syscall.SIGQUIT, ready: p.checkAnswer,
	}
	if o.StandbyOf != nil {
		p.run("pg_basebackup", "-D", data, "-R", "-X", "stream", "-c", "fast", "-d", o.StandbyOf.owner())
	} else {
		p.run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
		write(t, filepath.Join(data, "pg_hba.conf"), "local all,replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n", as)
		p.appendTo("postgresql.conf", "include 'test.conf'\n")
	}
	if o.TLS {
		c := makeCertificate(t, dir, as)
		p.ca = c.ca
		p.options.Conf = append([]string{"ssl = on", "ssl_cert_file = '" + c.cert + "'", "ssl_key_file = '" + c.key + "'"}, o.Conf...)
	}
	t.Cleanup(p.release)
	t.Cleanup(p.cleanUp)
	onFreePort(t, func(port int) error {
		p.port = port
		write(t, filepath.Join(data, "test.conf"), strings.Join(p.conf(), "\n")+"\n", as)
		return p.start()
	})
	if o.StandbyOf == nil {
		p.Exec(fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", PostgresUser, PostgresPassword))
		p.Exec(fmt.Sprintf("CREATE DATABASE %s OWNER %s", PostgresDatabase, PostgresUser))
		return p
	}
	if o.Synchronous {
		o.StandbyOf.Exec("ALTER SYSTEM SET synchronous_standby_names = '*'")
		o.StandbyOf.Exec("SELECT pg_reload_conf()")
	}
	o.StandbyOf.awaitSync(o.Synchronous)
	return p
}

// release removes the small segment of shared memory that a killed server leaves in the kernel.
// Line 7 of postmaster.pid contains the id of the segment.
func (p *Postgres) release() {
	b, err := os.ReadFile(filepath.Join(p.dir, "data", "postmaster.pid"))
	if err != nil {
		return // the server was stopped cleanly
	}
	if lines := strings.Split(string(b), "\n"); len(lines) > 6 {
		if fields := strings.Fields(lines[6]); len(fields) == 2 {
			_ = exec.Command("ipcrm", "-m", fields[1]).Run() // the segment may not exist any more
		}
	}
}

func (p *Postgres) conf() []string {
	return append([]string{
		"listen_addresses = '127.0.0.1'", "port = " + strconv.Itoa(p.port), "unix_socket_directories = '" + p.sockets + "'",
		"fsync = on", "synchronous_commit = on", "max_connections = 200", "shared_buffers = 32MB", "wal_level = replica", "hot_standby = on",
		"password_encryption = 'scram-sha-256'", "log_min_messages = warning",
	}, p.options.Conf...)
}

// run runs one of PostgreSQL's programs as the server's user. An error fails the test.
func (p *Postgres) run(name string, args ...string) {
	p.t.Helper()
	if out, err := p.program(name, args...); err != nil {
		p.t.Fatalf("%s: %v\n%s", name, err, tail(out))
	}
}

func (p *Postgres) program(name string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(filepath.Dir(p.path), name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	cmd.Env = append(os.Environ(), "PGCONNECT_TIMEOUT=5", "LC_ALL=C")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	if err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(complaints.String()))
	}
	return out.String(), nil
}

func (p *Postgres) appendTo(file, text string) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, "data", file), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *Postgres) checkAnswer() error {
	_, err := p.query("SELECT 1")
	return err
}

// owner returns the connection string with which the superuser connects through the Unix socket.
func (p *Postgres) owner() string {
	return fmt.Sprintf("host=%s port=%d user=postgres", p.sockets, p.port)
}

func (p *Postgres) query(sql string) (string, error) {
	out, err := p.program("psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-d", p.owner()+" dbname=postgres", "-c", sql)
	return strings.TrimSpace(out), err
}

// Exec runs SQL as superuser in the database postgres. It returns the rows, one on each line, with
// "|" between columns. An error fails the test.
func (p *Postgres) Exec(sql string) string {
	p.t.Helper()
	out, err := p.query(sql)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// ExecIn is like Exec, but runs SQL in another database, such as PostgresDatabase.
func (p *Postgres) ExecIn(database, sql string) string {
	p.t.Helper()
	out, err := p.program("psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-d", p.owner()+" dbname="+database, "-c", sql)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return strings.TrimSpace(out)
}

// Addr returns the host and the port.
func (p *Postgres) Addr() string { return address(p.port) }

// URL returns the URL of the database for a client, which connects by TCP and logs in as
// PostgresUser.
func (p *Postgres) URL() string { return p.URLAt(p.Addr()) }

// URLAt returns the same URL as URL with another host and port, such as those of a Proxy or a
// Bouncer.
func (p *Postgres) URLAt(address string) string {
	mode := "disable"
	if p.options.TLS {
		mode = "verify-full&sslrootcert=" + url.QueryEscape(p.ca)
	}
	return postgresURL(address, mode)
}

func postgresURL(address, mode string) string {
	u := url.URL{Scheme: "postgres", Host: address, Path: PostgresDatabase, User: url.UserPassword(PostgresUser, PostgresPassword)}
	return u.String() + "?sslmode=" + mode
}

// SocketURL returns the URL of the database for a client that connects through the Unix socket.
func (p *Postgres) SocketURL() string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=%d&user=%s", PostgresDatabase, url.QueryEscape(p.sockets), p.port, PostgresUser)
}

// CAFile returns the name of the PEM file of the authority that signed the server's certificate. It
// returns "" if the server does not use TLS.
func (p *Postgres) CAFile() string { return p.ca }

// Crash ends the server by SIGQUIT, which PostgreSQL calls an immediate shutdown. The processes
// that serve connections cannot finish their work. At its next start the server recovers from its
// log.
func (p *Postgres) Crash() {
	p.t.Helper()
	if p.running() {
		p.Thaw()
		_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGQUIT)
		p.awaitExit("crash")
	}
}

// Promote makes a standby the primary. It returns when the server accepts changes.
func (p *Postgres) Promote() {
	p.t.Helper()
	if p.Exec("SELECT pg_promote(true, 60)") != "t" {
		p.t.Fatal("the standby was not promoted")
	}
	awaitState(p.t, "the standby is not a primary", func() error {
		v, err := p.query("SELECT pg_is_in_recovery()")
		if err == nil && v != "f" {
			err = errors.New("it is in recovery")
		}
		return err
	})
	p.options.StandbyOf = nil
}

// awaitSync waits until a standby has all changes that the server had at the time of the call. If
// synchronous is true, the standby must also be synchronous.
func (p *Postgres) awaitSync(synchronous bool) {
	p.t.Helper()
	at := p.Exec("SELECT pg_current_wal_flush_lsn()")
	want := "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn >= '" + at + "'"
	if synchronous {
		want += " AND sync_state IN ('sync', 'quorum')"
	}
	awaitState(p.t, "the standby is not in step", func() error {
		v, err := p.query(want)
		if err == nil && v != "t" {
			err = errors.New(p.Exec("SELECT state, flush_lsn, sync_state FROM pg_stat_replication"))
		}
		return err
	})
}

// unprivilegedUser returns the user for a server that refuses to run as root. It returns nil if the
// test does not run as root.
func unprivilegedUser(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("no user postgres or nobody for a server that refuses to run as root")
	return nil
}
