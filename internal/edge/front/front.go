// Package front is the listener before an http.Server. It bounds connections in total and for each
// client address, makes TLS connections, and refuses requests whose length two servers could see
// differently.
//
// It answers nothing itself, except a request whose header does not come in time (408), and plain
// HTTP on a listener with TLS (400). A handler asks Refused and answers, so that it can add its
// CORS headers. It knows no routes and no runs. It follows RFC 9110 and RFC 9112.
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

// Options say what a Listener takes. Zero values ask for nothing.
type Options struct {
	TLS           *tls.Config
	HeaderTimeout time.Duration // of a TLS handshake; the http.Server has the header's own
	Connections   int           // at once
	PerAddress    int           // of one client address, see Network
	// Exempt are addresses that PerAddress does not bound, because proxies stand there.
	Exempt func(netip.Addr) bool
	// Full is called when a connection is refused. It must not wait.
	Full func(status int)
	// Failed is called when a client and we agree on no TLS connection. It must not wait.
	Failed func(remote net.Addr, err error)
}

// A Listener accepts what an http.Server is to serve. ConnContext and ConnState belong to the
// server then, see Attach.
type Listener struct {
	net.Listener
	opts Options
	room room

	once  sync.Once
	ready chan acceptedConn // with TLS
	open  context.Context
	end   context.CancelFunc
}

type acceptedConn struct {
	conn net.Conn
	err  error
}

// Listen makes a Listener of another one.
func Listen(l net.Listener, o Options) *Listener {
	open, end := context.WithCancel(context.Background())
	return &Listener{
		Listener: l, opts: o, ready: make(chan acceptedConn), open: open, end: end,
		room: room{total: o.Connections, each: o.PerAddress, of: map[netip.Addr]int{}, byThem: map[netip.Addr]int{}},
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

// Close implements net.Listener. Handshakes that are under way end with it.
func (l *Listener) Close() error {
	l.end()
	return l.Listener.Close()
}

// take accepts the next connection that there is room for.
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

// acceptAll accepts connections and has each shake hands by itself: a client that is slow there
// must not hold up the others.
func (l *Listener) acceptAll() {
	for {
		c, err := l.take()
		if err != nil {
			if !l.hand(acceptedConn{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // http.Server has waited for a moment, if waiting helps
		}
		go l.shake(c)
	}
}

// hand hands on to Accept. It returns false if the listener was closed.
func (l *Listener) hand(a acceptedConn) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.open.Done():
		return false
	}
}

// shake makes a TLS connection of c.
func (l *Listener) shake(c *conn) {
	ctx, cancel := context.WithCancel(l.open)
	defer cancel()
	if l.opts.HeaderTimeout > 0 {
		var inTime context.CancelFunc
		ctx, inTime = context.WithTimeout(ctx, l.opts.HeaderTimeout)
		defer inTime()
	}
	// The framing is that of what stands inside.
	c.passes.Store(true)
	secure := tls.Server(c, l.opts.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil && looksLikeHTTP(header.RecordHeader) {
			_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nplain HTTP on a port with TLS: the address begins with https://\n")
		}
		if l.opts.Failed != nil {
			l.opts.Failed(c.RemoteAddr(), err)
		}
		c.Close()
		return
	}
	var served net.Conn = secure // the server looks for this type where it is to speak HTTP/2
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

// A conn is a connection whose requests are followed.
type conn struct {
	net.Conn
	framing framing
	over    int // the status by which its requests are refused, 0 if there is room
	place   *place

	refused atomic.Pointer[string] // why the last request is not taken
	stopped atomic.Bool            // its reads were called off by net/http
	passes  atomic.Bool            // what it carries is not followed: TLS, or another protocol
	second  atomic.Bool            // it carries HTTP/2
	once    sync.Once
	free    bool // its place is given back when it is closed; else another's Close does that
}

// tlsConn is one inside TLS.
type tlsConn struct {
	conn
	tls *tls.Conn
}

// ConnectionState lets net/http know that the request came by TLS.
func (s *tlsConn) ConnectionState() tls.ConnectionState { return s.tls.ConnectionState() }

// Read implements net.Conn. Behind a request that is refused there is nothing more.
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
		c.second.Store(true) // what is refused there carries nothing
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

// lateAnswer is for a client whose header does not come in time. net/http says nothing to it.
const lateAnswer = "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 70\r\n\r\n" +
	`{"error":"the header did not come in time (HOLDPOINT_HEADER_TIMEOUT)"}`

// tooLate tells the client why it is cut off. Nobody else writes: no request has come.
func (c *conn) tooLate() {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c.Conn, lateAnswer)
	_ = c.CloseWrite() // net/http has an answer too, for some headers
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error {
	// net/http reads ahead while a handler runs, and calls that off by a deadline long ago. A part of
	// the next request may have come before.
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

// CloseWrite ends our half. net/http asks for it before it closes a connection that was not read to
// its end, so that the answer arrives.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type connKey struct{}

// Attach makes s serve connections of a Listener: handlers can ask Refused then, and a connection
// that is taken over is followed no more.
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

// Refused says by which status and for which reason a request is not to be taken, 0 if it is. After
// the answer the connection is closed. The context is the request's.
func Refused(ctx context.Context) (status int, reason string) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return 0, ""
	}
	switch why := c.refused.Load(); {
	case why != nil:
		return http.StatusBadRequest, *why + ": two servers could disagree about where the request ends"
	case c.over == 0:
		switch status = c.place.room.refusalStatus(c.place.from); status {
		case http.StatusTooManyRequests:
			reason = "too many runs of this address go on without their clients (HOLDPOINT_ADDRESS_CONNECTIONS)"
		case http.StatusServiceUnavailable:
			reason = "too many runs go on without their clients (HOLDPOINT_MAX_CONNECTIONS)"
		}
		return status, reason
	case c.over == http.StatusTooManyRequests:
		return c.over, "too many connections from this address (HOLDPOINT_ADDRESS_CONNECTIONS)"
	}
	return c.over, "too many connections (HOLDPOINT_MAX_CONNECTIONS)"
}

// many reports whether the connection carries several requests at once, as HTTP/2 does.
func (c *conn) many() bool { return c.passes.Load() || c.second.Load() }

// Outlives counts what a request leaves behind, when it goes on although its client has left, as a
// connection of that client, until free is called. The context is the request's.
func Outlives(ctx context.Context) (free func()) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return func() {}
	}
	return c.place.stays(c.many())
}
