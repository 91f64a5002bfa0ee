package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestReadmeCommands runs the commands under "How to answer" in README.md: it starts the demo,
// sends a message and answers the question. Only the port is changed.
func TestReadmeCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl on this machine; make test asks for it") // make unit must need Go only
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "<!-- try -->")
	if len(parts) != 3 {
		t.Fatalf("README.md: want two markers <!-- try -->, got %d", len(parts)-1)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```").FindAllStringSubmatch(parts[1], -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 3 {
		t.Fatalf("README.md: want three commands, got %q", blocks)
	}
	args, ok := strings.CutPrefix(blocks[0], "go run ./cmd/holdpoint ")
	if !ok {
		t.Fatalf("README.md: the first command is %q", blocks[0])
	}

	demo := exec.Command(binary, strings.Fields(args)...)
	demo.Env = []string{"HOLDPOINT_LISTEN=127.0.0.1:0"}
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { demo.Process.Kill(); demo.Wait() })
	lines := bufio.NewScanner(out)
	next := func(want *regexp.Regexp) []string {
		t.Helper()
		for lines.Scan() {
			if m := want.FindStringSubmatch(lines.Text()); m != nil {
				return m
			}
		}
		t.Fatalf("the demo ends without a line like %s: %v", want, lines.Err())
		return nil
	}
	address := next(regexp.MustCompile(`^Holdpoint in front of it: http://(\S+)`))[1]
	dir := t.TempDir()
	sh := func(block string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(block, "localhost:7080", address))
		command.Dir = dir
		output, err := command.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, block)
		}
		return string(output)
	}

	if got := sh(blocks[1]); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"outcome":{"type":"interrupt"`) {
		t.Errorf("the first command shows no question:\n%s", got)
	}
	first := sh(blocks[2])
	if !strings.Contains(first, "Sent to bob@example.org.") || !strings.Contains(first, "RUN_FINISHED") {
		t.Errorf("the answer does not end the run:\n%s", first)
	}
	if again := sh(blocks[2]); !strings.Contains(again, "RUN_FINISHED") || strings.Contains(again, "RUN_ERROR") {
		t.Errorf("the same answer again does not end the run:\n%s", again)
	}

	if err := demo.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "the agent runs send_email ") {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("the agent ran send_email %d times, want once", runs)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("after TERM: %v", err)
	}
}
