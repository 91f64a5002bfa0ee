// Package redis keeps records in Redis, for many processes at once: in one server, in a server with
// sentinels, or in a cluster. It is a Table of package engine on github.com/redis/rueidis.
//
// A row is a hash. One script makes each change of a row: it compares the revision of the row, and
// moves the row in its lists. The keys are spread over a fixed number of parts, and each part has
// its own lists, so that all keys of a script are in the same slot of a cluster. All times are
// those of the server's clock. Nothing is read from a cache, and no write is repeated that may have
// been done: if a reply is lost, that is an error, and the caller repeats the step.
//
// Redis replies before its replicas have a change. docs/state.md says what can be lost because of
// this, and how Options.Replicas prevents it.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdpoint/store"
	"holdpoint/store/engine"
)

// Options configure a Store.
type Options struct {
	engine.Options
	// Replicas is how many replicas must have a guarded change before the change counts. 0 means
	// that it counts without replicas.
	Replicas int
	// ReplicaTimeout is how long the replicas may take. 0 means one second.
	ReplicaTimeout time.Duration
	// Timeout is the time limit of one request to the server. 0 means five seconds.
	Timeout time.Duration
}

// Open returns a store on Redis. The server may start later: each step fails until the server can
// be reached. The log has the reason for this once, and says when it is over. If a server answers
// at once but must not be used, because it would drop records, Open returns an error. If that shows
// only later, each step fails, and the log says why.
func Open(ctx context.Context, a Address, o Options) (*Store, error) {
	if o.ReplicaTimeout <= 0 {
		o.ReplicaTimeout = time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	t := &table{options: o, prefix: a.prefix, cluster: a.cluster}
	t.clients = &clients{log: o.Logger, connect: func(ctx context.Context) (rueidis.Client, error) { return connect(ctx, *t.address.Load(), o) }}
	t.address.Store(&a)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var err error
	if t.ready, err = engine.AwaitUnless(ctx, refused, t.clients.begin, isLasting, o.Logger); err != nil {
		t.ready.Stop()
		return nil, err
	}
	return &Store{engine.New(t, o.Options), t}, nil
}

// connect makes a client, and examines the servers to which it is connected.
func connect(ctx context.Context, a Address, o Options) (rueidis.Client, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: a.servers, Username: a.user, Password: a.password, SelectDB: a.database, TLSConfig: a.tls, ClientName: "holdpoint",
		// A read must return what the last write has written, so there is no cache. A write must
		// not be sent twice without Holdpoint's knowledge, so rueidis must not retry.
		DisableCache: true, DisableRetry: true,
		ForceSingleClient: !a.cluster && !a.sentinel,
		Sentinel: rueidis.SentinelOption{
			MasterSet: a.primary, Username: a.sentinelUser, Password: a.sentinelPassword, TLSConfig: a.tls,
			Dialer:                  net.Dialer{Timeout: o.Timeout},
			TopologyRefreshInterval: refresh,
		},
		ClusterOption:    rueidis.ClusterOption{ShardsRefreshInterval: refresh},
		Dialer:           net.Dialer{Timeout: o.Timeout, KeepAlive: time.Second},
		DialCtxFn:        dial,
		ConnWriteTimeout: o.Timeout,
		// The default is half a megabyte for each buffer of each connection.
		ReadBufferEachConn: bufferSize, WriteBufferEachConn: bufferSize,
		// All requests that need not wait for replicas use one connection. If it breaks, a read
		// notices that, and the next write uses a new connection. The pool of connections is only
		// for guarded writes.
		PipelineMultiplex: -1, BlockingPoolSize: guardedConnections, BlockingPoolCleanup: time.Minute,
	})
	if err == nil {
		err = examine(ctx, client, a, o)
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, fmt.Errorf(textCannotUse, explain(err))
	}
	return client, nil
}

const (
	bufferSize = 64 << 10
	// guardedConnections is the largest number of connections on which guarded changes wait for
	// replicas.
	guardedConnections = 64
	// refresh is how often the client asks which server is the primary. It also asks after each
	// failure.
	refresh = 5 * time.Second
	// parts is the number of parts over which the keys are spread. It must not change: with another
	// number, no existing key would be found.
	parts = 64
)

type table struct {
	clients *clients
	ready   *engine.TablePreparer
	address atomic.Pointer[Address]
	options Options
	prefix  string
	cluster bool
}

var _ engine.Table = (*table)(nil)

// part returns the beginning of all keys of the part n. In a cluster, the text in braces determines
// the slot.
func (t *table) part(n int) string { return fmt.Sprintf("%s{%02d}:", t.prefix, n) }

func partOf(key store.Key) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	return int(h.Sum32() % parts)
}

func (t *table) row(key store.Key) string { return t.part(partOf(key)) + "r:" + string(key) }
func (t *table) opened(part int) string   { return t.part(part) + "opened" }
func (t *table) due(part int) string      { return t.part(part) + "due" }

// withTimeout returns a context with the time limit of one request.
func (t *table) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.options.Timeout)
}

// Read implements engine.Table.
func (t *table) Read(ctx context.Context, key store.Key, body bool) (engine.Row, error) {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	with := "0"
	if body {
		with = "1"
	}
	results, err := t.read(ctx, call{readScript, []string{t.row(key)}, []string{with}})
	if err != nil {
		return engine.Row{}, err
	}
	fields, err := results[0].ToArray()
	if err != nil {
		return engine.Row{}, fmt.Errorf("store: %w", explain(err))
	}
	if len(fields) < 2 {
		return engine.Row{}, errDamaged
	}
	seconds, err1 := fields[0].AsInt64()
	micros, err2 := fields[1].AsInt64()
	if err := errors.Join(err1, err2); err != nil {
		return engine.Row{}, errDamaged
	}
	row := engine.Row{Now: time.Unix(seconds, micros*1000).UTC(), Guards: t.options.Replicas > 0}
	if len(fields) < 4 || fields[2].IsNil() {
		return row, nil
	}
	revision, err := fields[2].AsInt64()
	head, err2 := fields[3].AsBytes()
	if err := errors.Join(err, err2); err != nil {
		return engine.Row{}, errDamaged
	}
	row.Revision, row.Head = revision, head
	if len(fields) > 4 && !fields[4].IsNil() {
		if row.Body, err = fields[4].AsBytes(); err != nil {
			return engine.Row{}, errDamaged
		}
	}
	return row, nil
}

var errDamaged = errors.New("store: Redis holds something else at the record's key")

// arguments returns the arguments of writeScript for a change.
func arguments(key store.Key, c engine.Change) []string {
	gone := "0"
	if !c.ForgetAt.IsZero() {
		// rounded up, so that the row is not forgotten too early
		gone = strconv.FormatInt(c.ForgetAt.UnixMilli()+1, 10)
	}
	args := []string{
		strconv.FormatInt(c.From, 10), strconv.FormatInt(c.To, 10), string(c.Head), micros(c.Opened), micros(c.Due), gone, string(key),
		strconv.Itoa(len(c.Drop)), notify(c),
	}
	for _, name := range c.Drop {
		args = append(args, snapshotField+name)
	}
	if c.Body != nil {
		args = append(args, "body", string(c.Body))
	}
	for name, b := range c.Put {
		args = append(args, snapshotField+name, string(b))
	}
	return args
}

// micros returns a time as a score in the lists, in microseconds. Redis keeps scores as float64,
// which is exact for the microseconds of this century.
func micros(at time.Time) string {
	if at.IsZero() {
		return "0"
	}
	return strconv.FormatInt(at.UnixMicro(), 10)
}

// Snapshot implements engine.Table.
func (t *table) Snapshot(ctx context.Context, key store.Key, name string) ([]byte, error) {
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	results, err := t.read(ctx, call{snapshotScript, []string{t.row(key)}, []string{snapshotField + name}})
	if err != nil {
		return nil, err
	}
	b, err := results[0].AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("store: %w", explain(err))
	}
	return b, nil
}

// Forget implements engine.Table. It does nothing, because Redis removes such rows by itself.
func (t *table) Forget(context.Context) (int, error) { return 0, nil }

// Stop implements engine.Table.
func (t *table) Stop() error {
	t.ready.Stop()
	t.clients.end()
	return nil
}
