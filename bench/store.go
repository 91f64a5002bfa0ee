package main

import (
	"errors"
	"fmt"
	"time"

	"holdpoint/bench/steps"
)

// The goals for a step. Each is a multiple of the time of a bare request to the same server.
const (
	goalLoad  = 1.3
	goalClaim = 2.5
	goalFsync = 1.5 // for a Claim in a file: a multiple of a bare fsync
	// goalTogether is for concurrent pauses in a file. It is a multiple of the time of as many
	// pauses one after the other.
	goalTogether = 0.25
)

// The numbers of repetitions of a step in a round (stepTimes, togetherTimes), and the numbers of
// rounds.
const (
	stepTimes  = 60
	stepRounds = 40

	pausesAtOnce   = 100
	togetherTimes  = 3
	togetherRounds = 10
)

// stepPause is the time between two steps. If steps followed each other without it, client and
// server would never sleep while one of them works. Then some figures would include the time of a
// wake-up, as in a real service, and others would not.
const stepPause = 300 * time.Microsecond

// The large records have eight results of 128 KiB each.
const (
	largeResults = 8
	resultBytes  = 128 << 10
)

// A lap is a step with its results in µs. half has the p50 of each round, and tail the p99.
type lap struct {
	name   string
	step   steps.Step
	median []float64
	p99    []float64
}

// A serverKind has two properties of a server. durable means that it confirms a write only after
// the disk has it. far means that it is reached through a network. If the server is on the same
// machine, a round trip costs almost nothing, so the ratio shows the server's work.
type serverKind struct{ durable, far bool }

var serverKinds = []serverKind{{false, false}, {true, false}, {false, true}}

func (k serverKind) where() string {
	if k.far {
		return ", with a network between"
	}
	return ""
}

// storeRedis measures three kinds of Redis servers: one that keeps its data only in memory, which
// shows the cost of the step itself, one that confirms a write only after the disk has it, and one
// that is reached through a network.
func (b *bench) storeRedis() error {
	return b.withMachine("redis", func(m *steps.Machine) error {
		for _, of := range serverKinds {
			s, err := m.Redis(b.ctx, of.durable, of.far)
			if err != nil {
				return err
			}
			if err := b.measureSteps(s, of.durable, "Redis, "+map[bool]string{false: "in memory only", true: "appendfsync always"}[of.durable]+of.where()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) storePostgres() error {
	return b.withMachine("postgres", func(m *steps.Machine) error {
		db := m.Postgres()
		for n, of := range serverKinds {
			commit := map[bool]string{false: "off", true: "on"}[of.durable]
			s, err := db.Side(b.ctx, fmt.Sprint("steps_", n), of.durable, of.far)
			if err != nil {
				return err
			}
			if err := b.measureSteps(s, of.durable, "PostgreSQL, synchronous_commit "+commit+of.where()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) storeBolt() error {
	return b.withMachine("bolt", func(m *steps.Machine) error {
		s, err := m.Bolt(b.ctx)
		if err != nil {
			return err
		}
		return b.measureSteps(s, true, "a file (bolt)")
	})
}

// storeBoltTogether measures concurrent pauses in a file. Concurrent pauses share an fsync.
func (b *bench) storeBoltTogether() error {
	return b.withMachine("bolt", func(m *steps.Machine) error {
		s, err := m.Bolt(b.ctx)
		if err != nil {
			return err
		}
		at, separate := s.Pauses(pausesAtOnce)
		list := []*lap{{name: separate.Name, step: separate}, {name: at.Name, step: at}}
		if err := b.measureLaps(list, togetherTimes, togetherRounds); err != nil {
			return err
		}
		b.report.title("Steps: a file (bolt), %d pauses", pausesAtOnce)
		ratio := ratios(list[1].median, list[0].median)
		b.report.table([]string{"", "p50 ms", "×"}, [][]string{
			{separate.Name, spread(toMilliseconds(list[0].median)), ""}, {at.Name, spread(toMilliseconds(list[1].median)), spread(ratio)},
		})
		b.report.atMost(10, median(ratio), goalTogether, "%s, × %s", at.Name, separate.Name)
		return nil
	})
}

func toMilliseconds(micros []float64) []float64 {
	list := make([]float64, len(micros))
	for n, d := range micros {
		list[n] = d / 1000
	}
	return list
}

// withMachine calls do with a Machine. If a server is not installed, it only adds a line about this
// to the report.
func (b *bench) withMachine(name string, do func(m *steps.Machine) error) error {
	err := steps.WithMachine(do)
	if errors.Is(err, steps.ErrMissing) {
		b.report.noteMissingTarget(kind{name: name}, err)
		return nil
	}
	return err
}

// measureSteps measures Load and Claim on two threads, one without results and one with eight large
// results. It also measures the bare requests. durable means that a write must reach the disk. In
// that case a Claim is compared with a bare write instead of the smallest request.
func (b *bench) measureSteps(s *steps.Side, durable bool, title string) error {
	load, claim, err := s.WaitingThread(b.ctx, "plain", 0, 1<<10)
	if err != nil {
		return err
	}
	loadEight, claimEight, err := s.WaitingThread(b.ctx, "eight", largeResults, resultBytes)
	if err != nil {
		return err
	}
	strange, err := s.ManyThreads(b.ctx, largeResults)
	if err != nil {
		return err
	}
	ask, keep := &lap{name: s.Ask.Name, step: s.Ask}, &lap{name: s.Keep.Name, step: s.Keep}
	plain := [2]*lap{{name: "Load", step: load}, {name: "Claim", step: claim}}
	large := [2]*lap{{name: "Load, 8 × 128 KiB", step: loadEight}, {name: "Claim, 8 × 128 KiB", step: claimEight}}
	first := &lap{name: "Load, 8 results, for the first time", step: strange}
	list := []*lap{keep, plain[0], plain[1], large[0], large[1], first}
	if s.Find.Do != nil {
		list = append([]*lap{{name: s.Find.Name, step: s.Find}}, list...)
	}
	if s.Ask.Do != nil {
		list = append([]*lap{ask}, list...)
	}
	if err := b.measureLaps(list, stepTimes, stepRounds); err != nil {
		return err
	}
	b.report.title("Steps: %s", title)
	head := []string{"", "p50 µs", "p99 µs"}
	if s.Ask.Do != nil {
		head = append(head, "× "+ask.name)
	}
	var rows [][]string
	for _, l := range list {
		row := []string{l.name, spread(l.median), short3(median(l.p99))}
		if s.Ask.Do != nil {
			row = append(row, spread(ratios(l.median, ask.median)))
		}
		rows = append(rows, append(row, spread(ratios(l.median, keep.median))))
	}
	b.report.table(append(head, "× "+keep.name), rows)
	for _, of := range [][2]*lap{plain, large} {
		if s.Ask.Do != nil {
			b.report.atMost(10, median(ratios(of[0].median, ask.median)), goalLoad, "%s: p50 of %s, × %s", title, of[0].name, ask.name)
		}
		others, limit := ask, goalClaim
		if durable {
			others = keep
		}
		if s.Ask.Do == nil {
			limit = goalFsync
		}
		b.report.atMost(10, median(ratios(of[1].median, others.median)), limit, "%s: p50 of %s, × %s", title, of[1].name, others.name)
	}
	return nil
}

// measureLaps measures steps in rounds with a random order. times is the number of repetitions of
// each step in a round.
func (b *bench) measureLaps(list []*lap, times, rounds int) error {
	times = b.scaleCount(times, 1)
	return runRounds(b.rounds(rounds), len(list), func(i int, counts bool) error {
		l := list[i]
		took := make([]float64, times)
		for n := range times {
			time.Sleep(stepPause)
			d, err := l.step.Do(b.ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			took[n] = float64(d) / float64(time.Microsecond)
		}
		if counts {
			l.median, l.p99 = append(l.median, quantile(took, 0.5)), append(l.p99, quantile(took, 0.99))
		}
		return nil
	})
}
