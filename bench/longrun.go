package main

import (
	"fmt"
	"time"
)

// measureLong compares the CPU time of the first quarter of a long stream with that of the last
// quarter. Holdpoint stores a part of a stream for snapshots. This must not make later frames more
// expensive.
func (b *bench) measureLong(script string, cycles int) error {
	var list []kind
	for _, k := range proxies(false) {
		list = append(list, k)
		if k.form == formRewritten {
			list = append(list, k.withDialect("request-approval"))
		}
	}
	up, err := b.targets(list)
	if err != nil {
		return err
	}
	ord := order{script: script, cycles: b.scaleCount(cycles, 1), framesPerChunk: 1}
	frames := 0
	first, last := map[string][]float64{}, map[string][]float64{}
	err = b.measureInRounds(b.rounds(9), up, func(t *target, counts bool) error {
		part := ord
		if !counts {
			part.cycles = max(ord.cycles/50, 4)
		}
		quarters, n, err := b.quarters(t, part)
		if err == nil && counts {
			frames = n
			first[t.name] = append(first[t.name], quarters[0].Seconds()*1e6*4/float64(n))
			last[t.name] = append(last[t.name], quarters[3].Seconds()*1e6*4/float64(n))
		}
		return err
	})
	if err != nil {
		return err
	}
	b.report.title("Long stream: %s, %d frames", script, frames)
	var rows [][]string
	for _, t := range up {
		grown := ratios(last[t.name], first[t.name])
		rows = append(rows, []string{t.name, spread(first[t.name]), spread(last[t.name]), spread(grown)})
		if t.kind.form == formRewritten {
			b.report.atMost(7, median(grown), 1.1, "long stream (%s), %s: CPU of the last quarter, × the first", script, t.name)
		}
	}
	b.report.table([]string{"target", "µs / frame, first quarter", "µs / frame, last quarter", "last / first"}, rows)
	return nil
}

// quarters returns the CPU time of each quarter of a stream, and the number of frames. The origin
// waits after each quarter, so that all its bytes have been processed when the CPU time is read.
func (b *bench) quarters(t *target, ord order) (spent [4]time.Duration, frames int, err error) {
	ord.bursts = len(spent)
	c := b.client(readBuffer)
	defer c.close()
	received := make(chan int, 1) // the number of frames that have arrived; only the latest value
	var r result
	ended := make(chan error, 1)
	go func() {
		var err error
		r, err = c.stream(b.ctx, t, ord, "", func(frames int) {
			select {
			case <-received:
			default:
			}
			received <- frames
		})
		ended <- err
	}()
	s, err := ord.makeScript()
	if err != nil {
		return spent, 0, err
	}
	for n := range spent {
		until := len(s.head) + (n+1)*ord.cycles/len(spent)*len(s.block)
		spent[n], err = b.cpuTimeOf(t, func() error {
			if err := b.gate("burst", 1); err != nil {
				return err
			}
			for {
				select {
				case frames := <-received:
					if frames >= until {
						return nil
					}
				case err := <-ended:
					return fmt.Errorf("%s: ended in quarter %d: %w", t.name, n+1, err)
				}
			}
		})
		if err != nil {
			return spent, 0, err
		}
	}
	if err := b.gate("end", 1); err != nil {
		return spent, 0, err
	}
	err = <-ended
	return spent, r.frames, err
}
