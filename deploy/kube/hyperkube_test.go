//go:build kube && linux

package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// kubernetes is the version of Kubernetes that the node runs.
const kubernetes = "v1.37.2"

// few is a number of packages that can be built in a minute. Kubernetes has 2,800 packages, and at
// most this many may be missing in Go's build cache.
const few = 60

// A module is the folder in which Kubernetes is built. It contains main.go, and a go.mod that is
// derived from the go.mod of Kubernetes.
type module struct{ dir string }

// environ returns the environment of every build. It must be the same each time, or a build could
// not use Go's cache.
func (m module) environ(more ...string) []string {
	return append(append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOWORK=off"), more...)
}

func (m module) run(ctx context.Context, environ []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = m.dir, environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, errs.String())
	}
	return out.String(), nil
}

// newModule makes the folder of a module. It changes versions in the go.mod of Kubernetes: there
// the modules of Kubernetes' own repository have the version v0.0.0, but the module proxy has them
// as v0.37.2 (for Kubernetes v1.37.2).
func newModule(ctx context.Context, more ...string) (module, error) {
	dir, err := os.MkdirTemp("", "hyperkube-")
	if err != nil {
		return module{}, err
	}
	m := module{dir}
	source, err := os.ReadFile("testdata/hyperkube/main.go")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644)
	}
	if err != nil {
		return m, err
	}
	text, err := m.run(ctx, m.environ(more...), "mod", "download", "-json", "k8s.io/kubernetes@"+kubernetes)
	if err != nil {
		return m, err
	}
	var at struct{ GoMod string }
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return m, err
	}
	own, err := os.ReadFile(at.GoMod)
	if err != nil {
		return m, err
	}
	return m, os.WriteFile(filepath.Join(dir, "go.mod"), goMod(string(own)), 0o644)
}

var (
	replaces = regexp.MustCompile(`(?ms)^replace \(.*?^\)\n|^replace [^(\n]*\n`)
	staging  = regexp.MustCompile(`(?m)^(\s+(?:require )?(k8s\.io/[\w-]+)) v0\.0\.0(\s|$)`)
)

// goMod returns the go.mod of hyperkube. It is derived from the parameter own, which is the go.mod
// of Kubernetes, and also requires Kubernetes itself.
func goMod(own string) []byte {
	version := "v0." + strings.TrimPrefix(kubernetes, "v1.")
	own = strings.Replace(own, "module k8s.io/kubernetes", "module hyperkube", 1)
	own = replaces.ReplaceAllString(own, "")
	var names []string
	for _, found := range staging.FindAllStringSubmatch(own, -1) {
		names = append(names, found[2])
	}
	slices.Sort(names)
	own = staging.ReplaceAllString(own, "$1 "+version+"$3")
	own += "\nrequire k8s.io/kubernetes " + kubernetes + "\n"
	for _, name := range slices.Compact(names) {
		own += "\nreplace " + name + " => " + name + " " + version
	}
	return []byte(own + "\n")
}

// built returns the path of the hyperkube binary. The path is next to Go's build cache, so that the
// binary outlives this checkout. The name depends on everything from which the binary is built.
func built() (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOVERSION").Output()
	if err != nil {
		return "", err
	}
	cache, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !filepath.IsAbs(cache) {
		return "", fmt.Errorf("Go's build cache is %q", cache)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, kubernetes, version, runtime.GOARCH)
	for _, path := range []string{"testdata/hyperkube/main.go", "hyperkube_test.go"} {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		sum.Write(b)
	}
	return filepath.Join(filepath.Dir(cache), "holdpoint", "hyperkube-"+kubernetes+"-"+hex.EncodeToString(sum.Sum(nil))[:12]), nil
}

// isWarm returns nil if the hyperkube binary exists, or can be built from Go's cache in about a
// minute. Otherwise it returns an error.
func isWarm(ctx context.Context) error {
	path, err := built()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	cold := fmt.Errorf("Kubernetes %s is not built on this machine (some 25 minutes of CPU)", kubernetes)
	offline := []string{"GOPROXY=off"}
	m, err := newModule(ctx, offline...)
	defer os.RemoveAll(m.dir)
	if err != nil {
		return cold
	}
	stale, err := m.run(ctx, m.environ(offline...), "list", "-trimpath", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", ".")
	if err != nil || strings.Count(stale, "\n") > few {
		return cold
	}
	return nil
}

// hyperkube returns the path of the hyperkube binary. It builds the binary if it is missing.
func hyperkube(ctx context.Context) (string, error) {
	path, err := built()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(path), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // also releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Printf("builds Kubernetes %s: some 25 minutes of CPU the first time, and seconds from Go's cache\n", kubernetes)
	flags := "-s -w"
	minor, _, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v1."), ".")
	for _, name := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]s", name, kubernetes, minor)
	}
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(part)
	for range 3 { // registries fail now and then
		if err = build(ctx, part, flags); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return "", err
	}
	return path, os.Rename(part, path)
}

func build(ctx context.Context, path, flags string) error {
	m, err := newModule(ctx)
	defer os.RemoveAll(m.dir)
	if err != nil {
		return err
	}
	_, err = m.run(ctx, m.environ(), "build", "-trimpath", "-ldflags="+flags, "-o", path, ".")
	return err
}
