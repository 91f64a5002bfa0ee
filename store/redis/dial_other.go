//go:build !unix

package redis

import "syscall"

// peerHasClosed does not know.
func peerHasClosed(syscall.RawConn) bool { return false }
