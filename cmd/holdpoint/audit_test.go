//go:build unix

package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"
)

// eventsIn returns the kind of each event in an audit file, in order.
func eventsIn(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		list = append(list, gjson.Get(line, "event").Str)
	}
	return list
}

// TestAuditOfTheBinary: a question is asked. A second process starts and waits for the audit file.
// The file is moved away, HUP arrives, the question is answered, and Holdpoint is killed and
// started again. The two files together must have every event of the question and its answer.
// `holdpoint audit verify` must accept them. If a line is then removed or changed, it must name the
// place.
func TestAuditOfTheBinary(t *testing.T) {
	upstream := httptest.NewServer(&asker{})
	defer upstream.Close()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	environ := []string{"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_AUDIT=file://" + file, "HOLDPOINT_AUDIT_REQUIRED=true", "HOLDPOINT_DRAIN_DELAY=0"}
	p, addr := start(t, environ...)
	id := askedID.FindStringSubmatch(ask(t, addr, "r1", ""))
	if id == nil {
		t.Fatal("no question")
	}
	second := startAs(t, environ...)
	second.wait(t, "another process writes to the file of the audit: this process waits until the other has ended")
	second.Process.Signal(syscall.SIGTERM)
	if code := second.exit(); code != 0 {
		t.Errorf("exit %d of a second process that waited for the file", code)
	}
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	p.Process.Signal(syscall.SIGHUP)
	p.wait(t, "reloaded")
	ask(t, addr, "r2", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1]))
	p.Process.Kill()
	p.exit()
	p, _ = start(t, environ...)
	p.Process.Signal(syscall.SIGTERM)
	head := p.wait(t, "audit head")["head"].(string)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got, want := eventsIn(t, file+".1"), []string{"chain.begun", "interrupt.raised"}; !slices.Equal(got, want) {
		t.Errorf("before HUP %q, want %q", got, want)
	}
	if got, want := eventsIn(t, file), []string{"resume.claiming", "resume.claimed", "interrupt.resolved"}; !slices.Equal(got, want) {
		t.Errorf("behind it %q, want %q", got, want)
	}
	stdout, stderr, code := holdpoint(t, nil, "audit", "verify", "-head", head, file+".1", file)
	if code != 0 || stdout != "5 lines, head "+head+": whole\n" || stderr != "" {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if stdout, _, code = holdpoint(t, nil, "audit", "verify", file); code != 1 || !strings.Contains(stdout, "seq 1 to 2 are missing before it") {
		t.Errorf("without the first file: exit %d, stdout %s", code, stdout)
	}
	stdout, _, _ = holdpoint(t, nil, "audit", "verify", file+".1")
	after := strings.TrimSuffix(strings.TrimPrefix(stdout, "2 lines, head "), ": whole\n")
	if stdout, _, code = holdpoint(t, nil, "audit", "verify", "-after", after, "-head", head, file); code != 0 || stdout != "3 lines, head "+head+": whole\n" {
		t.Errorf("after the head of the first file: exit %d, stdout %s", code, stdout)
	}
	if stdout, _, code = holdpoint(t, nil, "audit", "verify", file, file+".1"); code != 1 {
		t.Errorf("the other way around: exit %d, stdout %s", code, stdout)
	}
	text, _ := os.ReadFile(file)
	lines := strings.SplitAfter(string(text), "\n")
	os.WriteFile(file, []byte(lines[0]+lines[2]), 0o600)
	stdout, _, code = holdpoint(t, nil, "audit", "verify", file+".1", file)
	if code != 1 || !strings.Contains(stdout, "problem: "+file+":2: seq 4 is missing before it: the line was taken out\n") {
		t.Errorf("exit %d, stdout %s", code, stdout)
	}
	changed := strings.Replace(lines[1], `"says":"approved"`, `"says":"denied"`, 1)
	if changed == lines[1] {
		changed = strings.Replace(lines[1], `"run":"r2"`, `"run":"r3"`, 1)
	}
	os.WriteFile(file, []byte(lines[0]+changed+lines[2]), 0o600)
	stdout, _, code = holdpoint(t, nil, "audit", "verify", file+".1", file)
	if code != 1 || changed == lines[1] || !strings.Contains(stdout, "problem: "+file+":2: ") || !strings.Contains(stdout, "that line was changed") {
		t.Errorf("a line was changed: exit %d, stdout %s", code, stdout)
	}
	for _, args := range [][]string{{"audit"}, {"audit", "verify"}, {"audit", "verify", "-head", "1", file}, {"audit", "verify", "-after", "1", file}, {"audit", "verify", file + ".none"}} {
		if stdout, stderr, code := holdpoint(t, nil, args...); code != 2 || stdout != "" || stderr == "" {
			t.Errorf("%q: exit %d, stdout %s, stderr %s", args, code, stdout, stderr)
		}
	}
}

// TestAuditConfiguration: if a setting of the audit is wrong, Holdpoint must report an error at
// start.
func TestAuditConfiguration(t *testing.T) {
	for set, want := range map[string]string{
		"AUDIT=/var/log/audit":      `HOLDPOINT_AUDIT "/var/log/audit": want off, stdout or a file such as file:///var/log/holdpoint/audit.jsonl`,
		"AUDIT=file://audit.jsonl":  `HOLDPOINT_AUDIT "file://audit.jsonl": want the file's whole path after three slashes`,
		"AUDIT_REQUIRED=true":       `HOLDPOINT_AUDIT_REQUIRED "true": there is no audit, want HOLDPOINT_AUDIT set as well`,
		"AUDIT_PAYLOAD=true":        `HOLDPOINT_AUDIT_PAYLOAD "true": there is no audit, want HOLDPOINT_AUDIT set as well`,
		"SHOW_PRINCIPAL=everything": `HOLDPOINT_SHOW_PRINCIPAL "everything": want one of hash, name, none`,
	} {
		_, stderr, code := holdpoint(t, []string{"HOLDPOINT_UPSTREAM=http://localhost:8000", "HOLDPOINT_" + set}, "check")
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", set, code, stderr)
		}
	}
}
