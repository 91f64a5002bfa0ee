//go:build kube && linux

package kube

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// packages are the Debian packages that the node needs besides Kubernetes.
var packages = []servers.Tool{
	servers.Containerd, servers.Runc, servers.CNIPlugins, servers.Etcd, servers.NFTables, servers.IPTables, servers.Conntrack, servers.IPRoute, servers.RedisServer,
}

// TestMain runs in two processes. The first one makes the node, and starts this test program again
// inside the node's namespaces. The second one runs the tests.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	if os.Getenv("KUBE_DIR") != "" {
		os.Exit(inside(m))
	}
	// Linux kills a process with Pdeathsig when the thread that started it ends. So one thread must
	// start all processes, and must not end.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(outside(ctx))
}

// outside makes the node, runs the tests in it, and ends it. It returns the exit code. With
// KUBE=warm it runs no tests and returns 0 if the node cannot be made within a minute.
func outside(ctx context.Context) int {
	warm := os.Getenv("KUBE") == "warm"
	if err := cannot(ctx, warm); err != nil {
		if warm {
			fmt.Printf("make kube is left out: %v\n", err)
			return 0
		}
		fmt.Fprintf(os.Stderr, "make kube: %v\n", err)
		return 1
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "holdpoint-kube-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	n, err := start(ctx, dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "make kube: %v\n", err)
		return 1
	}
	fmt.Printf("a node of Kubernetes %s is up %.0f s after the start\n", kubernetes, time.Since(began).Seconds())
	code := n.run(ctx)
	began = time.Now()
	n.end()
	fmt.Printf("and down in %.1f s\n", time.Since(began).Seconds())
	return code
}

// cannot returns an error that says why no node can be made on this machine, or nil. If warm is
// true, the node also needs a Kubernetes that is already built, or can be built in about a minute.
func cannot(ctx context.Context, warm bool) error {
	if os.Geteuid() != 0 {
		return errors.New("only root may make the namespaces of a node")
	}
	if mounts, err := os.ReadFile("/proc/mounts"); err != nil || !strings.Contains(string(mounts), " /sys/fs/cgroup/memory cgroup ") {
		return errors.New("the node was made for cgroups of version 1, and this machine has others")
	}
	if out, err := exec.CommandContext(ctx, "unshare", "--mount", "--cgroup", "--net", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("this machine gives no namespaces: %s", strings.TrimSpace(string(out)))
	}
	if warm {
		if err := isWarm(ctx); err != nil {
			return fmt.Errorf("%w. make kube builds it (deploy/README.md)", err)
		}
	}
	return servers.Outside(func(t testing.TB) error { servers.Need(t, packages...); return nil })
}

// A node is a running node of Kubernetes. The folder dir has the node's logs and keys.
type node struct {
	dir, bin, cgroup string
	process          *exec.Cmd
}

// start builds the programs that are missing and starts the node. It returns when the node can
// start pods.
func start(ctx context.Context, dir string) (*node, error) {
	n := &node{dir: dir, bin: filepath.Join(dir, "bin"), cgroup: fmt.Sprintf("holdpoint-kube-%d", os.Getpid())}
	for _, folder := range []string{"bin", "pki", "log", "images"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	if err := programs(ctx, n); err != nil {
		return nil, err
	}
	if err := keys(filepath.Join(dir, "pki")); err != nil {
		return nil, err
	}
	sweep()
	logs, err := os.Create(filepath.Join(dir, "log", "node.log"))
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	ready, tells, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	n.process = exec.Command("testdata/node/start.sh", n.cgroup)
	n.process.Env = append(os.Environ(), "KUBE_DIR="+dir, "KUBE_BIN="+n.bin)
	n.process.Stdout, n.process.Stderr = logs, logs
	n.process.ExtraFiles = []*os.File{tells}
	n.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	err = n.process.Start()
	tells.Close()
	if err != nil {
		return nil, err
	}
	word := make([]byte, 16)
	ready.SetReadDeadline(time.Now().Add(5 * time.Minute))
	go func() {
		<-ctx.Done()
		ready.SetReadDeadline(time.Now())
	}()
	if got, _ := ready.Read(word); string(word[:got]) != "ready\n" {
		text := n.logs()
		n.end()
		return nil, fmt.Errorf("the node did not come up:\n%s", text)
	}
	return n, nil
}

// logs returns the last eight lines of each program's log on the node.
func (n *node) logs() string {
	var text strings.Builder
	paths, _ := filepath.Glob(filepath.Join(n.dir, "log", "*.log"))
	for _, path := range paths {
		b, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		fmt.Fprintf(&text, "== %s\n%s\n", filepath.Base(path), strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
	return text.String()
}

// run starts this test program inside the node's namespaces, and returns its exit code.
func (n *node) run(ctx context.Context) int {
	here, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program, err := os.Executable() // os.Args[0] may be relative to a folder that is not the node's working folder
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	pid := n.process.Process.Pid
	args := append([]string{"-t", fmt.Sprint(pid), "-m", "-n", "-u", "-i", fmt.Sprintf("--pid=/proc/%d/ns/pid_for_children", pid), "--", program}, os.Args[1:]...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = append(os.Environ(), "KUBE_DIR="+n.dir, "KUBE_HERE="+here, "PATH="+n.bin+":"+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(n.dir, "pki", "admin.conf"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if err == nil {
		return 0
	}
	if keep := os.Getenv("KUBE_LOGS"); keep != "" {
		os.CopyFS(keep, os.DirFS(filepath.Join(n.dir, "log")))
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	fmt.Fprintf(os.Stderr, "make kube: %v\n%s", err, n.logs())
	return 1
}

// end kills the first process in the node's namespaces. Linux then kills all other processes there.
// Afterwards it removes the node's cgroups.
func (n *node) end() {
	n.process.Process.Kill()
	n.process.Wait()
	for range 50 {
		if remove(n.cgroup) {
			return
		}
		time.Sleep(100 * time.Millisecond) // some processes have not ended yet
	}
}

// remove removes the cgroups with the name, and reports whether all of them are gone.
func remove(cgroup string) bool {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return true
	}
	done := true
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[0] == "0" {
			continue
		}
		top := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(fields[1], "name="), fields[2], cgroup)
		var folders []string
		filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for i := len(folders) - 1; i >= 0; i-- { // subfolders first
			syscall.Rmdir(folders[i])
		}
		if _, err := os.Stat(top); err == nil {
			done = false
		}
	}
	return done
}

// sweep removes the cgroups and folders of earlier nodes whose test process was killed before it
// could remove them.
func sweep() {
	left, _ := filepath.Glob("/sys/fs/cgroup/*/holdpoint-kube-*")
	below, _ := filepath.Glob("/sys/fs/cgroup/memory/*/*/holdpoint-kube-*")
	for _, path := range append(left, below...) {
		name := filepath.Base(path)
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(name, "holdpoint-kube-")); err != nil {
			remove(name)
		}
	}
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), "holdpoint-kube-*", "owner-*"))
	for _, owner := range folders {
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(filepath.Base(owner), "owner-")); err != nil {
			os.RemoveAll(filepath.Dir(owner))
		}
	}
}
