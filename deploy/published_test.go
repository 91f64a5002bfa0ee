//go:build deploy

package deploy

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// unpacked unpacks an OCI layout from its tar archive into a new folder, and returns the folder.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// blob decodes the JSON of the blob with the digest. dir is the folder of an OCI layout.
func blob[T any](t *testing.T, dir, digest string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "blobs", strings.Replace(digest, ":", "/", 1)))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", digest, err)
	}
	return v
}

type ociManifest struct {
	Manifests []struct {
		Digest   string
		Platform struct{ Architecture, OS string }
	}
	Config struct{ Digest string }
	Layers []struct{ Digest string }
}

// releaseImage checks the image of the release for both architectures. It must contain what the
// Dockerfile's image contains: the binary of the release, the user, the folder for a store in a
// file, and the certificates of the trusted authorities.
func releaseImage(t *testing.T, dist string) {
	dir := unpacked(t, filepath.Join(dist, "holdpoint_0.1.0_image.tar"))
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entry ociManifest
	if err := json.Unmarshal(text, &entry); err != nil || len(entry.Manifests) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	index := blob[ociManifest](t, dir, entry.Manifests[0].Digest)
	var arches []string
	for _, m := range index.Manifests {
		arches = append(arches, m.Platform.OS+"/"+m.Platform.Architecture)
		image := blob[ociManifest](t, dir, m.Digest)
		config := blob[struct {
			Architecture string
			Config       struct {
				User         string
				Entrypoint   []string
				ExposedPorts map[string]any
				Healthcheck  struct{ Test []string }
			}
		}](t, dir, image.Config.Digest)
		c := config.Config
		if config.Architecture != m.Platform.Architecture || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/holdpoint"}) ||
			len(c.ExposedPorts) != 2 || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/holdpoint", "healthcheck", "ready"}) {
			t.Errorf("%s: the configuration is %+v", m.Platform.Architecture, config)
		}
		files := map[string]*tar.Header{}
		bodies := map[string][]byte{}
		for _, l := range image.Layers {
			packed, err := os.ReadFile(filepath.Join(dir, "blobs", strings.Replace(l.Digest, ":", "/", 1)))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			for r := tar.NewReader(plain); ; {
				h, err := r.Next()
				if err == io.EOF {
					break
				}
				if err == nil {
					files[h.Name] = h
					bodies[h.Name], err = io.ReadAll(r)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		want, err := os.ReadFile(filepath.Join(dist, "holdpoint_0.1.0_linux_"+m.Platform.Architecture))
		if err != nil || !bytes.Equal(bodies["holdpoint"], want) || files["holdpoint"].Mode != 0o755 {
			t.Errorf("%s has another binary: %v", m.Platform.Architecture, err)
		}
		if h := files["var/lib/holdpoint/"]; h == nil || h.Uid != 65532 || h.Gid != 65532 {
			t.Errorf("the folder of the store is %+v", h)
		}
		if !strings.Contains(string(bodies["etc/passwd"]), "nonroot:x:65532:65532:") || len(bodies["LICENSE"]) == 0 {
			t.Error("the user or the licence is missing")
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(bodies["etc/ssl/certs/ca-certificates.crt"]) || strings.Count(string(bodies["etc/ssl/certs/ca-certificates.crt"]), "BEGIN") < 100 {
			t.Error("there are no authorities")
		}
	}
	if !slices.Equal(arches, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the image is for %q", arches)
	}
}

// registry runs a registry until the test ends, and returns its address.
func registry(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Getenv("CRANE"), "registry", "serve", "--address", "127.0.0.1:0")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("CRANE: %v", err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	port := regexp.MustCompile(`port (\d+)`)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if m := port.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, said)
			return "127.0.0.1:" + m[1]
		}
	}
	t.Fatal("the registry ended")
	return ""
}

// releasePublished pushes the OCI layouts to a registry with crane, as docs/releases.md says. Then
// other programs must be able to read them: helm pulls the chart, and crane pulls the image of one
// architecture.
func releasePublished(t *testing.T, dist string) {
	host := registry(t)
	digests := map[string]string{}
	for name, repository := range map[string]string{"image": host + "/holdpoint", "chart": host + "/charts/holdpoint"} {
		for _, kind := range []string{"", "_signature", "_attestation"} {
			dir := unpacked(t, filepath.Join(dist, "holdpoint_0.1.0_"+name+kind+".tar"))
			tag := as[struct {
				Manifests []struct{ Annotations map[string]string }
			}](t, json.RawMessage(readFile(t, filepath.Join(dir, "index.json")))).Manifests[0].Annotations["org.opencontainers.image.ref.name"]
			must(t, "CRANE", "push", dir, repository+":"+tag)
			if kind == "" {
				digests[name] = strings.TrimSpace(must(t, "CRANE", "digest", repository+":0.1.0"))
			} else if want := strings.Replace(digests[name], ":", "-", 1) + map[string]string{"_signature": ".sig", "_attestation": ".att"}[kind]; tag != want {
				t.Errorf("%s%s is tagged %s, cosign asks for %s", name, kind, tag, want)
			}
		}
	}
	must(t, "CRANE", "validate", "--remote", host+"/holdpoint:0.1.0", "--fast")
	config := must(t, "CRANE", "config", "--platform", "linux/arm64", host+"/holdpoint:0.1.0")
	if !strings.Contains(config, `"architecture":"arm64"`) {
		t.Errorf("the image's configuration is %s", config)
	}
	pulled := t.TempDir()
	must(t, "HELM", "pull", "oci://"+host+"/charts/holdpoint", "--version", "0.1.0", "--plain-http", "-d", pulled)
	if a, b := readFile(t, filepath.Join(pulled, "holdpoint-0.1.0.tgz")), readFile(t, filepath.Join(dist, "holdpoint-0.1.0.tgz")); !bytes.Equal(a, b) {
		t.Error("helm pulls another chart")
	}
	rendered := must(t, "HELM", "template", filepath.Join(pulled, "holdpoint-0.1.0.tgz"), "--set", "mode=gateway,upstream=http://agent:8000/,store.type=memory,replicas=1")
	if !strings.Contains(rendered, `image: "ghcr.io/holdpoint/holdpoint:0.1.0"`) {
		t.Errorf("the chart does not name the image:\n%s", rendered)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plays runs an installed holdpoint: it must print its version and play the demo.
func plays(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	for what, want := range map[string]string{"version": "holdpoint v0.1.0 ", "demo": "Everything was as promised."} {
		cmd := exec.CommandContext(t.Context(), command, append(slices.Clone(args), what)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s %q %s: %v\n%s", command, args, what, err, out)
		}
	}
}

// releaseByPip installs the wheel for this machine with pip, from the file of the wheel, and runs
// the command holdpoint.
func releaseByPip(t *testing.T, dist string) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	wheels, err := filepath.Glob(filepath.Join(dist, "holdpoint_proxy-0.1.0-py3-none-manylinux*_"+machine+".whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels: %q %v", wheels, err)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	for _, args := range [][]string{
		{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--no-index", "--disable-pip-version-check", wheels[0]},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	plays(t, venv, filepath.Join(venv, "bin", "holdpoint"))
	out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "pip"), "show", "--files", "holdpoint-proxy").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bin/holdpoint") || !strings.Contains(string(out), "Version: 0.1.0") {
		t.Errorf("pip show: %v\n%s", err, out)
	}
}

// releaseByNPM installs the two npm packages for this machine from their files, and runs holdpoint
// by npx. It must work without a registry and without install scripts.
func releaseByNPM(t *testing.T, dist string) {
	platform := "linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--cache", t.TempDir(),
		filepath.Join(dist, "holdpoint-npm-"+platform+"-0.1.0.tgz"), filepath.Join(dist, "holdpoint-npm-0.1.0.tgz"))
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	plays(t, dir, "npx", "--offline", "holdpoint")
	manifest := as[struct {
		Scripts              map[string]string
		OptionalDependencies map[string]string
	}](t, json.RawMessage(readFile(t, filepath.Join(dir, "node_modules", "holdpoint", "package.json"))))
	if len(manifest.Scripts) != 0 || len(manifest.OptionalDependencies) != 6 || manifest.OptionalDependencies["@holdpoint/"+platform] != "0.1.0" {
		t.Errorf("package.json is %+v", manifest)
	}
	// The launcher must return the exit code of the binary. If the package with the binary for this
	// system is missing, its error must name that package.
	launcher := filepath.Join(dir, "node_modules", "holdpoint", "bin", "holdpoint.js")
	if out, err := exec.CommandContext(t.Context(), "node", launcher, "nothing").CombinedOutput(); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("an unknown command: %v\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@holdpoint")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "node", launcher, "version").CombinedOutput(); err == nil || !strings.Contains(string(out), "@holdpoint/"+platform+" is not installed") {
		t.Errorf("without the platform's package: %v\n%s", err, out)
	}
}

// releaseVerified checks verify.sh. It must accept the release. It must refuse the release if one
// byte of a file is changed, if a file is added or missing, or if the key is another one. Even if
// the checksums are made and signed again after a change, the signatures of the images and the
// provenance must reveal the change.
func releaseVerified(t *testing.T, dist, key, public string) {
	verify := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), "./verify.sh", dist, public).CombinedOutput()
		return string(out), err
	}
	if out, err := verify(); err != nil || !strings.Contains(out, "all of it holds") {
		t.Fatalf("%v\n%s", err, out)
	}
	refused := func(what, why string) {
		t.Helper()
		if out, err := verify(); err == nil || !strings.Contains(out, "REFUSED") || !strings.Contains(out, why) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	list, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, entry := range list {
		names[i] = entry.Name()
		path := filepath.Join(dist, names[i])
		body := readFile(t, path)
		changeByte(t, path, len(body)/2)
		why := names[i] + " is not what was released"
		if strings.HasPrefix(names[i], "SHA256SUMS") {
			why = "SHA256SUMS is not signed by this key"
		}
		refused("one byte of "+names[i], why)
		writeFile(t, path, body)
	}

	// Each of these files is changed, and then the checksums are signed again, so they are right.
	// verify.sh must still find the change.
	marks := map[string]string{
		"holdpoint_0.1.0_image_signature.tar": "cosign/signature", "holdpoint_0.1.0_chart_signature.tar": "docker-manifest-digest", "holdpoint_0.1.0_chart_attestation.tar": `"payload"`,
	}
	for name, why := range map[string]string{
		"holdpoint_0.1.0.intoto.jsonl":          "",
		"holdpoint_0.1.0_image.tar":             "does not say that holdpoint_0.1.0_image.tar was built",
		"holdpoint_0.1.0_image_signature.tar":   "is another",
		"holdpoint_0.1.0_chart_signature.tar":   "is another",
		"holdpoint_0.1.0_chart_attestation.tar": "is another",
		"NOTES.md":                              "does not say that NOTES.md was built",
	} {
		path := filepath.Join(dist, name)
		body := readFile(t, path)
		at := len(body) / 2
		if why == "is another" { // a byte of the signed text or of the signature
			at = bytes.Index(body, []byte(marks[name])) + 40
		}
		changeByte(t, path, at)
		restore := signSums(t, dist, key)
		refused(name+", signed anew", why)
		restore()
		writeFile(t, path, body)
	}
	swap := readFile(t, filepath.Join(dist, "holdpoint_0.1.0_image_signature.tar"))
	writeFile(t, filepath.Join(dist, "holdpoint_0.1.0_image_signature.tar"), readFile(t, filepath.Join(dist, "holdpoint_0.1.0_chart_signature.tar")))
	restore := signSums(t, dist, key)
	refused("the chart's signature for the image", "is about another image")
	restore()
	writeFile(t, filepath.Join(dist, "holdpoint_0.1.0_image_signature.tar"), swap)

	more := filepath.Join(dist, "more.sh")
	writeFile(t, more, []byte("x"))
	refused("a file more", "more.sh is not part of the release")
	os.Remove(more)
	notes := readFile(t, filepath.Join(dist, "NOTES.md"))
	os.Remove(filepath.Join(dist, "NOTES.md"))
	refused("a file less", "NOTES.md is missing")
	writeFile(t, filepath.Join(dist, "NOTES.md"), notes)
	own := public
	_, public = makeKey(t)
	refused("another key", "SHA256SUMS is not signed by this key")
	public = own
	if out, err := verify(); err != nil {
		t.Fatalf("the test does not restore what it changes: %v\n%s", err, out)
	}
}

func writeFile(t *testing.T, path string, body []byte) {
	t.Helper()
	if err := os.WriteFile(path, body, 0o644); err != nil {
		t.Fatal(err)
	}
}

func changeByte(t *testing.T, path string, at int) {
	t.Helper()
	body := readFile(t, path)
	body[max(at, 0)] ^= 1
	writeFile(t, path, body)
}

// signSums writes new checksums and signs them. It returns a function that restores the old
// checksums and their signature.
func signSums(t *testing.T, dist, key string) func() {
	t.Helper()
	sumsPath, signaturePath := filepath.Join(dist, "SHA256SUMS"), filepath.Join(dist, "SHA256SUMS.sig")
	sums, signature := readFile(t, sumsPath), readFile(t, signaturePath)
	var anew strings.Builder
	for line := range strings.Lines(string(sums)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sum := sha256.Sum256(readFile(t, filepath.Join(dist, name)))
		fmt.Fprintf(&anew, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	writeFile(t, sumsPath, []byte(anew.String()))
	sh := exec.CommandContext(t.Context(), "sh", "-c", `openssl dgst -sha256 -sign "$1" "$2" | openssl base64 -A > "$3"`, "sh", key, sumsPath, signaturePath)
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	return func() { writeFile(t, sumsPath, sums); writeFile(t, signaturePath, signature) }
}
