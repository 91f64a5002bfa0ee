package hostile

import (
	"syscall"
	"testing"
	"time"
)

// ProcessorTime returns what this process has used of the processor. What else the machine does is
// not in it.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user)
	}
	if err != nil {
		t.Fatal(err)
	}
	return length(kernel) + length(user)
}

// length returns a span of time as Windows counts it, in steps of 100 ns. Filetime.Nanoseconds
// takes it for a moment since 1601.
func length(f syscall.Filetime) time.Duration {
	return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
}
