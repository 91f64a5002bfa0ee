//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tries "holdpoint/e2e/newest"
)

// TestNewest starts a process for the smoke test of each row. The first three variables are for
// that process.
const (
	newestRow = "E2E_NEWEST_ROW" // name of the row to test
	newestAt  = "E2E_NEWEST_AT"  // the interpreter of the row, or the folder with its packages
	// If it is set, the test sends a denial where it should approve, and an approval where it
	// should deny.
	newestBad = "E2E_NEWEST_BAD"
	newestAll = "E2E_NEWEST" // "all" tests every row; make newest sets it
)

// TestNewest tests Holdpoint with the newest packages of the registries. It prints a line for each
// row. A bad row does not fail the test, because a new release must not fail an unrelated change.
// The lines are also written to .cache/newest.txt, because go test hides the output of a passing
// test.
func TestNewest(t *testing.T) {
	t.Parallel()
	try := tries.Try{Lookup: lookUp, Install: installNewest, Smoke: smoke, Budget: 4 * time.Minute}
	if os.Getenv(newestAll) == "all" {
		try.All, try.Budget = true, 40*time.Minute
	}
	path := filepath.Join(".cache", "newest.txt")
	os.Remove(path)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	say := func(line string) {
		t.Log(line)
		fmt.Fprintln(file, line)
	}
	lock, err := os.OpenFile(filepath.Join(".cache", "newest.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		say("newest: not run: another process tries the newest packages")
		return
	}
	var rows []tries.Row
	for _, c := range candidates() {
		if c.Pinned, err = c.pins(); errors.Is(err, os.ErrNotExist) {
			continue // E2E_FRAMEWORKS leaves out the tests of this row
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, c.Row)
	}
	try.Lines(t.Context(), rows, say)
}

// TestNewestCanBeRed: the smoke test must pass with the pinned packages. It must fail if the
// opposite of the right answer is sent.
func TestNewestCanBeRed(t *testing.T) {
	need(t, "langgraph", newestLangGraph)
	row := tries.Row{Name: "langgraph"}
	python := interpreter(stack{"langgraph", newestLangGraph})
	good, err := smoke(t.Context(), row, python)
	if err != nil || fmt.Sprint(good) != "[{pause } {approve } {deny }]" {
		t.Errorf("the pinned packages: %v (%v)", good, err)
	}
	t.Setenv(newestBad, "1")
	bad, err := smoke(t.Context(), row, python)
	if err != nil || len(bad) != 3 || bad[0].Failed != "" || bad[1].Failed == "" || bad[2].Failed == "" {
		t.Errorf("a backend that does the contrary: %v (%v)", bad, err)
	}
	if got, err := smoke(t.Context(), row, filepath.Join(t.TempDir(), "python")); err == nil {
		t.Errorf("a backend that does not start: %v", got)
	}
}

// TestSmokeOfTheNewest runs the smoke test of one row. TestNewest starts it in a separate process.
func TestSmokeOfTheNewest(t *testing.T) {
	t.Parallel()
	name := os.Getenv(newestRow)
	if name == "" {
		t.Skip("TestNewest runs it")
	}
	all := candidates()
	one := all[slices.IndexFunc(all, func(c candidate) bool { return c.Name == name })]
	s := one.server(t)
	w := world{b: &backend{name: name, mode: one.mode, server: s}, version: newest}
	if one.mode == "" {
		w.h = ownHoldpoint(t, s.base(), nil)
	} else {
		w.h = ownHoldpoint(t, s.base()+"/"+one.mode, nil)
	}
	if name == clientsRow {
		w.version = filepath.Base(os.Getenv(newestAt))
	}
	swap := os.Getenv(newestBad) != ""
	t.Run("pause", func(t *testing.T) {
		one.pauses(t, w).ran(t, false)
	})
	for _, yes := range []bool{true, false} {
		step := "deny"
		if yes {
			step = "approve"
		}
		t.Run(step, func(t *testing.T) {
			c := one.pauses(t, w)
			c.answer(t, yes != swap)
			c.ran(t, yes)
		})
	}
}

// server starts the server of the row.
func (c candidate) server(t *testing.T) *server {
	at := os.Getenv(newestAt)
	s := stack{c.framework, "newest"}
	switch {
	case c.Name == clientsRow:
		return need(t, c.framework, c.version)
	case c.node():
		s.framework = at
		at = filepath.Join(at, "node_modules", ".bin", "node")
	}
	shared.python.Store(s, at)
	started, err := startServer(s, filepath.Join(shared.dir, "newest"))
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// pins returns the versions of the row's packages that the other tests use, by package.
func (c candidate) pins() (map[string]string, error) {
	if c.Name == clientsRow {
		return map[string]string{"@ag-ui/client": newest}, nil
	}
	if !c.node() {
		text, err := os.ReadFile(filepath.Join(c.framework, "requirements-"+c.version+".txt"))
		return tries.Requirements(string(text)), err
	}
	var list struct{ Dependencies map[string]string }
	text, err := os.ReadFile(filepath.Join(c.framework, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Dependencies, err
}

// smoke runs TestSmokeOfTheNewest for a row in a new process, so that a failure there does not fail
// the calling test. at is the interpreter or folder that installNewest returned.
func smoke(ctx context.Context, row tries.Row, at string) ([]tries.Verdict, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	const test = "TestSmokeOfTheNewest"
	cmd := exec.CommandContext(ctx, self, "-test.run=^"+test+"$", "-test.v", "-test.count=1", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), newestRow+"="+row.Name, newestAt+"="+at, "E2E_BINARY="+shared.binary)
	out, _ := ended(cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return tries.Verdicts(string(out), test)
}

// ended runs a command in its own process group and returns its output. It kills the group when the
// context of the command ends.
func ended(cmd *exec.Cmd) ([]byte, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = errors.New(tries.Why(string(out)))
	}
	return out, err
}

// patiently runs a command that uses a registry, and runs it a second time if it fails. Each
// attempt may take the time longest.
func patiently(ctx context.Context, longest time.Duration, dir, name string, args ...string) (out []byte, err error) {
	for range 2 {
		once, cancel := context.WithTimeout(ctx, longest)
		cmd := exec.CommandContext(once, name, args...)
		cmd.Dir = dir
		out, err = ended(cmd)
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return out, err
}

// lookUp returns the newest versions of the row's packages in their registry.
func lookUp(ctx context.Context, row tries.Row) (map[string]string, error) {
	const longest = 40 * time.Second
	if npmRow(row) {
		found := map[string]string{}
		for _, p := range row.Packages {
			out, err := patiently(ctx, longest, "", "npm", "view", "--loglevel=error", p, "version")
			if err != nil {
				return nil, err
			}
			found[p] = strings.TrimSpace(string(out))
		}
		return found, nil
	}
	atOnce.Do(func() {
		var names []string
		for _, c := range candidates() {
			if !npmRow(c.Row) {
				names = append(names, c.Packages...)
			}
		}
		atOnce.found, _ = askPip(ctx, 2*longest, names)
	})
	if found := maps.Clone(atOnce.found); found != nil {
		maps.DeleteFunc(found, func(p, _ string) bool { return !slices.Contains(row.Packages, p) })
		return found, nil
	}
	return askPip(ctx, longest, row.Packages)
}

// atOnce has the newest versions of the Python packages of all rows, because one pip process for
// all packages is faster. If pip does not find one of the packages, found is nil, and each row asks
// pip for its own packages.
var atOnce struct {
	sync.Once
	found map[string]string
}

// askPip returns the newest versions of Python packages.
func askPip(ctx context.Context, longest time.Duration, packages []string) (map[string]string, error) {
	pip, err := newestPip()
	if err != nil {
		return nil, err
	}
	report := filepath.Join(shared.dir, "newest.json")
	args := []string{"-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--dry-run", "--no-deps", "--ignore-installed", "--report", report}
	if _, err = patiently(ctx, longest, "", pip, append(args, packages...)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	return tries.Report(text, packages)
}

// npmRow reports whether the row's packages are npm packages. Their names begin with a scope.
func npmRow(row tries.Row) bool { return strings.HasPrefix(row.Packages[0], "@") }

// newestPip returns the interpreter of an environment that contains only pip.
func newestPip() (string, error) {
	python, err := requireTools()
	if err != nil {
		return "", err
	}
	return bareEnvironment(python, filepath.Join(".cache", "newest-pip"))
}

// bareEnvironment creates a Python environment without further packages in dir, unless it exists.
// It returns the path of the interpreter.
func bareEnvironment(python, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	interpreter, marker := filepath.Join(dir, "bin", "python"), filepath.Join(dir, ".made")
	if _, err := os.Stat(marker); err == nil {
		return interpreter, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if out, err := exec.Command(python, "-m", "venv", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s -m venv: %w: %s", python, err, tries.Why(string(out)))
	}
	return interpreter, os.WriteFile(marker, nil, 0o644)
}

// installNewest installs a row's packages and their newest dependencies. It returns the path of the
// Python interpreter, or for npm the folder of the packages. It removes earlier installations of
// the row that have other versions.
func installNewest(ctx context.Context, row tries.Row, found map[string]string) (string, error) {
	all := candidates()
	c := all[slices.IndexFunc(all, func(c candidate) bool { return c.Name == row.Name })]
	var versions []string
	for _, p := range slices.Sorted(maps.Keys(found)) {
		versions = append(versions, p+"="+found[p])
	}
	prefix := "newest-" + strings.Trim(strings.NewReplacer("@", "", "/", "-").Replace(row.Name), "-") + "-"
	dir, err := filepath.Abs(filepath.Join(".cache", prefix+digest([]byte(strings.Join(versions, " ")), []byte(strings.Join(c.also, " ")))))
	if err != nil {
		return "", err
	}
	old, err := filepath.Glob(filepath.Join(".cache", prefix+"*"))
	if err != nil {
		return "", err
	}
	for _, one := range old {
		if one, err := filepath.Abs(one); err != nil || one != dir {
			os.RemoveAll(one)
		}
	}
	if npmRow(row) {
		return installNode(ctx, c, dir, found)
	}
	python, err := requireTools()
	if err != nil {
		return "", err
	}
	interpreter, err := bareEnvironment(python, dir)
	if err != nil {
		return "", err
	}
	marker := filepath.Join(dir, ".complete")
	if _, err := os.Stat(marker); err == nil {
		return interpreter, nil
	}
	args := []string{"-m", "pip", "install", "--no-input", "--progress-bar=off", "--disable-pip-version-check"}
	for _, p := range row.Packages {
		args = append(args, p+"=="+found[p])
	}
	if _, err := patiently(ctx, 30*time.Minute, "", interpreter, append(args, c.also...)...); err != nil {
		return "", err
	}
	return interpreter, os.WriteFile(marker, nil, 0o644)
}

// installNode copies the row's server, or the client driver for clientsRow, and installs the
// packages that it imports. Packages that do not belong to the row keep their pinned versions.
func installNode(ctx context.Context, c candidate, dir string, found map[string]string) (string, error) {
	folder := c.framework
	if c.Name == clientsRow {
		folder, dir = "client", filepath.Join(dir, found["@ag-ui/client"])
	}
	marker := filepath.Join(dir, ".complete")
	if _, err := os.Stat(marker); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if !f.Type().IsRegular() || f.Name() == "package-lock.json" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	args := []string{"install", "--no-audit", "--no-fund", "--loglevel=error"}
	if c.Name == clientsRow {
		version := found["@ag-ui/client"]
		args = append(args, "agui-client-"+version+"@npm:@ag-ui/client@"+version)
	} else {
		for _, p := range c.Packages {
			args = append(args, p+"@"+found[p])
		}
	}
	if _, err := patiently(ctx, 30*time.Minute, dir, "npm", args...); err != nil {
		return "", err
	}
	return dir, os.WriteFile(marker, nil, 0o644)
}

// setUpNewest prepares the binary and the clients for a smoke test or for make newest.
func setUpNewest() error {
	dir, err := os.MkdirTemp("", "holdpoint-e2e-")
	if err != nil {
		return err
	}
	atEnd(func() { os.RemoveAll(dir) })
	shared.dir, shared.binary = dir, filepath.Join(dir, "holdpoint")
	if ready := os.Getenv("E2E_BINARY"); ready != "" {
		shared.binary = ready
	} else if err := buildBinary(shared.binary); err != nil {
		return err
	}
	if os.Getenv(newestRow) == clientsRow {
		at := os.Getenv(newestAt)
		shared.through, _, err = drive("newest", at, filepath.Base(at))
		return err
	}
	unlock, err := lockCache()
	if err != nil {
		return err
	}
	err = installPackages("client")
	unlock()
	if err == nil {
		shared.through, err = startDriver("through")
	}
	return err
}
