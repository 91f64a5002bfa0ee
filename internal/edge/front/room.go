package front

import (
	"net/http"
	"net/netip"
	"sync"
)

// Network returns what counts as one client: the address of a connection as net/http gives it, and
// for IPv6 its network of 64 bits, because one customer is given a network. ok is false if it is
// not an address, as on a Unix socket.
func Network(remote string) (addr netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return addr, false
	}
	addr = peer.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // fails for more bits than there are only
		addr = network.Addr()
	}
	return addr, true
}

// room counts connections, and the requests that go on although their clients have left.
type room struct {
	total, each int // 0: no bound

	mu     sync.Mutex
	all    int
	of     map[netip.Addr]int // by network
	alone  int                // requests without their clients; all has them too
	byThem map[netip.Addr]int // the same by network; of has them too
}

// A place is that of a connection. Its client may leave requests behind that go on.
type place struct {
	room *room
	from netip.Addr

	mu    sync.Mutex
	users int // the connection while it is open, and what took its place over
}

// leave gives the place back when nothing takes it any more.
func (p *place) leave() {
	p.mu.Lock()
	p.users--
	free := p.users == 0
	p.mu.Unlock()
	if free {
		p.room.free(p.from)
	}
}

// stays counts a request that goes on although its client has left, until free is called. It keeps
// the place of its connection. Beside others of a connection of HTTP/2 it takes one of its own.
func (p *place) stays(beside bool) (free func()) {
	r := p.room
	if beside {
		p = &place{room: r, from: p.from}
	}
	p.mu.Lock()
	p.users++
	p.mu.Unlock()
	r.mu.Lock()
	counts := r.each > 0 && p.from.IsValid()
	r.alone++
	if counts {
		r.byThem[p.from]++
	}
	if beside {
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
			if r.byThem[p.from]--; r.byThem[p.from] == 0 {
				delete(r.byThem, p.from)
			}
		}
		r.mu.Unlock()
		p.leave()
	}
}

// refusalStatus returns by what status a request of a connection that was taken is to be refused,
// because requests without their clients alone are as many as the bound. 0: it is not.
func (r *room) refusalStatus(from netip.Addr) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.total > 0 && r.alone >= r.total:
		return http.StatusServiceUnavailable
	case r.each > 0 && from.IsValid() && r.byThem[from] >= r.each:
		return http.StatusTooManyRequests
	}
	return 0
}

// spare returns how many connections above a bound are taken, to be answered. Those above it are
// closed without a word: an answer costs memory too.
func spare(bound int) int { return max(bound/16, 16) }

// take takes room for a connection. ok is false if it must be closed at once. status is by what its
// requests are to be refused, 0 for none. from is the zero Addr if only the total counts.
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

// free gives back what take took.
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
