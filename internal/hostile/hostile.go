//go:build unix

// Package hostile is what tests of hostile input share: input that repeats something very often,
// and what it may cost. It is for tests only.
package hostile

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// Limit is what some megabytes may take of the processor. They take parts of a second, and minutes
// where the time is the square of what is repeated.
const Limit = 30 * time.Second

// ProcessorTime is what this process has used of the processor. What else the machine does is not
// in it.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Many are n things with commas between them.
func Many(n int, thing func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = thing(i)
	}
	return strings.Join(parts, ",")
}

// Same is the same thing every time, for Many.
func Same(s string) func(int) string { return func(int) string { return s } }
