//go:build unix

package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// renewalWritesLittle checks that renewing a lease does not write the body and the snapshots of the
// record.
func renewalWritesLittle(t *testing.T, server *servers.Postgres) {
	s := open(t, server.URL(), engine.Options{RecordBytes: 4 << 20})
	p := ask("p")
	p.Interrupts[0].Object = json.RawMessage(`"` + strings.Repeat("b", 1<<20) + `"`)
	p.Messages = json.RawMessage(`["` + strings.Repeat("m", 1<<20) + `"]`)
	if _, err := s.Do(t.Context(), "k", store.Ask{Pause: p}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), "k", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: long}); err != nil {
		t.Fatal(err)
	}
	lsn := func() int64 {
		n, err := strconv.ParseInt(server.Exec("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const renewals = 300
	before := lsn()
	for range renewals {
		if _, err := s.Do(t.Context(), "k", store.Renew{Token: "t", Lease: long}); err != nil {
			t.Fatal(err)
		}
	}
	each := (lsn() - before) / renewals
	t.Logf("%d bytes each", each)
	if each > 1000 {
		t.Errorf("renewing a lease beside 2 MiB writes %d bytes of the server's log", each)
	}
	shown, err := s.Snapshots(t.Context(), "k", "p", store.AtPause)
	if err != nil || len(shown.Messages) < 1<<20 {
		t.Errorf("%d bytes of messages, error %v", len(shown.Messages), err)
	}
}

// listsAndForgetting checks that indexes are used to list and to count open threads, and that
// several processes can forget old rows concurrently.
func listsAndForgetting(t *testing.T, server *servers.Postgres, _ *servers.Bouncer) {
	o := engine.Options{PauseRetention: long, ReplayTTL: time.Millisecond, Entries: 5}
	s := open(t, with(server.URL(), "schema=lists"), o)
	var keys []store.Key
	for i := range 5 {
		k := store.Key(fmt.Sprintf("%d/ü %s", i, strings.Repeat("x", i)))
		keys = append(keys, k)
		if _, err := s.Do(t.Context(), k, store.Ask{Pause: ask("p")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Do(t.Context(), "one more", store.Ask{Pause: ask("p")}); err == nil {
		t.Error("no bound")
	}
	for _, q := range []store.Query{{Limit: 2}, {Limit: 2, Due: time.Now().Add(2 * long)}} {
		var got []store.Key
		for {
			page, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Rows {
				got = append(got, r.Key)
				if r.Opened.IsZero() || r.Due.Sub(r.Opened) < long/2 {
					t.Errorf("times %v and %v", r.Opened, r.Due)
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if !slices.Equal(got, keys) {
			t.Errorf("listed %q, want %q", got, keys)
		}
	}
	if page, err := s.List(t.Context(), store.Query{Due: time.Now()}); err != nil || len(page.Rows) != 0 {
		t.Errorf("due: %v, error %v", page.Rows, err)
	}
	server.ExecIn(servers.PostgresDatabase, "ANALYZE")
	plan := server.ExecIn(servers.PostgresDatabase, "SET enable_seqscan = off; EXPLAIN SELECT count(*) FROM lists.holdpoint_threads WHERE opened IS NOT NULL")
	if !strings.Contains(plan, "holdpoint_threads_opened") {
		t.Errorf("counting reads the table:\n%s", plan)
	}
	for _, k := range keys {
		if _, err := s.Do(t.Context(), k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn, Messages: json.RawMessage(`[]`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.ExecIn(servers.PostgresDatabase, "SELECT count(*) FROM lists.holdpoint_threads WHERE opened IS NULL AND due IS NULL AND gone IS NOT NULL"); n != "5" {
		t.Errorf("%s rows are to go, want 5", n)
	}
	server.ExecIn(servers.PostgresDatabase, "UPDATE lists.holdpoint_threads SET gone = now() WHERE key <> '"+string(keys[0])+"'")
	server.ExecIn(servers.PostgresDatabase, "INSERT INTO lists.holdpoint_threads SELECT 'old ' || n, 1, NULL, NULL, now(), '', NULL FROM generate_series(1, 900) n")
	done := make(chan struct{})
	for range 2 {
		go func() { s.Sweep(t.Context()); done <- struct{}{} }()
	}
	<-done
	<-done
	if n := server.ExecIn(servers.PostgresDatabase, "SELECT string_agg(key, ',') FROM lists.holdpoint_threads"); n != strings.TrimSpace(string(keys[0])) {
		t.Errorf("left: %s", n)
	}
	if n := server.ExecIn(servers.PostgresDatabase, "SELECT count(*) FROM lists.holdpoint_snapshots WHERE key <> '"+string(keys[0])+"'"); n != "0" {
		t.Errorf("%s snapshots of nothing", n)
	}
}

// sizes checks that an open thread takes two rows, and little more space than its contents.
func sizes(t *testing.T, server *servers.Postgres) {
	s := open(t, with(server.URL(), "schema=sizes"), engine.Options{})
	const n = 1000
	one := func(sql string) int64 {
		n, err := strconv.ParseInt(server.ExecIn(servers.PostgresDatabase, sql), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := s.Do(t.Context(), "the tables are there", store.Ask{Pause: ask("p")}); err != nil {
		t.Fatal(err)
	}
	waiting, ended := storetest.Measure(t, s, n, func() int64 {
		server.ExecIn(servers.PostgresDatabase, "VACUUM FULL sizes.holdpoint_threads")
		server.ExecIn(servers.PostgresDatabase, "VACUUM FULL sizes.holdpoint_snapshots")
		return one("SELECT pg_total_relation_size('sizes.holdpoint_threads') + pg_total_relation_size('sizes.holdpoint_snapshots')")
	})
	if waiting > 15_000 || ended > 25_000 {
		t.Errorf("a thread that waits takes %d bytes, and %d after its end", waiting, ended)
	}
	if rows := one("SELECT count(*) FROM sizes.holdpoint_snapshots"); rows != n+1 {
		t.Errorf("%d rows of snapshots for %d threads", rows, n+1)
	}
}
