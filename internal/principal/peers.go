package principal

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Peers are the networks from which the configured headers are trusted.
type Peers []netip.Prefix

// ParsePeers parses networks or addresses, separated by semicolons or commas, such as
// 10.0.0.0/8;fd00::/8;192.0.2.1.
func ParsePeers(text string) (Peers, error) {
	var list Peers
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ';' || c == ',' }) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		p, err := parsePeer(part)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if list == nil {
		return nil, errors.New(textNoNetwork)
	}
	return list, nil
}

func parsePeer(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf(textNotNetwork, text)
	}
	if addr := p.Addr(); addr.Is4In6() {
		if p.Bits() < 96 {
			return p, fmt.Errorf(textMappedNetwork, text)
		}
		p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return p, fmt.Errorf(textHostBits, text, p.Masked())
	}
	return p, nil
}

// String returns the networks in a form that ParsePeers reads.
func (p Peers) String() string {
	list := make([]string, len(p))
	for n, one := range p {
		list[n] = one.String()
	}
	return strings.Join(list, ";")
}

// HasEverybody reports whether one of the networks contains all IPv4 or all IPv6 addresses.
func (p Peers) HasEverybody() bool {
	return slices.ContainsFunc(p, func(one netip.Prefix) bool { return one.Bits() == 0 })
}

// HasLoopback reports whether 127.0.0.1 or ::1 is in one of the networks.
func (p Peers) HasLoopback() bool {
	return slices.ContainsFunc(p, func(one netip.Prefix) bool {
		return one.Contains(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || one.Contains(netip.IPv6Loopback())
	})
}

// Contains reports whether the address is in one of the networks.
func (p Peers) Contains(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(one netip.Prefix) bool { return one.Contains(addr) })
}

// trustsAddress reports whether remote is in one of the networks. remote is an address with a port,
// as in http.Request.RemoteAddr. A listener on [::] gets IPv4 addresses in the form of IPv6, which
// trustsAddress also accepts. It returns false if remote is not an address.
func (p Peers) trustsAddress(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	return p.Contains(peer.Addr().Unmap().WithZone(""))
}
