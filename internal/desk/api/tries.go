package api

import (
	"math"
	"net/netip"
	"strconv"
	"time"
)

// maxTries is how many wrong tokens an address may send at once. After that, it may send one more
// each tryEvery. The responses to further wrong tokens are delayed.
const (
	maxTries = 10
	tryEvery = 6 * time.Second
)

// maxChanges is how many changes (decisions, freed threads, sign-ins) a caller may make at once.
// After that, the caller may make one more each changeEvery. A person does not read faster than
// that.
const (
	maxChanges  = 100
	changeEvery = time.Second
)

// newTries returns the buckets that count wrong tokens by client address.
func newTries(now func() time.Time) *buckets[netip.Addr] {
	return newBuckets[netip.Addr](maxTries, tryEvery, now)
}

// networkOf returns the address under which the wrong tokens of a client are counted: the client's
// IPv4 address, or the 64-bit network of its IPv6 address. All clients of a unix socket have the
// same one.
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

// seconds returns d in whole seconds, rounded up, for the header Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
