//go:build e2e

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A report counts what happened, and has what must not happen. Where a store may lose something by
// its configuration, that counts as a loss.
type report struct {
	mu          sync.Mutex
	counts      map[string]int
	violations  []string
	lossy       bool
	mayTakeBack int // how many questions may be taken back after they were told
	losses      map[string]int
}

func newReport(lossy bool) *report {
	return &report{counts: map[string]int{}, losses: map[string]int{}, lossy: lossy}
}

func (r *report) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *report) violates(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, text)
}

// takenBackAtMost is how many of them a run may have. Nothing may run by them in any case.
const takenBackAtMost = 10

// takenBack are what a person meets of a question that was taken back: docs/state.md has when.
var takenBack = map[string]bool{
	"an answer found no question": true, "a question was told and is not open": true,
	"a message was not refused before a question": true, "a message got to the backend past an open question": true,
}

// loses is violates for what a store that was told to keep it may have lost. what has no names in
// it, so that losses can be counted.
func (r *report) loses(what, format string, args ...any) {
	r.mu.Lock()
	known := r.lossy || takenBack[what] && r.losses[what] < r.mayTakeBack
	if known {
		r.losses[what]++
	}
	r.mu.Unlock()
	if !known {
		r.violates(what+": "+format, args...)
	}
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
	if r.lossy || len(r.losses) > 0 {
		list("losses", r.losses)
	}
	return b.String()
}
