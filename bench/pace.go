package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	paceRate   = 1000 // frames a second
	paceFrames = 800  // in each round
)

// stampDigits is the number of digits of the time in a paced frame. The time is in nanoseconds.
const stampDigits = 19

// stampFrame returns a paced frame. The origin later replaces stamp by the time at which it sends
// the frame.
func stampFrame(stamp string) string {
	begin := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + stamp + " "
	return begin + filler(frameBytes-len(begin)-len(`data: "}`)-2) + `"}`
}

func stampedFrame(at time.Time) []byte {
	return appendFrame(nil, stampFrame(fmt.Sprintf("%0*d", stampDigits, at.UnixNano())))
}

// A delayReader reads a paced stream and records the delay of each frame.
type delayReader struct {
	beforeStamp, afterStamp []byte // the bytes of a frame before its time, and after it
	partialFrame            []byte // an incomplete frame
	delays                  []float64
}

func newDelayReader(f form) *delayReader {
	zero := fmt.Sprintf("%0*d", stampDigits, 0)
	s := script{block: []frame{{event: stampFrame(zero)}}, cycles: 1}
	before, after, _ := bytes.Cut(s.parts(f)[1].bytes, []byte(zero))
	return &delayReader{beforeStamp: before, afterStamp: after}
}

// take reads bytes that arrived at the time at, and records the delay of each complete frame in
// microseconds.
func (c *delayReader) take(p []byte, at time.Time) error {
	c.partialFrame = append(c.partialFrame, p...)
	size := len(c.beforeStamp) + stampDigits + len(c.afterStamp)
	for ; len(c.partialFrame) >= size; c.partialFrame = c.partialFrame[size:] {
		digits := c.partialFrame[len(c.beforeStamp):][:stampDigits]
		sent, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil || !bytes.HasPrefix(c.partialFrame, c.beforeStamp) || !bytes.Equal(c.partialFrame[size-len(c.afterStamp):size], c.afterStamp) {
			return fmt.Errorf("frame %d: %.*q", len(c.delays), size, c.partialFrame)
		}
		c.delays = append(c.delays, float64(at.UnixNano()-sent)/1e3)
	}
	return nil
}

// pace runs one paced stream and returns the delay of each frame, in microseconds.
func (c *client) pace(ctx context.Context, t *target, frames int) ([]float64, error) {
	ord := c.withIDs(order{script: "text", cycles: frames})
	s, err := ord.makeScript()
	if err != nil {
		return nil, err
	}
	parts := s.parts(t.kind.form)
	body, err := c.post(ctx, t.address, fmt.Sprintf("/paced/text?%s&rate=%d", ord.query(), paceRate), ord.input(""))
	if err != nil {
		return nil, voidError(t, ord, err)
	}
	defer body.Close()
	head := make([]byte, len(parts[0].bytes))
	if _, err := io.ReadFull(body, head); err != nil || !bytes.Equal(head, parts[0].bytes) {
		return nil, voidError(t, ord, fmt.Errorf("head %q: %w", head, err))
	}
	clock := newDelayReader(t.kind.form)
	var tail []byte
	for p := make([]byte, 32<<10); ; {
		n, err := body.Read(p)
		now := time.Now()
		rest := p[:n]
		if missing := frames*(len(clock.beforeStamp)+stampDigits+len(clock.afterStamp)) - clock.bytes(); len(rest) > missing {
			rest, tail = rest[:missing], append(tail, rest[missing:]...)
		}
		if wrong := clock.take(rest, now); wrong != nil {
			return nil, voidError(t, ord, wrong)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, voidError(t, ord, err)
		}
	}
	if len(clock.delays) != frames || !bytes.Equal(tail, parts[2].bytes) {
		return nil, voidError(t, ord, fmt.Errorf("%d of %d frames, then %.200q", len(clock.delays), frames, tail))
	}
	return clock.delays, nil
}

// bytes returns the number of bytes that have arrived in frames, including an incomplete frame.
func (c *delayReader) bytes() int {
	return len(c.delays)*(len(c.beforeStamp)+stampDigits+len(c.afterStamp)) + len(c.partialFrame)
}

// A pacing has the results of one target, with a value for each round.
type pacing struct {
	median, p99 []float64 // p50 and p99 of the delays, in µs
	addedMedian []float64 // median minus the value of the target direct in the same round
	cpu         []float64 // µs per frame
}

// pace measures one target once, and appends the values to p.
func (b *bench) pace(t *target, frames int, p *pacing) error {
	c := b.client(readBuffer)
	defer c.close()
	// The first frames wait for connections and buffers, so they are not measured.
	if _, err := c.pace(b.ctx, t, 200); err != nil {
		return err
	}
	var delays []float64
	cpu, err := b.cpuTimeOf(t, func() (err error) {
		delays, err = c.pace(b.ctx, t, frames)
		return err
	})
	if err != nil {
		return err
	}
	p.median, p.p99 = append(p.median, quantile(delays, 0.5)), append(p.p99, quantile(delays, 0.99))
	if t.process != nil {
		p.cpu = append(p.cpu, float64(cpu.Microseconds())/float64(frames))
	}
	return nil
}

func (b *bench) pacing() error {
	list, err := b.targets(kinds())
	if err != nil {
		return err
	}
	got := map[string]*pacing{}
	for _, t := range list {
		got[t.name] = &pacing{}
	}
	frames := b.scaleCount(paceFrames, 1)
	err = b.measureInRounds(b.rounds(20), list, func(t *target, counts bool) error {
		if !counts {
			return nil
		}
		// Each measurement uses a new process. On which processors its threads run changes the
		// result more than what they do.
		return b.withNewTarget(t.kind, func(t *target) error { return b.pace(t, frames, got[t.name]) })
	})
	if err != nil {
		return err
	}
	b.report.title("Paced: one stream, %d frames a second", paceRate)
	var rows [][]string
	for _, t := range list {
		p := got[t.name]
		if direct := got["direct"]; direct != nil {
			for n, v := range p.median {
				p.addedMedian = append(p.addedMedian, v-direct.median[n])
			}
		}
		rows = append(rows, []string{t.name, spread(p.median), spread(p.addedMedian), short3(median(p.p99)), spread(p.cpu)})
	}
	b.report.table([]string{"target", "p50 µs", "added p50 µs", "p99 µs", "CPU µs / frame"}, rows)
	own, rp := got["holdpoint"], got["reverseproxy"]
	if own != nil && rp != nil {
		b.report.atMost(2, median(own.addedMedian)/median(rp.addedMedian), 1.1, "paced: added p50, × reverseproxy's")
		b.report.atMost(2, median(ratios(own.cpu, rp.cpu)), 1.05, "paced: CPU for a frame, × reverseproxy's")
	}
	return nil
}
