//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// linearizable checks the replies that callers get at two processes whose connections sometimes
// break. There must be one order of the steps that explains all replies.
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
		for n := range 4 { // a connection breaks at a random time
			proxy.Arm(servers.Fault{Moment: servers.Moments[n], Skip: n})
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

// An alternating is a store that gives each call to the next of its stores.
type alternating struct {
	stores []store.Store
	n      atomic.Int64
}

func (a *alternating) next() store.Store { return a.stores[a.n.Add(1)%int64(len(a.stores))] }

func (a *alternating) Load(ctx context.Context, k store.Key, owner string) (store.Record, error) {
	return a.next().Load(ctx, k, owner)
}

func (a *alternating) Do(ctx context.Context, k store.Key, step store.Step) (store.StepResult, error) {
	return a.next().Do(ctx, k, step)
}

func (a *alternating) Snapshots(ctx context.Context, k store.Key, pauseID string, at store.Moment) (store.Snapshots, error) {
	return a.next().Snapshots(ctx, k, pauseID, at)
}

func (a *alternating) List(ctx context.Context, q store.Query) (store.Page, error) {
	return a.next().List(ctx, q)
}
