package front

import (
	"net/http"
	"net/netip"
	"sync"
)

// Network returns the address that identifies a client: the IPv4 address, or the /64 network of an
// IPv6 address, because a customer usually gets a whole network. remote is the address as net/http
// has it. ok is false if it is not an IP address, as on a Unix socket.
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

// room counts connections, and requests that continue after their clients have left.
type room struct {
	total, each int // the bounds, 0: none

	mu      sync.Mutex
	all     int
	of      map[netip.Addr]int // connections by network
	alone   int                // requests that continue after their clients have left; they are part of all
	aloneOf map[netip.Addr]int // alone by network; they are part of of
}

// A place is the share of a connection in the counts. Requests that continue after the client has
// left may use it after the connection is closed.
type place struct {
	room *room
	from netip.Addr

	mu    sync.Mutex
	users int // the connection while it is open, and the requests that use its place
}

// leave removes a user of the place, and frees it after the last one.
func (p *place) leave() {
	p.mu.Lock()
	p.users--
	free := p.users == 0
	p.mu.Unlock()
	if free {
		p.room.free(p.from)
	}
}

// stays counts a request that continues after its client has left, until free is called. The
// request uses the place of its connection. If the connection carries other requests (HTTP/2),
// shared is true, and the request gets a place of its own.
func (p *place) stays(shared bool) (free func()) {
	r := p.room
	if shared {
		p = &place{room: r, from: p.from}
	}
	p.mu.Lock()
	p.users++
	p.mu.Unlock()
	r.mu.Lock()
	counts := r.each > 0 && p.from.IsValid()
	r.alone++
	if counts {
		r.aloneOf[p.from]++
	}
	if shared {
		r.all++
		if counts {
			r.of[p.from]++
		}
	}
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.alone--
		if counts {
			if r.aloneOf[p.from]--; r.aloneOf[p.from] == 0 {
				delete(r.aloneOf, p.from)
			}
		}
		r.mu.Unlock()
		p.leave()
	}
}

// refusalStatus returns the status with which requests of an open connection must be refused,
// because requests without clients alone reach the bound. It returns 0 if they do not.
func (r *room) refusalStatus(from netip.Addr) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.total > 0 && r.alone >= r.total:
		return http.StatusServiceUnavailable
	case r.each > 0 && from.IsValid() && r.aloneOf[from] >= r.each:
		return http.StatusTooManyRequests
	}
	return 0
}

// spare returns how many connections above a bound are accepted to be answered with a refusal.
// Connections above that are closed without an answer, because an answer costs memory too.
func spare(bound int) int { return max(bound/16, 16) }

// take counts a new connection. ok is false if it must be closed at once. status is the status with
// which its requests must be refused, or 0. If from is the zero Addr, only the total counts.
func (r *room) take(from netip.Addr) (status int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.each > 0 && from.IsValid()
	switch {
	case r.total > 0 && r.all >= r.total:
		status = http.StatusServiceUnavailable
	case counts && r.of[from] >= r.each:
		status = http.StatusTooManyRequests
	}
	if r.total > 0 && r.all >= r.total+spare(r.total) || counts && r.of[from] >= r.each+spare(r.each) {
		return status, false
	}
	r.all++
	if counts {
		r.of[from]++
	}
	return status, true
}

// free undoes a take.
func (r *room) free(from netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.each == 0 || !from.IsValid() {
		return
	}
	if r.of[from]--; r.of[from] == 0 {
		delete(r.of, from)
	}
}
