//go:build kube && linux

package kube

import (
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
	"time"
)

// keys writes all keys, certificates and kubeconfigs of a cluster into the folder dir.
func keys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cluster"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := pair(dir, "ca", ca, ca, key, key); err != nil {
		return err
	}
	if err := private(filepath.Join(dir, "sa.key"), key); err != nil { // signs the tokens of service accounts
		return err
	}
	for i, c := range []struct {
		name, user, group string
		hosts             []string
		addresses         []net.IP
	}{
		{"apiserver", "kube-apiserver", "", []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(198, 18, 0, 1), net.IPv4(198, 18, 32, 1)}},
		{"node", "node1", "", []string{"node1"}, []net.IP{net.IPv4(198, 18, 0, 1)}},
		{"admin", "admin", "system:masters", nil, nil},
		{"kubelet", "system:node:node1", "system:nodes", nil, nil},
		{"controllers", "system:kube-controller-manager", "", nil, nil},
		{"scheduler", "system:kube-scheduler", "", nil, nil},
		{"proxy", "system:kube-proxy", "", nil, nil},
	} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i) + 2), Subject: pkix.Name{CommonName: c.user}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			DNSNames: c.hosts, IPAddresses: c.addresses,
		}
		if c.group != "" {
			cert.Subject.Organization = []string{c.group}
		}
		if err := pair(dir, c.name, cert, ca, own, key); err != nil {
			return err
		}
		text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: "https://127.0.0.1:6443", certificate-authority: %[1]s/ca.crt}}]
users: [{name: user, user: {client-certificate: %[1]s/%[2]s.crt, client-key: %[1]s/%[2]s.key}}]
contexts: [{name: node, context: {cluster: node, user: user}}]
current-context: node
`, dir, c.name)
		if err := os.WriteFile(filepath.Join(dir, c.name+".conf"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// pair makes the certificate cert for the key own. The certificate is signed with the key signer of
// the certificate parent. pair writes cert and own into dir, as name.crt and name.key.
func pair(dir, name string, cert, parent *x509.Certificate, own, signer *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, own.Public(), signer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return err
	}
	return private(filepath.Join(dir, name+".key"), own)
}

func private(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
