package api

import (
	"math"
	"net/netip"
	"strconv"
	"time"
)

// How many wrong tokens an address may send at once, with one more every tryEvery. Responses to
// further ones are slow.
const (
	maxTries = 10
	tryEvery = 6 * time.Second
)

// How many changes (decisions, freed threads, sign-ins) a caller may make at once, with one more
// every changeEvery. A person does not read faster than that.
const (
	maxChanges  = 100
	changeEvery = time.Second
)

// newTries returns the counts of wrong tokens by client address.
func newTries(now func() time.Time) *buckets[netip.Addr] {
	return newBuckets[netip.Addr](maxTries, tryEvery, now)
}

// networkOf returns the client's address, or for IPv6 its network of 64 bits. All clients of a unix
// socket share one.
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

// seconds returns a time for Retry-After, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
