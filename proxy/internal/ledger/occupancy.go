package ledger

import (
	"context"
	"slices"
	"time"

	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// An Occupancy shows all replicas that a run without a claim continues although its client has
// left. The record keeps it under a lease, like a claim. If the replica of the run dies, the thread
// is free when the lease lapses. A run whose client stays does not begin its Occupancy, so the
// Occupancy costs the store nothing. A run with a claim has a nil Occupancy, because the claim is
// enough. The methods of a nil Occupancy do nothing.
type Occupancy struct {
	ledger *Ledger

	// full during a step, so that no other step follows the one that ends the occupancy
	turn  chan struct{}
	token string // "" before the first step
	over  bool
	lease Renewal
}

// Occupancy returns an Occupancy of the ledger's thread, which has not begun.
func (l *Ledger) Occupancy() *Occupancy {
	return &Occupancy{ledger: l, turn: make(chan struct{}, 1)}
}

// Occupy occupies the thread with the given key until the Occupancy ends. It returns nil if that
// thread has a run or an open question.
func (l *Ledger) Occupy(key store.Key) (*Occupancy, error) {
	o := l.forThread(key).Occupancy()
	o.token = ids.Random128()
	free := false
	err := o.setLease(context.WithoutCancel(l.ctx), LeaseTime)
	if err == nil {
		var rec store.Record
		rec, err = l.loadAt(key)
		free = err == nil && rec.State == store.None && !slices.ContainsFunc(rec.Occupants, func(b store.Occupant) bool {
			return b.Token != o.token && rec.Now.Before(b.Lease)
		})
	}
	if !free {
		o.End()
		return nil, err
	}
	o.lease.Start(leaseRenew, o.step)
	return o, nil
}

// Begin occupies the thread until End. It does nothing if End was called before.
func (o *Occupancy) Begin() {
	if o == nil {
		return
	}
	o.step(context.Background())
	o.lease.Start(leaseRenew, o.step)
}

// step renews the occupancy in the record. A failed step needs no action: the next step renews the
// occupancy, whether the failed step was done or not. In the worst case the thread accepts another
// run too early.
func (o *Occupancy) step(ctx context.Context) bool {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.over {
		return false
	}
	if o.token == "" {
		o.token = ids.Random128()
	}
	if err := o.setLease(ctx, LeaseTime); err != nil && ctx.Err() == nil {
		o.ledger.log.Warn(logOccupancyUnsaved, "err", err)
	}
	return true
}

// End ends the occupancy, so that the thread is free.
func (o *Occupancy) End() {
	if o == nil {
		return
	}
	o.lease.Stop()
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.over = true; o.token == "" {
		return
	}
	err := o.setLease(context.Background(), 0)
	if err != nil {
		err = o.setLease(context.Background(), 0) // the reply may have been lost
	}
	if err != nil {
		o.ledger.log.Warn(logOccupancyNotEnded, "err", err, "lease", LeaseTime.String())
	}
}

// setLease sets the lease of the occupancy in the store. A lease of 0 ends the occupancy.
// Cancelling ctx ends this step early.
func (o *Occupancy) setLease(ctx context.Context, lease time.Duration) error {
	ctx, cancel := o.ledger.Ending.bound(ctx, renewTimeout)
	defer cancel()
	_, err := o.ledger.store.Do(ctx, o.ledger.Key, store.Occupy{Token: o.token, Lease: lease})
	return err
}
