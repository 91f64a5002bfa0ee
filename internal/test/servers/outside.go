//go:build unix

package servers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// ErrMissing is the error if a server is not installed.
var ErrMissing = errors.New("servers: a server is missing")

// Outside runs do in a program that is not a test, such as the benchmark. Servers that do starts
// end when it returns. If the testing.TB fails, do ends, and Outside returns the failure as an
// error. If it skips, the error is ErrMissing.
func Outside(do func(t testing.TB) error) (err error) {
	o := &outside{}
	done := make(chan struct{})
	go func() { // Fatal ends the goroutine
		defer close(done)
		defer o.cleanUp()
		err = do(o)
	}()
	<-done
	return errors.Join(err, o.err)
}

// outside implements the methods of testing.TB that the servers use. Other methods panic.
type outside struct {
	testing.TB
	cleanups []func()
	err      error
}

// cleanUp runs the cleanups, the last one first. If one of them ends its goroutine, the others
// still run.
func (o *outside) cleanUp() {
	for _, do := range slices.Backward(o.cleanups) {
		done := make(chan struct{})
		go func() { defer close(done); do() }()
		<-done
	}
}

func (o *outside) Helper()             {}
func (o *outside) Cleanup(do func())   { o.cleanups = append(o.cleanups, do) }
func (o *outside) Failed() bool        { return o.err != nil }
func (o *outside) Logf(string, ...any) {}
func (o *outside) Errorf(f string, a ...any) {
	o.err = errors.Join(o.err, fmt.Errorf("servers: "+f, a...))
}

func (o *outside) Fatal(a ...any) {
	o.Errorf("%s", fmt.Sprint(a...))
	runtime.Goexit()
}

func (o *outside) Fatalf(f string, a ...any) {
	o.Errorf(f, a...)
	runtime.Goexit()
}

func (o *outside) Skipf(f string, a ...any) {
	o.err = errors.Join(o.err, fmt.Errorf("%w: %s", ErrMissing, fmt.Sprintf(f, a...)))
	runtime.Goexit()
}
