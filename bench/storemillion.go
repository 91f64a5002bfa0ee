package main

import (
	"fmt"
	"time"

	"holdpoint/bench/steps"
)

// The numbers of threads in the large store and in each small store. In all of them, enough threads
// must wait to fill a page of the list.
const (
	largeEnded, largeOpen = 1_000_000, 10_000
	smallThreads          = 1000
)

// The number of repetitions of each step in a round, and the number of rounds.
const (
	tourTimes  = 25
	tourRounds = 30
)

// goalMillion is the limit for a step in the large store, as a multiple of the same step in a small
// store. A higher ratio cannot be noise. The second small store shows how large the noise is.
const goalMillion = 1.25

func (b *bench) millionInRedis() error {
	return b.withMachine("redis", func(m *steps.Machine) error {
		return b.million("Redis", func(int) (*steps.Side, error) { return m.Redis(b.ctx, false, false) })
	})
}

func (b *bench) millionInPostgres() error {
	return b.withMachine("postgres", func(m *steps.Machine) error {
		db := m.Postgres()
		return b.million("PostgreSQL", func(n int) (*steps.Side, error) { return db.Side(b.ctx, fmt.Sprintf("store%d", n), false, false) })
	})
}

func (b *bench) millionInBolt() error {
	return b.withMachine("bolt", func(m *steps.Machine) error {
		return b.million("A file (bolt)", func(int) (*steps.Side, error) { return m.Bolt(b.ctx) })
	})
}

// million measures each step in two small stores and in one large store.
func (b *bench) million(name string, open func(n int) (*steps.Side, error)) error {
	ended, waits := b.scaleCount(largeEnded, 1), b.scaleCount(largeOpen, 1)
	sizes := [3][2]int{{smallThreads, smallThreads}, {smallThreads, smallThreads}, {max(ended, smallThreads), max(waits, smallThreads)}}
	var tours [3]*steps.Tour
	for n, size := range sizes {
		s, err := open(n)
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := s.Fill(b.ctx, size[0], size[1]); err != nil {
			return err
		}
		if n == 2 {
			fmt.Fprintf(b.diag, "bench: %s: %d threads in %.0f s\n", name, size[0]+size[1], time.Since(begin).Seconds())
		}
		tours[n] = s.Tour(size[0])
	}
	names := steps.TourSteps()
	var half [3][][]float64 // indexed by store, step and round
	for n := range half {
		half[n] = make([][]float64, len(names))
	}
	// Each tour uses one store, and the stores alternate. In each round, every store is used for a
	// tenth of a second.
	for round := range b.rounds(tourRounds) + 1 {
		took := [3][][]float64{}
		for n := range took {
			took[n] = make([][]float64, len(names))
		}
		err := runRounds(tourTimes, len(tours), func(i int, _ bool) error {
			all, err := tours[i].RunOnce(b.ctx)
			for n, d := range all {
				took[i][n] = append(took[i][n], float64(d)/float64(time.Microsecond))
			}
			return err
		})
		if err != nil {
			return err
		}
		for n := range took {
			for i, list := range took[n] {
				if round > 0 {
					half[n][i] = append(half[n][i], median(list))
				}
			}
		}
	}
	b.report.title("%s with %d ended threads and %d that wait, beside %d and %d", name, sizes[2][0], sizes[2][1], smallThreads, smallThreads)
	var rows [][]string
	worst, at := 0.0, ""
	for n, step := range names {
		large, again := ratios(half[2][n], half[0][n]), ratios(half[1][n], half[0][n])
		rows = append(rows, []string{step, spread(half[0][n]), spread(half[2][n]), spread(large), spread(again)})
		if ratio := median(large); ratio > worst {
			worst, at = ratio, step
		}
	}
	b.report.table([]string{"step", "small, p50 µs", "large, p50 µs", "×", "a second small one, ×"}, rows)
	b.report.atMost(11, worst, goalMillion, "%s with %d threads: the slowest step (%s), × with %d", name, sizes[2][0]+sizes[2][1], at, 2*smallThreads)
	return nil
}
