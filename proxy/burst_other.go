//go:build !unix

package proxy

import "net"

// plainBuffer is the buffer that net/http keeps for each connection to a backend.
const plainBuffer = 32 << 10

// A burstConn exists on Unix only.
type burstConn struct{ net.Conn }

func burst(conn net.Conn) net.Conn { return conn }

// They are never called.
func (*burstConn) More() int         { return 0 }
func (*burstConn) Wait()             {}
func (*burstConn) beforeWait(func()) {}
