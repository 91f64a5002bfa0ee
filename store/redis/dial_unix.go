//go:build unix

package redis

import (
	"errors"
	"syscall"
)

// peerHasClosed reports whether the other side has closed the connection. It consumes no bytes and
// does not block, because Go's sockets are nonblocking.
func peerHasClosed(c syscall.RawConn) bool {
	var n int
	var err error
	var b [1]byte
	if c.Control(func(fd uintptr) { n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK) }) != nil {
		return true // this side has closed it
	}
	quiet := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	return err != nil && !quiet || err == nil && n == 0
}
