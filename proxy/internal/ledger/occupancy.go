package ledger

import (
	"context"
	"slices"
	"time"

	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// An Occupancy tells all replicas that a run without a claim continues without its client. It is
// kept in the record under a lease, as a claim is: if a replica dies, the thread is free when the
// lease lapses. A run whose client stays has no Occupancy, so it costs the store nothing. The
// methods of a nil Occupancy do nothing: a run with a claim has none, because the claim is enough.
type Occupancy struct {
	ledger *Ledger

	turn  chan struct{} // full during a step, so that the last step is the one that ends the occupancy
	token string        // "" before the first step
	over  bool
	lease Renewal
}

// Occupancy returns an Occupancy that has not begun.
func (l *Ledger) Occupancy() *Occupancy {
	return &Occupancy{ledger: l, turn: make(chan struct{}, 1)}
}

// Occupy reserves another thread until the Occupancy ends. It returns nil if that thread has a run
// or a question.
func (l *Ledger) Occupy(key store.Key) (*Occupancy, error) {
	o := l.forThread(key).Occupancy()
	o.token = ids.Random128()
	free := false
	err := o.lasts(context.WithoutCancel(l.ctx), LeaseTime)
	if err == nil {
		var rec store.Record
		rec, err = l.loadAt(key)
		free = err == nil && rec.State == store.None && !slices.ContainsFunc(rec.Busy, func(b store.Busy) bool {
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

// step renews the occupancy in the record. A failure needs no action, because the next step repairs
// it, even if the step was done and only its reply was lost. At worst the thread accepts another
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
	if err := o.lasts(ctx, LeaseTime); err != nil && ctx.Err() == nil {
		o.ledger.log.Warn(logOccupancyUnsaved, "err", err)
	}
	return true
}

// End releases the thread.
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
	err := o.lasts(context.Background(), 0)
	if err != nil {
		err = o.lasts(context.Background(), 0) // its reply may have been lost
	}
	if err != nil {
		o.ledger.log.Warn(logOccupancyNotEnded, "err", err, "lease", LeaseTime.String())
	}
}

// lasts does the store's step that makes the occupancy last for the given time; 0 ends it.
// Cancelling ctx ends the step early.
func (o *Occupancy) lasts(ctx context.Context, lease time.Duration) error {
	ctx, cancel := o.ledger.Ending.bound(ctx, renewTimeout)
	defer cancel()
	_, err := o.ledger.store.Do(ctx, o.ledger.Key, store.Occupy{Token: o.token, Lease: lease})
	return err
}
