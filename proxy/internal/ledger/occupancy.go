package ledger

import (
	"context"
	"slices"
	"time"

	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// An Occupancy tells all replicas that a run without a claim goes on without its client. It stands
// in the record, under a lease as a claim does: a replica that dies frees the thread when the lease
// lapses. A run whose client stays has none, so it costs a store nothing. A nil Occupancy does
// nothing: the run's claim says enough.
type Occupancy struct {
	ledger *Ledger

	turn  chan struct{} // full during a step: the last one says that the run is over
	token string        // "" before the first step
	over  bool
	lease Renewal
}

// Occupancy returns one that has not begun.
func (l *Ledger) Occupancy() *Occupancy {
	return &Occupancy{ledger: l, turn: make(chan struct{}, 1)}
}

// Occupy keeps other runs from another thread, until the Occupancy ends. It returns nil if another
// run is there already.
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

// Begin occupies the thread until End, unless that was before.
func (o *Occupancy) Begin() {
	if o == nil {
		return
	}
	o.step(context.Background())
	o.lease.Start(leaseRenew, o.step)
}

// step notes that the run goes on. A failure needs no act: the next step makes it good, also behind
// one without a reply. Else the thread takes another run too early.
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

// End gives the thread free.
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
		err = o.lasts(context.Background(), 0) // its reply was lost, perhaps
	}
	if err != nil {
		o.ledger.log.Warn(logOccupancyNotEnded, "err", err, "lease", LeaseTime.String())
	}
}

// lasts has the occupancy last for so long; 0 ends it. ctx ends the step before its time.
func (o *Occupancy) lasts(ctx context.Context, lease time.Duration) error {
	ctx, cancel := o.ledger.Ending.bound(ctx, renewTimeout)
	defer cancel()
	_, err := o.ledger.store.Do(ctx, o.ledger.Key, store.Occupy{Token: o.token, Lease: lease})
	return err
}
