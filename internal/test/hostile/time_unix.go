//go:build unix

package hostile

import (
	"syscall"
	"testing"
	"time"
)

// ProcessorTime returns how much processor time this process has used. Other processes do not
// affect it.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
