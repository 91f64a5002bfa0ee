//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// Callers at two processes, whose connections break now and then, are told what one order of their
// steps explains.
func linearizable(t *testing.T, server *servers.Postgres, bouncer *servers.Bouncer) {
	proxy := servers.StartProxy(t, bouncer.Addr())
	s := &alternating{stores: []store.Store{
		open(t, bouncer.URLAt(proxy.Addr()), engine.Options{ReplayTTL: long, PauseRetention: long}),
		open(t, server.URL(), engine.Options{ReplayTTL: long, PauseRetention: long}),
	}}
	var keys []store.Key
	for n := range 12 {
		keys = append(keys, store.Key(fmt.Sprint("history ", n)))
	}
	struck := 0
	storetest.History(t, s, keys, uint64(time.Now().UnixNano()), 4, 20, func() {
		for n := range 4 { // the times between are as they come
			proxy.Arm(servers.Fault{At: servers.Moments[n], Skip: n})
			time.Sleep(5 * time.Millisecond)
			if proxy.Disarm() {
				struck++
			}
		}
	})
	if t.Logf("%d connections broke", struck); struck == 0 {
		t.Error("no connection broke")
	}
}

// alternating gives each call to the next store.
type alternating struct {
	stores []store.Store
	n      atomic.Int64
}

func (a *alternating) next() store.Store { return a.stores[a.n.Add(1)%int64(len(a.stores))] }

func (a *alternating) Load(ctx context.Context, k store.Key, owner string) (store.Record, error) {
	return a.next().Load(ctx, k, owner)
}

func (a *alternating) Open(ctx context.Context, k store.Key, owner string, p agui.Pause) error {
	return a.next().Open(ctx, k, owner, p)
}

func (a *alternating) Claim(ctx context.Context, k store.Key, pauseID, token, digest string, lease time.Duration) error {
	return a.next().Claim(ctx, k, pauseID, token, digest, lease)
}

func (a *alternating) Renew(ctx context.Context, k store.Key, token string, lease time.Duration) error {
	return a.next().Renew(ctx, k, token, lease)
}

func (a *alternating) Finish(ctx context.Context, k store.Key, token string, r store.Result, next *agui.Pause) error {
	return a.next().Finish(ctx, k, token, r, next)
}

func (a *alternating) Release(ctx context.Context, k store.Key, token string) error {
	return a.next().Release(ctx, k, token)
}

func (a *alternating) Close(ctx context.Context, k store.Key, pauseID string, r store.Result) error {
	return a.next().Close(ctx, k, pauseID, r)
}

func (a *alternating) Occupy(ctx context.Context, k store.Key, token string, lease time.Duration) error {
	return a.next().Occupy(ctx, k, token, lease)
}

func (a *alternating) Contest(ctx context.Context, k store.Key, pauseID string) error {
	return a.next().Contest(ctx, k, pauseID)
}

func (a *alternating) Decide(ctx context.Context, k store.Key, pauseID string, list []agui.Decision) error {
	return a.next().Decide(ctx, k, pauseID, list)
}

func (a *alternating) See(ctx context.Context, k store.Key, pauseID string) error {
	return a.next().See(ctx, k, pauseID)
}

func (a *alternating) Remember(ctx context.Context, k store.Key, n store.Note, most int) error {
	return a.next().Remember(ctx, k, n, most)
}

func (a *alternating) Snapshots(ctx context.Context, k store.Key, pauseID string, at store.Moment) (store.Snapshots, error) {
	return a.next().Snapshots(ctx, k, pauseID, at)
}

func (a *alternating) Waiting(ctx context.Context, q store.Query) (store.Page, error) {
	return a.next().Waiting(ctx, q)
}

func (a *alternating) Unsent(ctx context.Context, q store.Query) (store.Page, error) {
	return a.next().Unsent(ctx, q)
}

func (a *alternating) Take(ctx context.Context, k store.Key, hold time.Duration) (store.Taken, error) {
	return a.next().Take(ctx, k, hold)
}

func (a *alternating) Sent(ctx context.Context, k store.Key, ids []string, wait time.Duration, failed bool) error {
	return a.next().Sent(ctx, k, ids, wait, failed)
}
