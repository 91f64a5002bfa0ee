// Package postgres keeps records in a PostgreSQL database, for many processes at once. It is a
// Table of package engine on github.com/jackc/pgx/v5.
//
// A thread is one row of holdpoint_threads, and its snapshots are rows of holdpoint_snapshots.
// PostgreSQL writes a changed row again as a whole, except for values that are stored out of line,
// and cannot change a part of such a value. So snapshots in the thread's row would be written again
// with each pause, and all of them read to get one. With two tables a step is still one statement.
//
// Each step reads with one statement and writes with another one, and each of them is one round
// trip. A write is applied only if the row has the revision that was read. The package uses no
// prepared statements, session settings, LISTEN or session locks, so statements may use different
// connections, as with PgBouncer in transaction mode. All times are those of the server's clock.
//
// The package never repeats a write. If a reply is lost, the caller repeats the step, and the steps
// recognize a repeated call.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdpoint/store/engine"
)

// Defaults for an address.
const (
	// defaultConns is the maximum number of connections of a process. A step needs one for two
	// round trips, and a server has about a hundred for all its clients.
	defaultConns          = 10
	defaultConnectTimeout = 5 * time.Second
	keepAlive             = 15 * time.Second
)

// A Config is a parsed address.
type Config struct {
	pool   *pgxpool.Config
	schema string // "" for the first schema of the role's search path
	fresh  atomic.Pointer[pgx.ConnConfig]
}

// Parse parses an address of the form postgres://user:password@host:port/database?sslmode=require.
// Its parameters are those of libpq that pgx supports, such as sslrootcert and connect_timeout, and
// also pool_max_conns and schema, the schema of the tables. password, if it is not "", replaces the
// one in the address. Parse does not connect. Its errors contain no password.
func Parse(address, password string) (*Config, error) {
	u, err := url.Parse(address)
	if err != nil { // the text of err has the address
		return nil, errors.New(textNotAddress)
	}
	values, err := url.ParseQuery(u.RawQuery)
	schema := values.Get("schema")
	switch {
	case err != nil: // url.Values would leave it out silently
		return nil, errors.New(textParameters)
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, fmt.Errorf(textScheme, u.Scheme)
	case u.Fragment != "":
		return nil, errors.New(textFragment)
	case values.Has("schema") && !plainName.MatchString(schema):
		return nil, fmt.Errorf(textSchema, schema)
	}
	maxConns := values.Has("pool_max_conns")
	values.Del("schema")
	u.RawQuery = values.Encode()
	c, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, errors.New(withoutSecrets(err, u))
	}
	if password != "" {
		c.ConnConfig.Password = password
	}
	if !maxConns {
		c.MaxConns = defaultConns
	}
	if c.ConnConfig.ConnectTimeout == 0 || !values.Has("connect_timeout") {
		c.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	c.ConnConfig.DialFunc = (&net.Dialer{KeepAlive: keepAlive}).DialContext
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "holdpoint"
	}
	if c.ConnConfig.ValidateConnect == nil && severalHosts(c.ConnConfig) {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ConnConfig.OnNotice = noteWarning
	// Statements use pgconn, which prepares none. This setting is for everything else.
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.ConnConfig.StatementCacheCapacity, c.ConnConfig.DescriptionCacheCapacity = 0, 0
	// A dead idle connection fails at its next use, and a read is then repeated.
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	c.MaxConnLifetimeJitter = c.MaxConnLifetime / 10
	parsed := &Config{pool: c, schema: schema}
	c.BeforeConnect = parsed.loggingIn
	return parsed, nil
}

// warned is the key under which a connection notes a warning of the server.
const warned = "holdpoint: warned"

// noteWarning notes warnings without a code of their own. For a change the server sends one such
// warning: the wait for standbys was canceled, so the change is applied, and the standbys may not
// have it. The text of the warning is in the server's language.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-ASYNC
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == codeWarning {
		c.CustomData()[warned] = true
	}
}

// plainName matches a name that means the same with and without quotes.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// severalHosts reports whether the address names several servers, one of which is the primary.
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// withoutSecrets returns pgx's error about an address, without the address.
func withoutSecrets(err error, u *url.URL) string {
	text := err.Error()
	if at := strings.LastIndex(text, "`: "); at >= 0 {
		text = text[at+len("`: "):]
	}
	var secrets []string
	if password, ok := u.User.Password(); ok {
		_, encoded, _ := strings.Cut(u.User.String(), ":")
		secrets = append(secrets, password, encoded)
	}
	for name, list := range u.Query() {
		if strings.Contains(strings.ToLower(name), "password") {
			for _, v := range list {
				secrets = append(secrets, v, url.QueryEscape(v))
			}
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "xxxxx")
		}
	}
	return text
}

// HasPassword reports whether an address contains a password.
func HasPassword(address *url.URL) bool {
	_, ok := address.User.Password()
	return ok || address.Query().Has("password")
}

// Open returns a store on the database. The server need not be there yet: each step fails until it
// is reachable and has the tables. The log has the reason once, and the end of that state. If there
// are no tables, Open makes them, if the role may.
func Open(c *Config, o engine.Options) (*engine.Store, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	pool, err := pgxpool.NewWithConfig(context.Background(), c.pool)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	t := &table{pool: pool, names: namesIn(c.schema), log: o.Logger, sends: o.Notices != nil}
	t.ready = engine.Await(t.prepare, isLasting, o.Logger)
	return engine.New(t, o), nil
}
