//go:build deploy && linux

package deploy

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// checkout makes a new folder with a copy of each file that Git tracks and from which the binary is
// built. The copies have the present contents. The folder has no .git, so Go writes no commit into
// a binary that is built there.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--", "*.go", "go.mod", "go.sum", "cmd", "docs", "internal", "proxy", "store", "translate")
	list.Dir = ".."
	files, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for path := range strings.SplitSeq(strings.Trim(string(files), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join("..", path))
		if os.IsNotExist(err) {
			continue // deleted, but not committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, path), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// buildAsImage builds the binary in the folder dir with the command of the Dockerfile. It returns
// the path of the binary.
func buildAsImage(t *testing.T, list instructions, dir, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "holdpoint")
	var lines []string
	for _, run := range list.values("RUN") {
		if strings.Contains(run, "go build") {
			lines = append(lines, run)
		}
	}
	if len(lines) != 1 || strings.Count(lines[0], " /out/holdpoint ") != 1 {
		t.Fatalf("the Dockerfile builds /out/holdpoint by %q", lines)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.Replace(lines[0], "/out/holdpoint", out, 1))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "TARGETOS=linux", "TARGETARCH="+arch, "VERSION=v9.8.7")
	cmd.Env = append(cmd.Env, list.values("ENV")...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", lines[0], err, b)
	}
	return out
}

// TestImage runs the steps of the Dockerfile without Docker and without a registry. The binary must
// have the same bytes in any folder, and must be static. It must work as the image's user in a root
// folder that contains nothing else and that this user cannot write to.
func TestImage(t *testing.T) {
	list := dockerfile(t, service{Build: struct{ Context, Dockerfile string }{"..", "Dockerfile"}})
	for word, want := range map[string][]string{
		"USER": {"65532:65532"}, "ENTRYPOINT": {`["/holdpoint"]`}, "EXPOSE": {"7080 7081"},
		"HEALTHCHECK": {`--interval=5s CMD ["/holdpoint", "healthcheck", "ready"]`},
	} {
		if got := list.values(word); !slices.Equal(got, want) {
			t.Errorf("%s is %q", word, got)
		}
	}
	if !slices.Contains(list.values("COPY"), "--from=build /out/holdpoint /holdpoint") {
		t.Error("the image does not get what is built")
	}
	first, second := checkout(t), checkout(t)
	own := ""
	for _, arch := range []string{"amd64", "arm64"} {
		path := buildAsImage(t, list, first, arch)
		a, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(buildAsImage(t, list, second, arch))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two folders make two binaries", arch)
		}
		checkStatic(t, path, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch])
		if arch == runtime.GOARCH {
			own = path
		}
	}
	if t.Failed() {
		return
	}
	checkInEmptyRoot(t, own)
}

// checkStatic checks that the binary needs no loader and no libraries.
func checkStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != machine {
		t.Errorf("%s is for %v", path, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s has %v", path, p.Type)
		}
	}
}

// checkInEmptyRoot runs the binary in a root folder that contains only the binary and the one
// folder that the image has for the store.
func checkInEmptyRoot(t *testing.T, binary string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may change the root of a process: the binary was built, and not run alone")
	}
	root := t.TempDir()
	b, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "holdpoint"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "var/lib/holdpoint")
	if err := os.MkdirAll(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	var runs, resumes atomic.Int32
	env := []string{
		"HOLDPOINT_UPSTREAM=" + asking(t, &runs, &resumes), "HOLDPOINT_LISTEN=127.0.0.1:0",
		"HOLDPOINT_ADMIN_LISTEN=unix:///var/lib/holdpoint/admin.sock", "HOLDPOINT_STORE=bolt:///var/lib/holdpoint/state.db",
		"HOLDPOINT_LOG_FORMAT=json",
	}
	alone := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/holdpoint", args...)
		cmd.Dir, cmd.Env = "/", env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	if out, err := alone("version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "holdpoint v9.8.7 ") {
		t.Fatalf("version: %v\n%s", err, out)
	}
	if out, err := alone("healthcheck", "ready").CombinedOutput(); err == nil {
		t.Errorf("nothing runs, and healthcheck is content: %s", out)
	}
	server := alone()
	logs, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	address := ""
	for lines := bufio.NewScanner(logs); address == "" && lines.Scan(); {
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			address = line.Addr
		} else {
			t.Log(lines.Text())
		}
	}
	if address == "" {
		t.Fatal("Holdpoint ended")
	}
	go io.Copy(io.Discard, logs)
	if out, err := alone("healthcheck", "ready").CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v\n%s", err, out)
	}
	res, err := http.Post("http://"+address+"/", "application/json", strings.NewReader(
		`{"protocolVersion":"1.0","threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"go"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); runs.Load() != 1 || !strings.Contains(string(text), `"outcome":{"type":"interrupt"`) {
		t.Errorf("%d runs came to the agent, and the client got %s", runs.Load(), text)
	}
}
