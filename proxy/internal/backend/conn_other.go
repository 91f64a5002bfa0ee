//go:build !unix

package backend

import "net"

// plainBuffer is the buffer that net/http keeps for each connection to a backend.
const plainBuffer = wholeBuffer

// A Conn exists on Unix only. On other systems none is made, and its methods are never called.
type Conn struct{ net.Conn }

func burst(conn net.Conn) net.Conn { return conn }

// More is never called.
func (*Conn) More() int { return 0 }

// Wait is never called.
func (*Conn) Wait() {}

// BeforeWait is never called.
func (*Conn) BeforeWait(func()) {}
