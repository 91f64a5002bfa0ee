package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// errUnsent means that the server had closed the connection before any part of a request was sent.
var errUnsent = errors.New(textUnsent)

// dial makes a connection as rueidis itself would. In addition, the connection is checked before
// each request, see watchedConn.
func dial(ctx context.Context, address string, dialer *net.Dialer, encrypted *tls.Config) (net.Conn, error) {
	if dialer.Timeout > 0 { // the timeout includes the TLS handshake
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := raw
	if s, ok := raw.(syscall.Conn); ok {
		if fd, err := s.SyscallConn(); err == nil {
			conn = &watchedConn{Conn: raw, fd: fd}
		}
	}
	if encrypted == nil {
		return conn, nil
	}
	if encrypted.ServerName == "" {
		encrypted = encrypted.Clone()
		if encrypted.ServerName, _, err = net.SplitHostPort(address); err != nil {
			encrypted.ServerName = address
		}
	}
	secure := tls.Client(conn, encrypted)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// A watchedConn does not send a request if the server has closed the connection. rueidis keeps idle
// connections. It notices that a connection was closed only at the next request, when it is too
// late to know whether that request was done.
type watchedConn struct {
	net.Conn
	fd syscall.RawConn
	// something was written since the last read, so a request is in progress
	awaitsReply atomic.Bool
}

// Write returns errUnsent if b is the beginning of a request and the server has closed the
// connection.
func (w *watchedConn) Write(b []byte) (int, error) {
	if !w.awaitsReply.Swap(true) && peerHasClosed(w.fd) {
		return 0, errUnsent
	}
	return w.Conn.Write(b)
}

func (w *watchedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.awaitsReply.Store(false)
	return n, err
}
