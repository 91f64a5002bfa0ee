package main

import (
	"time"
)

const (
	mb               = 1 << 20
	memorySettleTime = 2 * time.Second // how long memory needs to settle
	samplingInterval = 20 * time.Millisecond
)

// warmUp runs a few streams through a target and returns its memory. Memory that a process needs
// only once is then not counted for the streams of the measurement.
func (b *bench) warmUp(t *target) (rss int, err error) {
	c := b.client(readBuffer)
	defer c.close()
	if _, err := c.streamConcurrently(b.ctx, t, order{script: "text", cycles: 2, framesPerChunk: 1}, streams, 3); err != nil {
		return 0, err
	}
	b.sleep(memorySettleTime)
	now, _, err := t.process.memory()
	return now, err
}

func (b *bench) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
	}
}

func (b *bench) hugeFrame(script string) error {
	b.report.title("One frame of %d MiB: %s", hugeBytes/mb, script)
	var rows [][]string
	for _, k := range proxies(false) {
		if !b.selectsKind(k) {
			continue
		}
		var extra, left []float64
		for range b.rounds(3) {
			err := b.withNewTarget(k, func(t *target) error {
				before, err := b.warmUp(t)
				if err != nil {
					return err
				}
				c := b.client(readBuffer)
				defer c.close()
				if _, err := c.stream(b.ctx, t, order{script: script, cycles: 1, framesPerChunk: 1}, "", nil); err != nil {
					return err
				}
				b.sleep(memorySettleTime)
				now, peak, err := t.process.memory()
				extra, left = append(extra, float64(peak-before)/mb), append(left, float64(now-before)/mb)
				return err
			})
			if err != nil {
				return err
			}
		}
		rows = append(rows, []string{k.name, spread(extra), spread(left)})
		if k.name == "holdpoint" {
			b.report.atMost(6, median(extra), 2*hugeBytes/mb, "a frame of 16 MiB (%s): MiB more at the most", script)
		}
	}
	b.report.table([]string{"target", "MiB more at the most", "MiB more 2 s later"}, rows)
	return nil
}

const (
	stalledBytes       = 1 << 30
	bytesBetweenStalls = 16 << 20 // bytes
	stallTime          = 100 * time.Millisecond
)

func (b *bench) stalled() error {
	b.report.title("Stalled: %d MiB through a reader that stops for %s after each %d MiB", b.scaleCount(stalledBytes, 1)/mb, stallTime, bytesBetweenStalls/mb)
	var rows [][]string
	for _, k := range proxies(false) {
		if !b.selectsKind(k) {
			continue
		}
		err := b.withNewTarget(k, func(t *target) error {
			before, err := b.warmUp(t)
			if err != nil {
				return err
			}
			c := b.client(readBuffer)
			defer c.close()
			var marks []float64 // the memory at each stall, in MiB
			next := 0
			cycles := b.scaleCount(stalledBytes, 1) / (500 * frameBytes)
			_, err = c.stream(b.ctx, t, order{script: "text", cycles: cycles, framesPerChunk: 1}, "", func(frames int) {
				if frames*frameBytes < next {
					return
				}
				next += bytesBetweenStalls
				b.sleep(stallTime)
				if now, _, err := t.process.memory(); err == nil {
					marks = append(marks, float64(now-before)/mb)
				}
			})
			if err != nil {
				return err
			}
			_, peak, err := t.process.memory()
			if err != nil {
				return err
			}
			early, late := median(marks[:len(marks)/4+1]), median(marks[len(marks)*3/4:])
			rows = append(rows, []string{t.name, short3(early), short3(late), short3(float64(peak-before) / mb)})
			if t.name == "holdpoint" {
				b.report.atMost(6, late-early, 2, "stalled reader: MiB more in the last quarter than in the first")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.report.table([]string{"target", "MiB more, first quarter", "MiB more, last quarter", "MiB more at the most"}, rows)
	return nil
}
