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

// A worst is an input that cost far more than its bytes when somebody found it. worsts has them
// all.
type worst struct {
	name string
	what string
	env  []string // variables, NAME=value
	// asks is the stream of a first run on the thread, which is not counted and must end in a
	// pause; nil: there is none.
	asks func(size int) []byte
	// body is the run that is counted, of about size bytes; interrupts are those that the first one
	// was told. nil: a short one.
	body func(size int, thread string, interrupts []string) []byte
	// says is the stream that the backend answers it with, of about size bytes; nil: a short one.
	says func(size int) []byte
}

// What no input may cost, and for which sizes it is measured: one that is the goal's, and the
// largest that a request may have by default, less what stands around it.
const (
	worstBytes, worstLarge = 1 << 20, 15 << 20
	worstTime              = 100 // ms of CPU for a MiB
	worstMemory            = 128 // MiB more at once, for the large one
	worstSlack             = 5   // of the time, by which the check lets it pass: machines are slow, and loaded
	worstMemorySlack       = 2
)

// A cost is what one of them came to.
type cost struct {
	small, large float64 // ms of CPU for a MiB
	memory       float64 // MiB more at the most
}

// worst is the origin's part: the stream of the row that the path names.
func (o *origin) worst(w http.ResponseWriter, r *http.Request) {
	one := worstOf(r.PathValue("name"))
	size, err := strconv.Atoi(r.URL.Query().Get("bytes"))
	if one == nil || err != nil {
		http.Error(w, "no such row, or no size", http.StatusBadRequest)
		return
	}
	says := one.says
	if r.URL.Query().Get("part") == "asks" {
		says = one.asks
	}
	if says == nil {
		says = func(int) []byte { return finished(nil) }
	}
	whole := says(size)
	stream(w)
	for len(whole) > 0 {
		n := min(len(whole), readBuffer)
		if _, err := w.Write(whole[:n]); err != nil {
			return // Holdpoint has had enough of it
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

// worst measures a row, in a process of its own each time.
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
	row := []string{"`" + one.name + "`: " + one.what, spread(small), spread(large), spread(memory)}
	if b.headed {
		b.report.line("| %s |", strings.Join(row, " | "))
		return nil
	}
	b.headed = true
	b.report.title("The worst inputs: at most %d ms of CPU for 1 MiB, and %d MiB at once for %d", worstTime, worstMemory, worstLarge/mb)
	b.report.table([]string{"input", "ms / MiB, 1 MiB", fmt.Sprintf("ms / MiB, %d MiB", worstLarge/mb), fmt.Sprintf("MiB more, %d MiB", worstLarge/mb)}, [][]string{row})
	return nil
}

var errTooDear = errors.New("dearer than it may be, in each attempt")

// checkWorst fails if an input costs far more than it may. It looks at no clock.
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
			return fmt.Errorf("input %s: %w", one.name, errTooDear)
		}
	}
	return nil
}

// costOf measures a row once.
func (b *bench) costOf(one worst) (got cost, err error) {
	k := kind{name: "holdpoint worst-" + one.name, form: asTold, start: holdpointWith(one.env...)}
	err = b.fresh(k, func(t *target) error {
		for range 3 { // what a process needs once is not the input's
			if _, err := b.input(t, one, 1<<10); err != nil {
				return err
			}
		}
		if got.small, err = b.input(t, one, worstBytes); err != nil {
			return err
		}
		b.sleep(calm / 4)
		before, _, err := t.process.memory()
		if err != nil {
			return err
		}
		if got.large, err = b.input(t, one, worstLarge); err != nil {
			return err
		}
		_, most, err := t.process.memory()
		got.memory = float64(most-before) / mb
		return err
	})
	return got, err
}

// input sends a row of about size bytes, and gives the CPU time that it takes, in ms for a MiB.
func (b *bench) input(t *target, one worst, size int) (float64, error) {
	c := b.client(readBuffer)
	defer c.close()
	thread := fmt.Sprintf("thread-%d", b.runs.Add(1))
	path := fmt.Sprintf("/worst/%s?bytes=%d", one.name, size)
	var interrupts []string
	if one.asks != nil {
		told, err := c.whole(b.ctx, t, path+"&part=asks", shortInput(thread, "first"))
		if err == nil {
			interrupts, err = interruptIDs(told)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: the first run: %w", one.name, err)
		}
	}
	body := shortInput(thread, "second")
	if one.body != nil {
		body = one.body(size, thread, interrupts)
	}
	spent, err := b.spent(t, func() error {
		_, err := c.whole(b.ctx, t, path, body)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", one.name, err)
	}
	came := len(body)
	if one.says != nil {
		came = max(came, size)
	}
	return spent.Seconds() * 1e3 * mb / float64(came), nil
}

// worstWait is when a row is given up.
const worstWait = 2 * time.Minute

var errEndless = errors.New("it did not end within two minutes")

// keptEnd is how much of an answer is kept: enough for a last event of many interrupts.
const keptEnd = 2 * worstLarge

// whole sends a run and reads its answer, of which it keeps the end. A refusal is an answer like
// any other.
func (c *client) whole(ctx context.Context, t *target, path string, body []byte) (end []byte, err error) {
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
		if end = append(end, p[:n]...); len(end) > 2*keptEnd {
			end = append([]byte(nil), end[len(end)-keptEnd:]...)
		}
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, cmp.Or(context.Cause(ctx), err)
		}
	}
}

// Bodies that do not end: how many, and what there may be of memory for all of them.
const (
	heldBodies = 40
	heldGoal   = 512 // MiB: twice HOLDPOINT_BODY_BYTES, for what a body has grown out of is collected later
)

// bodies measures what bodies take that lack their last byte.
func (b *bench) bodies() error {
	var more []float64
	for range b.rounds(3) {
		k := kind{name: "holdpoint bodies", form: asTold, start: holdpointWith()}
		err := b.fresh(k, func(t *target) error {
			before, err := b.warm(t)
			if err != nil {
				return err
			}
			body := input("thread", worstLarge, `{"id":"u%d","role":"user","content":"`+paragraph+`"}`, "")
			conns := make([]net.Conn, heldBodies)
			err = atOnce(heldBodies, func(n int) (err error) {
				if conns[n], err = dialer.DialContext(b.ctx, "tcp", t.address); err != nil {
					return err
				}
				// One that is refused is answered and closed before all of it was sent.
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
			b.sleep(calm)
			_, most, err := t.process.memory()
			more = append(more, float64(most-before)/mb)
			return err
		})
		if err != nil {
			return err
		}
	}
	b.report.title("%d bodies of %d MiB that do not end", heldBodies, worstLarge/mb)
	b.report.table([]string{"target", "MiB more at the most"}, [][]string{{"holdpoint", spread(more)}})
	b.report.atMost(9, median(more), heldGoal, "`worst-bodies`: MiB more for %d bodies of %d MiB that do not end", heldBodies, worstLarge/mb)
	return nil
}
