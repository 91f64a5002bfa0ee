package principal

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	key1 = "11111111111111111111111111111111"
	key2 = "22222222222222222222222222222222"
	key3 = "33333333333333333333333333333333"
)

func mustPeers(t *testing.T, text string) Peers {
	t.Helper()
	p, err := ParsePeers(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRing(t *testing.T, text string) Ring {
	t.Helper()
	r, err := ParseRing(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPeers(t *testing.T) {
	for _, tt := range []struct {
		peers, remote string
		want          bool
	}{
		{"10.0.0.0/8", "10.1.2.3:4", true},
		{"10.0.0.0/8", "11.1.2.3:4", false},
		{"10.0.0.0/8", "[::ffff:10.1.2.3]:4", true}, // the form that a listener on [::] has
		{"::ffff:10.0.0.0/104", "10.1.2.3:4", true},
		{"::ffff:10.0.0.0/104", "[::ffff:11.1.2.3]:4", false},
		{"192.0.2.1", "192.0.2.1:80", true},
		{"192.0.2.1", "192.0.2.2:80", false},
		{"::ffff:192.0.2.1", "192.0.2.1:80", true},
		{"::1", "[::1]:80", true},
		{"::1", "127.0.0.1:80", false},
		{"fd00::/8", "[fd00::1%eth0]:80", true},
		{"fd00::/8; 10.0.0.0/8", "10.0.0.1:80", true},
		{"fd00::/8, 10.0.0.0/8", "[fd12::1]:80", true},
		{"0.0.0.0/0", "10.0.0.1:80", true},
		{"::/0", "10.0.0.1:80", false},
		{"0.0.0.0/0;::/0", "@", false}, // a unix socket has no address
		{"0.0.0.0/0;::/0", "", false},
		{"10.0.0.0/8", "10.0.0.1", false},
	} {
		if got := mustPeers(t, tt.peers).trustsAddress(tt.remote); got != tt.want {
			t.Errorf("%s trusts %s: %v", tt.peers, tt.remote, got)
		}
	}
	for text, want := range map[string]string{
		"10.0.0.0":           "",
		"10.0.0.1/8":         "has bits after its network, want 10.0.0.0/8",
		"localhost":          "is not a network",
		"10.0.0.0/33":        "is not a network",
		"fe80::1%eth0":       "is not a network",
		"::ffff:0:0/90":      "contains all IPv4",
		";":                  "no network",
		"10.0.0.0/8;nowhere": "is not a network",
	} {
		if _, err := ParsePeers(text); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if p := mustPeers(t, "127.0.0.0/8"); !p.HasLoopback() || p.HasEverybody() || mustPeers(t, "10.0.0.0/8").HasLoopback() || !mustPeers(t, "::/0").HasEverybody() {
		t.Error("what is said of the peers at start is wrong")
	}
}

func TestRing(t *testing.T) {
	for text, want := range map[string]string{
		key1:                        "",
		key1 + ";" + key2:           "",
		key1 + ", " + key2 + ",":    "",
		key1 + "\n" + key2 + "\r\n": "",
		"":                          "no key",
		" ; ":                       "no key",
		"short":                     "has 5 characters",
		key1 + ";" + key1:           "key 2 is a repetition",
		key1 + " " + key2:           "key 1 contains white space",
	} {
		_, err := ParseRing(text)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), key1) || strings.Contains(err.Error(), "short")) {
			t.Errorf("%q: the error holds a key: %v", text, err)
		}
	}
	if s := mustRing(t, key1+";"+key2).String(); s != "2 keys" {
		t.Error(s)
	}
}

// TestOwnerUnderAnOlderKey: a record has an owner that was made with an old key. While the old key
// is in the ring, the record must keep this owner. A new thread must get an owner made with the
// newest key.
func TestOwnerUnderAnOlderKey(t *testing.T) {
	old := mustRing(t, key1).owner("header", "", "alice")
	both := mustRing(t, key2+";"+key1).owner("header", "", "alice")
	alone := mustRing(t, key2).owner("header", "", "alice")
	switch {
	case !both.Matches(old.ID()):
		t.Error("an owner under the older key is a stranger")
	case both.ID() != alone.ID():
		t.Error("a new thread is not given the newest key's owner")
	case alone.Matches(old.ID()):
		t.Error("an owner under a key that is gone is none")
	case both.Matches(""):
		t.Error("a record without an owner was given to nobody, and is not the principal's")
	}
	if (Owner{}).Matches(old.ID()) || !(Owner{}).Matches("") || (Owner{}).ID() != "" {
		t.Error("without principals only records without an owner may be reached")
	}
}

func TestOwnersAreApart(t *testing.T) {
	ring := mustRing(t, key1)
	seen := map[string]string{}
	for _, who := range [][3]string{
		{"header", "", "alice"}, {"header", "", "bob"}, {"header", "a", "lice"}, {"header", "al", "ice"}, {"header", "t", "alice"},
		{"jwt i sub", "", "alice"}, {"jwt j sub", "", "alice"}, {"jwt i email", "", "alice"}, {"header", "alice", ""},
	} {
		id := ring.owner(who[0], who[1], who[2]).ID()
		if strings.Contains(id, "alice") || len(id) != 64 {
			t.Errorf("%v: %s", who, id)
		}
		if other := seen[id]; other != "" {
			t.Errorf("%v and %s have one owner", who, other)
		}
		seen[id] = strings.Join(who[:], "/")
	}
}

func TestThreadOfAPrincipal(t *testing.T) {
	alice := Identity{Tenant: "t", principal: "alice", source: "header", ownThread: true}
	bob, other := alice, alice
	bob.principal, other.Tenant = "bob", "u"
	ids := []string{alice.Thread("1"), alice.Thread("2"), bob.Thread("1"), other.Thread("1")}
	for n, id := range ids {
		if len(id) != 36 || id[14] != '8' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Errorf("%s is no UUID of version 8", id)
		}
		if slices.Contains(ids[:n], id) {
			t.Errorf("%s is the thread of two", id)
		}
	}
	const pinned = "22387e57-e347-8023-a527-dc767d595dbb"
	if ids[0] != alice.Thread("1") || ids[0] != pinned {
		t.Errorf("%s: the backend keeps conversations by this id, so it must stay for good", ids[0])
	}
	alice.ownThread = false
	if got := alice.Thread("1"); got != "1" {
		t.Errorf("without a namespace: %s", got)
	}
}

func TestGate(t *testing.T) {
	const trusted, stranger = "10.0.0.1:1", "203.0.113.7:1"
	header := New(Options{Peers: mustPeers(t, "10.0.0.0/8"), PrincipalHeader: "x-user", TenantHeader: "X-Tenant", Keys: mustRing(t, key1)})
	tenant := New(Options{Peers: mustPeers(t, "10.0.0.0/8"), TenantHeader: "X-Tenant"})
	for _, tt := range []struct {
		name   string
		gate   *Gate
		remote string
		send   http.Header
		status int
		who    string // the tenant and the principal, as "tenant/principal"
	}{
		{"nobody is asked", nil, stranger, http.Header{"X-User": {"alice"}}, 0, "/"},
		{"both", header, trusted, http.Header{"X-User": {"alice"}, "X-Tenant": {"t"}}, 0, "t/alice"},
		{"named in Connection", header, trusted, http.Header{"X-User": {"alice"}, "X-Tenant": {"t"}, "Connection": {"X-User, X-Tenant"}}, 0, "t/alice"},
		{"no user", header, trusted, http.Header{"X-Tenant": {"t"}}, 401, ""},
		{"an empty user", header, trusted, http.Header{"X-User": {""}, "X-Tenant": {"t"}}, 401, ""},
		{"no tenant", header, trusted, http.Header{"X-User": {"alice"}}, 401, ""},
		{"two users", header, trusted, http.Header{"X-User": {"alice", "bob"}, "X-Tenant": {"t"}}, 400, ""},
		{"the user twice", header, trusted, http.Header{"X-User": {"alice", "alice"}, "X-Tenant": {"t"}}, 400, ""},
		{"two tenants", header, trusted, http.Header{"X-User": {"alice"}, "X-Tenant": {"t", "u"}}, 400, ""},
		{"a long user", header, trusted, http.Header{"X-User": {strings.Repeat("a", 2000)}, "X-Tenant": {"t"}}, 400, ""},
		{"a forged user", header, stranger, http.Header{"X-User": {"alice"}}, 403, ""},
		{"a forged user and tenant", header, stranger, http.Header{"X-User": {"alice"}, "X-Tenant": {"t"}}, 403, ""},
		{"a forged empty user", header, stranger, http.Header{"X-User": {""}}, 403, ""},
		{"a forged tenant", header, stranger, http.Header{"X-Tenant": {"t"}}, 403, ""},
		{"nothing from a stranger", header, stranger, http.Header{}, 401, ""},
		{"another spelling", header, trusted, http.Header{"X_user": {"alice"}, "X-Tenant": {"t"}}, 401, ""},
		{"from a unix socket", header, "@", http.Header{"X-User": {"alice"}, "X-Tenant": {"t"}}, 403, ""},
		{"a tenant alone", tenant, trusted, http.Header{"X-Tenant": {"t"}, "X-User": {"alice"}}, 0, "t/"},
		{"a forged tenant alone", tenant, stranger, http.Header{"X-Tenant": {"t"}}, 403, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			who, refused := tt.gate.Identify(&http.Request{Header: tt.send, RemoteAddr: tt.remote}, false)
			status := 0
			if refused != nil {
				status = refused.Status
				if who.HasPrincipal() || who.Owner().ID() != "" {
					t.Error("a request that is refused has a principal")
				}
			}
			if status != tt.status || refused == nil && who.Tenant+"/"+who.principal != tt.who {
				t.Errorf("%d, %s/%s", status, who.Tenant, who.principal)
			}
		})
	}
	// A CORS preflight needs no user, but a forged header in it must be refused.
	if who, refused := header.Identify(&http.Request{RemoteAddr: stranger}, true); refused != nil || who.HasPrincipal() {
		t.Error("a preflight was refused")
	}
	if _, refused := header.Identify(&http.Request{Header: http.Header{"X-User": {"alice"}}, RemoteAddr: stranger}, true); refused == nil || !refused.IsForged {
		t.Error("a preflight passed with a forged header")
	}
}

func TestOtherSpellingsDoNotReachTheBackend(t *testing.T) {
	g := New(Options{PrincipalHeader: "X-User", TenantHeader: "X_Team"})
	in := http.Header{"X-User": {"alice"}, "X_team": {"t"}}
	out := http.Header{ // the headers that ReverseProxy leaves if Connection names X-User
		"X_user": {"bob"}, "X.user": {"bob"}, "X_USER": {"bob"}, "x-user": {"bob"}, "X-Team": {"u"}, "X_team": {"t"},
		"X-Users": {"all"}, "Xuser": {"x"}, "Accept": {"a"},
	}
	g.CleanHeader(out, in)
	want := http.Header{"X-User": {"alice"}, "X_team": {"t"}, "X-Users": {"all"}, "Xuser": {"x"}, "Accept": {"a"}}
	if len(out) != len(want) {
		t.Errorf("%v", out)
	}
	for name, values := range want {
		if !slices.Equal(out[name], values) {
			t.Errorf("%s: %v, want %v", name, out[name], values)
		}
	}
}
