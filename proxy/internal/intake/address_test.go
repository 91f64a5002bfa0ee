package intake

import (
	"net/http"
	"testing"
)

func TestAddressHash(t *testing.T) {
	shares := &Intake{shares: true}
	of := func(address string) uint64 { return shares.AddressHash(&http.Request{RemoteAddr: address}) }
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"ports":                    {"192.0.2.1:1", "192.0.2.1:2", true},
		"addresses":                {"192.0.2.1:1", "192.0.2.2:1", false},
		"IPv4 in IPv6":             {"192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		"a network":                {"[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true},
		"another network":          {"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		"an address with a zone":   {"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		"something else, and none": {"@", "", true},
	} {
		if a, b := of(c.a), of(c.b); (a == b) != c.same || (a == 0) != (c.a == "@") {
			t.Errorf("%s: %d and %d", name, a, b)
		}
	}
	if shares.shares = false; of("192.0.2.1:1") != 0 {
		t.Error("there are no shares")
	}
}
