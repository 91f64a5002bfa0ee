//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/postgres"
	"holdpoint/store/storetest"
)

func sqlOf(t *testing.T, address string) string {
	t.Helper()
	c, err := postgres.Parse(address, "")
	if err != nil {
		t.Fatal(err)
	}
	return postgres.Schema(c)
}

// usable opens a pause, and returns an error if the store is not usable.
func usable(s store.Store, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return storetest.Do(ctx, s, store.Key("usable "+id), store.Ask{Pause: ask(id)})
}

// refused ends the test unless a step fails with an error that contains text.
func refused(t *testing.T, s store.Store, text string) {
	t.Helper()
	if err := usable(s, "p"); err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("got error %v, want %q", err, text)
	}
}

// refusedFor does what refused does. The log must also contain text, and say that waiting alone
// will not help.
func refusedFor(t *testing.T, s store.Store, log *testLog, text string) {
	t.Helper()
	refused(t, s, text)
	if said := log.String(); !strings.Contains(said, text) || !strings.Contains(said, "waiting alone will not help") {
		t.Fatalf("the log has no %q:\n%s", text, said)
	}
}

// eventually waits until the store is usable.
func eventually(t *testing.T, s store.Store) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := usable(s, "p")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// as returns an address of the server with the role's name and password. The password is the same
// as the name.
func as(server *servers.Postgres, role, parameters string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable%s", role, role, server.Addr(), servers.PostgresDatabase, parameters)
}

func schemas(t *testing.T, server *servers.Postgres, bouncer *servers.Bouncer) {
	sql := func(s string) { server.ExecIn(servers.PostgresDatabase, s) }

	t.Run("many that start at once make it once", func(t *testing.T) {
		for _, address := range []string{with(server.URL(), "schema=order"), with(server.URL(), "schema=agents")} {
			var all sync.WaitGroup
			for i := range 8 {
				s := open(t, address, engine.Options{})
				all.Go(func() {
					if err := usable(s, fmt.Sprint(i)); err != nil && !strings.Contains(err.Error(), store.ErrExists.Error()) {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		if n := server.ExecIn(servers.PostgresDatabase, "SELECT count(*) FROM agents.holdpoint_schema"); n != "1" {
			t.Errorf("%s versions", n)
		}
		if n := server.ExecIn(servers.PostgresDatabase, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); n != "0" {
			t.Errorf("%s locks stay behind", n)
		}
	})
	t.Run("tables of before have no list of what is to be sent", func(t *testing.T) {
		address := with(server.URL(), "schema=before")
		if err := usable(open(t, address, engine.Options{}), "made"); err != nil {
			t.Fatal(err)
		}
		sql("DROP TABLE before.holdpoint_unsent")
		if err := usable(open(t, address, engine.Options{}), "p"); err != nil {
			t.Errorf("who sends nothing does not need it: %v", err)
		}
		none := func(store.Key, *store.Result) []store.Notice { return nil }
		s := open(t, address, engine.Options{Notices: none})
		notices := []store.Notice{{ID: "n", Body: []byte("{}")}}
		if _, err := s.Do(t.Context(), "k", store.Ask{Pause: ask("q"), Notices: notices}); err != nil {
			t.Fatal(err)
		}
		page, err := s.List(t.Context(), store.Query{WithNotices: true, Due: time.Now().Add(time.Minute)})
		if err != nil || len(page.Rows) != 1 {
			t.Errorf("listed are %v, %v", page.Rows, err)
		}
		sql("DELETE FROM before.holdpoint_threads WHERE key = 'k'")
		if _, err := s.Do(t.Context(), "k", store.Take{Hold: time.Minute}); err != nil {
			t.Error(err)
		}
		if n := server.ExecIn(servers.PostgresDatabase, "SELECT count(*) FROM before.holdpoint_unsent"); n != "0" {
			t.Errorf("%s keys without a row are listed", n)
		}
	})
	t.Run("a role that may not make tables", func(t *testing.T) {
		sql("CREATE ROLE app LOGIN PASSWORD 'app'")
		sql("CREATE SCHEMA given")
		var log testLog
		address := as(server, "app", "&schema=given")
		s := open(t, address, engine.Options{Logger: log.logger()})
		refusedFor(t, s, &log, "holdpoint store schema")
	})
	t.Run("what a DBA has made is enough for it", func(t *testing.T) {
		address := as(server, "app", "&schema=given")
		sql(sqlOf(t, address))
		sql(sqlOf(t, address)) // a second time does no harm
		sql("GRANT USAGE ON SCHEMA given TO app; GRANT SELECT ON given.holdpoint_schema, given.holdpoint_threads, given.holdpoint_snapshots TO app")
		var log testLog
		s := open(t, address, engine.Options{Logger: log.logger(), Entries: 10})
		refusedFor(t, s, &log, "SELECT, INSERT, UPDATE and DELETE")
		sql("GRANT INSERT, UPDATE, DELETE ON given.holdpoint_threads, given.holdpoint_snapshots TO app")
		eventually(t, s)
		if !strings.Contains(log.String(), "the store is there") {
			t.Errorf("the log does not say so:\n%s", &log)
		}
		for _, st := range steps() {
			k := store.Key("given " + st.name)
			if st.before != nil {
				if err := st.before(t.Context(), s, k); err != nil {
					t.Fatal(err)
				}
			}
			if err := st.do(t.Context(), s, k); err != nil {
				t.Errorf("%s: %v", st.name, err)
			}
		}
		s.Sweep(t.Context())
	})
	t.Run("a newer one", func(t *testing.T) {
		sql("SET ROLE holdpoint; CREATE SCHEMA newer; CREATE TABLE newer.holdpoint_schema AS SELECT 2 AS version")
		var log testLog
		s := open(t, with(server.URL(), "schema=newer"), engine.Options{Logger: log.logger()})
		refusedFor(t, s, &log, "they have version 2, and this Holdpoint can use 1 at most: run the newer version that made them")
	})
	t.Run("a role with another password", func(t *testing.T) {
		sql("CREATE ROLE late LOGIN PASSWORD 'early'")
		sql("CREATE SCHEMA late AUTHORIZATION late")
		var log testLog
		s := open(t, as(server, "late", "&schema=late"), engine.Options{Logger: log.logger()})
		refusedFor(t, s, &log, "refuses the role or its password")
		sql("ALTER ROLE late PASSWORD 'late'")
		eventually(t, s)
		if n := strings.Count(log.String(), "waiting alone"); n != 1 {
			t.Errorf("the log says it %d times", n)
		}
	})
	t.Run("through PgBouncer", func(t *testing.T) {
		wrong := strings.Replace(bouncer.URL(), "p%20w%2F%40", "wrong-password", 1)
		var log testLog
		refusedFor(t, open(t, wrong, engine.Options{Logger: log.logger()}), &log, "refuses the role or its password")
		if strings.Contains(log.String(), "wrong-password") {
			t.Errorf("a password in the log:\n%s", &log)
		}
		if err := usable(open(t, with(bouncer.URL(), "schema=bounced"), engine.Options{}), "p"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a server that accepts no changes", func(t *testing.T) {
		sql("CREATE ROLE reader LOGIN PASSWORD 'reader' IN ROLE holdpoint")
		sql("ALTER ROLE reader SET default_transaction_read_only = on")
		refused(t, open(t, as(server, "reader", "&schema=agents"), engine.Options{}), "accepts no changes")
	})
	t.Run("no connection left", func(t *testing.T) {
		sql("CREATE ROLE crowd LOGIN PASSWORD 'crowd' CONNECTION LIMIT 0")
		refused(t, open(t, as(server, "crowd", ""), engine.Options{}), "no connection left")
	})
}

// notThereYet starts a store before its server. The log must say once that the server is not there
// yet. When the server has started, the store must work.
func notThereYet(t *testing.T, server *servers.Postgres) {
	server.Stop()
	var log testLog
	s := open(t, server.URL(), engine.Options{Logger: log.logger()})
	for range 3 {
		refused(t, s, "not there yet")
	}
	server.Restart()
	eventually(t, s)
	if n := strings.Count(log.String(), "not there yet"); n != 1 || !strings.Contains(log.String(), "the store is there") {
		t.Errorf("the log:\n%s", &log)
	}
	if strings.Contains(log.String(), servers.PostgresPassword) || strings.Contains(log.String(), "p%20w") {
		t.Errorf("a password in the log:\n%s", &log)
	}
}

// durabilityIsTold checks that the log says at the start which changes the server may lose.
func durabilityIsTold(t *testing.T, server *servers.Postgres) {
	for name, tt := range map[string]struct {
		conf []string
		want string
	}{
		"safe":  {nil, "level=INFO msg=\"a failover"},
		"fsync": {[]string{"fsync = off"}, "level=WARN msg=\"a crash of the database's machine"},
		"lazy":  {[]string{"synchronous_commit = off"}, "level=WARN msg=\"a crash of the database may lose"},
		"local": {[]string{"synchronous_commit = local", "synchronous_standby_names = 'other'"}, "level=WARN msg=\"a failover of the database may lose"},
	} {
		for _, c := range tt.conf {
			server.Exec("ALTER SYSTEM SET " + c)
		}
		server.Restart()
		var log testLog
		s := open(t, server.URL(), engine.Options{Logger: log.logger()})
		if _, err := s.Load(t.Context(), "k", ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), tt.want) || name == "safe" && strings.Contains(log.String(), "WARN") {
			t.Errorf("%s: want %s, and the log is\n%s", name, tt.want, &log)
		}
		server.Exec("ALTER SYSTEM RESET ALL")
	}
}

// TestFailover: a synchronous standby has everything that clients got. If the address names both
// servers, the store must continue on the standby by itself.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := servers.StartPostgres(t, servers.PostgresOptions{})
	standby := servers.StartPostgres(t, servers.PostgresOptions{StandbyOf: primary, Synchronous: true})
	_, first, _ := strings.Cut(primary.Addr(), ":")
	_, second, _ := strings.Cut(standby.Addr(), ":")
	u, err := url.Parse(primary.URL())
	if err != nil {
		t.Fatal(err)
	}
	both := fmt.Sprintf("postgres://%s@/%s?sslmode=disable&host=127.0.0.1,127.0.0.1&port=%s,%s", u.User, servers.PostgresDatabase, second, first)
	s := open(t, both, engine.Options{})
	if err := usable(s, "p"); err != nil {
		t.Fatal(err)
	}
	refused(t, open(t, standby.URL(), engine.Options{}), "a standby")
	cutOff := safeBeforeItIsTold(t, primary)
	primary.Kill()
	standby.Promote()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := untilDone(ctx, func() error {
		return storetest.Do(ctx, s, "usable p", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: long})
	}); err != nil {
		t.Error(err)
	}
	for _, key := range cutOff {
		if rec, err := s.Load(t.Context(), key, ""); err != nil || rec.State != store.Open {
			t.Errorf("%s: after the failover: %v, %q", key, err, rec.State)
		}
	}
}

// safeBeforeItIsTold interrupts a step while the step waits for the standby, so that only the
// primary has the question. The step must fail, and no client may get the question until the
// standby has it. safeBeforeItIsTold returns the keys of the threads that it used.
func safeBeforeItIsTold(t *testing.T, primary *servers.Postgres) (told []store.Key) {
	t.Helper()
	opens, other := open(t, primary.URL(), engine.Options{}), open(t, primary.URL(), engine.Options{})
	names := strings.TrimSpace(primary.Exec("SHOW synchronous_standby_names"))
	primary.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	primary.Exec("SELECT pg_reload_conf()")
	waits := "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	type cut struct {
		key store.Key
		by  func(leave context.CancelFunc)
	}
	for _, c := range []cut{
		{"left", func(leave context.CancelFunc) { leave() }},
		{"canceled", func(context.CancelFunc) {
			primary.Exec("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		}},
		{"ended", func(context.CancelFunc) {
			primary.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		}},
	} {
		told = append(told, c.key)
		within := func(do func(ctx context.Context) error) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- do(ctx) }()
			for ctx.Err() == nil && strings.TrimSpace(primary.Exec(waits)) == "0" {
				time.Sleep(10 * time.Millisecond)
			}
			c.by(cancel)
			return <-ended
		}
		if err := within(func(ctx context.Context) error { return storetest.Do(ctx, opens, c.key, store.Ask{Pause: ask("p")}) }); err == nil {
			t.Errorf("%s: a question counts that no standby has", c.key)
		}
		for ctx := t.Context(); ctx.Err() == nil && strings.TrimSpace(primary.Exec(waits)) != "0"; {
			time.Sleep(10 * time.Millisecond)
		}
		var rec store.Record
		if err := within(func(ctx context.Context) (err error) { rec, err = other.Load(ctx, c.key, ""); return err }); err == nil {
			t.Errorf("%s: the record is %q, and no standby has it", c.key, rec.State)
		}
	}
	primary.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'")
	primary.Exec("SELECT pg_reload_conf()")
	for _, key := range told {
		if rec, err := other.Load(t.Context(), key, ""); err != nil || rec.State != store.Open {
			t.Errorf("%s: with the standby: %v, %q", key, err, rec.State)
		}
	}
	return told
}

// encrypted checks that TLS is used as the address says. A server whose certificate does not match
// must be refused.
func encrypted(t *testing.T, server *servers.Postgres) {
	if err := usable(open(t, server.URL(), engine.Options{}), "p"); err != nil {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "empty.crt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("postgres://%s@%s/holdpoint?sslmode=verify-full", url.UserPassword(servers.PostgresUser, servers.PostgresPassword), server.Addr())
	refused(t, open(t, address, engine.Options{}), "certificate")
	if _, err := postgres.Parse(with(address, "sslrootcert="+other), ""); err == nil {
		t.Error("an authority without a certificate is taken")
	}
}
