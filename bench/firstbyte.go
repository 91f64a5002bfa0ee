package main

import "fmt"

// shortRuns is the number of runs in each round of the scenarios first-byte and first-byte-history.
const shortRuns = 400

func (b *bench) firstByte(history int) error {
	list, err := b.targets(kinds())
	if err != nil {
		return err
	}
	half, tail, cpus := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	err = b.measureInRounds(b.rounds(9), list, func(t *target, counts bool) error {
		c := b.client(readBuffer)
		defer c.close()
		n := b.scaleCount(shortRuns, 1)
		var waits []float64
		cpu, err := b.cpuTimeOf(t, func() error {
			for range n {
				r, err := c.stream(b.ctx, t, order{script: "short", history: history}, "", nil)
				if err != nil {
					return err
				}
				waits = append(waits, float64(r.firstByteTime.Nanoseconds())/1e3)
			}
			return nil
		})
		if err == nil && counts {
			half[t.name] = append(half[t.name], quantile(waits, 0.5))
			tail[t.name] = append(tail[t.name], quantile(waits, 0.99))
			if t.process != nil {
				cpus[t.name] = append(cpus[t.name], float64(cpu.Microseconds())/float64(n))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("First byte: runs of %d frames, one after the other", 5)
	if history > 0 {
		title += fmt.Sprintf(", each with %d messages of 1 KB of history", history)
	}
	b.report.title("%s", title)
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{
			t.name, spread(half[t.name]), spread(ratios(half[t.name], half["reverseproxy"])), short3(median(tail[t.name])), spread(cpus[t.name]),
		})
	}
	b.report.table([]string{"target", "p50 µs", "× reverseproxy", "p99 µs", "CPU µs / run"}, rows)
	if list := ratios(half["holdpoint"], half["reverseproxy"]); len(list) > 0 && history == 0 {
		b.report.atMost(4, median(list), 1.15, "first byte: p50, × reverseproxy's")
	}
	return nil
}
