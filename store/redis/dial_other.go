//go:build !unix

package redis

import "syscall"

// peerHasClosed cannot find out on this system, and returns false.
func peerHasClosed(syscall.RawConn) bool { return false }
