package servers

import (
	"net"
	"testing"
)

// RefusingAddress returns a host:port of the loopback address that refuses connections until the
// test ends. It is the client's end of a connection: nothing listens there, and the connection
// keeps the port, so that no other process can listen on it.
func RefusingAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() }) // it would reset the connection, and so free its port
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String()
}
