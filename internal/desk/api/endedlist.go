package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdpoint/store"
)

// endedPage returns the list of the approvals that ended recently. The list has a single page.
func (d *Desk) endedPage(ctx context.Context, f *filter, _ cursor, limit int) (*listing, error) {
	type place struct {
		id string
		at time.Time
	}
	var places []place
	for n := range uint32(endShards) {
		rec, err := d.loadNote(ctx, shardKey(n))
		if err != nil {
			return nil, err
		}
		for _, one := range rec.Notes {
			places = append(places, place{one.ID, one.At})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return b.at.Compare(a.at) })
	l, began := &listing{Approvals: []*approval{}}, d.opts.Now()
	for _, p := range places {
		if len(l.Approvals) == limit || d.opts.Now().Sub(began) > maxSearchTime {
			break
		}
		parts := approvalIDPattern.FindStringSubmatch(p.id)
		if parts == nil {
			continue
		}
		a, err := d.endedOf(ctx, f, store.Key(parts[1]), parts[2])
		switch {
		case errors.Is(err, store.ErrUnread):
			l.UnreadRecords++
		case err != nil:
			return nil, err
		case a != nil:
			l.Approvals = append(l.Approvals, a)
		}
	}
	return l, nil
}

// loadNote returns one of the small records that the desk keeps for itself. They do not belong to
// threads.
func (d *Desk) loadNote(ctx context.Context, key store.Key) (store.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return d.opts.Store.Load(ctx, key, "")
}

// endedOf returns an approval for the list of ended approvals, or nil if the approval does not
// belong to the list.
func (d *Desk) endedOf(ctx context.Context, f *filter, key store.Key, pauseID string) (*approval, error) {
	rec, err := d.load(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, r := range rec.Results {
		if r.PauseID != pauseID || r.Pause == nil || r.Tombstone || !f.selects(r.Pause, stateEnded) {
			continue
		}
		a := approvalOf(key, r.Pause, stateEnded, rec.Now, true)
		a.End = endOf(key, r).forList()
		d.limitToCaller(ctx, &rec, a)
		return a, nil
	}
	return nil, nil
}
