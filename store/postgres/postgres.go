// Package postgres keeps records in a PostgreSQL database, for many processes at once. It is a
// Table of package engine on github.com/jackc/pgx/v5.
//
// A thread is one row of holdpoint_threads, and its snapshots are rows of holdpoint_snapshots. If a
// row changes, PostgreSQL writes it again as a whole, except for values that are stored out of
// line. It cannot change a part of such a value either. So if the snapshots were in the thread's
// row, they would be written again with each pause, and all of them would be read to get one. With
// two tables, a step is still one statement.
//
// Each step reads with one statement and writes with another statement. Each statement is one round
// trip. A write is applied only if the row still has the revision that was read. The package uses
// no prepared statements, session settings, LISTEN or session locks, so statements may use
// different connections, as with PgBouncer in transaction mode. All times are those of the server's
// clock.
//
// The package never repeats a write that may have been done. If a reply is lost, the caller repeats
// the step, and the steps recognize a repeated call.
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

// These are the defaults for parameters that an address does not have.
const (
	// defaultConns is the maximum number of connections of a process. A step uses a connection for
	// two round trips, and a server has about a hundred connections for all its clients.
	defaultConns          = 10
	defaultConnectTimeout = 5 * time.Second
	keepAlive             = 15 * time.Second
)

// A Config is a parsed address.
type Config struct {
	pool   *pgxpool.Config
	schema string // "" means the first schema of the role's search path
	fresh  atomic.Pointer[pgx.ConnConfig]
}

// Parse parses an address such as postgres://user:password@host:port/database?sslmode=require. Its
// parameters are those of libpq that pgx supports, such as sslrootcert and connect_timeout, and in
// addition pool_max_conns, and schema, which is the schema of the tables. If the parameter password
// of this function is not "", it replaces the password in the address. Parse does not connect. Its
// errors contain no password.
func Parse(address, password string) (*Config, error) {
	u, err := url.Parse(address)
	if err != nil { // err is not used, because its text contains the address
		return nil, errors.New(textNotAddress)
	}
	values, err := url.ParseQuery(u.RawQuery)
	schema := values.Get("schema")
	switch {
	case err != nil: // url.Values would leave out such a parameter without an error
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
	// Statements are sent with pgconn, which prepares no statements. This setting is for all other
	// queries.
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.ConnConfig.StatementCacheCapacity, c.ConnConfig.DescriptionCacheCapacity = 0, 0
	// If an idle connection is dead, its next use fails, and a read is then repeated.
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	c.MaxConnLifetimeJitter = c.MaxConnLifetime / 10
	parsed := &Config{pool: c, schema: schema}
	c.BeforeConnect = parsed.loggingIn
	return parsed, nil
}

// warned is the key in a connection's CustomData that notes a warning of the server.
const warned = "holdpoint: warned"

// noteWarning notes a warning that has only the general code of warnings. For a change the server
// sends only one such warning: the wait for standbys was canceled, so the change is applied, but
// the standbys may not have it. The text of the warning is not examined, because it is in the
// server's language. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-ASYNC
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == codeWarning {
		c.CustomData()[warned] = true
	}
}

// plainName matches a name that has the same meaning in SQL with and without quotes.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// severalHosts reports whether the address names several servers. One of them is the primary.
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// withoutSecrets returns the text of pgx's error about an address, without the address and its
// passwords.
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

// Open returns a store on the database. The server may start later: each step fails until the
// server can be reached and has the tables. The log has the reason for this once, and says when it
// is over. If there are no tables, Open makes them, provided that the role has the right to do so.
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
