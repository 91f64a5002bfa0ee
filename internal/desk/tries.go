package desk

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// An address may show so many wrong tokens at once, and one more every tryEvery. The answers to
// more of them are slow.
const (
	maxTries = 10
	tryEvery = 6 * time.Second
	// maxWatched bounds the addresses that are remembered. Those that find no room share one place.
	maxWatched = 4096
)

// tries are the wrong tokens of each client address: when all of them will be forgiven.
type tries struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[netip.Addr]time.Time
}

func newTries(now func() time.Time) *tries { return &tries{now: now, of: map[netip.Addr]time.Time{}} }

// failed notes a wrong token. If it is one too many it is how long the next one should wait, else
// 0. One too many is not counted: what came before is forgiven in time, however many follow.
func (t *tries) failed(from netip.Addr) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	from = t.place(from, now)
	until := t.of[from]
	if until.Before(now) {
		until = now
	}
	if wait := until.Sub(now) - (maxTries-1)*tryEvery; wait > 0 {
		return wait
	}
	t.of[from] = until.Add(tryEvery)
	return 0
}

// place is where the address is remembered.
func (t *tries) place(from netip.Addr, now time.Time) netip.Addr {
	if _, ok := t.of[from]; ok || len(t.of) < maxWatched {
		return from
	}
	for addr, until := range t.of {
		if !until.After(now) {
			delete(t.of, addr)
		}
	}
	if len(t.of) < maxWatched {
		return from
	}
	return netip.Addr{}
}

// networkOf is the client's address; for IPv6 its network of 64 bits. Clients of a unix socket have
// one together.
func networkOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return addr
}

// seconds is a time as Retry-After has it, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
