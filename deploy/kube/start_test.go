//go:build kube && linux

package kube

import (
	"archive/tar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// bring makes an image and imports it on the node. The image has a program, the files that the
// program needs, each at the path it has on this machine, and variables.
func (s *space) bring(name, program, user string, files []string, environ ...string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "image.tar")
	var more []*tar.Header
	for _, f := range files {
		more = append(more, &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f, "/"), Mode: 0o755})
	}
	if err := image(path, []string{name}, program, user, more, environ); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command("ctr", "-n", "k8s.io", "images", "import", path).CombinedOutput(); err != nil {
		s.t.Fatalf("ctr images import: %v\n%s", err, out)
	}
}

// libraries returns the paths of the shared libraries that a program loads.
func libraries(t *testing.T, program string) []string {
	t.Helper()
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestTenMinutes runs the blocks of docs/kubernetes-start.md in one shell, in order, and exactly as
// they are written. In the end a question must be answered, and nothing may be left in the cluster.
// The node has images with the names on the page: Debian's Redis, and the agent of the scenes.
func TestTenMinutes(t *testing.T) {
	s := scene(t)
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	if redis, err = filepath.EvalSymlinks(redis); err != nil { // it is a link to redis-check-rdb in Debian
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "redis-server")
	if b, err := os.ReadFile(redis); err != nil || os.WriteFile(own, b, 0o755) != nil {
		t.Fatal(err)
	}
	s.bring("docker.io/library/redis:7", own, "", libraries(t, redis))
	s.bring("registry.example.com/langgraph:1", filepath.Join(dir, "bin", "agent"), "65532:65532", nil, "LISTEN=:8000")
	text, err := os.ReadFile(filepath.Join(checkout, "docs", "kubernetes-start.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	blocks := pages.Blocks(string(text))
	if len(blocks) != 8 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		script.WriteString(b.Text)
	}
	bin := t.TempDir() // replaces docker and make, because the node has no docker and no registry
	for _, name := range []string{"docker", "make"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.try("delete", "namespace", "chat", "--ignore-not-found", "--wait=false") })
	folder := t.TempDir() // the folder of the reader's clone
	if err := os.Symlink(filepath.Join(checkout, "deploy"), filepath.Join(folder, "deploy")); err != nil {
		t.Fatal(err)
	}
	out, err := s.command("", "bash", "-euo", "pipefail", "-c", "cd "+folder+"; export PATH="+bin+":$PATH\n"+script.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"outcome":{"type":"interrupt"`, "Did a.txt.", "done t1 a.txt"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(out, want), want, out)
		}
	}
	if out, err := s.try("get", "namespace", "chat"); err == nil {
		t.Errorf("something is left: %s", out)
	}
}
