package redis

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"holdpoint/store/engine"
)

// A Store is an engine.Store on Redis.
type Store struct {
	*engine.Store
	table *table
}

// Login connects again with the passwords and certificates of a. a is the address of the Store,
// read again. Requests that have begun continue to use their connections. If a server refuses the
// login, the Store continues as before. If no server can be reached, the Store uses a when it
// connects the next time.
func (s *Store) Login(ctx context.Context, a Address) error {
	ctx, cancel := s.table.withTimeout(ctx)
	defer cancel()
	c := s.table.clients
	c.mu.Lock()
	old := c.now
	c.mu.Unlock()
	if old == nil { // no server has been reached yet; the next try uses a
		s.table.address.Store(&a)
		return nil
	}
	made, err := connect(ctx, a, s.table.options)
	var refused *rueidis.RedisError
	if errors.As(err, &refused) {
		return err
	}
	s.table.address.Store(&a)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil { // the store has been stopped meanwhile
		c.closing.Go(made.Close)
		return nil
	}
	old, c.now = c.now, &client{Client: made}
	old.retired = true
	c.drop(old)
	return nil
}
