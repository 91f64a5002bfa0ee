package repo

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// written reports whether a folder or file is a source of the repository. It returns false for
// files that are installed, built or made by an editor, which .gitignore also leaves out.
func written(rel string, d fs.DirEntry) bool {
	name := d.Name()
	if d.IsDir() {
		hidden := strings.HasPrefix(name, ".") && rel != "." && rel != ".ci"
		return !hidden && !slices.Contains([]string{"node_modules", "__pycache__", "bin"}, name)
	}
	return d.Type().IsRegular() && rel != "holdpoint" && name != ".git" && !strings.HasSuffix(name, ".test") && !strings.HasSuffix(name, ".prof")
}

// files returns the files of the repository for which keep returns true, as paths with slashes
// relative to the root.
func files(t *testing.T, keep func(path string) bool) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !written(rel, d) && d.IsDir():
			return filepath.SkipDir
		case written(rel, d) && !d.IsDir() && keep(rel):
			list = append(list, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no file found: the test looks at the wrong folder")
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// documents returns the paths of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	return files(t, func(path string) bool { return strings.HasSuffix(path, ".md") })
}

// somebodysMachine matches the beginning of a path that exists only on one person's machine.
var somebodysMachine = regexp.MustCompile(`(^|[^\w./-])(/work/|/root/|/home/\w|/Users/\w|/tmp/bash_|/private/(var|tmp)/|[A-Z]:\\Users\\)`)

// registries are hosts of packages and images. A file of the repository must not name one of them,
// because whoever builds Holdpoint chooses the registry: the address of a mirror would fail
// elsewhere, and a public registry fails where only a mirror can be reached. The names are split
// here, because this file is checked too.
var registries = []string{
	"registry." + "npmjs", "registry." + "yarnpkg", "pypi." + "org", "files." + "pythonhosted", "proxy." + "golang.org", "sum." + "golang.org",
	"docker." + "io", "gcr." + "io", "ghcr." + "io", "quay." + "io", ".pkg." + "dev", "artifact" + "ory", "index" + "-url", `"resol` + `ved":`,
}

// named has the files and folders that may name a registry, each with the reason.
var named = map[string]string{
	"Dockerfile": "an image is named with its host; HOLDPOINT's base is a build argument for who has a mirror",
	"deploy/":    "as in the Dockerfile; the chart's image.repository and Kustomize's images: are for who has a mirror",
}

// mayName reports whether a file may name a registry: either the file itself or its folder is in
// named.
func mayName(path string) bool {
	for at := range named {
		if path == at || strings.HasSuffix(at, "/") && strings.HasPrefix(path, at) {
			return true
		}
	}
	return false
}

func TestNoTraceOfAMachine(t *testing.T) {
	home, _ := os.UserHomeDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files(t, func(string) bool { return true }) {
		for n, line := range strings.Split(read(t, path), "\n") {
			if m := somebodysMachine.FindString(line); m != "" && !strings.HasPrefix(path, "internal/test/repo/") {
				t.Errorf("%s:%d holds a path of a machine: %q", path, n+1, strings.TrimSpace(m))
			}
			for _, own := range []string{home, here} {
				if strings.Count(own, "/") > 1 && strings.Contains(line, own) {
					t.Errorf("%s:%d holds a path of this machine: %q", path, n+1, own)
				}
			}
			for _, host := range registries {
				if strings.Contains(line, host) && !mayName(path) {
					t.Errorf("%s:%d names a registry: %q", path, n+1, host)
				}
			}
		}
	}
}

// TestNobodyValidatesWithGJSON: gjson validates recursively without a limit, so a deeply nested
// text overflows the stack and ends the process. The code must use agui.ValidJSON instead, which
// checks the depth first.
func TestNobodyValidatesWithGJSON(t *testing.T) {
	for _, path := range files(t, func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && path != "internal/agui/event.go"
	}) {
		if regexp.MustCompile(`gjson\.Valid(Bytes)?\(`).MatchString(read(t, path)) {
			t.Errorf("%s: use agui.ValidJSON", path)
		}
	}
}

// TestScriptsAreRead: bash must be able to parse each script, even if no test runs the script, and
// the script must be executable.
func TestScriptsAreRead(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there")
	}
	for _, path := range files(t, func(path string) bool { return strings.HasSuffix(path, ".sh") }) {
		name := filepath.Join(root, filepath.FromSlash(path))
		if out, err := exec.CommandContext(t.Context(), bash, "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		if info, err := os.Stat(name); err == nil && info.Mode()&0o100 == 0 && runtime.GOOS != "windows" {
			t.Errorf("%s cannot be started", path)
		}
	}
}
