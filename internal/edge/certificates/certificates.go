// Package certificates keeps what TLS needs from files: a certificate with its key, and the
// authorities that the other side is judged by. The files can be read again, so that a certificate
// is replaced while connections are open.
//
// It does not choose addresses, it does not look for changes, and it logs nothing. Files are PEM
// (RFC 7468).
package certificates

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the files of one side of TLS. An empty name stands for no file. Cert and Key go
// together.
type Files struct {
	Cert string // our certificate, and those between it and the authority
	Key  string // its private key
	CA   string // the authorities that the other side's certificate must come from
}

// A Set is what the files held when they were last good. It is safe for concurrent use.
type Set struct {
	files   Files
	reading sync.Mutex
	now     atomic.Pointer[content]
}

// content is what was read once.
type content struct {
	sum         [sha256.Size]byte
	certificate *tls.Certificate // nil if there is none
	authorities *x509.CertPool   // nil if there is no file of them
}

// Open reads the files for the first time.
func Open(files Files) (*Set, error) {
	s := &Set{files: files}
	if _, err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the files again. changed says that connections made from now on use something else
// than before. On an error everything stays as it was.
func (s *Set) Reload() (changed bool, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	next, err := read(s.files)
	if err != nil {
		return false, err
	}
	before := s.now.Swap(next)
	return before == nil || before.sum != next.sum, nil
}

// Names returns the names of the files.
func (s *Set) Names() []string {
	return slices.DeleteFunc([]string{s.files.Cert, s.files.Key, s.files.CA}, func(file string) bool { return file == "" })
}

// read reads all files.
func read(files Files) (c *content, err error) {
	var texts [3][]byte
	hash := sha256.New()
	for n, name := range []string{files.Cert, files.Key, files.CA} {
		if name != "" {
			if texts[n], err = os.ReadFile(name); err != nil {
				return nil, err
			}
		}
		one := sha256.Sum256(texts[n])
		hash.Write(one[:])
	}
	c = &content{}
	hash.Sum(c.sum[:0])
	if files.Cert != "" {
		pair, err := tls.X509KeyPair(texts[0], texts[1])
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", files.Cert, files.Key, err)
		}
		c.certificate = &pair
	}
	if files.CA != "" {
		c.authorities = x509.NewCertPool()
		if !bytes.Contains(texts[2], []byte("-----BEGIN")) || !c.authorities.AppendCertsFromPEM(texts[2]) {
			return nil, fmt.Errorf("%s: no certificate in PEM form", files.CA)
		}
	}
	return c, nil
}

// Expires returns when our certificate ends, the zero time if there is none.
func (s *Set) Expires() time.Time {
	if c := s.now.Load().certificate; c != nil && c.Leaf != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// Server returns the configuration of a listener. protocols are what is offered (ALPN), the best
// first. Each connection gets what the files held last. With authorities a client needs a
// certificate of theirs.
func (s *Set) Server(protocols ...string) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	out := base.Clone()
	out.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.now.Load()
		c := base.Clone()
		c.Certificates = []tls.Certificate{*now.certificate}
		if now.authorities != nil {
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, now.authorities
			// A ticket would admit a client whose authority has gone since.
			c.SessionTicketsDisabled = true
		}
		return c, nil
	}
	return out
}

// Client returns the configuration of one connection to a server that must prove to be name.
// Without authorities the system's count. protocols are what is offered (ALPN), the best first.
func (s *Set) Client(name string, protocols ...string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, NextProtos: protocols}
	now := s.now.Load()
	c.RootCAs = now.authorities
	if now.certificate != nil {
		c.Certificates = []tls.Certificate{*now.certificate}
	}
	return c
}
