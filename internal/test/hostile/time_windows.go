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

// length converts a duration that Windows gives in steps of 100 ns. Filetime.Nanoseconds cannot do
// this, because it reads the value as a time since 1601.
func length(f syscall.Filetime) time.Duration {
	return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
}
