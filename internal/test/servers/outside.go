//go:build unix

package servers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// ErrMissing says that a server is not on this machine.
var ErrMissing = errors.New("servers: a server is missing")

// Outside runs do in a program that is not a test: the benchmark. The servers that do starts end
// when it returns. What would end a test ends do, and is the error; what would skip one is
// ErrMissing.
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

// outside is as much of a test as the servers need. A method that it lacks panics.
type outside struct {
	testing.TB
	cleanups []func()
	err      error
}

// cleanUp runs what was asked for, the last one first. One that ends its goroutine does not keep
// the others from running.
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
