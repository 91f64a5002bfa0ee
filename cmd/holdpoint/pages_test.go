//go:build unix

package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/test/authority"
	"holdpoint/internal/test/pages"
)

// A pageBlock is a code block of a document.
type pageBlock struct {
	pages.Block
	page string // path of the document, such as docs/desk.md
}

// blocksOf returns the code blocks of README.md and of the pages in docs for which keep returns
// true.
func blocksOf(t *testing.T, keep func(pages.Block) bool) []pageBlock {
	t.Helper()
	list := []string{"README.md"}
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []pageBlock
	for _, page := range list {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range pages.Blocks(string(text)) {
			if keep(b) {
				found = append(found, pageBlock{b, page})
			}
		}
	}
	return found
}

const pagePolicy = "access:\n  - names: [ann]\n    agents: [\"*\"]\n    rights: [decide]\n"

// TestSettingsOfPages: holdpoint check must accept each block of variables in a document. If a
// block does not set a backend, the test adds one. The test also makes the files that the blocks
// name.
func TestSettingsOfPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := authority.New(t).Certificate("agent")
	for name, text := range map[string]string{
		"tls.crt": string(cert), "tls.key": string(key), "ca.crt": string(authority.New(t).PEM()), "policy.yaml": pagePolicy,
		"desk-token": deskToken + "\n", "holdpoint": strings.Repeat("0123456789abcdef", 4) + "\n",
	} {
		writeFile(t, dir, name, text)
	}
	blocks := blocksOf(t, func(b pages.Block) bool { return b.Language == "env" })
	if len(blocks) < 20 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		environ := pages.Settings(b.Text)
		for i, setting := range environ {
			name, value, _ := strings.Cut(setting, "=")
			if strings.HasSuffix(name, "_FILE") || name == "HOLDPOINT_POLICY" {
				environ[i] = name + "=" + filepath.Join(dir, path.Base(value))
			}
		}
		if !slices.ContainsFunc(environ, func(s string) bool { return strings.Contains(s, "_UPSTREAM=") }) {
			environ = append(environ, "HOLDPOINT_UPSTREAM=http://localhost:8000/agent")
		}
		if _, stderr, code := holdpoint(t, environ, "check"); code != 0 {
			t.Errorf("%s:%d: %s\n%s", b.page, b.Line, b.Text, stderr)
		}
	}
}

// A typist runs commands of documents in its own folder. There, the command holdpoint is the binary
// under test.
type typist struct {
	*testing.T
	dir     string
	environ []string
	replace []string // pairs of old and new texts, to change commands before they run
	typed   map[string]bool
}

// types finds the block of the page that begins with the parameter begins, runs the block in bash,
// and returns its output.
func (y *typist) types(page, begins string) string {
	y.Helper()
	for _, b := range blocksOf(y.T, runByTypist) {
		if b.page != page || !strings.HasPrefix(b.Text, begins) {
			continue
		}
		y.typed[fmt.Sprint(page, ":", b.Line)] = true
		ctx, cancel := context.WithTimeout(y.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.NewReplacer(y.replace...).Replace(b.Text))
		cmd.Dir = y.dir
		cmd.Env = append([]string{"PATH=" + y.dir + "/bin:" + os.Getenv("PATH"), "BINARY=" + binary}, y.environ...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			y.Errorf("%s:%d: %v\n%s\n%s", page, b.Line, err, b.Text, out)
		}
		return string(out)
	}
	y.Fatalf("%s has no block that begins with %s", page, begins)
	return ""
}

func runByTypist(b pages.Block) bool { return b.Runs == "cmd/holdpoint: TestCommandsOfPages" }

// goRun is a script that takes the place of the command go. For `go run ./cmd/holdpoint` it starts
// the binary that is already built, waits until the binary listens, and stops it.
const goRun = `#!/bin/bash
set -eu
test "$1 $2" = "run ./cmd/holdpoint"
"$BINARY" 2> go.log & pid=$!
until grep -q '"listening"' go.log; do
	kill -0 $pid || { cat go.log >&2; exit 1; }
	sleep 0.02
done
kill $pid
wait $pid
`

// TestCommandsOfPages runs the commands of the documents. It changes only addresses and values that
// differ each time.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine; make test has it", tool) // make unit must need Go only
		}
	}
	upstream := httptest.NewServer(http.HandlerFunc(refunder))
	defer upstream.Close()
	dir := t.TempDir()
	y := &typist{T: t, dir: dir, typed: map[string]bool{}}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "holdpoint")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "go"), []byte(goRun), 0o755); err != nil {
		t.Fatal(err)
	}

	y.environ = []string{"HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_DRAIN_DELAY=0"}
	y.types("README.md", "HOLDPOINT_UPSTREAM=")

	y.replace = []string{"http://localhost:8000/agent", upstream.URL}
	writeFile(t, dir, "request.json", `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`)
	for _, begins := range []string{"curl -sN", "holdpoint doctor http"} {
		if said := y.types("docs/doctor.md", begins); !strings.Contains(said, "the backend asks") {
			t.Errorf("doctor shows no question:\n%s", said)
		}
	}

	secret := strings.TrimSpace(y.types("docs/webhook.md", "echo"))
	environ := []string{"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0", "HOLDPOINT_AUDIT=file://" + filepath.Join(dir, "audit.jsonl")}
	for _, b := range blocksOf(t, func(b pages.Block) bool {
		return b.Language == "env" && strings.Contains(b.Text, "=desk-token\n") && !strings.Contains(b.Text, "postgres:")
	}) {
		y.types(b.page, "openssl")
		for _, setting := range pages.Settings(b.Text) {
			environ = append(environ, strings.NewReplacer(":7082", ":0", "=desk-token", "="+filepath.Join(dir, "desk-token")).Replace(setting))
		}
	}
	environ = append(environ, "HOLDPOINT_WEBHOOK_URL=https://hooks.example.com", "HOLDPOINT_WEBHOOK_SECRET="+secret)
	if _, stderr, code := holdpoint(t, environ, "check"); code != 0 {
		t.Fatalf("holdpoint check: %s", stderr)
	}
	p := startAs(t, environ[:len(environ)-2]...)
	desk := p.wait(t, "desk")["desk_addr"].(string)
	addr := p.wait(t, "listening")["addr"].(string)
	y.replace = []string{"127.0.0.1:7082", desk}
	asked := askedID.FindStringSubmatch(ask(t, addr, "r1", ""))
	if asked == nil {
		t.Fatal("no question")
	}
	first := func(name, text string) string {
		m := regexp.MustCompile(`"` + name + `": ?"([^"]+)"`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %s", name, text)
		}
		return m[1]
	}
	list := y.types("docs/desk.md", "curl -s -H")
	y.environ = []string{"ID=" + first("id", list), "QUESTION=" + asked[1]}
	y.replace = append(y.replace, "sha256:77d2…", first("digest", list))
	if said := y.types("docs/desk.md", "curl -s -X POST"); !strings.Contains(said, `"decided"`) && !strings.Contains(said, `"state":"decided"`) {
		t.Errorf("the desk says %s", said)
	}

	for _, old := range []string{"audit.jsonl.2", "audit.jsonl.1"} {
		if err := os.Rename(filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
		p.Process.Signal(syscall.SIGHUP)
		p.wait(t, "reloaded")
		post(t, addr, "", "thread-"+old, "")
	}
	p.Process.Signal(syscall.SIGTERM)
	head := p.wait(t, "audit head")["head"].(string)
	p.exit()
	stdout, _, _ := holdpoint(t, nil, "audit", "verify", filepath.Join(dir, "audit.jsonl.2"))
	after := regexp.MustCompile(`head (\S+): whole`).FindStringSubmatch(stdout)
	if after == nil {
		t.Fatalf("audit verify prints %s", stdout)
	}
	y.replace = []string{"audit.jsonl.1 audit.jsonl", "audit.jsonl.2", `"t1"`, `"t"`}
	if said := y.types("docs/audit.md", "grep"); !strings.Contains(said, `"by":`) {
		t.Errorf("the lines of a thread do not say who decided at the desk:\n%s", said)
	}
	place, hash, _ := strings.Cut(head, ":")
	number := fmt.Sprint(mustHex(t, hash[:13]))
	y.replace = []string{"640:1b9e…", after[1], "1042:6f0c…", head, "1042 1953574953936755", place + " " + number}
	for _, begins := range []string{"holdpoint audit verify audit.jsonl.2", "holdpoint audit verify -after"} {
		if said := y.types("docs/audit.md", begins); !strings.Contains(said, "whole") {
			t.Errorf("audit verify says %s", said)
		}
	}
	// On the page, the next two commands check one audit file. Here they check the last two of
	// three files, after the last hash of the first file.
	y.replace = append(y.replace, "audit.jsonl\n", "-after "+after[1]+" audit.jsonl.1 audit.jsonl\n")
	for _, begins := range []string{"holdpoint audit verify -head 1042", "holdpoint audit verify -head \"$(printf"} {
		if said := y.types("docs/audit.md", begins); !strings.Contains(said, "whole") {
			t.Errorf("audit verify says %s", said)
		}
	}

	for _, b := range blocksOf(t, runByTypist) {
		if at := fmt.Sprint(b.page, ":", b.Line); !y.typed[at] {
			t.Errorf("%s: nobody has typed this block:\n%s", at, b.Text)
		}
	}
}

func mustHex(t *testing.T, digits string) (n uint64) {
	t.Helper()
	if _, err := fmt.Sscanf(digits, "%x", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
