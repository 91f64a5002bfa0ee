//go:build !unix

package redis

import "syscall"

// peerHasClosed returns false, because it cannot be found out on this system whether the server has
// closed the connection.
func peerHasClosed(syscall.RawConn) bool { return false }
