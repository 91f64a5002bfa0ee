package certificates_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/test/authority"
)

func open(t *testing.T, f *authority.Folder) *certificates.Set {
	t.Helper()
	set, err := certificates.Open(certificates.Files{Cert: f.Path("tls.crt"), Key: f.Path("tls.key"), CA: f.Path("ca.crt")})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// meet runs a TLS handshake between server and client. It returns the name in the server's
// certificate, and the errors of both sides.
func meet(server, client *tls.Config) (name string, errs error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	failed := make(chan error, 1)
	go func() {
		err := tls.Server(ours, server).Handshake()
		if err != nil {
			ours.Close()
		}
		failed <- err
	}()
	conn := tls.Client(theirs, client)
	err := conn.Handshake()
	if err == nil {
		name = conn.ConnectionState().PeerCertificates[0].Subject.CommonName
		// With TLS 1.3 the server can refuse after the client has completed its handshake. Only a
		// read gets this refusal.
		go conn.Read(make([]byte, 1))
	}
	return name, errors.Join(err, <-failed)
}

// TestReload: after a reload, new connections must use the changed files. If a file is bad, a
// reload must change nothing.
func TestReload(t *testing.T) {
	a, b := authority.New(t), authority.New(t)
	server, client := authority.NewFolder(t), authority.NewFolder(t)
	server.Issue(a, "old")
	client.Issue(a, "client")
	serves, asks := open(t, server), open(t, client)
	config := serves.Server("http/1.1") // made once, as a listener does
	meets := func(serverName, want string, fails bool) {
		t.Helper()
		if got, err := meet(config, asks.Client(serverName, "http/1.1")); got != want || (err != nil) != fails {
			t.Errorf("%q, %v", got, err)
		}
	}
	reload := func(s *certificates.Set, changes bool, wrong string) {
		t.Helper()
		changed, err := s.Reload()
		if changed != changes || (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("changed %v, %v", changed, err)
		}
	}
	meets("old", "old", false)
	reload(serves, false, "")
	server.Issue(a, "new")
	meets("old", "old", false)
	reload(serves, true, "")
	meets("new", "new", false)
	meets("old", "", true) // the name does not match the certificate

	cert, _ := a.Certificate("half")
	_, key := a.Certificate("other half")
	server.Put(map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": a.PEM()})
	reload(serves, false, "private key does not match")
	reload(serves, false, "private key does not match")
	meets("new", "new", false)
	os.Remove(server.Path("tls.key"))
	reload(serves, false, "no such file")

	client.Issue(b, "client")
	reload(asks, true, "")
	meets("new", "", true) // neither side trusts the other's authority
	cert, key = a.Certificate("client")
	client.Put(map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": []byte("-----BEGIN nothing")})
	reload(asks, false, "no certificate")
	cert, key = b.Certificate("client")
	client.Put(map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": a.PEM()})
	reload(asks, true, "")
	if got, err := meet(config, asks.Client("new")); err == nil {
		t.Errorf("a client of another authority was let in by %s", got)
	}
}
