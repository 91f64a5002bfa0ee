//go:build e2e

package desk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// setUp builds the binary. It installs the npm packages that drive the browser, and the browser if
// it is missing.
var setUp = sync.OnceValues(func() (tools, error) {
	var t tools
	dir, err := os.MkdirTemp("", "holdpoint-desk-")
	if err != nil {
		return t, err
	}
	t.dir, t.binary = dir, filepath.Join(dir, "holdpoint")
	if out, err := exec.Command("go", "build", "-o", t.binary, "holdpoint/cmd/holdpoint").CombinedOutput(); err != nil {
		return t, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if err := installPackages(); err != nil {
		return t, err
	}
	t.chromium, err = findBrowser()
	return t, err
})

type tools struct{ dir, binary, chromium string }

// installPackages installs the npm packages in package-lock.json.
func installPackages() error {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(".cache", 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(".cache", "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	marker := filepath.Join("node_modules", fmt.Sprintf(".complete-%x", sha256.Sum256(lock))[:24])
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	if err := insist("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o644)
}

// findBrowser returns the path of the browser. It finds or installs the browser as package e2e
// does.
func findBrowser() (string, error) {
	if own := os.Getenv("E2E_CHROMIUM"); own != "" {
		return own, nil
	}
	names := []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
	for again := false; ; again = true {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
		}
		if _, err := exec.LookPath("apt-get"); err != nil || again || os.Geteuid() != 0 {
			return "", errors.New("missing on this machine: chromium (as root, apt-get install chromium; or E2E_CHROMIUM=<its binary>)")
		}
		for _, args := range [][]string{{"update"}, {"install", "--no-install-recommends", "chromium"}} {
			if err := insist("env", append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"}, args...)...); err != nil {
				return "", err
			}
		}
	}
}

// insist runs a command that uses the network. If the command fails, insist tries it again, three
// times in all.
func insist(name string, args ...string) error {
	var err error
	for attempt := range 3 {
		time.Sleep(time.Duration(attempt) * 2 * time.Second)
		var out []byte
		if out, err = exec.Command(name, args...).CombinedOutput(); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return err
}
