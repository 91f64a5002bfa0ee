//go:build unix

package servers

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A Bouncer is a running PgBouncer in front of one PostgreSQL server.
type Bouncer struct {
	process
	server *Postgres
	port   int
}

// StartPgBouncer starts a PgBouncer in transaction mode, in which a client has a connection to the
// server only during one transaction. It has few connections to the server. It ends with the test.
// conf are further lines of its configuration, which override the others.
func StartPgBouncer(t testing.TB, server *Postgres, conf ...string) *Bouncer {
	t.Helper()
	Need(t, PgBouncer)
	as := unprivilegedUser(t)
	dir := folder(t, as)
	b := &Bouncer{server: server}
	ini := filepath.Join(dir, "pgbouncer.ini")
	b.process = process{
		t: t, name: "pgbouncer", path: find(PgBouncer), args: []string{ini}, dir: dir, user: as,
		stopSignal: syscall.SIGINT, endSignal: syscall.SIGKILL, ready: b.checkAnswer,
	}
	users := filepath.Join(dir, "users.txt")
	write(t, users, fmt.Sprintf("%q %q\n", PostgresUser, PostgresPassword), as)
	t.Cleanup(b.cleanUp)
	onFreePort(t, func(port int) error {
		b.port = port
		lines := []string{
			"[databases]", fmt.Sprintf("%s = host=127.0.0.1 port=%d dbname=%s", PostgresDatabase, server.port, PostgresDatabase),
			"[pgbouncer]", "pool_mode = transaction", "listen_addr = 127.0.0.1", fmt.Sprint("listen_port = ", port), "unix_socket_dir = " + dir,
			"auth_type = scram-sha-256", "auth_file = " + users, "default_pool_size = 4", "max_client_conn = 500", "server_login_retry = 1",
		}
		write(t, ini, strings.Join(append(lines, conf...), "\n")+"\n", as)
		return b.start()
	})
	return b
}

// checkAnswer checks that PgBouncer answers a query through its Unix socket. Only this process has
// that socket, while another process could use the port.
func (b *Bouncer) checkAnswer() error {
	at := fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s", b.dir, b.port, PostgresUser, PostgresPassword, PostgresDatabase)
	out, err := b.server.program("psql", "-X", "-q", "-t", "-A", "-d", at, "-c", "SELECT 1")
	if err == nil && strings.TrimSpace(out) != "1" {
		err = errors.New(out)
	}
	return err
}

// Addr returns the host and the port.
func (b *Bouncer) Addr() string { return address(b.port) }

// URL returns the URL of the database for a client, which logs in as PostgresUser.
func (b *Bouncer) URL() string { return postgresURL(b.Addr(), "disable") }

// URLAt returns the same URL as URL with another host and port, such as those of a Proxy.
func (b *Bouncer) URLAt(address string) string { return postgresURL(address, "disable") }
