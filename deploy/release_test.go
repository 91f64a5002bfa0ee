//go:build deploy

package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// sources returns two folders. Each is a git repository with one commit that contains all files of
// this tree, even those that are not committed here.
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
	git(t, dir, "tag", "v0.1.0")
	git(t, dir, "clone", "-q", dir, other)
	return dir, other
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func release(dir, version, key string) (string, error) {
	cmd := exec.Command(filepath.Join(dir, "deploy", "release.sh"), version)
	cmd.Env = append(os.Environ(), "TARGETS=linux/amd64 linux/arm64", "VET=no", "KEY="+key) // make lint runs vet
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// pageBlock returns the block of docs/releases.md that TestRelease runs and that begins with the
// text begins.
func pageBlock(t *testing.T, begins string) string {
	t.Helper()
	for _, b := range pages.Blocks(string(readFile(t, "../docs/releases.md"))) {
		if b.Runs == "deploy: TestRelease" && strings.HasPrefix(b.Text, begins) {
			return b.Text
		}
	}
	t.Fatalf("docs/releases.md has no block %q", begins)
	return ""
}

// inFolder runs a block of commands in the folder dir by bash, and returns the output.
func inFolder(t *testing.T, dir, block string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", block)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s\n%v\n%s", block, err, out)
	}
	return string(out)
}

// makeKey makes a key that signs releases, as docs/releases.md says. It returns the paths of the
// private key and of the public key.
func makeKey(t *testing.T) (key, public string) {
	t.Helper()
	dir := t.TempDir()
	inFolder(t, dir, pageBlock(t, "openssl genpkey"))
	key = filepath.Join(dir, "release.key")
	return key, key + ".pub"
}

// releaseByHand checks a release by the commands that docs/releases.md has for users.
func releaseByHand(t *testing.T, root, public string) {
	dir := t.TempDir()
	for link, to := range map[string]string{"deploy": filepath.Join(root, "deploy"), "dist": filepath.Join(root, "dist"), "release.key.pub": public} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if out := inFolder(t, dir, pageBlock(t, "deploy/verify.sh")); !strings.Contains(out, "all of it holds") {
		t.Error(out)
	}
	inFolder(t, dir, "cp -rL dist/v0.1.0/. . && rm dist deploy")
	if out := inFolder(t, dir, pageBlock(t, "openssl base64")); strings.Count(out, ": OK") != 18 {
		t.Error(out)
	}
}

// TestRelease makes a release from a commit. The release must be the same in every folder, and must
// consist of exactly the files that its key has signed. The image that the Dockerfile builds is
// checked by TestImage.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the release is made of Linux' binaries here, and they are run")
	}
	first, second := sources(t)
	key, public := makeKey(t)
	dist := filepath.Join(first, "dist", "v0.1.0")
	releaseFiles(t, first, second, key)
	if t.Failed() {
		return
	}
	t.Run("by hand", func(t *testing.T) { releaseByHand(t, first, public) })
	t.Run("image", func(t *testing.T) { releaseImage(t, dist) })
	t.Run("published", func(t *testing.T) { releasePublished(t, dist) })
	t.Run("pip", func(t *testing.T) { releaseByPip(t, dist) })
	t.Run("npm", func(t *testing.T) { releaseByNPM(t, dist) })
	t.Run("verified", func(t *testing.T) { releaseVerified(t, dist, key, public) }) // it changes files, so it is last
	releaseRefused(t, first, second, key)
}

// releaseFiles checks that a release has its binaries, packages, images, signatures and notes. The
// same commit must give the same bytes in another folder.
func releaseFiles(t *testing.T, first, second, key string) {
	const version = "v0.1.0"
	files := map[string]string{}
	for _, dir := range []string{first, second} {
		if out, err := release(dir, version, key); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		list, err := filepath.Glob(filepath.Join(dir, "dist", version, "*"))
		if err != nil || len(list) != 20 {
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
	// The binary may have at most 30 MB. docs/dependencies.md says how much of this each dependency
	// takes.
	if info, err := os.Stat(filepath.Join(dist, name)); err != nil || info.Size() > 30e6 {
		t.Errorf("the binary has %d bytes: %v", info.Size(), err)
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
}

// releaseRefused checks that release.sh makes no release in these cases: CHANGELOG.md does not have
// the version, the commit has a second tag or no tag, the folder has changes that are not
// committed, or the key is missing or wrong.
func releaseRefused(t *testing.T, first, second, key string) {
	const version = "v0.1.0"
	if out, err := release(first, "v9.9.9", key); err == nil || !strings.Contains(out, "no section for 9.9.9") {
		t.Errorf("a version that the changelog does not have: %v: %s", err, out)
	}
	for _, none := range []string{"", filepath.Join(first, "LICENSE"), key + ".pub"} {
		if out, err := release(first, version, none); err == nil || !strings.Contains(out, "want KEY") {
			t.Errorf("a key %q: %v: %s", none, err, out)
		}
	}
	git(t, second, "tag", "v0.1.1")
	if out, err := release(second, version, key); err == nil || !strings.Contains(out, "nothing else") {
		t.Errorf("a commit that is tagged otherwise, too: %v: %s", err, out)
	}
	git(t, second, "tag", "-d", "v0.1.0", "v0.1.1")
	if out, err := release(second, version, key); err == nil || !strings.Contains(out, "not at all") {
		t.Errorf("a commit without a tag: %v: %s", err, out)
	}
	if out, err := release(first, "0.1", key); err == nil || !strings.Contains(out, "want a version") {
		t.Errorf("no version: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(first, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := release(first, version, key); err == nil || !strings.Contains(out, "not committed") {
		t.Errorf("a tree with changes: %v: %s", err, out)
	}
	if err := os.Remove(filepath.Join(first, "x")); err != nil {
		t.Fatal(err)
	}
}
