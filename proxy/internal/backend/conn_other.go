//go:build !unix

package backend

import "net"

// plainBuffer is the size of the read buffer that net/http has for each connection to a backend.
const plainBuffer = wholeBuffer

// A Conn exists only on Unix. On other systems no Conn is created, and its methods are never
// called.
type Conn struct{ net.Conn }

func burst(conn net.Conn) net.Conn { return conn }

// More is never called on this system.
func (*Conn) More() int { return 0 }

// Wait is never called on this system.
func (*Conn) Wait() {}

// BeforeWait is never called on this system.
func (*Conn) BeforeWait(func()) {}
