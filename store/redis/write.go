package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"holdpoint/store"
	"holdpoint/store/engine"
)

// Write implements engine.Table. It repeats a change only if it certainly was not done.
func (t *table) Write(ctx context.Context, key store.Key, c engine.Change) (bool, error) {
	if err := t.ready.Err(ctx); err != nil {
		return false, err
	}
	ctx, cancel := t.withTimeout(ctx)
	defer cancel()
	part := partOf(key)
	w := call{script: writeScript, keys: []string{t.row(key), t.opened(part), t.due(part), t.unsent(part)}, args: arguments(key, c)}
	return doUntil(ctx, func() (bool, error) { return t.write(ctx, w, c.Guard && t.options.Replicas > 0) })
}

// write is Write for a script with its keys and arguments.
func (t *table) write(ctx context.Context, w call, guard bool) (bool, error) {
	at, release, err := t.clients.use()
	if err != nil {
		return false, err
	}
	defer release()
	write := func() (int64, error) { return run(ctx, at, w)[0].AsInt64() }
	if guard {
		write = func() (int64, error) { return t.runGuarded(ctx, at, w) }
	}
	done, err := write()
	for pause := firstPause; err != nil && isMovingSlot(err) && sleep(ctx, pause); pause = min(2*pause, longestPause) {
		done, err = write()
	}
	switch {
	case err == nil || errors.Is(err, engine.ErrNotGuarded):
		return done == 1, err
	case t.isMisplaced(err) && t.clients.replace(ctx, at):
		return false, nil // nothing was changed; the step starts again with the other one's row
	}
	return false, explain(err)
}

// The pauses between two tries while a slot moves.
const firstPause, longestPause = 5 * time.Millisecond, 100 * time.Millisecond

// isMovingSlot reports that a cluster did nothing, because it is moving the slot and has only some
// of the keys.
func isMovingSlot(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && e.IsTryAgain()
}

// sleep waits. It returns false if ctx ends first.
func sleep(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxRedirects limits how often one write follows redirects within a cluster.
const maxRedirects = 8

// runGuarded runs a script, and asks over the same connection how many replicas have its changes.
// Over another connection, Redis would count the replicas for the changes of that connection.
//
// In a cluster it follows a redirect to another server; the server that redirects has done nothing.
// rueidis follows redirects only for commands that do not need a connection of their own.
func (t *table) runGuarded(ctx context.Context, at *client, w call) (done int64, err error) {
	to, asking := rueidis.Client(at), false
	for unsent, redirects := 0, 0; ; {
		results := t.runWithWait(ctx, to, asking, w)
		if done, err = results[0].AsInt64(); err == nil {
			return t.judgeReplicas(done, results[1])
		}
		next, asks, ok := redirect(err)
		switch {
		case errors.Is(err, errUnsent) && unsent < guardedConnections:
			unsent++ // the connection has ended; the pool may have more that ended at the same time
		case ok && redirects < maxRedirects:
			redirects++
			if to = t.node(ctx, at, next, w); to == nil {
				return 0, err
			}
			asking = asks
		default:
			return 0, err
		}
	}
}

// redirect parses the address of the server that has the slot. asking reports that the server is
// taking the slot over.
func redirect(err error) (address string, asking, ok bool) {
	e, is := rueidis.IsRedisErr(err)
	if !is {
		return "", false, false
	}
	if address, ok = e.IsMoved(); ok {
		return address, false, true
	}
	address, ok = e.IsAsk()
	return address, true, ok
}

// node returns the client of one server of a cluster, or nil.
func (t *table) node(ctx context.Context, at *client, address string, w call) rueidis.Client {
	if n := at.Nodes()[address]; n != nil {
		return n
	}
	// rueidis learns about an unknown server when it follows a redirect of a read.
	run(ctx, at, call{readScript, w.keys[:1], []string{"0"}})
	if n := at.Nodes()[address]; n != nil {
		return n
	}
	return nil
}

// runWithWait sends the script and WAIT over one connection, and returns both results.
func (t *table) runWithWait(ctx context.Context, to rueidis.Client, asking bool, w call) []rueidis.RedisResult {
	c, release := to.Dedicate()
	defer release()
	wait := t.options.ReplicaTimeout
	if until, ok := ctx.Deadline(); ok {
		wait = max(time.Millisecond, min(wait, time.Until(until)/2))
	}
	send := func(script rueidis.Completed) []rueidis.RedisResult {
		ask := c.B().Wait().Numreplicas(int64(t.options.Replicas)).Timeout(wait.Milliseconds()).Build()
		if asking {
			return c.DoMulti(ctx, c.B().Asking().Build(), script, ask)[1:]
		}
		return c.DoMulti(ctx, script, ask)
	}
	results := send(w.bySHA(c.B()))
	if isUnknownScript(results[0].Error()) {
		results = send(w.byText(c.B()))
	}
	return results
}

// judgeReplicas judges the result of WAIT for a change.
func (t *table) judgeReplicas(done int64, replicas rueidis.RedisResult) (int64, error) {
	if done == 0 {
		return 0, nil
	}
	have, err := replicas.AsInt64()
	if err != nil {
		return 0, err
	}
	if have < int64(t.options.Replicas) {
		return done, fmt.Errorf("%w: %d of %d (HOLDPOINT_STORE_REPLICAS)", engine.ErrNotGuarded, have, t.options.Replicas)
	}
	return done, nil
}
