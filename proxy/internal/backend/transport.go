// Package backend is the connection to a backend: how it is dialled, read in large pieces, and
// watched for silence. It knows nothing of runs and events.
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
	// secureBuffer is the buffer that net/http keeps for each connection with TLS. crypto/tls reads
	// each record into a buffer of its own, so a larger one here saves no system call. With 32 KiB a
	// stream that waits would hold 28 kB more, at the same CPU time.
	secureBuffer = 4 << 10
	// wholeBuffer is the buffer of a connection that has neither TLS nor a Conn.
	wholeBuffer = 32 << 10
)

// writeBuffer is the buffer that net/http keeps for each connection to write requests, also while a
// stream waits. It takes a header and a short body in one write. A longer body goes out from where
// it is, behind the first part.
const writeBuffer = 2 << 10

// Options say how a backend is connected to. The zero Options are HTTP/1.1 and the system's
// authorities.
type Options struct {
	// TLS makes the configuration of a new connection, which is to offer protocols (ALPN). Nil: the
	// default.
	TLS func(protocols ...string) *tls.Config
	// HTTP2 speaks HTTP/2: if the backend offers it where there is TLS, else from the first byte.
	HTTP2 bool
	// KeepAlive is how long a connection may be idle before it is closed. It must be less than the
	// backend's own limit: a run that is written to a connection which the backend is just closing
	// fails. 0: DefaultKeepAlive.
	KeepAlive time.Duration
}

// DefaultKeepAlive is less than the shortest limit that is known of a server's defaults: gunicorn
// closes an idle connection after 2 s, uvicorn and Node after 5 s.
const DefaultKeepAlive = 900 * time.Millisecond

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// pingAfter and pingTimeout end a connection of HTTP/2 whose other end has gone without a word.
	// Its streams may be silent for an hour each.
	pingAfter, pingTimeout = 30 * time.Second, 15 * time.Second
)

// Transports makes the two transports to an upstream. Answers go through single, over a connection
// of their own each: a backend may close a kept connection just as a request is written. Nobody can
// tell then whether it read the request, and the pause would be in doubt.
func Transports(upstream *url.URL, o Options) (ordinary, single *http.Transport) {
	dial := (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	buffer := wholeBuffer
	if upstream.Scheme == "https" {
		buffer = secureBuffer
	}
	// A connection of HTTP/2 has many readers, and net/http reads it ahead of them: nobody can say
	// what waits there for one of them.
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
			return shake(ctx, tls.Client(conn, o.TLS(protocols...)))
		}
	}
	make := func() *http.Transport {
		t := &http.Transport{
			// No Proxy: HTTP_PROXY of the environment must not carry runs elsewhere.
			DialContext:           dial,
			DialTLSContext:        secure,
			TLSHandshakeTimeout:   handshakeTimeout,
			MaxIdleConns:          1024,
			MaxIdleConnsPerHost:   256,
			IdleConnTimeout:       cmp.Or(o.KeepAlive, DefaultKeepAlive),
			ExpectContinueTimeout: time.Second,
			ReadBufferSize:        buffer,
			WriteBufferSize:       writeBuffer,
			DisableCompression:    true, // a compressed stream would have to be decoded to be read
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

// shake ends a handshake that takes too long. Like a connection that is not made, one that fails
// has carried nothing.
func shake(ctx context.Context, conn *tls.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
