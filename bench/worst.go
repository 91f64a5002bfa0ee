package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A worst is an input that once cost far more than its size suggests. The function worsts returns
// all of them.
type worst struct {
	name        string
	description string
	env         []string // settings of Holdpoint, as NAME=value
	// pauseStream returns the stream of a first run on the thread. This run is not measured and must
	// end in a pause. If pauseStream is nil, there is no first run.
	pauseStream func(size int) []byte
	// request returns the request of the run that is measured, with about size bytes. interrupts are
	// the ids of the questions of the first run. If body is nil, the request is short.
	request func(size int, thread string, interrupts []string) []byte
	// runStream returns the stream that the backend sends in the measured run, with about size bytes.
	// If runStream is nil, the stream is short.
	runStream func(size int) []byte
}

// The sizes in bytes for which every input is measured, and the limits for its costs. worstBytes is
// the size of the goal, and worstLarge the largest size that fits into a request by default.
const (
	worstBytes, worstLarge = 1 << 20, 15 << 20
	worstTime              = 100 // ms of CPU time per MiB
	worstMemory            = 128 // MiB more than before, for worstLarge
	worstSlack             = 5   // a factor in the check, for slow and loaded machines
	worstMemorySlack       = 2
)

// A cost has the results for one input.
type cost struct {
	small, large float64 // ms of CPU time per MiB
	memory       float64 // how many MiB the maximum exceeds the memory before
}

// worst responds with the stream of the input that the request's path names.
func (o *origin) worst(w http.ResponseWriter, r *http.Request) {
	one := worstOf(r.PathValue("name"))
	size, err := strconv.Atoi(r.URL.Query().Get("bytes"))
	if one == nil || err != nil {
		http.Error(w, "no such row, or no size", http.StatusBadRequest)
		return
	}
	content := one.runStream
	if r.URL.Query().Get("part") == "asks" {
		content = one.pauseStream
	}
	if content == nil {
		content = func(int) []byte { return finishedRun(nil) }
	}
	whole := content(size)
	stream(w)
	for len(whole) > 0 {
		n := min(len(whole), readBuffer)
		if _, err := w.Write(whole[:n]); err != nil {
			return // Holdpoint has closed the connection
		}
		whole = whole[n:]
	}
}

func worstOf(name string) *worst {
	for _, one := range worsts() {
		if one.name == name {
			return &one
		}
	}
	return nil
}

// worst measures an input. It uses a new process in each round.
func (b *bench) worst(one worst) error {
	var small, large, memory []float64
	for range b.rounds(3) {
		c, err := b.costOf(one)
		if err != nil {
			return err
		}
		small, large, memory = append(small, c.small), append(large, c.large), append(memory, c.memory)
	}
	b.report.atMost(8, median(small), worstTime, "`worst-%s`: ms of CPU for 1 MiB", one.name)
	b.report.atMost(9, median(memory), worstMemory, "`worst-%s`: MiB more at once for %d MiB", one.name, worstLarge/mb)
	row := []string{"`" + one.name + "`: " + one.description, spread(small), spread(large), spread(memory)}
	if b.hasWorstHead {
		b.report.line("| %s |", strings.Join(row, " | "))
		return nil
	}
	b.hasWorstHead = true
	b.report.title("The worst inputs: at most %d ms of CPU for 1 MiB, and %d MiB at once for %d", worstTime, worstMemory, worstLarge/mb)
	b.report.table([]string{"input", "ms / MiB, 1 MiB", fmt.Sprintf("ms / MiB, %d MiB", worstLarge/mb), fmt.Sprintf("MiB more, %d MiB", worstLarge/mb)}, [][]string{row})
	return nil
}

var errTooExpensive = errors.New("dearer than it may be, in each attempt")

// checkWorst returns an error if an input costs far more than its limits. It measures only CPU time
// and memory, not elapsed time.
func (b *bench) checkWorst() error {
	for _, one := range worsts() {
		passed := false
		for n := 0; n < attempts && !passed; n++ {
			c, err := b.costOf(one)
			if err != nil {
				return err
			}
			passed = max(c.small, c.large) <= worstSlack*worstTime && c.memory <= worstMemorySlack*worstMemory
			if !passed {
				fmt.Fprintf(b.diag, "bench: %s, attempt %d: %s and %s ms / MiB, %s MiB more; want at most %d and %d\n", one.name, n+1,
					short3(c.small), short3(c.large), short3(c.memory), worstSlack*worstTime, worstMemorySlack*worstMemory)
			}
		}
		if !passed {
			return fmt.Errorf("input %s: %w", one.name, errTooExpensive)
		}
	}
	return nil
}

// costOf measures an input once, in a new process.
func (b *bench) costOf(one worst) (got cost, err error) {
	k := kind{name: "holdpoint worst-" + one.name, form: formRewritten, start: holdpointStarterWith(one.env...)}
	err = b.withNewTarget(k, func(t *target) error {
		for range 3 { // then costs that a process has only once do not count
			if _, err := b.measureInput(t, one, 1<<10); err != nil {
				return err
			}
		}
		if got.small, err = b.measureInput(t, one, worstBytes); err != nil {
			return err
		}
		b.sleep(memorySettleTime / 4)
		before, _, err := t.process.memory()
		if err != nil {
			return err
		}
		if got.large, err = b.measureInput(t, one, worstLarge); err != nil {
			return err
		}
		_, peak, err := t.process.memory()
		got.memory = float64(peak-before) / mb
		return err
	})
	return got, err
}

// measureInput sends an input of about size bytes, and returns its CPU time in ms per MiB.
func (b *bench) measureInput(t *target, one worst, size int) (float64, error) {
	c := b.client(readBuffer)
	defer c.close()
	thread := fmt.Sprintf("thread-%d", b.runs.Add(1))
	path := fmt.Sprintf("/worst/%s?bytes=%d", one.name, size)
	var interrupts []string
	if one.pauseStream != nil {
		pauseEnd, err := c.readWhole(b.ctx, t, path+"&part=asks", shortInput(thread, "first"))
		if err == nil {
			interrupts, err = interruptIDs(pauseEnd)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: the first run: %w", one.name, err)
		}
	}
	body := shortInput(thread, "second")
	if one.request != nil {
		body = one.request(size, thread, interrupts)
	}
	spent, err := b.cpuTimeOf(t, func() error {
		_, err := c.readWhole(b.ctx, t, path, body)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", one.name, err)
	}
	received := len(body)
	if one.runStream != nil {
		received = max(received, size)
	}
	return spent.Seconds() * 1e3 * mb / float64(received), nil
}

// worstWait is the maximum time that one input may take.
const worstWait = 2 * time.Minute

var errEndless = errors.New("it did not end within two minutes")

// maxEndBytes is how many bytes at the end of a response are stored. They are enough for a last
// event with many interrupts.
const maxEndBytes = 2 * worstLarge

// readWhole sends a run and reads the whole response. It returns the end of the response, also if
// Holdpoint refuses the run.
func (c *client) readWhole(ctx context.Context, t *target, path string, body []byte) (end []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, worstWait, errEndless)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+t.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	defer res.Body.Close()
	for p := make([]byte, c.buffer); ; {
		n, err := res.Body.Read(p)
		if end = append(end, p[:n]...); len(end) > 2*maxEndBytes {
			end = append([]byte(nil), end[len(end)-maxEndBytes:]...)
		}
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, cmp.Or(context.Cause(ctx), err)
		}
	}
}

// openBodies is the number of request bodies that do not end. openBodiesGoal is the limit for the
// memory of all of them.
const (
	openBodies     = 40
	openBodiesGoal = 512 // MiB: twice HOLDPOINT_BODY_BYTES, because outgrown buffers are freed later
)

// bodies measures the memory that Holdpoint needs for request bodies whose last byte does not
// arrive.
func (b *bench) bodies() error {
	var more []float64
	for range b.rounds(3) {
		k := kind{name: "holdpoint bodies", form: formRewritten, start: holdpointStarterWith()}
		err := b.withNewTarget(k, func(t *target) error {
			before, err := b.warmUp(t)
			if err != nil {
				return err
			}
			body := input("thread", worstLarge, `{"id":"u%d","role":"user","content":"`+paragraph+`"}`, "")
			conns := make([]net.Conn, openBodies)
			err = runConcurrently(openBodies, func(n int) (err error) {
				if conns[n], err = dialer.DialContext(b.ctx, "tcp", t.address); err != nil {
					return err
				}
				// If Holdpoint refuses the request, it responds and closes the connection before
				// the whole body was sent, so this write may fail.
				_, _ = fmt.Fprintf(conns[n], "POST /run/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)-1])
				return nil
			})
			for _, c := range conns {
				if c != nil {
					defer c.Close()
				}
			}
			if err != nil {
				return err
			}
			b.sleep(memorySettleTime)
			_, peak, err := t.process.memory()
			more = append(more, float64(peak-before)/mb)
			return err
		})
		if err != nil {
			return err
		}
	}
	b.report.title("%d bodies of %d MiB that do not end", openBodies, worstLarge/mb)
	b.report.table([]string{"target", "MiB more at the most"}, [][]string{{"holdpoint", spread(more)}})
	b.report.atMost(9, median(more), openBodiesGoal, "`worst-bodies`: MiB more for %d bodies of %d MiB that do not end", openBodies, worstLarge/mb)
	return nil
}
