package injector

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// A bundle is the content of the Secret: a certificate with its key, and the certificate
// authorities that API servers are to trust. The first authority is the one that issued the
// certificate.
type bundle struct{ cert, key, authorities []byte } // all PEM

// maxClockSkew is the largest difference that is expected between the clocks of two machines.
const maxClockSkew = 5 * time.Minute

// issue makes a certificate for the host name, and a new authority that signs the certificate. The
// key of the authority is thrown away, so the authority signs nothing else.
func issue(name string, now time.Time, lifetime time.Duration) (bundle, error) {
	from, to := now.Add(-min(maxClockSkew, lifetime/10)), now.Add(lifetime)
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return bundle{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return bundle{}, err
	}
	authority := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name + " authority"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return bundle{}, err
	}
	if authority, err = x509.ParseCertificate(authorityDER); err != nil { // parsed again to get its key id
		return bundle{}, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return bundle{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return bundle{}, err
	}
	return bundle{cert: block("CERTIFICATE", leafDER), key: block("PRIVATE KEY", keyDER), authorities: block("CERTIFICATE", authorityDER)}, nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // rand.Read never fails (Go 1.24)
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}

// read returns the certificate of the bundle with its key. It returns an error if the certificate
// is not valid for the host name at the time now, or was not issued by the first authority.
func (b bundle) read(name string, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(b.cert, b.key)
	if err != nil {
		return nil, err
	}
	list := split(b.authorities)
	if len(list) == 0 {
		return nil, errors.New(textNoAuthority)
	}
	pool := x509.NewCertPool()
	pool.AddCert(list[0])
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: now})
	return &pair, err
}

// isRenewalDue reports whether two thirds of a certificate's lifetime have passed.
func isRenewalDue(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 3 * 2))
}

// split parses the certificates of a PEM text. It skips blocks that are not valid certificates.
func split(text []byte) (list []*x509.Certificate) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return list
		}
		if c, err := x509.ParseCertificate(b.Bytes); err == nil && b.Type == "CERTIFICATE" {
			list = append(list, c)
		}
	}
}

// withAuthorities returns the bundle with further authorities: it adds the certificates in texts
// that have not expired. API servers must still trust them, because a replica may still serve a
// certificate that one of them issued.
func (b bundle) withAuthorities(now time.Time, texts ...[]byte) bundle {
	for _, c := range split(bytes.Join(texts, nil)) {
		if one := block("CERTIFICATE", c.Raw); now.Before(c.NotAfter) && !bytes.Contains(b.authorities, one) {
			b.authorities = append(b.authorities, one...)
		}
	}
	return b
}
