//go:build unix

package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const certificateFile, keyFile, caFile = "server.crt", "server.key", "ca.crt"

// A certificate contains the names of three files: of the authority, the certificate and the key.
type certificate struct{ ca, cert, key string }

// makeCertificate writes a certificate for localhost and 127.0.0.1 into dir. A new authority signs
// it.
func makeCertificate(t testing.TB, dir string, as *syscall.Credential) certificate {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	// The certificate is valid for a long time, because a test may change the clock.
	from, to := time.Now().Add(-30*24*time.Hour), time.Now().Add(365*24*time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the authority of a test"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: from, NotAfter: to,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	caBytes, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(err)
	serverBytes, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	check(err)
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	c := certificate{filepath.Join(dir, caFile), filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)}
	write(t, c.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caBytes})), as)
	write(t, c.cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serverBytes})), as)
	write(t, c.key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes})), as)
	return c
}
