package front

import (
	"net/http"
	"net/netip"
	"sync"
)

// Network returns the address that identifies a client: the IPv4 address, or the /64 network of an
// IPv6 address, because a customer usually gets a whole /64 network. remote is an address as in
// http.Request.RemoteAddr. ok is false if remote is not an IP address, for example on a Unix
// socket.
func Network(remote string) (addr netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return addr, false
	}
	addr = peer.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // fails only for more than 128 bits
		addr = network.Addr()
	}
	return addr, true
}

// connCounter counts connections, and requests that continue after their clients have left.
type connCounter struct {
	total, perNetwork int // total bounds count; perNetwork bounds each number in countOf; 0: no bound

	mu        sync.Mutex
	count     int
	countOf   map[netip.Addr]int // the number of connections of each network
	outliving int                // how many of count are requests that continue after their clients have left
	// the part of outliving that belongs to each network; countOf includes these requests too
	outlivingOf map[netip.Addr]int
}

// A place counts as one connection in a room. If requests continue after their client has left,
// they may use the place after the connection is closed.
type place struct {
	counter *connCounter
	network netip.Addr

	mu    sync.Mutex
	users int // how many use the place: the open connection, and requests that outlive it
}

// leave removes one user of the place. When the last user has left, leave frees the place in the
// room.
func (p *place) leave() {
	p.mu.Lock()
	p.users--
	free := p.users == 0
	p.mu.Unlock()
	if free {
		p.counter.free(p.network)
	}
}

// hold counts a request that continues after its client has left, until the caller calls free. The
// request uses the place of its connection. If shared is true, the connection carries other
// requests too (HTTP/2), and the request gets a place of its own.
func (p *place) hold(shared bool) (free func()) {
	r := p.counter
	if shared {
		p = &place{counter: r, network: p.network}
	}
	p.mu.Lock()
	p.users++
	p.mu.Unlock()
	r.mu.Lock()
	counts := r.perNetwork > 0 && p.network.IsValid()
	r.outliving++
	if counts {
		r.outlivingOf[p.network]++
	}
	if shared {
		r.count++
		if counts {
			r.countOf[p.network]++
		}
	}
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.outliving--
		if counts {
			if r.outlivingOf[p.network]--; r.outlivingOf[p.network] == 0 {
				delete(r.outlivingOf, p.network)
			}
		}
		r.mu.Unlock()
		p.leave()
	}
}

// refusalStatus returns the status with which requests of an open connection must be refused. They
// are refused if the requests whose clients have left reach a bound without any open connection.
// Otherwise refusalStatus returns 0.
func (r *connCounter) refusalStatus(network netip.Addr) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.total > 0 && r.outliving >= r.total:
		return http.StatusServiceUnavailable
	case r.perNetwork > 0 && network.IsValid() && r.outlivingOf[network] >= r.perNetwork:
		return http.StatusTooManyRequests
	}
	return 0
}

// spare returns how many connections are accepted above a bound. Their requests get a refusal as
// their response. Connections above spare are closed without a response, because a response costs
// memory too.
func spare(bound int) int { return max(bound/16, 16) }

// take counts a new connection. If ok is false, the connection must be closed at once. status is
// the status with which the requests of the connection must be refused, or 0. If from is the zero
// Addr, only the bound on the total applies.
func (r *connCounter) take(network netip.Addr) (status int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.perNetwork > 0 && network.IsValid()
	switch {
	case r.total > 0 && r.count >= r.total:
		status = http.StatusServiceUnavailable
	case counts && r.countOf[network] >= r.perNetwork:
		status = http.StatusTooManyRequests
	}
	if r.total > 0 && r.count >= r.total+spare(r.total) || counts && r.countOf[network] >= r.perNetwork+spare(r.perNetwork) {
		return status, false
	}
	r.count++
	if counts {
		r.countOf[network]++
	}
	return status, true
}

// free removes a connection that take has counted.
func (r *connCounter) free(network netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
	if r.perNetwork == 0 || !network.IsValid() {
		return
	}
	if r.countOf[network]--; r.countOf[network] == 0 {
		delete(r.countOf, network)
	}
}
