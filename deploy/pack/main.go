// Holdpoint pack makes the parts of a release that are not binaries: images and the chart as OCI
// layouts with their signatures, wheels for Python, packages for npm, the provenance, and the
// signed checksums of all files. deploy/release.sh calls it.
//
// It reads only files, and needs no container engine, no registry and no network. If the files, the
// commit and the key are the same, the output has the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	var r release
	var version, key, roots string
	var seconds int64
	flag.StringVar(&r.dir, "dir", "", "the folder with the binaries, which gets the rest")
	flag.StringVar(&version, "version", "", "such as v0.1.0")
	flag.StringVar(&r.commit, "commit", "", "the commit that was built")
	flag.Int64Var(&seconds, "time", 0, "the commit's time, in seconds since 1970")
	flag.StringVar(&r.goVersion, "go", "", "the version of Go that built it")
	flag.StringVar(&roots, "roots", "", "the folder of golang.org/x/crypto/x509roots/fallback/bundle")
	flag.StringVar(&r.rootsVersion, "roots-version", "", "the version of that module")
	flag.StringVar(&r.license, "license", "LICENSE", "the licence's file")
	flag.StringVar(&key, "key", "", "the PEM file of the private key that signs, of the curve P-256")
	flag.Parse()
	err := func() (err error) {
		r.version, r.time = strings.TrimPrefix(version, "v"), time.Unix(seconds, 0).UTC()
		if r.key, err = readKey(key); err != nil {
			return err
		}
		if r.roots, err = certificates(roots); err != nil {
			return err
		}
		return r.make()
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// A release is a release that is being made in the folder dir.
type release struct {
	dir, version, commit, goVersion, license string
	rootsVersion                             string
	roots                                    []byte // certificates of trusted authorities, in PEM
	time                                     time.Time
	key                                      *signer

	images []image // the images for the registry, which provenance and signatures name
}

// An image is an OCI image or chart of the release. file is its layout in the release's folder. It
// is pushed to repository, and its signature names the digest.
type image struct{ repository, digest, file string }

// A binary is the holdpoint binary for one system and processor.
type binary struct {
	os, arch string
	body     []byte
}

const source = "https://github.com/holdpoint/holdpoint"

var binaryName = regexp.MustCompile(`^holdpoint_[0-9.]+_([a-z]+)_([a-z0-9]+)(\.exe)?$`)

func (r *release) make() error {
	list, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var binaries []binary
	for _, entry := range list {
		if m := binaryName.FindStringSubmatch(entry.Name()); m != nil {
			body, err := os.ReadFile(filepath.Join(r.dir, entry.Name()))
			if err != nil {
				return err
			}
			binaries = append(binaries, binary{m[1], m[2], body})
		}
	}
	if len(binaries) == 0 {
		return fmt.Errorf("%s has no binary", r.dir)
	}
	license, err := os.ReadFile(r.license)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return r.imageLayout(binaries, license) },
		r.chartLayout,
		func() error { return r.wheels(binaries, license) },
		func() error { return r.npmPackages(binaries, license) },
		r.provenance,
		r.signatures,
		r.sums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file into the folder of the release.
func (r *release) write(name string, body []byte) error {
	return os.WriteFile(filepath.Join(r.dir, name), body, 0o644)
}

// files returns the names of the files in the folder of the release, sorted.
func (r *release) files() ([]string, error) {
	list, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range list {
		if !entry.Type().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", entry.Name())
		}
		names = append(names, entry.Name())
	}
	slices.Sort(names)
	return names, nil
}

// sums writes the checksums of all files so far into SHA256SUMS, and the signature of that text
// into another file.
func (r *release) sums() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", hexSum(body), name)
	}
	signature, err := r.key.sign([]byte(sums.String()))
	if err != nil {
		return err
	}
	return errors.Join(r.write("SHA256SUMS", []byte(sums.String())), r.write("SHA256SUMS.sig", []byte(signature+"\n")))
}
