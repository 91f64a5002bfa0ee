package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A signer signs as cosign does with a key: an ECDSA signature on P-256 with SHA-256, in base64.
type signer struct{ key *ecdsa.PrivateKey }

func readKey(path string) (*signer, error) {
	if path == "" {
		return nil, errors.New("want a key that signs: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var parsed any
	for block, rest := pem.Decode(text); block != nil && parsed == nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			parsed, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%s has no private key of P-256, as PEM without a password", path)
	}
	return &signer{key}, nil
}

// sign returns the signature of a text. The signature contains nothing random (RFC 6979), so the
// same text always has the same signature.
func (s *signer) sign(text []byte) (string, error) {
	sum := sha256.Sum256(text)
	signature, err := s.key.Sign(nil, sum[:], crypto.SHA256)
	return base64.StdEncoding.EncodeToString(signature), err
}

func hexSum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// encode returns v as JSON, without a line feed at the end and without escapes for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // cannot happen: v has strings, lists and maps
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

const (
	statementType = "application/vnd.in-toto+json"
	predicateType = "https://slsa.dev/provenance/v1"
)

// A subject is a file that an in-toto statement describes. verify.sh relies on the order of these
// two members.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance writes how all files were built: an in-toto statement with SLSA's predicate, in a
// signed DSSE envelope.
func (r *release) provenance() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	var subjects []subject
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{name, map[string]string{"sha256": hexSum(body)}})
	}
	for _, i := range r.images {
		subjects = append(subjects, subject{i.repository, map[string]string{"sha256": strings.TrimPrefix(i.digest, "sha256:")}})
	}
	type resource struct {
		URI    string            `json:"uri"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	statement := encode(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": predicateType,
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          source + "/blob/v" + r.version + "/docs/releases.md#the-build",
				"externalParameters": map[string]any{"version": "v" + r.version},
				"resolvedDependencies": []resource{
					{URI: "git+" + source + "@refs/tags/v" + r.version, Digest: map[string]string{"gitCommit": r.commit}},
					{URI: "pkg:generic/go@" + strings.TrimPrefix(r.goVersion, "go")},
					{URI: "pkg:golang/golang.org/x/crypto/x509roots/fallback@" + r.rootsVersion},
				},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": source + "/blob/v" + r.version + "/deploy/release.sh"}},
		},
	})
	pae := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(statementType), statementType, len(statement), statement)
	signature, err := r.key.sign(pae)
	if err != nil {
		return err
	}
	envelope := encode(struct {
		Type       string              `json:"payloadType"`
		Payload    []byte              `json:"payload"`
		Signatures []map[string]string `json:"signatures"`
	}{statementType, statement, []map[string]string{{"sig": signature}}})
	return r.write("holdpoint_"+r.version+".intoto.jsonl", append(envelope, '\n'))
}

// signatures writes, for each image, the two artifacts that cosign expects next to an image in a
// registry: the signature, and the provenance as an attestation.
func (r *release) signatures() error {
	envelope, err := os.ReadFile(filepath.Join(r.dir, "holdpoint_"+r.version+".intoto.jsonl"))
	if err != nil {
		return err
	}
	for _, i := range r.images {
		payload := encode(map[string]any{
			"critical": map[string]any{
				"identity": map[string]string{"docker-reference": i.repository},
				"image":    map[string]string{"docker-manifest-digest": i.digest},
				"type":     "cosign container image signature",
			},
			"optional": nil,
		})
		signature, err := r.key.sign(payload)
		if err != nil {
			return err
		}
		for kind, layer := range map[string]layer{
			"signature":   {"application/vnd.dev.cosign.simplesigning.v1+json", payload, map[string]string{"dev.cosignproject.cosign/signature": signature}},
			"attestation": {"application/vnd.dsse.envelope.v1+json", envelope, map[string]string{"dev.cosignproject.cosign/signature": "", "predicateType": predicateType}},
		} {
			l := newLayout(r.time)
			config := l.add("application/vnd.oci.image.config.v1+json", encode(map[string]any{
				"architecture": "", "os": "", "config": map[string]any{},
				"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hexSum(layer.body)}},
			}))
			manifest := l.manifest(config, l.addLayer(layer))
			suffix := map[string]string{"signature": ".sig", "attestation": ".att"}[kind]
			l.tag(manifest, strings.Replace(i.digest, ":", "-", 1)+suffix)
			if err := l.write(r, i.file+"_"+kind+".tar"); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	constrained = regexp.MustCompile(`sha256Hash:\s+"([0-9a-f]{64})",\s+certStartOff:\s+\d+,\s+certLength:\s+\d+,\s+distrustAfter:`)
	anyRoot     = regexp.MustCompile(`sha256Hash:\s+"([0-9a-f]{64})"`)
)

// certificates returns, in PEM, the trusted authorities of the bundle (the module
// golang.org/x/crypto/x509roots/fallback). Some authorities are trusted only for certificates
// issued before a date. They are left out, because PEM cannot express the date.
func certificates(bundle string) ([]byte, error) {
	der, err := os.ReadFile(filepath.Join(bundle, "bundle.der"))
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(bundle, "bundle.go"))
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificates(der)
	if err != nil {
		return nil, err
	}
	known, out := map[string]bool{}, map[string]bool{}
	for _, m := range anyRoot.FindAllSubmatch(list, -1) {
		known[string(m[1])] = true
	}
	for _, m := range constrained.FindAllSubmatch(list, -1) {
		out[string(m[1])] = true
	}
	if bytes.Count(list, []byte("distrustAfter:")) != len(out) {
		return nil, errors.New("the bundle of authorities has another form than this program knows")
	}
	var text bytes.Buffer
	for _, c := range parsed {
		sum := hexSum(c.Raw)
		if !known[sum] {
			return nil, fmt.Errorf("the bundle of authorities does not list %s", c.Subject)
		}
		if !out[sum] {
			fmt.Fprintf(&text, "# %s\n", c.Subject)
			if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
				return nil, err
			}
		}
	}
	return text.Bytes(), nil
}
