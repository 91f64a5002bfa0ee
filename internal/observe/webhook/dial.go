package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// errPrivateAddress is the error for an address that is not public.
var errPrivateAddress = errors.New(textNotPublic)

// reservedNetworks are the networks that contain no public hosts and that net/netip has no method
// for. https://www.iana.org/assignments/iana-ipv4-special-registry
// https://www.iana.org/assignments/iana-ipv6-special-registry
var reservedNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// metadataAddresses lists addresses at which a cloud's metadata service gives a machine its
// credentials, or at which the cloud's host listens. They are outside of the link-local networks.
// No webhook receiver in a private network has one of these addresses, so a connection to them is
// never allowed.
var metadataAddresses = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),                                                   // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),                                                // Google Cloud
	netip.MustParsePrefix("168.63.129.16/32"),                                                // Azure
	netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:100::100:200/128"), // Alibaba
	netip.MustParsePrefix("fd00:42::42/128"),       // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"), // Akamai
	netip.MustParsePrefix("192.80.8.124/32"),       // Equinix Metal
}

// embeddedIPv4 returns the IPv4 addresses that a gateway may extract from the IPv6 address a. Such
// addresses are NAT64 with its well-known prefix (RFC 6052) or with a local prefix (RFC 8215), and
// 6to4 (RFC 3056). A local prefix has 48, 56, 64 or 96 bits. The address does not show which, so
// embeddedIPv4 returns an IPv4 address for each length.
func embeddedIPv4(a netip.Addr) []netip.Addr {
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case netip.MustParsePrefix("64:ff9b:1::/48").Contains(a):
		list := []netip.Addr{ // byte 8 is not part of an embedded address
			netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
			netip.AddrFrom4([4]byte(b[9:13])), netip.AddrFrom4([4]byte(b[12:])),
		}
		return slices.DeleteFunc(list, netip.Addr.IsUnspecified)
	}
	return nil
}

// allowAddress returns an error if the webhook must not connect to the address. private allows
// addresses that are not public, except those of metadata services.
func allowAddress(a netip.Addr, private bool) error {
	a = a.Unmap().WithZone("")
	if slices.ContainsFunc(embeddedIPv4(a), func(inner netip.Addr) bool { return allowAddress(inner, private) != nil }) {
		return fmt.Errorf("%s: %w", a, errPrivateAddress)
	}
	switch {
	// the metadata services of most clouds are link-local
	case a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified(),
		slices.ContainsFunc(metadataAddresses, func(p netip.Prefix) bool { return p.Contains(a) }):
		return fmt.Errorf("%s: %w", a, errPrivateAddress)
	case private:
		return nil
	case a.IsPrivate(), a.IsLoopback():
		return fmt.Errorf("%s: %w", a, errPrivateAddress)
	}
	for _, p := range reservedNetworks {
		if p.Contains(a) {
			return fmt.Errorf("%s: %w", a, errPrivateAddress)
		}
	}
	return nil
}

// newClient returns an HTTP client that follows no redirects and uses no proxy. It checks each
// address immediately before it connects, after the host name was resolved. So a name that resolves
// to different addresses each time cannot evade the check.
func newClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: sendTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return allowAddress(at.Addr(), private)
	}}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: sendTimeout,
			MaxIdleConnsPerHost: workers, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// ParseURL parses and checks the receiver's address. Errors do not contain the address, because it
// may be a secret, as an address of a Slack webhook is.
func ParseURL(text string, private bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New(textNotAddress)
	case u.Scheme == "http" && !private:
		return nil, errors.New(textHTTPSOrPrivate)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New(textHTTPS)
	case u.User != nil:
		return nil, errors.New(textUserInURL)
	case u.Fragment != "":
		return nil, errors.New(textFragment)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		if allowAddress(a, private) != nil {
			return nil, errPrivateAddress
		}
	}
	return u, nil
}
