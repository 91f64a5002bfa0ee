//go:build deploy

package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// holdpoint is the path of the binary that TestMain has built.
var holdpoint string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	holdpoint = filepath.Join(dir, "holdpoint")
	if runtime.GOOS == "windows" {
		holdpoint += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", holdpoint, "../cmd/holdpoint").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run runs a tool and returns its output. tool is the variable in which the Makefile gives the
// tool's path, such as HELM.
func run(t *testing.T, tool string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	path := os.Getenv(tool)
	if path == "" {
		t.Fatalf("%s is not set: start the tests by make deploy", tool)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	// The tools must not read the kubeconfig, settings and repositories of the user who runs the
	// tests.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "KUBECONFIG="+filepath.Join(home, "none"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// must runs a tool and returns its standard output. If the tool fails, so does the test.
func must(t *testing.T, tool string, args ...string) string {
	t.Helper()
	stdout, stderr, err := run(t, tool, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", tool, strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

// An object is one document of a manifest, decoded from YAML.
type object map[string]any

// parse returns the documents of a YAML stream.
func parse(t *testing.T, text string) []object {
	t.Helper()
	var list []object
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		if err := dec.Decode(&o); err != nil {
			if len(list) == 0 {
				t.Fatalf("no object: %v", err)
			}
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			return list
		}
		if o != nil {
			list = append(list, o)
		}
	}
}

// as converts an object, or a part of one, to the type T. The members are matched by their JSON
// names.
func as[T any](t *testing.T, part any) T {
	t.Helper()
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
