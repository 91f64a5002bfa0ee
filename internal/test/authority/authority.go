// Package authority is for tests. It is a certificate authority that writes its certificates into
// files. The files are in a folder that changes in the same way as a kubelet updates the folder of
// a Kubernetes Secret.
//
// The authority revokes nothing, and its certificates are for this machine only.
package authority

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates.
type Authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	next int64
}

// New makes an Authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t), next: 1}
	a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "the authority of a test"},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	c.SerialNumber = big.NewInt(a.next)
	a.next++
	// The certificate is valid from 1999 on, because in a bubble of testing/synctest it is the year
	// 2000.
	c.NotBefore, c.NotAfter = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	parent := a.cert
	parent = cmp.Or(parent, c)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed
}

// Pool returns a pool that contains only this authority's certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// PEM returns the authority's own certificate in PEM.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Certificate returns a new certificate and its key in PEM. The certificate is valid for servers
// and for clients, for 127.0.0.1 and for name. name is also its common name.
func (a *Authority) Certificate(name string) (cert, key []byte) {
	a.t.Helper()
	private := newKey(a.t)
	signed := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, private)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// A Folder looks like the folder that a kubelet creates for a Secret. Its files are links into
// ..data, and ..data is a link to the folder of the current version.
type Folder struct {
	t       testing.TB
	dir     string
	version int
}

// NewFolder creates an empty Folder.
func NewFolder(t testing.TB) *Folder { return &Folder{t: t, dir: t.TempDir()} }

// Path returns the path of the file with that name.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Put replaces all files in one step. files maps names to contents. Each call must have the same
// names.
func (f *Folder) Put(files map[string][]byte) {
	f.t.Helper()
	f.version++
	version := fmt.Sprint("..v", f.version)
	must := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	must(os.Mkdir(f.Path(version), 0o700))
	for name, text := range files {
		must(os.WriteFile(filepath.Join(f.dir, version, name), text, 0o600))
		if f.version == 1 {
			must(os.Symlink(filepath.Join("..data", name), f.Path(name)))
		}
	}
	must(os.Symlink(version, f.Path("..tmp")))
	must(os.Rename(f.Path("..tmp"), f.Path("..data")))
}

// Issue writes a new certificate for name, which a has signed, as tls.crt and tls.key. It writes
// the certificate of a as ca.crt.
func (f *Folder) Issue(a *Authority, name string) {
	f.t.Helper()
	cert, key := a.Certificate(name)
	f.Put(map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": a.PEM()})
}
