// Package hostile is what tests of hostile input share: input that repeats something very often,
// and what it may cost. It is for tests only.
package hostile

import (
	"strings"
	"time"
)

// Limit is what some megabytes may take of the processor. They take parts of a second, and minutes
// where the time is the square of what is repeated.
const Limit = 30 * time.Second

// Many are n things with commas between them.
func Many(n int, thing func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = thing(i)
	}
	return strings.Join(parts, ",")
}

// Same returns the same thing every time, for Many.
func Same(s string) func(int) string { return func(int) string { return s } }
