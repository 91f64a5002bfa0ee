//go:build unix

package servers

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A Moment is a point in a request and its reply.
type Moment int

// The moments at which a connection can break.
const (
	// Before: nothing of the request reaches the server.
	Before Moment = iota
	// Within: the server gets a part of the request.
	Within
	// After: the server did what was asked and replied. Nothing of the reply reaches the client.
	After
	// Reply: the client gets a part of the reply.
	Reply
)

// Moments are all of them.
var Moments = []Moment{Before, Within, After, Reply}

func (m Moment) String() string { return []string{"before", "within", "after", "reply"}[m] }

// A Fault breaks one connection at a moment of one request.
//
// A request is what a client sends until the server replies, so a pipeline is one request, and a
// transaction of several statements is several. What a client sends to log in counts too.
type Fault struct {
	At   Moment
	Skip int  // so many requests on all connections together pass before
	Hang bool // the connection stays open, and nothing passes any more, instead of breaking
}

// A Proxy is a TCP proxy before a server, which breaks connections. It listens on a free port of
// the loopback address, and ends with the test.
type Proxy struct {
	listener net.Listener

	mu      sync.Mutex
	target  string
	fault   *Fault
	struck  bool
	refuse  bool
	delay   time.Duration
	thawed  chan struct{} // closed unless the proxy is frozen
	links   map[*link]bool
	serving sync.WaitGroup
}

// StartProxy starts a proxy before target, a host and port.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, links: map[*link]bool{}, thawed: make(chan struct{})}
	close(p.thawed)
	p.serving.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.Thaw()
		p.Sever()
		p.serving.Wait()
	})
	return p
}

// Addr returns the proxy's host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Arm sets the next fault. It replaces one that did not strike yet.
func (p *Proxy) Arm(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.struck = &f, false
}

// Disarm takes the fault away. It reports whether the fault has struck since Arm.
func (p *Proxy) Disarm() (struck bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = nil
	return p.struck
}

// Turn sends new connections to another server, as a name does that moves. Those that are open stay
// where they are.
func (p *Proxy) Turn(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Delay has what passes take so long in each direction, as over a network. What comes later waits
// behind it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Sever breaks all connections that are open.
func (p *Proxy) Sever() {
	for _, l := range p.open() {
		l.sever()
	}
}

// Refuse breaks all connections, and new ones at once, until Accept.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Sever()
}

// Accept ends what Refuse began.
func (p *Proxy) Accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
}

// Freeze lets nothing pass in either direction, until Thaw. The connections stay open, and new ones
// are accepted.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
		p.thawed = make(chan struct{})
	default: // it is frozen
	}
}

// Thaw ends what Freeze began. What was sent meanwhile passes now.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
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
		refuse, target := p.refuse, p.target
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
		l := &link{proxy: p, client: client, server: server, cut: make(chan struct{})}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		p.serving.Go(func() { l.pass(client, server, l.request) })
		p.serving.Go(func() { l.pass(server, client, l.reply) })
	}
}

// strike reports whether the fault strikes the request that begins now.
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
		p.fault, p.struck = nil, true
		return f
	}
}

// A link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	cut            chan struct{} // closed when it is over

	mu     sync.Mutex
	asking bool   // the server has not replied to what the client sent last
	fault  *Fault // of the request at hand
}

// request says what of b goes to the server, and whether anything goes after it.
func (l *link) request(b []byte) (pass []byte, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asking {
		l.asking, l.fault = true, l.proxy.strike()
	}
	switch {
	case l.fault != nil && l.fault.At == Before:
		return nil, false
	case l.fault != nil && l.fault.At == Within:
		return b[:len(b)/2], false
	}
	return b, true
}

// reply is request for the other direction.
func (l *link) reply(b []byte) (pass []byte, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking = false
	switch {
	case l.fault != nil && l.fault.At == After:
		return nil, false
	case l.fault != nil && l.fault.At == Reply:
		return b[:len(b)/2], false
	}
	return b, true
}

// pass copies one direction until the link is over.
func (l *link) pass(from, to net.Conn, judge func([]byte) ([]byte, bool)) {
	defer l.sever()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.proxy.mu.Lock()
			thawed, delay := l.proxy.thawed, l.proxy.delay
			l.proxy.mu.Unlock()
			select {
			case <-thawed:
			case <-l.cut:
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

// hang returns at once, or for a fault that hangs when the link is over. It goes on reading, so
// that it learns when the other side gives up.
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
		close(l.cut)
		reset(l.client)
		l.server.Close() // no reset: the server gets the part of a request that was sent
		l.proxy.mu.Lock()
		delete(l.proxy.links, l)
		l.proxy.mu.Unlock()
	})
}

// reset ends a connection as a broken one ends: what was not sent yet is lost.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
