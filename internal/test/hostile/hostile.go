// Package hostile is for tests of hostile input. It makes input that repeats something very often,
// and has the bound for the time that such input may take.
package hostile

import (
	"strings"
	"time"
)

// Limit is the processor time that a few megabytes of input may take. They take a part of a second,
// or minutes if the time grows with the square of the repetitions.
const Limit = 30 * time.Second

// Many returns n things, separated by commas.
func Many(n int, thing func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = thing(i)
	}
	return strings.Join(parts, ",")
}

// Same returns the same thing every time, for Many.
func Same(s string) func(int) string { return func(int) string { return s } }
