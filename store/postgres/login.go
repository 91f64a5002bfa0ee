package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Login has new connections of a store on c log in as fresh says: with its password, and its
// certificates. fresh is the same address, parsed again. Connections that are there stay: the
// server has let them in.
func (c *Config) Login(fresh *Config) { c.fresh.Store(fresh.pool.ConnConfig) }

// loggingIn is called before each connection, with a copy of its own.
func (c *Config) loggingIn(_ context.Context, conn *pgx.ConnConfig) error {
	if fresh := c.fresh.Load(); fresh != nil {
		fresh = fresh.Copy()
		conn.Password, conn.TLSConfig, conn.Fallbacks = fresh.Password, fresh.TLSConfig, fresh.Fallbacks
	}
	return nil
}
