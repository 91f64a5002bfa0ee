package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdpoint/store"
)

// MeasureStore returns a store that calls s and measures each step.
func (m *Metrics) MeasureStore(s store.Store) store.Store { return storeCollector{s, m} }

// SetStoreUp records whether the store answered the periodic check. That check also detects that
// the store is lost while no run uses it.
func (m *Metrics) SetStoreUp(yes bool) {
	up := 0.0
	if yes {
		up = 1
	}
	m.storeUp.Set(up)
}

type storeCollector struct {
	store.Store
	m *Metrics
}

func (s storeCollector) observeStep(step string, started time.Time, err error) {
	s.m.steps.WithLabelValues(step).Observe(time.Since(started).Seconds())
	if err != nil && !store.IsAnswer(err) {
		s.m.failures.WithLabelValues(step).Inc()
	}
}

func (s storeCollector) Load(ctx context.Context, key store.Key, owner string) (rec store.Record, err error) {
	defer func(started time.Time) { s.observeStep("load", started, err) }(time.Now())
	return s.Store.Load(ctx, key, owner)
}

func (s storeCollector) Do(ctx context.Context, key store.Key, step store.Step) (result store.StepResult, err error) {
	if name := store.NameOf(step); slices.Contains(storeSteps, name) {
		defer func(started time.Time) { s.observeStep(name, started, err) }(time.Now())
	}
	return s.Store.Do(ctx, key, step)
}

func (s storeCollector) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (snapshots store.Snapshots, err error) {
	defer func(started time.Time) { s.observeStep("snapshots", started, err) }(time.Now())
	return s.Store.Snapshots(ctx, key, pauseID, at)
}

func (s storeCollector) List(ctx context.Context, q store.Query) (p store.Page, err error) {
	defer func(started time.Time) { s.observeStep("waiting", started, err) }(time.Now())
	return s.Store.List(ctx, q)
}

const (
	// countInterval is the interval at which the waiting threads are counted. countTimeout bounds the
	// time of one count.
	countInterval = 30 * time.Second
	countTimeout  = 10 * time.Second
	// maxPages bounds how many pages of the store's list one count reads.
	maxPages = 20
)

// Watch counts the waiting threads at intervals, until ctx is done.
func (m *Metrics) Watch(ctx context.Context, s store.Store) {
	t := time.NewTicker(countInterval)
	defer t.Stop()
	for {
		m.countWaiting(ctx, s)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// countWaiting counts the waiting threads once, and among them those in doubt, and finds how long
// the oldest has waited. If the store returns an error, the metrics do not change.
func (m *Metrics) countWaiting(ctx context.Context, s store.Store) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	n, q := 0, store.Query{Limit: store.MaxPage}
	var oldest time.Time
	var rows []store.Row // those that may be in doubt
	for range maxPages {
		page, err := s.List(ctx, q)
		if err != nil {
			return
		}
		if n == 0 && len(page.Rows) > 0 {
			oldest = page.Rows[0].Opened
		}
		n += len(page.Rows)
		for _, row := range page.Rows {
			if row.Due.Sub(row.Opened) != m.opts.Retention { // else the pause only waits, see store.Row
				rows = append(rows, row)
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	m.waitingThreads.Set(float64(n))
	if oldest.IsZero() {
		m.oldestThread.Set(0)
	} else {
		m.oldestThread.Set(max(0, time.Since(oldest).Seconds()))
	}
	if doubts, err := m.doubts.count(ctx, s, rows); err == nil {
		m.doubtThreads.Set(float64(doubts))
	}
}

// maxLoads bounds how many records one count of the doubts loads.
const maxLoads = 1000

// doubts counts the threads whose answer is in doubt. It loads the record of a row once, and again
// when the row has changed. It loads a record at each count if its state can change without its
// row: a claimed one, which becomes a doubt by time alone, and one whose Due may be that of a lease
// that was given back.
type doubts struct {
	known map[store.Key]knownRow
}

// A knownRow has what the record of a row has shown.
type knownRow struct {
	opened, due time.Time
	inDoubt     bool
}

// longestLease is more than the lease of any claim.
const longestLease = time.Hour

// mayChange reports whether the state of the record may change without a change of its row.
func mayChange(row store.Row, rec *store.Record) bool {
	isLease := row.Due.After(rec.Now) && row.Due.Before(rec.Now.Add(longestLease))
	return rec.State == store.Claimed || rec.State == store.Open && isLease
}

// count returns the number of rows that are in doubt. Records that cannot be read do not count. If
// there are more than maxLoads new rows, or the store returns an error, the next count continues
// with the remaining rows.
func (d *doubts) count(ctx context.Context, s store.Store, rows []store.Row) (n int, err error) {
	known, loads := make(map[store.Key]knownRow, len(rows)), 0
	for _, row := range rows {
		k, is := d.known[row.Key]
		if is = is && k.opened.Equal(row.Opened) && k.due.Equal(row.Due); !is {
			if loads == maxLoads || err != nil {
				continue
			}
			loads++
			var rec store.Record
			if rec, err = s.Load(ctx, row.Key, ""); errors.Is(err, store.ErrUnread) {
				err = nil
			}
			k, is = knownRow{row.Opened, row.Due, rec.State == store.InDoubt}, err == nil && !mayChange(row, &rec)
		}
		if is {
			known[row.Key] = k
		}
		if k.inDoubt {
			n++
		}
	}
	d.known = known
	return n, err
}
