package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// replaceEvery limits how often a client is replaced. If a name still leads to the old primary, it
// gets a new connection at this rate.
const replaceEvery = time.Second

// clients keeps the current client, and replaces it when it is connected to the wrong server.
// Requests under way keep the old one, which is closed after the last of them.
type clients struct {
	connect func(context.Context) (rueidis.Client, error)
	log     *slog.Logger

	mu          sync.Mutex
	now         *client
	flight      chan struct{} // closed when the current replacement has ended
	last        time.Time     // start of the last replacement
	loggedError string        // the last error of a replacement that was logged
	closing     sync.WaitGroup
}

// A client is a client of rueidis with all its connections. clients.mu guards the other fields.
type client struct {
	rueidis.Client
	users   int
	retired bool
}

var errNoClient = errors.New("the store has ended")

// begin makes the first client, unless there is one.
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

// use returns the current client. The caller must call done once.
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

// drop closes a client that has no users and gets no new ones. The caller holds the lock.
func (c *clients) drop(at *client) {
	if at.retired && at.users == 0 {
		c.closing.Go(at.Close)
	}
}

// replace takes old out of use, unless that has already happened. It reports whether there is
// another client now. Of several callers one replaces it, and the others wait.
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

// logReplacement logs how a replacement ended. It logs each error once.
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

// end closes the current client, and waits until all replaced ones are closed.
func (c *clients) end() {
	c.mu.Lock()
	if at := c.now; at != nil {
		c.now, at.retired = nil, true
		c.drop(at)
	}
	c.mu.Unlock()
	c.closing.Wait()
}
