//go:build unix

package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are chosen below the range from which the kernel chooses ports of outgoing connections
// (32768 and up on Linux). Otherwise an outgoing connection could use a server's port while the
// server is down.
const firstPort, lastPort = 10_000, 32_000

// freePort returns a port of the loopback address on which no process listens.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		l.Close()
		return port
	}
	t.Fatal("no free port found")
	return 0
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// onFreePort calls start with a free port. If start returns errPortInUse, it tries again with
// another port, up to five times. Any other error fails the test.
func onFreePort(t testing.TB, start func(port int) error) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		err := start(freePort(t))
		if err == nil {
			return
		}
		if attempt == 5 || !errors.Is(err, errPortInUse) {
			t.Fatal(fmt.Errorf("attempt %d: %w", attempt, err))
		}
	}
}
