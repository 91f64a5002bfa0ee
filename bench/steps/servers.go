//go:build unix

package steps

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/rueidis"

	"holdpoint/internal/test/servers"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/postgres"
	"holdpoint/store/redis"
)

// ErrMissing is the error that a server is not installed.
var ErrMissing = servers.ErrMissing

// A Machine starts servers. The servers and their stores end when the Machine ends.
type Machine struct{ t testing.TB }

// WithMachine calls do with a new Machine, and ends the Machine when do returns.
func WithMachine(do func(m *Machine) error) error {
	return servers.Outside(func(t testing.TB) error { return do(&Machine{t}) })
}

// options returns the store options of the Holdpoint binary, with two changes. There is no sweep,
// because it could run at any moment. Records may be large enough for eight results of 128 KiB.
func options() engine.Options {
	return engine.Options{Entries: 100_000, RecordBytes: 4 << 20, Sweep: -1, Logger: slog.New(slog.DiscardHandler)}
}

// networkDelay is how long the simulated network delays a request at least, in each direction. On
// an idle machine timers are late, so the real delay is about a millisecond.
const networkDelay = 250 * time.Microsecond

// addressOf returns the address at which a server is reached. If far is true, that is the address
// of a proxy that simulates a network.
func (m *Machine) addressOf(address string, far bool) string {
	if !far {
		return address
	}
	p := servers.StartProxy(m.t, address)
	p.Delay(networkDelay)
	return p.Addr()
}

// payload is about as large as the head of a record, which is the part that a Claim writes.
var payload = []byte(messages(320))

// Redis starts a Redis server and opens a store on it. If durable is true, the server confirms a
// write only after the disk has it. If far is true, the store reaches the server through the
// simulated network.
func (m *Machine) Redis(ctx context.Context, durable, far bool) (*Side, error) {
	conf := []string{"appendonly no"}
	if durable {
		conf = nil
	}
	server := servers.StartRedis(m.t, servers.RedisOptions{Conf: conf})
	at := m.addressOf(server.Addr(), far)
	u, err := url.Parse(server.URLAt(at))
	if err != nil {
		return nil, err
	}
	address, err := redis.Parse(u)
	if err != nil {
		return nil, err
	}
	s, err := redis.Open(ctx, address, redis.Options{Options: options()})
	if err != nil {
		return nil, err
	}
	m.stopAtEnd(s.Store)
	// This client has the same options as the client of the store.
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{at}, DisableCache: true, DisableRetry: true, ForceSingleClient: true, PipelineMultiplex: -1,
		ReadBufferEachConn: 64 << 10, WriteBufferEachConn: 64 << 10, ConnWriteTimeout: 5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	m.t.Cleanup(client.Close)
	side := &Side{
		Name: "redis", Address: server.URLAt(at), Store: s.Store,
		Ask: Step{"GET", func(ctx context.Context) (time.Duration, error) {
			return timeOf(func() error { return client.Do(ctx, client.B().Get().Key("bare").Build()).Error() })
		}},
		Keep: Step{"SET", func(ctx context.Context) (time.Duration, error) {
			return timeOf(func() error {
				return client.Do(ctx, client.B().Set().Key("bare").Value(string(payload)).Build()).Error()
			})
		}},
		clone: cloneRedis(client),
	}
	_, err = side.Keep.Do(ctx) // writes the value that the step GET reads
	return side, err
}

// A Database is a PostgreSQL server. Several Sides use the same server.
type Database struct {
	m      *Machine
	server *servers.Postgres
}

// Postgres starts a PostgreSQL server with almost all of its default settings.
func (m *Machine) Postgres() *Database {
	return &Database{m, servers.StartPostgres(m.t, servers.PostgresOptions{Conf: []string{"shared_buffers = 128MB", "max_wal_size = 4GB"}})}
}

// Side opens a store in a schema of its own. durable and far are as in the method Redis.
func (d *Database) Side(ctx context.Context, schema string, durable, far bool) (*Side, error) {
	commit := "off"
	if durable {
		commit = "on"
	}
	base := d.server.URLAt(d.m.addressOf(d.server.Addr(), far)) + "&synchronous_commit=" + commit
	d.server.ExecIn(servers.PostgresDatabase, "CREATE SCHEMA "+schema+" AUTHORIZATION "+servers.PostgresUser)
	address := base + "&schema=" + schema
	c, err := postgres.Parse(address, "")
	if err != nil {
		return nil, err
	}
	s, err := postgres.Open(c, options())
	if err != nil {
		return nil, err
	}
	d.m.stopAtEnd(s)
	pool, err := pgxpool.New(ctx, base)
	if err != nil {
		return nil, err
	}
	d.m.t.Cleanup(pool.Close)
	ask := func(ctx context.Context, sql string, values ...[]byte) error {
		c, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer c.Release()
		return c.Conn().PgConn().ExecParams(ctx, sql, values, nil, nil, nil).Read().Err
	}
	bare := schema + ".bare"
	if err := ask(ctx, "CREATE TABLE "+bare+" (n integer PRIMARY KEY, kept text)"); err != nil {
		return nil, err
	}
	if err := ask(ctx, "INSERT INTO "+bare+" VALUES (1, $1)", payload); err != nil {
		return nil, err
	}
	return &Side{
		Name: "postgres", Address: address, Store: s,
		Ask: Step{"SELECT 1", func(ctx context.Context) (time.Duration, error) {
			return timeOf(func() error { return ask(ctx, "SELECT 1") })
		}},
		Find: Step{"SELECT a row", func(ctx context.Context) (time.Duration, error) {
			return timeOf(func() error { return ask(ctx, "SELECT kept FROM "+bare+" WHERE n = 1") })
		}},
		Keep: Step{"UPDATE", func(ctx context.Context) (time.Duration, error) {
			return timeOf(func() error { return ask(ctx, "UPDATE "+bare+" SET kept = $1 WHERE n = 1", payload) })
		}},
		clone: clonePostgres(schema, ask),
	}, nil
}

// Bolt opens a store in a file in a new folder. Its step Keep overwrites as many bytes in another
// file as a step of the store writes.
func (m *Machine) Bolt(ctx context.Context) (*Side, error) {
	dir, err := m.Folder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "state.db")
	side := &Side{Name: "bolt", Address: "bolt://" + path}
	open := func() (err error) {
		side.Store, err = bolt.Open(path, bolt.Options{Options: options()})
		return err
	}
	if err := open(); err != nil {
		return nil, err
	}
	m.t.Cleanup(func() { _ = side.Store.Stop() }) // the file is removed with the folder
	side.clone = cloneBolt(path, side, open)
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		return nil, err
	}
	m.t.Cleanup(func() { f.Close() })
	_, claim, err := side.WaitingThread(ctx, "bytes", 0, 320)
	if err != nil {
		return nil, err
	}
	written, err := bytesWritten(func() error {
		for range 50 {
			if _, err := claim.Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	bytes := make([]byte, written/100) // a Claim and its Release write the same number of bytes
	if len(bytes) < 1<<10 {
		return nil, fmt.Errorf("a step writes %d bytes: they are not counted", len(bytes))
	}
	side.Keep = Step{fmt.Sprintf("%d bytes and fsync", len(bytes)), func(context.Context) (time.Duration, error) {
		return timeOf(func() error {
			if _, err := f.WriteAt(bytes, 0); err != nil {
				return err
			}
			return f.Sync()
		})
	}}
	return side, nil
}

// Folder makes a folder. It is removed when the Machine ends.
func (m *Machine) Folder() (string, error) {
	dir, err := os.MkdirTemp("", "holdpoint-steps-")
	if err == nil {
		m.t.Cleanup(func() { os.RemoveAll(dir) })
	}
	return dir, err
}

// bytesWritten returns the number of bytes that this process passes to the kernel while do runs.
func bytesWritten(do func() error) (int, error) {
	count := func() (n int, err error) {
		b, err := os.ReadFile("/proc/self/io")
		if err == nil {
			var read int
			_, err = fmt.Sscanf(string(b), "rchar: %d\nwchar: %d", &read, &n)
		}
		return n, err
	}
	before, err := count()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := count()
	return after - before, err
}

// stopAtEnd makes sure that the store is stopped when the Machine ends.
func (m *Machine) stopAtEnd(s *engine.Store) {
	m.t.Cleanup(func() { _ = s.Stop() }) // an error does not matter: its server ends next
}
