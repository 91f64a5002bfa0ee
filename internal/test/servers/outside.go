//go:build unix

package servers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// ErrMissing is the error of Outside if a server is not installed.
var ErrMissing = errors.New("servers: a server is missing")

// Outside calls do in a program that is not a test, such as the benchmark. The servers that do
// starts end when do returns. If do fails its testing.TB, do ends at once and Outside returns the
// failure as an error. If do skips, the error is ErrMissing.
func Outside(do func(t testing.TB) error) (err error) {
	o := &outside{}
	done := make(chan struct{})
	go func() { // in a goroutine, because Fatal ends the goroutine that calls it
		defer close(done)
		defer o.cleanUp()
		err = do(o)
	}()
	<-done
	return errors.Join(err, o.err)
}

// outside implements those methods of testing.TB that the servers use. All other methods panic.
type outside struct {
	testing.TB
	cleanups []func()
	err      error
}

// cleanUp runs the cleanups in reverse order. Each runs in a goroutine of its own, so if one of
// them calls Fatal, the others still run.
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
