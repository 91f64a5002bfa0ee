//go:build unix

package servers

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A Moment is a point in a request or its reply at which a connection can break.
type Moment int

// The moments at which a fault can happen.
const (
	// BeforeRequest means that the server gets nothing of the request.
	BeforeRequest Moment = iota
	// WithinRequest means that the server gets only a part of the request.
	WithinRequest
	// AfterRequest means that the server executes the request and replies, but the client gets nothing
	// of the reply.
	AfterRequest
	// WithinReply means that the client gets only a part of the reply.
	WithinReply
)

// Moments contains every Moment.
var Moments = []Moment{BeforeRequest, WithinRequest, AfterRequest, WithinReply}

func (m Moment) String() string { return []string{"before", "within", "after", "reply"}[m] }

// A Fault breaks one connection, at a moment of one request.
//
// A request is everything that a client sends until the server replies. So a pipeline is one
// request, and a transaction of several statements is several requests. What a client sends in
// order to log in also counts as requests.
type Fault struct {
	Moment Moment
	Skip   int  // how many requests succeed before the fault, on all connections together
	Hang   bool // the connection stays open, but nothing is forwarded any more
}

// A Proxy is a TCP proxy in front of a server. It breaks connections. It listens on a free port of
// the loopback address, and ends with the test.
type Proxy struct {
	listener net.Listener

	mu         sync.Mutex
	target     string
	fault      *Fault
	hasStruck  bool
	refusesAll bool
	delay      time.Duration
	thaw       chan struct{} // closed unless the proxy is frozen
	links      map[*link]bool
	goroutines sync.WaitGroup
}

// StartProxy starts a proxy in front of the server at target, a host and port.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, links: map[*link]bool{}, thaw: make(chan struct{})}
	close(p.thaw)
	p.goroutines.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.Thaw()
		p.Sever()
		p.goroutines.Wait()
	})
	return p
}

// Addr returns the proxy's host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Arm sets the next fault. It replaces a fault that has not happened yet.
func (p *Proxy) Arm(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.hasStruck = &f, false
}

// Disarm removes the fault. hasStruck is true if the fault has happened since Arm.
func (p *Proxy) Disarm() (hasStruck bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = nil
	return p.hasStruck
}

// Redirect directs new connections to another server, as a changed DNS name would. Open connections
// stay with the old server.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Delay delays all bytes in both directions by d. They stay in order, as in a network.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Sever breaks all open connections.
func (p *Proxy) Sever() {
	for _, l := range p.open() {
		l.sever()
	}
}

// Refuse breaks all open connections. New connections are broken at once, until Accept is called.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refusesAll = true
	p.mu.Unlock()
	p.Sever()
}

// Accept ends Refuse: from then on, new connections are accepted again.
func (p *Proxy) Accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusesAll = false
}

// Freeze stops all bytes in both directions, until Thaw is called. Open connections stay open, and
// new ones are accepted.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
		p.thaw = make(chan struct{})
	default: // the proxy is already frozen
	}
}

// Thaw ends Freeze. It forwards the bytes that were sent in the meantime.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
	default:
		close(p.thaw)
	}
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*link
	for l := range p.links {
		list = append(list, l)
	}
	return list
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse, target := p.refusesAll, p.target
		p.mu.Unlock()
		if refuse {
			reset(client)
			continue
		}
		server, err := net.Dial("tcp", target)
		if err != nil {
			reset(client)
			continue
		}
		l := &link{proxy: p, client: client, server: server, done: make(chan struct{})}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		p.goroutines.Go(func() { l.pass(client, server, l.request) })
		p.goroutines.Go(func() { l.pass(server, client, l.reply) })
	}
}

// strike is called at the beginning of a request. It returns the fault if it applies to this
// request, and otherwise nil.
func (p *Proxy) strike() *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := p.fault; {
	case f == nil:
		return nil
	case f.Skip > 0:
		f.Skip--
		return nil
	default:
		p.fault, p.hasStruck = nil, true
		return f
	}
}

// A link is one connection through the proxy, from the client to the server.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	done           chan struct{} // closed when the link ends

	mu          sync.Mutex
	awaitsReply bool   // the client has sent a request, and the server has not replied yet
	fault       *Fault // the fault that applies to the current request, or nil
}

// request is called with bytes that the client has sent. forwarded are those of them that the
// server gets. keepsOpen is false if the link must end.
func (l *link) request(b []byte) (forwarded []byte, keepsOpen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.awaitsReply {
		l.awaitsReply, l.fault = true, l.proxy.strike()
	}
	switch {
	case l.fault != nil && l.fault.Moment == BeforeRequest:
		return nil, false
	case l.fault != nil && l.fault.Moment == WithinRequest:
		return b[:len(b)/2], false
	}
	return b, true
}

// reply is called with bytes that the server has sent. forwarded and keepsOpen are as for request,
// with the client in place of the server.
func (l *link) reply(b []byte) (forwarded []byte, keepsOpen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaitsReply = false
	switch {
	case l.fault != nil && l.fault.Moment == AfterRequest:
		return nil, false
	case l.fault != nil && l.fault.Moment == WithinReply:
		return b[:len(b)/2], false
	}
	return b, true
}

// pass copies the bytes of one direction until the link ends. It calls judge with them, which is
// request or reply.
func (l *link) pass(from, to net.Conn, judge func([]byte) ([]byte, bool)) {
	defer l.sever()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.proxy.mu.Lock()
			thawed, delay := l.proxy.thaw, l.proxy.delay
			l.proxy.mu.Unlock()
			select {
			case <-thawed:
			case <-l.done:
				return
			}
			time.Sleep(delay)
			part, on := judge(buffer[:n])
			if _, err := to.Write(part); err != nil {
				return
			}
			if !on {
				l.hang(from)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hang returns at once unless the current fault has Hang. Then it reads and discards bytes of from,
// so that it notices when that side closes the connection, and returns when the link ends.
func (l *link) hang(from io.Reader) {
	l.mu.Lock()
	hangs := l.fault.Hang
	l.mu.Unlock()
	if hangs {
		_, _ = io.Copy(io.Discard, from)
	}
}

func (l *link) sever() {
	l.once.Do(func() {
		close(l.done)
		reset(l.client)
		l.server.Close() // without a reset, so that the server gets the bytes that were sent
		l.proxy.mu.Lock()
		delete(l.proxy.links, l)
		l.proxy.mu.Unlock()
	})
}

// reset closes a connection as a network failure would: bytes that were not sent yet are lost.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
