// Package hostile helps to test hostile input. It creates input that repeats something very often.
// It also has the bound for the time that Holdpoint may need for such input.
package hostile

import (
	"strings"
	"time"
)

// Limit is the most processor time that a few megabytes of hostile input may need. They usually
// need a part of a second. If the time grows with the square of the repetitions, they need minutes.
const Limit = 30 * time.Second

// Many calls thing with 0 to n-1, and returns the results separated by commas.
func Many(n int, thing func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = thing(i)
	}
	return strings.Join(parts, ",")
}

// Same returns a function that always returns s, for Many.
func Same(s string) func(int) string { return func(int) string { return s } }
