// Package front is the listener in front of an http.Server. It bounds the number of connections in
// total and for each client address. It performs TLS handshakes. It finds requests whose length two
// servers could compute differently.
//
// The package writes only two responses itself: 408 if the header of a request takes too long, and
// 400 for plain HTTP on a listener with TLS. For all other refusals a handler calls Refused and
// writes the response, so that the handler can add its CORS headers. The package does not know
// routes or runs. It follows RFC 9110 and RFC 9112.
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

// Options configure a Listener. A bound that is zero does not apply.
type Options struct {
	TLS           *tls.Config
	HeaderTimeout time.Duration // bounds the TLS handshake; http.Server itself bounds the header
	Connections   int           // maximum number of open connections
	PerAddress    int           // maximum number of open connections from one client address, see Network
	// IsExempt reports whether an address belongs to a trusted proxy. PerAddress does not apply to
	// such an address.
	IsExempt func(netip.Addr) bool
	// OnFull is called when a bound is exceeded. status is the status with which the requests of the
	// new connection are refused. Full must not block.
	OnFull func(status int)
	// OnHandshakeFailure is called when a TLS handshake fails. It must not block.
	OnHandshakeFailure func(remote net.Addr, err error)
}

// A Listener accepts connections for an http.Server. Attach sets the server's ConnContext and
// ConnState, which must not be set otherwise.
type Listener struct {
	net.Listener
	opts    Options
	counter connCounter

	once        sync.Once
	ready       chan acceptedConn // connections after their TLS handshake
	openContext context.Context
	cancel      context.CancelFunc
}

type acceptedConn struct {
	conn net.Conn
	err  error
}

// Listen returns a Listener that accepts the connections of l.
func Listen(l net.Listener, o Options) *Listener {
	open, end := context.WithCancel(context.Background())
	return &Listener{
		Listener: l, opts: o, ready: make(chan acceptedConn), openContext: open, cancel: end,
		counter: connCounter{total: o.Connections, perNetwork: o.PerAddress, countOf: map[netip.Addr]int{}, outlivingOf: map[netip.Addr]int{}},
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	if l.opts.TLS == nil {
		c, err := l.acceptConn()
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	l.once.Do(func() { go l.acceptAll() })
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.openContext.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It ends TLS handshakes in progress.
func (l *Listener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// acceptConn accepts the next connection. If a connection exceeds the bounds by more than spare,
// acceptConn closes it and accepts another one.
func (l *Listener) acceptConn() (*conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var from netip.Addr
		if addr, ok := Network(raw.RemoteAddr().String()); ok && (l.opts.IsExempt == nil || !l.opts.IsExempt(addr)) {
			from = addr
		}
		status, ok := l.counter.take(from)
		if status != 0 && l.opts.OnFull != nil {
			l.opts.OnFull(status)
		}
		if !ok {
			raw.Close()
			continue
		}
		return &conn{Conn: raw, framing: newFraming(), refusalStatus: status, place: &place{counter: &l.counter, network: from, users: 1}, freesPlace: true}, nil
	}
}

// acceptAll accepts connections and runs each TLS handshake in a goroutine of its own, so that a
// slow client does not delay the others.
func (l *Listener) acceptAll() {
	for {
		c, err := l.acceptConn()
		if err != nil {
			if !l.deliver(acceptedConn{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // if the error is temporary, http.Server waits before it calls Accept again
		}
		go l.handshake(c)
	}
}

// deliver passes an accepted connection or an error to Accept. It returns false if the listener was
// closed before Accept received it.
func (l *Listener) deliver(a acceptedConn) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.openContext.Done():
		return false
	}
}

// handshake performs the TLS handshake on c, and passes the TLS connection to Accept.
func (l *Listener) handshake(c *conn) {
	ctx, cancel := context.WithCancel(l.openContext)
	defer cancel()
	if l.opts.HeaderTimeout > 0 {
		var inTime context.CancelFunc
		ctx, inTime = context.WithTimeout(ctx, l.opts.HeaderTimeout)
		defer inTime()
	}
	// The bytes of c are encrypted, so they are not parsed. The connection inside TLS has a framing
	// of its own, which parses the decrypted bytes.
	c.isUnparsed.Store(true)
	secure := tls.Server(c, l.opts.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil && looksLikeHTTP(header.RecordHeader) {
			_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\n"+textPlainOnTLS)
		}
		if l.opts.OnHandshakeFailure != nil {
			l.opts.OnHandshakeFailure(c.RemoteAddr(), err)
		}
		c.Close()
		return
	}
	var served net.Conn = secure // for HTTP/2, net/http needs a *tls.Conn
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		served = &tlsConn{conn{Conn: secure, framing: newFraming(), refusalStatus: c.refusalStatus, place: c.place}, secure}
	}
	if !l.deliver(acceptedConn{conn: served}) {
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

// A conn is a connection that parses its requests with framing.
type conn struct {
	net.Conn
	framing framing
	// if a bound was exceeded: the status with which all requests are refused; otherwise 0
	refusalStatus int
	place         *place

	refusal       atomic.Pointer[string] // why the last request is refused; nil if it is not
	readIsStopped atomic.Bool            // net/http set a read deadline in the past, to cancel a read
	isUnparsed    atomic.Bool            // the bytes are not parsed, because they are TLS or another protocol
	isHTTP2       atomic.Bool            // the connection uses HTTP/2
	once          sync.Once
	freesPlace    bool // Close frees the place; false for a conn inside TLS, whose outer conn frees it
}

// A tlsConn is the conn inside a TLS connection. It reads the decrypted bytes.
type tlsConn struct {
	conn
	tls *tls.Conn
}

// ConnectionState returns the state of the TLS connection. Because of this method, net/http sets
// the field TLS of requests.
func (s *tlsConn) ConnectionState() tls.ConnectionState { return s.tls.ConnectionState() }

// Read implements net.Conn. After a refused request it returns io.EOF.
func (c *conn) Read(p []byte) (int, error) {
	if c.isUnparsed.Load() {
		return c.Conn.Read(p)
	}
	if c.refusal.Load() != nil {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	took := c.framing.parse(p[:n])
	if c.framing.state == nil {
		// This is also true if net/http refuses the request; then the connection carries no further
		// requests.
		c.isHTTP2.Store(true)
	}
	if why := c.framing.refusal; why != "" {
		c.refusal.Store(&why)
		clear(p[took:n])
		return took, nil
	}
	if n == 0 && c.framing.inHead() && !c.readIsStopped.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		c.sendTimeoutAnswer()
	}
	return n, err
}

// timeoutAnswer is sent to a client if the header of its request takes too long. Without it,
// net/http would close the connection without any response.
const timeoutAnswer = "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 70\r\n\r\n" +
	`{"error":"` + textLateHeader + `"}`

// sendTimeoutAnswer sends timeoutAnswer. No other goroutine writes to the connection, because no
// request was read completely.
func (c *conn) sendTimeoutAnswer() {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c.Conn, timeoutAnswer)
	// net/http also writes a response to some late headers; it must not follow timeoutAnswer
	_ = c.CloseWrite()
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error {
	// While a handler runs, net/http reads ahead on the connection. It cancels that read by a
	// deadline in the past. If a part of the next request has arrived by that time, the request is
	// not late, so Read must not send timeoutAnswer.
	c.readIsStopped.Store(!at.IsZero() && at.Before(longAgo))
	return c.Conn.SetReadDeadline(at)
}

var longAgo = time.Unix(24*60*60, 0)

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.freesPlace {
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

// Attach prepares s for the connections of a Listener. It lets handlers call Refused. It also stops
// the parsing of a connection that a handler hijacks.
func Attach(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if of := connOf(c); of != nil {
			return context.WithValue(ctx, connKey{}, of)
		}
		return ctx
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if of := connOf(c); of != nil && state == http.StateHijacked {
			of.isUnparsed.Store(true)
		}
	}
}

func connOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case *tlsConn:
		return &c.conn
	}
	return nil
}

// Refused returns the status and the reason with which a handler must refuse the request. A status
// of 0 means that the request is not refused. The server closes the connection after the response.
// ctx is the context of the request.
func Refused(ctx context.Context) (status int, reason string) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return 0, ""
	}
	switch why := c.refusal.Load(); {
	case why != nil:
		return http.StatusBadRequest, *why + textAmbiguous
	case c.refusalStatus == 0:
		switch status = c.place.counter.refusalStatus(c.place.network); status {
		case http.StatusTooManyRequests:
			reason = textRunsOfAddress
		case http.StatusServiceUnavailable:
			reason = textRuns
		}
		return status, reason
	case c.refusalStatus == http.StatusTooManyRequests:
		return c.refusalStatus, textAddress
	}
	return c.refusalStatus, textConnections
}

// isMultiplexed reports whether the connection carries several requests at the same time, as HTTP/2
// does.
func (c *conn) isMultiplexed() bool { return c.isUnparsed.Load() || c.isHTTP2.Load() }

// HoldPlace counts a request as a connection of its client after the client has left. The count
// ends when the caller calls free. ctx is the context of the request.
func HoldPlace(ctx context.Context) (free func()) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return func() {}
	}
	return c.place.hold(c.isMultiplexed())
}
