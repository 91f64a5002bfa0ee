package api

import (
	"math"
	"net/netip"
	"strconv"
	"time"
)

// An address may show so many wrong tokens at once, and one more every tryEvery. The answers to
// more of them are slow.
const (
	maxTries = 10
	tryEvery = 6 * time.Second
)

// A caller may decide, give up or sign in so many times at once, and again every changeEvery.
// Nobody reads as fast as that.
const (
	maxChanges  = 100
	changeEvery = time.Second
)

// newTries returns the wrong tokens of each client address.
func newTries(now func() time.Time) *buckets[netip.Addr] {
	return newBuckets[netip.Addr](maxTries, tryEvery, now)
}

// networkOf returns the client's address; for IPv6 its network of 64 bits. Clients of a unix socket
// have one together.
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

// seconds returns a time as Retry-After has it, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
