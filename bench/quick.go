package main

import (
	"errors"
	"fmt"
)

const (
	quickRounds = 7
	attempts    = 3
	// margin is the part of a goal that the check requires. If a ratio is lower, neither noise nor
	// a different machine can explain it. Holdpoint saves system calls and uses time of its own. So
	// on a machine with fast system calls, the same code has a worse ratio (1.36 and 0.95,
	// bench/README.md).
	margin = 0.7
)

// storeShare and storeLimit are for the check of the stores. In this check the large store has
// twenty times as many threads as the small one, and a step may take at most storeLimit times as
// long.
const (
	storeShare = 0.02
	storeLimit = 4
)

var errTooSlow = errors.New("slower than it may be, in each attempt")

// A bar is the ratio that Holdpoint must reach to one target.
type bar struct {
	to    string
	limit float64
}

// check measures the blast, and returns an error if Holdpoint is far from its goal. The best of
// three attempts counts. Noise changes a ratio by chance, but a slow proxy is slow in each attempt.
func (b *bench) check() error {
	bars := []bar{{"reverseproxy", margin * goalDefault}, {"reverseproxy-32k", margin * goalBuffers}}
	for _, per := range []int{1, 20} {
		l := b.chunkedLoad(per, false)
		l.rounds = quickRounds
		passed := false
		for n := 0; n < attempts && !passed; n++ {
			got, err := b.measureLoad(l)
			if err != nil {
				return err
			}
			b.report.flush(b.out)
			missed := missedGoals(got, bars)
			for _, m := range missed {
				fmt.Fprintf(b.diag, "bench: attempt %d: %s\n", n+1, m)
			}
			passed = len(missed) == 0
		}
		if !passed {
			return fmt.Errorf("frames in a chunk: %d: %w", per, errTooSlow)
		}
	}
	return nil
}

// missedGoals returns a text for each bar that Holdpoint did not reach.
func missedGoals(got rates, bars []bar) []string {
	var list []string
	for _, one := range bars {
		// The condition is written in this way so that NaN also counts as not reached.
		if ratio := median(ratios(got.framesOf("holdpoint"), got.framesOf(one.to))); !(ratio >= one.limit) {
			list = append(list, fmt.Sprintf("%.2f × %s, want at least %.2f", ratio, one.to, one.limit))
		}
	}
	return list
}

// checkStores returns an error if a step of a store becomes much slower when the store has more
// threads.
func (b *bench) checkStores() error {
	was := b.settings
	defer func() { b.settings = was }()
	b.settings.scale, b.settings.rounds = storeShare, quickRounds
	for _, one := range []struct {
		name    string
		million func() error
	}{{"redis", b.millionInRedis}, {"postgres", b.millionInPostgres}, {"bolt", b.millionInBolt}} {
		passed := false
		for n := 0; n < attempts && !passed; n++ {
			b.report.goalResults = nil
			if err := one.million(); err != nil {
				return err
			}
			b.report.flush(b.out)
			passed = true
			for _, g := range b.report.goalResults { // empty if the server is not installed
				if !(g.value <= storeLimit) {
					passed = false
					fmt.Fprintf(b.diag, "bench: attempt %d: %s: %.2f, want at most %d\n", n+1, g.description, g.value, storeLimit)
				}
			}
		}
		if !passed {
			return fmt.Errorf("store %s: %w", one.name, errTooSlow)
		}
	}
	return nil
}
