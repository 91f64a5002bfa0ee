//go:build !unix

package redis

import "syscall"

// ended does not know.
func ended(syscall.RawConn) bool { return false }
