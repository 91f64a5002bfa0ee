package metrics

import (
	"context"
	"slices"
	"time"

	"holdpoint/store"
)

// Store returns a store that calls s and measures each step.
func (m *Metrics) Store(s store.Store) store.Store { return storeCollector{s, m} }

// StoreAnswers records whether the store answered the periodic check. That check also detects that
// the store is lost while no run uses it.
func (m *Metrics) StoreAnswers(yes bool) {
	up := 0.0
	if yes {
		up = 1
	}
	m.up.Set(up)
}

type storeCollector struct {
	store.Store
	m *Metrics
}

func (s storeCollector) did(step string, began time.Time, err error) {
	s.m.steps.WithLabelValues(step).Observe(time.Since(began).Seconds())
	if err != nil && !store.IsAnswer(err) {
		s.m.failures.WithLabelValues(step).Inc()
	}
}

func (s storeCollector) Load(ctx context.Context, key store.Key, owner string) (rec store.Record, err error) {
	defer func(began time.Time) { s.did("load", began, err) }(time.Now())
	return s.Store.Load(ctx, key, owner)
}

func (s storeCollector) Do(ctx context.Context, key store.Key, step store.Step) (done store.StepResult, err error) {
	if name := store.NameOf(step); slices.Contains(stepsOf, name) {
		defer func(began time.Time) { s.did(name, began, err) }(time.Now())
	}
	return s.Store.Do(ctx, key, step)
}

func (s storeCollector) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (kept store.Snapshots, err error) {
	defer func(began time.Time) { s.did("snapshots", began, err) }(time.Now())
	return s.Store.Snapshots(ctx, key, pauseID, at)
}

func (s storeCollector) List(ctx context.Context, q store.Query) (p store.Page, err error) {
	defer func(began time.Time) { s.did("waiting", began, err) }(time.Now())
	return s.Store.List(ctx, q)
}

const (
	// lookEvery is the interval at which the waiting threads are counted. lookTime bounds the time
	// of one count.
	lookEvery = 30 * time.Second
	lookTime  = 10 * time.Second
	// maxPages bounds how many pages of the store's list one count reads.
	maxPages = 20
)

// Watch counts the waiting threads at intervals, until ctx is done.
func (m *Metrics) Watch(ctx context.Context, s store.Store) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		m.look(ctx, s)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// look counts the waiting threads once, and finds how long the oldest has waited. If the store
// returns an error, the metrics do not change.
func (m *Metrics) look(ctx context.Context, s store.Store) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	n, q := 0, store.Query{Limit: store.MaxPage}
	var oldest time.Time
	for range maxPages {
		page, err := s.List(ctx, q)
		if err != nil {
			return
		}
		if n == 0 && len(page.Rows) > 0 {
			oldest = page.Rows[0].Opened
		}
		n += len(page.Rows)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	m.waiting.Set(float64(n))
	if oldest.IsZero() {
		m.oldest.Set(0)
	} else {
		m.oldest.Set(max(0, time.Since(oldest).Seconds()))
	}
}
