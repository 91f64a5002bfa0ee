package front

import (
	"net/http"
	"net/netip"
	"sync"
)

// Network is what counts as one client: the address of a connection as net/http gives it, and for
// IPv6 its network of 64 bits, because one customer is given a network. ok is false if it is no
// address, as on a Unix socket.
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

// room counts connections.
type room struct {
	total, each int // 0: no bound

	mu  sync.Mutex
	all int
	of  map[netip.Addr]int // by network
}

// spare is how many connections above a bound are taken, to be answered. Those above it are closed
// without a word: an answer costs memory too.
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
