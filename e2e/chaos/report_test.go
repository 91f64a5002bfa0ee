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

// A report counts what happened, and has what must not happen. Where a store may lose something by
// its configuration, that counts as a loss.
type report struct {
	mu         sync.Mutex
	counts     map[string]int
	violations []string
	lossy      bool
	losses     map[string]int
	began      time.Time
	faults     []string // when each began and was mended
	broken     int      // how many faults are not mended yet
}

func newReport(lossy bool) *report {
	return &report{counts: map[string]int{}, losses: map[string]int{}, lossy: lossy, began: time.Now()}
}

func (r *report) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// happened notes what was broken or mended, for a violation that tells of it.
func (r *report) happened(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf("%s at %v", what, time.Since(r.began).Round(time.Millisecond)))
}

// breaks and mends say that a fault begins, and that it is mended.
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

// moment is now, for brokenSince.
func (r *report) moment() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.faults)
}

// brokenSince reports whether anything was broken at the moment, or is since.
func (r *report) brokenSince(moment int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken > 0 || len(r.faults) > moment
}

// lately returns what was broken and mended last, and what time it is now.
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

// loses is violates for what a store that was told to keep it may have lost. what has no names in
// it, so that losses can be counted.
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
