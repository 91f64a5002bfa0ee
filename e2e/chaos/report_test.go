//go:build e2e

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A report counts what happened, and lists violations of the contract. If the store is configured
// so that it may lose data (lossy), lost data counts as a loss and not as a violation.
type report struct {
	mu         sync.Mutex
	counts     map[string]int
	violations []string
	lossy      bool
	losses     map[string]int
	began      time.Time
	faults     []string // each begin and end of a fault
	broken     int      // how many faults have not ended
}

func newReport(lossy bool) *report {
	return &report{counts: map[string]int{}, losses: map[string]int{}, lossy: lossy, began: time.Now()}
}

func (r *report) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// happened records that a fault begins or ends. The messages about violations show these lines.
func (r *report) happened(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf("%s at %v", what, time.Since(r.began).Round(time.Millisecond)))
}

// breaks records that a fault begins, and mends that it ends.
func (r *report) breaks(name string) {
	r.happened(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken++
}

func (r *report) mends() {
	r.happened("mended")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken--
}

// moment returns a mark of the present moment, for a later call of brokenSince.
func (r *report) moment() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.faults)
}

// brokenSince reports whether a fault was present at the moment, or has begun or ended since then.
func (r *report) brokenSince(moment int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken > 0 || len(r.faults) > moment
}

// lately returns the last six lines about faults, and the time since the start of the test.
func (r *report) lately() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.faults[max(0, len(r.faults)-6):]
	return fmt.Sprintf("%s; now %v", strings.Join(last, ", "), time.Since(r.began).Round(time.Millisecond))
}

func (r *report) violates(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, text)
}

// loses records a violation, or counts a loss if the store may lose data. There is one count for
// each value of the parameter what, so what must not contain names of threads.
func (r *report) loses(what, format string, args ...any) {
	if !r.lossy {
		r.violates(what+": "+format, args...)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses[what]++
}

func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	list := func(title string, counts map[string]int) {
		fmt.Fprintf(&b, "%s:", title)
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, " %s %d;", name, counts[name])
		}
		if len(counts) == 0 {
			b.WriteString(" none")
		}
		b.WriteString("\n")
	}
	list("counts", r.counts)
	if r.lossy {
		list("losses", r.losses)
	}
	return b.String()
}
