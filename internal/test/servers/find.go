//go:build unix

package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Tool is a program that must be installed on the machine.
type Tool string

// The tools have the names of their Debian packages.
const (
	RedisServer Tool = "redis-server"
	PostgreSQL  Tool = "postgresql"
	PgBouncer   Tool = "pgbouncer"
	FakeTime    Tool = "faketime"
	Prometheus  Tool = "prometheus" // only promtool is used
	Nginx       Tool = "nginx-light"

	// These programs belong to a node of Kubernetes but are not part of Kubernetes itself
	// (deploy/kube).
	Containerd Tool = "containerd"
	Runc       Tool = "runc"
	CNIPlugins Tool = "containernetworking-plugins"
	Etcd       Tool = "etcd-server"
	NFTables   Tool = "nftables"
	IPTables   Tool = "iptables"
	Conntrack  Tool = "conntrack"
	IPRoute    Tool = "iproute2"
)

// toolPaths maps each tool to patterns of the path of its binary. If there are several versions of
// PostgreSQL, the latest is used.
var toolPaths = map[Tool][]string{
	RedisServer: {"/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"},
	PostgreSQL:  {"/usr/lib/postgresql/*/bin/postgres", "/usr/local/bin/postgres", "/opt/homebrew/bin/postgres"},
	PgBouncer:   {"/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"},
	FakeTime:    {"/usr/lib/*/faketime/libfaketimeMT.so.1"},
	Prometheus:  {"/usr/bin/promtool", "/usr/local/bin/promtool", "/opt/homebrew/bin/promtool"},
	Nginx:       {"/usr/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"},
	Containerd:  {"/usr/bin/containerd"},
	Runc:        {"/usr/sbin/runc", "/usr/bin/runc"},
	CNIPlugins:  {"/usr/lib/cni/bridge"},
	Etcd:        {"/usr/bin/etcd"},
	NFTables:    {"/usr/sbin/nft"},
	IPTables:    {"/usr/sbin/iptables"},
	Conntrack:   {"/usr/sbin/conntrack"},
	IPRoute:     {"/usr/sbin/ip", "/usr/bin/ip", "/sbin/ip"},
}

// find returns the path of a tool, or "" if the tool is missing. For PostgreSQL it follows links,
// because initdb is in the folder of the link's target.
func find(tool Tool) string {
	for _, pattern := range toolPaths[tool] {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			continue
		}
		slices.SortFunc(paths, func(a, b string) int { // puts 9.6 before 15, and 15 before 17
			if d := len(a) - len(b); d != 0 && !strings.Contains(pattern, "/*/faketime") {
				return d
			}
			return strings.Compare(a, b)
		})
		path := paths[len(paths)-1]
		// not for redis-server: it is a link, and the link's name selects what it does
		if tool != PostgreSQL {
			return path
		}
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return path
		}
	}
	return ""
}

// Promtool calls Need and returns the path of promtool.
func Promtool(t testing.TB) string {
	t.Helper()
	Need(t, Prometheus)
	return find(Prometheus)
}

// NginxPath calls Need and returns the path of nginx.
func NginxPath(t testing.TB) string {
	t.Helper()
	Need(t, Nginx)
	return find(Nginx)
}

// Required reports whether a missing server makes a test fail. Otherwise the test is skipped.
func Required() bool { return os.Getenv("TEST_SERVERS") == "required" }

// Need skips the test if one of the tools is missing. If servers are required, Need installs the
// tool instead, and fails the test if this is not possible. Every Start function calls Need.
func Need(t testing.TB, tools ...Tool) {
	t.Helper()
	lacking := missingTools(tools)
	if len(lacking) == 0 {
		return
	}
	if !Required() {
		t.Skipf("missing on this machine: %s (TEST_SERVERS=required installs it as root with apt-get)", names(lacking))
	}
	installMu.Lock()
	defer installMu.Unlock()
	if lacking = missingTools(tools); len(lacking) == 0 {
		return
	}
	if err := install(lacking); err != nil {
		t.Fatalf("missing on this machine: %s: %v", names(lacking), err)
	}
	if lacking = missingTools(tools); len(lacking) > 0 {
		t.Fatalf("missing on this machine: %s, although apt-get installed it", names(lacking))
	}
}

func missingTools(tools []Tool) []Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return find(t) != "" })
}

func names(tools []Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, string(t))
	}
	return strings.Join(list, ", ")
}

var installMu sync.Mutex // for goroutines of this process; lockMachine is for other processes

// install installs Debian packages without starting their services.
func install(tools []Tool) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return errors.New("install it, or run as root where there is apt-get")
	}
	unlock, err := lockMachine()
	if err != nil {
		return err
	}
	defer unlock()
	if tools = missingTools(tools); len(tools) == 0 {
		return nil
	}
	allow, err := forbidServices()
	if err != nil {
		return err
	}
	defer allow()
	packages := []string{"install", "--no-install-recommends", "--yes"}
	for _, t := range tools {
		packages = append(packages, string(t))
	}
	if err := apt("update"); err != nil {
		return err
	}
	return apt(packages...)
}

// apt runs apt-get with args. It tries up to three times, because a registry may fail for a moment
// or another apt-get may hold the lock.
func apt(args ...string) error {
	args = append([]string{"-qq", "-o", "DPkg::Lock::Timeout=300"}, args...)
	var err error
	for attempt := range 3 {
		time.Sleep(time.Duration(attempt) * 5 * time.Second)
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		var out []byte
		if out, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
		err = fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return err
}

// policyScript is a script that Debian packages run before they start a service. If the script
// already exists, it is not changed: in a container it forbids services too.
const policyScript = "/usr/sbin/policy-rc.d"

// forbidServices prevents Debian packages from starting services, until allow is called.
func forbidServices() (allow func(), err error) {
	f, err := os.OpenFile(policyScript, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\n# made by a test while it installs servers, and removed after that\nexit 101\n")
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(policyScript)
		return nil, err
	}
	return func() { os.Remove(policyScript) }, nil
}

// lockMachine takes a lock on this machine, so that other test processes install nothing at the
// same time. unlock releases it.
func lockMachine() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "holdpoint-install.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
