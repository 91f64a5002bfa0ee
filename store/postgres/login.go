package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Login sets how new connections log in: with the password and the certificates of fresh. fresh is
// the same address as that of c, parsed again. Connections that exist stay open, because the server
// has already accepted them.
func (c *Config) Login(fresh *Config) { c.fresh.Store(fresh.pool.ConnConfig) }

// loggingIn is called before each new connection is made. conn is a copy of the configuration for
// this connection.
func (c *Config) loggingIn(_ context.Context, conn *pgx.ConnConfig) error {
	if fresh := c.fresh.Load(); fresh != nil {
		fresh = fresh.Copy()
		conn.Password, conn.TLSConfig, conn.Fallbacks = fresh.Password, fresh.TLSConfig, fresh.Fallbacks
	}
	return nil
}
