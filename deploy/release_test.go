//go:build deploy

package deploy

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sources are two folders with what git would have of this tree if all were committed, each in a
// repository of its own.
func sources(t *testing.T) (first, second string) {
	t.Helper()
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	list, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	copied := exec.Command("tar", "-C", "..", "--null", "-T", "-", "--ignore-failed-read", "-cf", "-")
	copied.Stdin = bytes.NewReader(list)
	text, err := copied.Output()
	if err != nil {
		t.Fatal(err)
	}
	unpack := exec.Command("tar", "-C", dir, "-xf", "-")
	unpack.Stdin = bytes.NewReader(text)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "all")
	git(t, dir, "clone", "-q", dir, other)
	return dir, other
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func release(dir, version, targets string) (string, error) {
	cmd := exec.Command(filepath.Join(dir, "deploy", "release.sh"), version)
	cmd.Env = append(os.Environ(), "TARGETS="+targets, "VET=no") // make lint does
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRelease: a release and the image are made of a commit, wherever that is checked out.
func TestRelease(t *testing.T) {
	first, second := sources(t)
	t.Run("files", func(t *testing.T) { releaseFiles(t, first, second) })
	t.Run("image", func(t *testing.T) { image(t, first, second) })
}

// releaseFiles: a release has its binary, its checksum, its bill of materials and its notes. The
// same commit gives the same bytes in another folder. What is no release is refused.
func releaseFiles(t *testing.T, first, second string) {
	const version, target = "v0.1.0", runtime.GOOS + "/" + runtime.GOARCH
	files := map[string]string{}
	for _, dir := range []string{first, second} {
		if out, err := release(dir, version, target); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		list, err := filepath.Glob(filepath.Join(dir, "dist", version, "*"))
		if err != nil || len(list) != 4 {
			t.Fatalf("made %q", list)
		}
		for _, p := range list {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			name, hash := filepath.Base(p), hex.EncodeToString(sum[:])
			if before, ok := files[name]; ok && before != hash {
				t.Errorf("%s is another in another folder", name)
			}
			files[name] = hash
		}
	}
	dist := filepath.Join(first, "dist", version)
	name := fmt.Sprintf("holdpoint_0.1.0_%s_%s", runtime.GOOS, runtime.GOARCH)
	if out, err := exec.Command(filepath.Join(dist, name), "version").CombinedOutput(); err != nil || !strings.Contains(string(out), version) {
		t.Errorf("%v: %s", err, out)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = dist
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), "OK") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	var bill struct {
		Components []struct{ Name, Version string }
	}
	text, err := os.ReadFile(filepath.Join(dist, name+".cdx.json"))
	if err == nil {
		err = json.Unmarshal(text, &bill)
	}
	has := map[string]bool{}
	for _, c := range bill.Components {
		has[c.Name] = c.Version != ""
	}
	if err != nil || !has["github.com/tidwall/gjson"] || !has["go.etcd.io/bbolt"] || has["pgregory.net/rapid"] {
		t.Errorf("the bill of materials: %v: %v", err, has)
	}
	if notes, err := os.ReadFile(filepath.Join(dist, "NOTES.md")); err != nil || !strings.HasPrefix(string(notes), "### ") || strings.Contains(string(notes), "\n## ") {
		t.Errorf("the notes: %v: %.200s", err, notes)
	}
	if out, err := release(first, "v9.9.9", target); err == nil || !strings.Contains(out, "no section for 9.9.9") {
		t.Errorf("a version that the changelog does not have: %v: %s", err, out)
	}
	if out, err := release(first, "0.1", target); err == nil || !strings.Contains(out, "want a version") {
		t.Errorf("no version: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(first, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := release(first, version, target); err == nil || !strings.Contains(out, "not committed") {
		t.Errorf("a tree with changes: %v: %s", err, out)
	}
	if err := os.Remove(filepath.Join(first, "x")); err != nil {
		t.Fatal(err)
	}
}

// buildLine is the line of the Dockerfile that builds the binary, as a shell takes it.
func buildLine(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	var found []string
	for line := range strings.Lines(joined) {
		if run, ok := strings.CutPrefix(line, "RUN "); ok && strings.Contains(run, "go build") {
			found = append(found, strings.TrimSpace(run))
		}
	}
	if len(found) != 1 {
		t.Fatalf("the Dockerfile builds in %q", found)
	}
	return found[0]
}

// image: no container engine is here, so the Dockerfile's own line is run by hand. The binary is
// static, of both architectures, the same bytes in another folder, and runs in a root that has
// nothing else in it but what the Dockerfile copies, as a user without rights.
func image(t *testing.T, first, second string) {
	line := buildLine(t)
	build := func(dir, arch string) []byte {
		root := t.TempDir()
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "/out/holdpoint", filepath.Join(root, "holdpoint")))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch, "VERSION=v0.1.0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		text, err := os.ReadFile(filepath.Join(root, "holdpoint"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var native []byte
	for _, arch := range []string{"amd64", "arm64"} {
		binary := build(first, arch)
		if arch == runtime.GOARCH {
			native = binary
			if !bytes.Equal(binary, build(second, arch)) {
				t.Errorf("%s: another folder gives other bytes", arch)
			}
		}
		f, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", arch)
			}
		}
		if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
			t.Errorf("%s is for %v", arch, f.Machine)
		}
	}

	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "holdpoint"), native, 0o755); err != nil {
		t.Fatal(err)
	}
	in := func(environ []string, args ...string) *exec.Cmd {
		cmd := exec.Command("/holdpoint", args...)
		cmd.Env, cmd.Dir = environ, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532, NoSetGroups: true}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	if out, err := in(nil, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "v0.1.0") {
		t.Fatalf("%v: %s", err, out)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
	}))
	defer upstream.Close()
	addr, admin := free(t), free(t)
	environ := []string{"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_LISTEN=" + addr, "HOLDPOINT_ADMIN_LISTEN=" + admin, "HOLDPOINT_DRAIN_DELAY=0s"}
	p := in(environ, "run")
	var logs bytes.Buffer
	p.Stderr = &logs
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for range 500 {
		if ready = in(environ, "healthcheck", "ready").Run() == nil; ready {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	res, err := http.Post("http://"+addr+"/", "application/json", strings.NewReader(`{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":{},"forwardedProps":{}}`))
	if err != nil {
		t.Error(err)
	} else {
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(text), "RUN_FINISHED") {
			t.Errorf("a run: %s", text)
		}
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil || !ready {
		t.Errorf("ready %v, %v: %s", ready, err, logs.String())
	}
}

// free is an address that nobody has for the moment.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
