// Package certificates loads the files of TLS: a certificate with its key, and the authorities that
// verify the certificate of the other side. The files can be read again, so a certificate can be
// replaced while connections are open.
//
// The package does not choose addresses, does not watch files for changes, and does not log. Files
// are PEM (RFC 7468).
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

// Files are the names of the files of one side of TLS. An empty name means no file. Cert and Key
// must both be set or both be empty.
type Files struct {
	Cert string // the certificate of this side, followed by intermediate certificates
	Key  string // the private key of Cert
	CA   string // the authorities that must have issued the other side's certificate
}

// A Set contains the files as they were at the last successful read. It is safe for concurrent use.
type Set struct {
	files    Files
	reloadMu sync.Mutex
	now      atomic.Pointer[content]
}

// content is what one read of the files found.
type content struct {
	hash        [sha256.Size]byte
	certificate *tls.Certificate // nil if there is no certificate
	authorities *x509.CertPool   // nil if there is no CA file
}

// Open reads the files for the first time.
func Open(files Files) (*Set, error) {
	s := &Set{files: files}
	if _, err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the files again. changed reports whether their content differs from the last read.
// Later connections use the new content. If Reload returns an error, connections continue to use
// the old content.
func (s *Set) Reload() (changed bool, err error) {
	s.reloadMu.Lock()
	defer s.reloadMu.Unlock()
	next, err := read(s.files)
	if err != nil {
		return false, err
	}
	before := s.now.Swap(next)
	return before == nil || before.hash != next.hash, nil
}

// Names returns the names of the files that are set.
func (s *Set) Names() []string {
	return slices.DeleteFunc([]string{s.files.Cert, s.files.Key, s.files.CA}, func(file string) bool { return file == "" })
}

// read reads and parses all files.
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
	hash.Sum(c.hash[:0])
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
			return nil, fmt.Errorf(textNoCertificate, files.CA)
		}
	}
	return c, nil
}

// Expiry returns when the certificate of this side expires, or the zero time if there is no
// certificate.
func (s *Set) Expiry() time.Time {
	if c := s.now.Load().certificate; c != nil && c.Leaf != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// Server returns the TLS configuration of a listener. protocols are the protocols to offer (ALPN),
// the preferred one first. Each new connection uses the files as they were last read. If there is a
// CA file, every client needs a certificate of one of its authorities.
func (s *Set) Server(protocols ...string) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	out := base.Clone()
	out.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.now.Load()
		c := base.Clone()
		c.Certificates = []tls.Certificate{*now.certificate}
		if now.authorities != nil {
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, now.authorities
			// With a session ticket, a client whose authority was removed after the ticket was
			// issued could still connect.
			c.SessionTicketsDisabled = true
		}
		return c, nil
	}
	return out
}

// Client returns the TLS configuration of one connection to a server. The certificate of the server
// must be for name. If there is no CA file, the system's authorities verify that certificate.
// protocols are the protocols to offer (ALPN), the preferred one first.
func (s *Set) Client(name string, protocols ...string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, NextProtos: protocols}
	now := s.now.Load()
	c.RootCAs = now.authorities
	if now.certificate != nil {
		c.Certificates = []tls.Certificate{*now.certificate}
	}
	return c
}
