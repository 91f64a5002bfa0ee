package servers

import (
	"net"
	"testing"
)

// RefusingAddress returns a host:port of the loopback address that refuses connections until the
// test ends. It is the address of the client's end of an open connection. No process listens there.
// The connection occupies the port, so no other process can listen there either.
func RefusingAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// closing it earlier would reset the connection and free its port
	t.Cleanup(func() { listener.Close() })
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String()
}
