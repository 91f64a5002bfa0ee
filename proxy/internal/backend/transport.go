// Package backend creates the connections to a backend. It dials them, reads them in large pieces,
// and watches them for silence. It does not know runs and events.
package backend

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"holdpoint/internal/build/without"
)

const (
	// secureBuffer is the size of the read buffer that net/http has for each connection with TLS.
	// crypto/tls reads each record into a buffer of its own, so a larger buffer would save no
	// system call. With 32 KiB, a stream that waits would hold 28 kB more, at the same CPU time.
	secureBuffer = 4 << 10
	// wholeBuffer is the size of the read buffer of a connection that has neither TLS nor a Conn.
	wholeBuffer = 32 << 10
)

// writeBuffer is the size of the buffer in which net/http writes requests. Each connection has one,
// even while its stream waits. A header and a short body fit into one write. The rest of a longer
// body is written directly from memory.
const writeBuffer = 2 << 10

// Options configure the connections to a backend. The zero Options mean HTTP/1.1 and the
// authorities of the system.
type Options struct {
	// TLS returns the configuration of a new connection. protocols are the protocols to offer
	// (ALPN). If TLS is nil, the default configuration is used.
	TLS func(protocols ...string) *tls.Config
	// HTTP2 enables HTTP/2. With TLS, HTTP/2 is used if the backend offers it. Without TLS, every
	// connection begins with HTTP/2.
	HTTP2 bool
	// KeepAlive is the time after which an idle connection is closed. It must be shorter than the
	// backend's own limit, because a run fails if its request is written to a connection that the
	// backend is just closing. 0 means DefaultKeepAlive.
	KeepAlive time.Duration
}

// DefaultKeepAlive is shorter than the default limits of common servers: gunicorn closes an idle
// connection after 2 s, uvicorn and Node after 5 s.
const DefaultKeepAlive = 900 * time.Millisecond

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// pingAfter and pingTimeout detect an HTTP/2 connection whose other end has disappeared without
	// notice. Silence does not show this, because each stream may be silent for an hour.
	pingAfter, pingTimeout = 30 * time.Second, 15 * time.Second
)

// Transports returns the two transports to an upstream. Requests with answers use single, which
// opens a new connection for each request. With a reused connection, the backend may close the
// connection just when the request is written. Then it would not be known whether the backend read
// the request, and the pause would be in doubt.
func Transports(upstream *url.URL, o Options) (ordinary, single *http.Transport) {
	dial := (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	buffer := wholeBuffer
	if upstream.Scheme == "https" {
		buffer = secureBuffer
	}
	// burst wraps a connection that has one reader. It cannot wrap an HTTP/2 connection: many
	// streams read from it, and net/http reads ahead of them, so burst would not know how many of
	// the bytes are for one stream.
	if upstream.Scheme == "http" && !o.HTTP2 && !without.Bursts {
		buffer = plainBuffer
		plain := dial
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return burst(conn), nil
		}
	}
	var secure func(ctx context.Context, network, address string) (net.Conn, error)
	if upstream.Scheme == "https" && o.TLS != nil {
		protocols := []string{"http/1.1"}
		if o.HTTP2 {
			protocols = []string{"h2", "http/1.1"}
		}
		secure = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return handshake(ctx, tls.Client(conn, o.TLS(protocols...)))
		}
	}
	make := func() *http.Transport {
		t := &http.Transport{
			// Proxy is not set: HTTP_PROXY in the environment must not divert runs.
			DialContext:           dial,
			DialTLSContext:        secure,
			TLSHandshakeTimeout:   handshakeTimeout,
			MaxIdleConns:          1024,
			MaxIdleConnsPerHost:   256,
			IdleConnTimeout:       cmp.Or(o.KeepAlive, DefaultKeepAlive),
			ExpectContinueTimeout: time.Second,
			ReadBufferSize:        buffer,
			WriteBufferSize:       writeBuffer,
			// to read a compressed stream, Holdpoint would have to decompress it
			DisableCompression: true,
		}
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(upstream.Scheme == "https" || !o.HTTP2)
		if o.HTTP2 {
			t.Protocols.SetHTTP2(upstream.Scheme == "https")
			t.Protocols.SetUnencryptedHTTP2(upstream.Scheme == "http")
			t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
		}
		return t
	}
	ordinary, single = make(), make()
	single.DisableKeepAlives = true
	return ordinary, single
}

// handshake performs the TLS handshake within a time limit. If it fails, nothing was sent to the
// backend, so it counts as if there were no connection.
func handshake(ctx context.Context, conn *tls.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
