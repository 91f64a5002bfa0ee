//go:build unix

package servers_test

import (
	"strings"
	"testing"

	"holdpoint/internal/test/servers"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, servers.PostgresOptions{TLS: true})
	p.ExecIn(servers.PostgresDatabase, "SET ROLE holdpoint; CREATE TABLE k (v text); INSERT INTO k VALUES ('1')")
	if v := p.Exec("SELECT rolsuper FROM pg_roles WHERE rolname = 'holdpoint'"); v != "f" {
		t.Errorf("the role is a superuser: %s", v)
	}
	if v := p.Exec("SHOW fsync"); v != "on" || p.CAFile() == "" {
		t.Errorf("fsync is %s, authority %q", v, p.CAFile())
	}
	for what, end := range map[string]func(){"Kill": p.Kill, "Stop": p.Stop, "Crash": p.Crash} {
		end()
		p.Restart()
		if v := p.ExecIn(servers.PostgresDatabase, "SELECT v FROM k"); v != "1" {
			t.Errorf("%s: the value is %q", what, v)
		}
	}
	if !strings.Contains(p.URL(), "sslmode=verify-full") || !strings.HasPrefix(p.URL(), "postgres://holdpoint:p%20w%2F%40@127.0.0.1:") {
		t.Error(p.URL())
	}
}

func TestPostgresStandby(t *testing.T) {
	t.Parallel()
	primary := servers.StartPostgres(t, servers.PostgresOptions{})
	standby := servers.StartPostgres(t, servers.PostgresOptions{StandbyOf: primary, Synchronous: true})
	primary.Exec("CREATE TABLE k (v text)")
	primary.Exec("INSERT INTO k VALUES ('1')")
	primary.Kill()
	standby.Promote()
	if v := standby.Exec("SELECT v FROM k"); v != "1" {
		t.Errorf("the value is %q", v)
	}
	standby.Restart()
	standby.Exec("INSERT INTO k VALUES ('2')")
}

func TestPgBouncer(t *testing.T) {
	t.Parallel()
	b := servers.StartPgBouncer(t, servers.StartPostgres(t, servers.PostgresOptions{}))
	b.Kill()
	b.Restart()
	if !strings.Contains(b.URL(), b.Addr()) {
		t.Error(b.URL())
	}
}
