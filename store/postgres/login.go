package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Login makes new connections of a store on c log in with the password and the certificates of
// fresh, which is the same address parsed again. Existing connections stay, because the server has
// accepted them.
func (c *Config) Login(fresh *Config) { c.fresh.Store(fresh.pool.ConnConfig) }

// loggingIn is called before each connection, with its own copy of the configuration.
func (c *Config) loggingIn(_ context.Context, conn *pgx.ConnConfig) error {
	if fresh := c.fresh.Load(); fresh != nil {
		fresh = fresh.Copy()
		conn.Password, conn.TLSConfig, conn.Fallbacks = fresh.Password, fresh.TLSConfig, fresh.Fallbacks
	}
	return nil
}
