package proxy

import (
	"context"
	"log/slog"
	"sync"

	"holdpoint/proxy/internal/ids"
)

// An occupancy tells all replicas that a run without a claim goes on without its client. It stands
// in the record, under a lease as a claim does: a replica that dies frees the thread when the lease
// lapses. A run whose client stays has none, so it costs a store nothing.
type occupancy struct {
	ledger *ledger // nil: the run's claim says enough
	log    *slog.Logger

	mu    sync.Mutex // held during a step: the last one says that the run is over
	token string     // "" before the first step
	over  bool
	lease renewal
}

// begin occupies the thread until end, unless that was before.
func (o *occupancy) begin() {
	if o.ledger == nil {
		return
	}
	o.step(context.Background())
	o.lease.start(leaseRenew, o.step)
}

// step notes that the run goes on. A failure needs no act: the next step makes it good, also behind
// one without a reply. Else the thread takes another run too early.
func (o *occupancy) step(ctx context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return false
	}
	if o.token == "" {
		o.token = ids.Random128()
	}
	if err := o.ledger.occupy(ctx, o.token, LeaseTime); err != nil && ctx.Err() == nil {
		o.log.Warn("the other replicas do not know that this run goes on", "err", err)
	}
	return true
}

// end gives the thread free.
func (o *occupancy) end() {
	if o.ledger == nil {
		return
	}
	o.lease.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over = true; o.token == "" {
		return
	}
	err := o.ledger.occupy(context.Background(), o.token, 0)
	if err != nil {
		err = o.ledger.occupy(context.Background(), o.token, 0) // its reply was lost, perhaps
	}
	if err != nil {
		o.log.Warn("the thread is free when its lease lapses", "err", err, "lease", LeaseTime.String())
	}
}
