// Package front is the listener in front of an http.Server. It bounds the number of connections in
// total and for each client address, makes TLS connections, and finds requests whose length two
// servers could see differently.
//
// It writes only two answers itself: 408 if the header of a request takes too long, and 400 for
// plain HTTP on a listener with TLS. For all other refusals a handler calls Refused and writes the
// answer, so that it can add its CORS headers. The package has no knowledge of routes or runs. It
// follows RFC 9110 and RFC 9112.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Listener. A zero value means no bound.
type Options struct {
	TLS           *tls.Config
	HeaderTimeout time.Duration // for the TLS handshake; http.Server has its own timeout for the header
	Connections   int           // the largest number of connections at a time
	PerAddress    int           // the largest number of one client address, see Network
	// Exempt reports whether an address is that of a proxy, so that PerAddress does not apply to
	// it.
	Exempt func(netip.Addr) bool
	// Full is called with the status when a connection is refused. It must not block.
	Full func(status int)
	// Failed is called when a TLS handshake fails. It must not block.
	Failed func(remote net.Addr, err error)
}

// A Listener accepts connections for an http.Server. Attach sets the server's ConnContext and
// ConnState, which must not be set otherwise.
type Listener struct {
	net.Listener
	opts Options
	room room

	once  sync.Once
	ready chan acceptedConn // connections after their TLS handshake
	open  context.Context
	end   context.CancelFunc
}

type acceptedConn struct {
	conn net.Conn
	err  error
}

// Listen returns a Listener that accepts the connections of l.
func Listen(l net.Listener, o Options) *Listener {
	open, end := context.WithCancel(context.Background())
	return &Listener{
		Listener: l, opts: o, ready: make(chan acceptedConn), open: open, end: end,
		room: room{total: o.Connections, each: o.PerAddress, of: map[netip.Addr]int{}, aloneOf: map[netip.Addr]int{}},
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	if l.opts.TLS == nil {
		c, err := l.take()
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	l.once.Do(func() { go l.acceptAll() })
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.open.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It ends TLS handshakes in progress.
func (l *Listener) Close() error {
	l.end()
	return l.Listener.Close()
}

// take accepts the next connection, and closes those above the bounds.
func (l *Listener) take() (*conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var from netip.Addr
		if addr, ok := Network(raw.RemoteAddr().String()); ok && (l.opts.Exempt == nil || !l.opts.Exempt(addr)) {
			from = addr
		}
		status, ok := l.room.take(from)
		if status != 0 && l.opts.Full != nil {
			l.opts.Full(status)
		}
		if !ok {
			raw.Close()
			continue
		}
		return &conn{Conn: raw, framing: newFraming(), over: status, place: &place{room: &l.room, from: from, users: 1}, free: true}, nil
	}
}

// acceptAll accepts connections and runs each TLS handshake in a goroutine, so that a slow client
// does not delay others.
func (l *Listener) acceptAll() {
	for {
		c, err := l.take()
		if err != nil {
			if !l.hand(acceptedConn{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // http.Server waits before its next Accept if the error is temporary
		}
		go l.shake(c)
	}
}

// hand gives a result to Accept. It returns false if the listener was closed.
func (l *Listener) hand(a acceptedConn) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.open.Done():
		return false
	}
}

// shake makes a TLS connection of c and gives it to Accept.
func (l *Listener) shake(c *conn) {
	ctx, cancel := context.WithCancel(l.open)
	defer cancel()
	if l.opts.HeaderTimeout > 0 {
		var inTime context.CancelFunc
		ctx, inTime = context.WithTimeout(ctx, l.opts.HeaderTimeout)
		defer inTime()
	}
	// The encrypted bytes are not parsed. The connection inside has its own framing.
	c.passes.Store(true)
	secure := tls.Server(c, l.opts.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil && looksLikeHTTP(header.RecordHeader) {
			_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\n"+textPlainOnTLS)
		}
		if l.opts.Failed != nil {
			l.opts.Failed(c.RemoteAddr(), err)
		}
		c.Close()
		return
	}
	var served net.Conn = secure // net/http needs a *tls.Conn to use HTTP/2
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		served = &tlsConn{conn{Conn: secure, framing: newFraming(), over: c.over, place: c.place}, secure}
	}
	if !l.hand(acceptedConn{conn: served}) {
		served.Close()
	}
}

func looksLikeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		return true
	}
	return false
}

// A conn is a connection whose requests are parsed by framing.
type conn struct {
	net.Conn
	framing framing
	over    int // the status with which all requests are refused because of a bound, or 0
	place   *place

	refused atomic.Pointer[string] // why the last request is refused
	stopped atomic.Bool            // net/http has canceled a read by a deadline in the past
	passes  atomic.Bool            // the bytes are not parsed: they are TLS or of another protocol
	second  atomic.Bool            // the connection uses HTTP/2
	once    sync.Once
	free    bool // Close frees the place; else the connection that wraps this one does
}

// A tlsConn is a conn inside TLS.
type tlsConn struct {
	conn
	tls *tls.Conn
}

// ConnectionState makes net/http set the TLS field of requests.
func (s *tlsConn) ConnectionState() tls.ConnectionState { return s.tls.ConnectionState() }

// Read implements net.Conn. After a refused request it returns io.EOF.
func (c *conn) Read(p []byte) (int, error) {
	if c.passes.Load() {
		return c.Conn.Read(p)
	}
	if c.refused.Load() != nil {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	took := c.framing.follow(p[:n])
	if c.framing.state == nil {
		c.second.Store(true) // also if net/http refuses the connection, which then carries no requests
	}
	if why := c.framing.refused; why != "" {
		c.refused.Store(&why)
		clear(p[took:n])
		return took, nil
	}
	if n == 0 && c.framing.inHead() && !c.stopped.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		c.tooLate()
	}
	return n, err
}

// lateAnswer is sent to a client whose header takes too long. net/http would close the connection
// without an answer.
const lateAnswer = "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 70\r\n\r\n" +
	`{"error":"` + textLateHeader + `"}`

// tooLate sends lateAnswer. No other goroutine writes, because no request was read.
func (c *conn) tooLate() {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c.Conn, lateAnswer)
	_ = c.CloseWrite() // net/http also answers some late headers, which must not follow ours
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error {
	// While a handler runs, net/http reads ahead, and cancels that read by a deadline in the past.
	// A part of the next request may have arrived before, which is not late.
	c.stopped.Store(!at.IsZero() && at.Before(longAgo))
	return c.Conn.SetReadDeadline(at)
}

var longAgo = time.Unix(24*60*60, 0)

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.free {
		c.once.Do(c.place.leave)
	}
	return err
}

// CloseWrite closes the writing half. net/http calls it before it closes a connection with unread
// bytes, so that the client gets the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type connKey struct{}

// Attach prepares s for connections of a Listener: handlers can call Refused, and a connection that
// a handler hijacks is not parsed any more.
func Attach(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if of := followed(c); of != nil {
			return context.WithValue(ctx, connKey{}, of)
		}
		return ctx
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if of := followed(c); of != nil && state == http.StateHijacked {
			of.passes.Store(true)
		}
	}
}

func followed(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case *tlsConn:
		return &c.conn
	}
	return nil
}

// Refused returns the status and the reason with which a handler must refuse the request, or 0. The
// server closes the connection after the answer. ctx is the context of the request.
func Refused(ctx context.Context) (status int, reason string) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return 0, ""
	}
	switch why := c.refused.Load(); {
	case why != nil:
		return http.StatusBadRequest, *why + textAmbiguous
	case c.over == 0:
		switch status = c.place.room.refusalStatus(c.place.from); status {
		case http.StatusTooManyRequests:
			reason = textRunsOfAddress
		case http.StatusServiceUnavailable:
			reason = textRuns
		}
		return status, reason
	case c.over == http.StatusTooManyRequests:
		return c.over, textAddress
	}
	return c.over, textConnections
}

// many reports whether the connection carries several requests at the same time, as HTTP/2 does.
func (c *conn) many() bool { return c.passes.Load() || c.second.Load() }

// Outlives counts a request as a connection of its client, although the client has left, until free
// is called. ctx is the context of the request.
func Outlives(ctx context.Context) (free func()) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return func() {}
	}
	return c.place.stays(c.many())
}
