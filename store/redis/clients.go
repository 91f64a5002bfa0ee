package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// replaceEvery is the shortest time between two replacements of the client. If a host name still
// leads to the old primary, a new connection is made at this interval.
const replaceEvery = time.Second

// clients has the current client, and replaces it when it is connected to the wrong server.
// Requests that have begun continue to use the old client. It is closed when the last of them has
// ended.
type clients struct {
	connect func(context.Context) (rueidis.Client, error)
	log     *slog.Logger

	mu          sync.Mutex
	now         *client
	flight      chan struct{} // closed when the replacement in progress has ended
	last        time.Time     // when the last replacement began
	loggedError string        // the error of a replacement that was logged last
	closing     sync.WaitGroup
}

// A client is a client of rueidis with all its connections. clients.mu guards the other fields.
type client struct {
	rueidis.Client
	users   int
	retired bool
}

var errNoClient = errors.New(textStoreEnded)

// begin makes the first client. If there already is a client, it does nothing.
func (c *clients) begin(ctx context.Context) error {
	c.mu.Lock()
	there := c.now != nil
	c.mu.Unlock()
	if there {
		return nil
	}
	made, err := c.connect(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = &client{Client: made}
	return nil
}

// use returns the current client. The caller must call done once when it no longer uses the client.
func (c *clients) use() (at *client, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		return nil, nil, errNoClient
	}
	at = c.now
	at.users++
	return at, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		at.users--
		c.drop(at)
	}, nil
}

// drop closes a client that was replaced, if nobody uses it any more. The caller must hold the
// lock.
func (c *clients) drop(at *client) {
	if at.retired && at.users == 0 {
		c.closing.Go(at.Close)
	}
}

// replace replaces the client old by a new client, unless that has already happened. It reports
// whether the current client is now another one. If several callers call it at the same time, one
// of them replaces the client, and the others wait.
func (c *clients) replace(ctx context.Context, old *client) bool {
	c.mu.Lock()
	if c.now != old {
		defer c.mu.Unlock()
		return c.now != nil
	}
	if flight := c.flight; flight != nil {
		c.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.now != old && c.now != nil
	}
	if time.Since(c.last) < replaceEvery {
		c.mu.Unlock()
		return false
	}
	flight := make(chan struct{})
	c.flight, c.last = flight, time.Now()
	c.mu.Unlock()

	made, err := c.connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(flight)
	c.flight = nil
	c.logReplacement(err)
	switch {
	case err != nil:
		return false
	case c.now != old: // the store has been stopped meanwhile
		c.closing.Go(made.Close)
		return false
	}
	c.now = &client{Client: made}
	old.retired = true
	c.drop(old)
	return true
}

// logReplacement logs the result of a replacement. It does not log the same error twice in a row.
func (c *clients) logReplacement(err error) {
	switch {
	case err == nil:
		c.log.Info("the server took no changes any more: connected anew")
		c.loggedError = ""
	case err.Error() != c.loggedError:
		c.log.Error(logNoPrimary, "err", err)
		c.loggedError = err.Error()
	}
}

// end closes the current client. It waits until this client and all replaced clients are closed.
func (c *clients) end() {
	c.mu.Lock()
	if at := c.now; at != nil {
		c.now, at.retired = nil, true
		c.drop(at)
	}
	c.mu.Unlock()
	c.closing.Wait()
}
