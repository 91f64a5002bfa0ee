package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// streamLimit returns how many streams a process can have, but at most want. Each stream needs two
// of the open files that the system allows a process.
func streamLimit(want int) (int, error) {
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return 0, err
	}
	_, line, _ := strings.Cut(string(limits), "Max open files")
	fields := strings.Fields(line) // the soft limit, which Go raises itself, and the hard limit
	if len(fields) < 2 || fields[1] == "unlimited" {
		return want, nil
	}
	hard, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0, fmt.Errorf("the limit of open files: %q", fields[1])
	}
	return min(want, (hard-200)/2), nil
}

// A burst is the part of a script that each waiting stream gets before it waits again.
type burst struct {
	script      string
	cycles      int
	title       string
	description string
	mustReturn  bool // nothing of the burst is stored, so the memory must go back
}

var (
	noBurst   = burst{script: "short"}
	rawBurst  = burst{"events", 20, ", before and after a burst", "2 MB of RAW events through each", true}
	textBurst = burst{"text", 1, " after some text, which is kept for snapshots", "500 pieces of text through each", false}
)

func (u burst) bytes(f form) int {
	s, _ := order{script: u.script}.makeScript() // cannot fail: the script is one of the three above
	return u.cycles * len(s.parts(f)[1].bytes)
}

// A waitCost is the measured cost of waiting streams.
type waitCost struct {
	perStream float64 // bytes for each stream
	total     int     // bytes of the process with all streams
	leftShare float64 // memory after a burst, divided by total
	row       []string
}

// measureWaiting measures n waiting streams: how much memory each needs, the memory after a burst,
// and the memory after all streams have ended.
func (b *bench) measureWaiting(k kind, n int, u burst) (w waitCost, err error) {
	err = b.withNewTarget(k, func(t *target) error {
		before, err := b.warmUp(t)
		if err != nil {
			return err
		}
		g, err := b.gather(t, n, u.script, u.cycles)
		if err != nil {
			return err
		}
		b.sleep(memorySettleTime)
		if w.total, _, err = t.process.memory(); err != nil {
			return err
		}
		w.perStream = float64(w.total-before) / float64(n)
		w.row = []string{t.name, short3(float64(before) / mb), short3(float64(w.total) / mb), short3(w.perStream / 1e3)}
		if u.cycles > 0 {
			if err := b.burst(t, g, &w, u); err != nil {
				return err
			}
		}
		if err := g.finishStreams(); err != nil {
			return err
		}
		left, err := b.awaitMemoryReturn(t, before*12/10, u.mustReturn || k.name == "holdpoint")
		w.row = append(w.row, left.String())
		return err
	})
	return w, err
}

// burst sends each stream its burst, and then waits until the memory of the process has fallen
// nearly to what it was before.
func (b *bench) burst(t *target, g *crowd, w *waitCost, u burst) error {
	received, _ := g.state()
	if err := b.gate("burst", g.size); err != nil {
		return err
	}
	if err := g.awaitBytes(received + g.size*u.bytes(t.kind.form)); err != nil {
		return err
	}
	peak, _, err := t.process.memory()
	if err != nil {
		return err
	}
	left, err := b.awaitMemoryReturn(t, w.total*12/10, u.mustReturn)
	w.leftShare = float64(left.rss) / float64(w.total)
	w.row = append(w.row, short3(float64(peak)/mb), left.String())
	return err
}

func (b *bench) idle(want int, u burst) error {
	n, err := streamLimit(want)
	if err != nil {
		return err
	}
	if n < want {
		b.report.line("\n**%d streams in place of %d: the limit of open files (ulimit -Hn) allows no more.**", n, want)
	}
	b.report.title("Idle: %d streams that wait%s", n, u.title)
	var rows [][]string
	each := map[string]float64{}
	for _, k := range proxies(u == noBurst) {
		// These two do not differ from reverseproxy here, and each takes a minute.
		if !b.selectsKind(k) || k.name == "reverseproxy-32k" || k.name == "reverseproxy-128k" {
			continue
		}
		w, err := b.measureWaiting(k, n, u)
		if missing := (unavailableError{}); errors.As(err, &missing) {
			b.report.noteMissingTarget(k, missing)
			continue
		}
		if err != nil {
			return err
		}
		each[k.name] = w.perStream
		rows = append(rows, w.row)
		if k.name != "holdpoint" {
			continue
		}
		if u.mustReturn {
			b.report.atMost(5, w.leftShare, 1.2, "%d streams idle again after a burst: memory, × before", n)
		}
		if u == noBurst {
			b.report.atMost(5, float64(w.total)/1e6, 600*float64(n)/float64(want), "%d idle streams: MB of memory", n)
		}
	}
	head := []string{"target", "MiB before", "MiB with them", "kB / stream"}
	if u.cycles > 0 {
		head = append(head, "MiB after "+u.description, "MiB when idle again")
	}
	b.report.table(append(head, "MiB when all have ended"), rows)
	if u != textBurst && each["holdpoint"] > 0 && each["reverseproxy"] > 0 {
		b.report.atMost(5, each["holdpoint"]/each["reverseproxy"], 1.1, "%d idle streams: memory of one, × reverseproxy's", n)
	}
	return nil
}

// returnTime is how long the memory may take to go back after a burst.
const returnTime = time.Minute

// A leftMemory is the memory that is left after a burst or at the end of waiting streams. after is
// how long the benchmark waited before it read rss.
type leftMemory struct {
	rss   int
	after time.Duration
}

func (r leftMemory) String() string {
	return fmt.Sprintf("%s after %s", short3(float64(r.rss)/mb), r.after.Round(time.Second))
}

// awaitMemoryReturn measures the memory that is left after a burst, or after the waiting streams
// have ended. If must is true, it waits until the memory is at most limit, or until returnTime has
// passed. If must is false, it reads the memory once.
func (b *bench) awaitMemoryReturn(t *target, limit int, must bool) (r leftMemory, err error) {
	begin := time.Now()
	b.sleep(memorySettleTime)
	for {
		r.rss, _, err = t.process.memory()
		if r.after = time.Since(begin); err != nil || !must || r.rss <= limit || r.after > returnTime || b.ctx.Err() != nil {
			return r, err
		}
		b.sleep(10 * samplingInterval)
	}
}
