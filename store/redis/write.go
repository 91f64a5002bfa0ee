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

// Write implements engine.Table. It repeats a change only if the change was certainly not made.
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

// write makes the change of Write: w is the call of writeScript. guard means that the change must
// reach replicas.
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
		// Nothing was changed. The step starts again with the row of the new server.
		return false, nil
	}
	return false, explain(err)
}

// These are the shortest and the longest pause between two tries while a cluster moves a slot.
const firstPause, longestPause = 5 * time.Millisecond, 100 * time.Millisecond

// isMovingSlot reports whether a cluster did nothing because it is moving the slot to another
// server, and the server has only some of the keys.
func isMovingSlot(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && e.IsTryAgain()
}

// sleep waits for the duration pause. It returns false if ctx ends first.
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

// maxRedirects is how many redirects within a cluster one write follows.
const maxRedirects = 8

// runGuarded runs a script, and then asks how many replicas have its changes. It asks over the same
// connection, because Redis counts the replicas for the changes of the connection that asks.
//
// In a cluster it follows redirects to another server. A server that redirects has done nothing.
// rueidis follows redirects only for commands that do not need a separate connection.
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
			unsent++ // the server had closed the connection, and may have closed others in the pool
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

// redirect returns the address of the server to which an error redirects. asking means that this
// server is just taking over the slot. ok is false if the error is not a redirect.
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

// node returns the client of the server with the address, nil if the cluster has no such server. w
// is the call that was redirected there.
func (t *table) node(ctx context.Context, at *client, address string, w call) rueidis.Client {
	if n := at.Nodes()[address]; n != nil {
		return n
	}
	// rueidis does not know the server yet. It learns of it by following the redirect of a read.
	run(ctx, at, call{readScript, w.keys[:1], []string{"0"}})
	if n := at.Nodes()[address]; n != nil {
		return n
	}
	return nil
}

// runWithWait sends the script and then WAIT over one connection. It returns both results.
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

// judgeReplicas returns an error if too few replicas have a change. replicas is the result of WAIT,
// and done is 0 if the script has changed nothing.
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
