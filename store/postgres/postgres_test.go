//go:build unix

package postgres_test

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"holdpoint/internal/test/pages"
	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/postgres"
	"holdpoint/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a store, which is stopped when the test ends.
func open(t *testing.T, address string, o engine.Options) *engine.Store {
	t.Helper()
	c, err := postgres.Parse(address, "")
	if err != nil {
		t.Fatal(err)
	}
	o.Sweep = -1
	s, err := postgres.Open(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// with adds parameters to an address.
func with(address, parameters string) string { return address + "&" + parameters }

// TestContract: the store must fulfill the contract on a server, and through PgBouncer in
// transaction mode.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for time to go by")
	}
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{Conf: forgetful})
	bouncer := servers.StartPgBouncer(t, server)
	for name, address := range map[string]string{"server": server.URL(), "bouncer": bouncer.URL()} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			storetest.Run(t, func(t *testing.T, _ *storetest.Clock, o storetest.Options) store.Store {
				// Every second store has a limit on open threads, so that counting is tested too.
				entries := 0
				if n.Add(1)%2 == 0 {
					entries = 1_000_000
				}
				return open(t, with(address, "pool_max_conns=4"), engine.Options{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes, Entries: entries})
			}, storetest.OwnClock, storetest.Unbounded)
		})
	}
}

// forgetful configures a server that is fast but may lose data in a crash. It is for tests without
// a crash.
var forgetful = []string{"fsync = off", "synchronous_commit = off"}

// TestOneServer has the tests that share one server. Each uses a schema or keys of its own.
func TestOneServer(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{Conf: forgetful})
	bouncer := servers.StartPgBouncer(t, server)
	for name, test := range map[string]func(*testing.T, *servers.Postgres, *servers.Bouncer){
		"a connection breaks in a step":     connectionBreaks,
		"an order explains what is told":    linearizable,
		"each step is two round trips":      twoRoundTrips,
		"a server is silent":                serverIsSilent,
		"transactions are serializable":     serializable,
		"lists, and what is forgotten":      listsAndForgetting,
		"the queries of the page":           queriesOfThePage,
		"the tables are made, or are there": schemas,
	} {
		t.Run(name, func(t *testing.T) { test(t, server, bouncer) })
	}
}

// queriesOfThePage checks that the server accepts the queries in docs/state.md.
func queriesOfThePage(t *testing.T, server *servers.Postgres, _ *servers.Bouncer) {
	if _, err := open(t, server.URL(), engine.Options{}).Load(t.Context(), "k", ""); err != nil {
		t.Fatal(err) // this call creates the tables
	}
	text, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range pages.Blocks(string(text)) {
		if b.Language == "sql" {
			server.ExecIn(servers.PostgresDatabase, b.Text)
			ran++
		}
	}
	if ran == 0 {
		t.Error("the page has no query")
	}
}

func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	t.Run("it is not there yet", func(t *testing.T) { notThereYet(t, server) })
	t.Run("it ends under load", func(t *testing.T) { endsUnderLoad(t, server) })
	t.Run("what it may lose is told", func(t *testing.T) { durabilityIsTold(t, server) })
}

func TestServerWithTLS(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{TLS: true})
	t.Run("encrypted", func(t *testing.T) { encrypted(t, server) })
	t.Run("renewing a lease writes little", func(t *testing.T) { renewalWritesLittle(t, server) })
	t.Run("a thread takes little room", func(t *testing.T) { sizes(t, server) })
}

// A testLog keeps log lines for a test.
type testLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *testLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
