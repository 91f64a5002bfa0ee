package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binary is the path of the holdpoint binary that TestMain has built.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdpoint")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "holdpoint")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// holdpoint runs the binary. Its environment has only the given variables.
func holdpoint(t *testing.T, environ []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errs, environ
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // texts that they must contain
	}{
		{"-h", 0, "HOLDPOINT_UPSTREAM          address of the backend", ""},
		{"-h runs", 0, "HOLDPOINT_STREAM_IDLE_TIMEOUT (1h)", ""},
		{"-h runs now", 2, "", `holdpoint: there is no topic "runs now"`},
		{"--help", 0, "To begin with:", ""},
		{"help agent", 0, "HOLDPOINT_UPSTREAM (required)", ""},
		{"help", 0, "usage: holdpoint [command]", ""},
		{"check -h", 0, "usage: holdpoint [command]", ""},
		{"version", 0, runtime.Version(), ""},
		{"serve", 2, "", `holdpoint: no command "serve"`},
		{"-v", 2, "", "holdpoint: flag provided but not defined: -v"},
		{"run -v", 2, "", "holdpoint: flag provided but not defined: -v"},
		{"check -serve", 2, "", "holdpoint: -serve is an option of demo only"},
		{"check now", 2, "", `holdpoint: check takes one argument at most, desk or inject, got ["now"]`},
		{"run", 2, "", "config: HOLDPOINT_UPSTREAM is not set"},
		{"", 2, "", "config: HOLDPOINT_UPSTREAM is not set"},
		{"check", 2, "", "config: HOLDPOINT_UPSTREAM is not set"},
		{"check desk", 2, "", "config: HOLDPOINT_DESK_LISTEN is not set, want the address of the desk"},
		{"check desk now", 2, "", `holdpoint: check takes one argument at most, desk or inject, got ["desk" "now"]`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			stdout, stderr, code := holdpoint(t, nil, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit %d, want %d\nstdout %s\nstderr %s", code, tt.code, stdout, stderr)
			}
			if (stdout == "") != (tt.stdout == "") || (stderr == "") != (tt.stderr == "") {
				t.Errorf("on the wrong stream:\nstdout %s\nstderr %s", stdout, stderr)
			}
		})
	}
}

func TestCheckShowsWhatIsInEffect(t *testing.T) {
	stdout, stderr, code := holdpoint(t, []string{
		"HOLDPOINT_UPSTREAM=https://x.example/agent?key=hush", "HOLDPOINT_HEARTBEAT=20s", "HOLDPOINT_PORT=tcp://10.0.0.1:7080",
	}, "check", "-all")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"HOLDPOINT_UPSTREAM https://x.example/agent?key=xxxxx",
		"HOLDPOINT_HEARTBEAT 20s",
		"HOLDPOINT_PAUSE_RETENTION 720h (default)",
		"HOLDPOINT_PORT is ignored: Kubernetes sets such names for a Service called holdpoint",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, stdout)
		}
	}
}

func TestCheckNamesEveryErrorAtOnce(t *testing.T) {
	stdout, stderr, code := holdpoint(t, []string{
		"HOLDPOINT_UPSTREAM=localhost:8000", "HOLDPOINT_HEARTBEAT=1ms", "HOLDPOINT_MAX_FRAME=1", "HOLDPOINT_CANCEL={",
		"HOLDPOINT_SERVICE_PORT=7080",
	}, "check")
	if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 4 {
		t.Errorf("exit %d, stdout %q, stderr\n%s", code, stdout, stderr)
	}
	for _, want := range []string{
		`config: HOLDPOINT_UPSTREAM "localhost:8000": scheme missing, want http:// or https://, such as http://localhost:8000/agent`,
		`config: HOLDPOINT_HEARTBEAT "1ms": want at least 1s, or 0 for none`,
		`config: HOLDPOINT_CANCEL "{": `,
		`config: HOLDPOINT_MAX_FRAME is not a variable of Holdpoint, did you mean HOLDPOINT_MAX_FRAME_BYTES?`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}

// A process is a running holdpoint binary, with its log.
type process struct {
	*exec.Cmd
	log  *json.Decoder
	seen []string         // the messages of said
	said []map[string]any // the lines that were read from the log
}

// start runs the proxy on a free port, waits until it listens, and returns its address.
func start(t *testing.T, environ ...string) (p *process, addr string) {
	t.Helper()
	p = startAs(t, environ...)
	return p, p.wait(t, "listening")["addr"].(string)
}

// startAs starts the proxy as start does, but does not wait until it listens.
func startAs(t *testing.T, environ ...string) *process {
	t.Helper()
	return startCommand(t, "run", environ...)
}

// startCommand starts the given subcommand of the binary. If it listens, it uses a free port.
func startCommand(t *testing.T, name string, environ ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(binary, name)}
	p.Env = append([]string{"HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off"}, environ...)
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	p.log = json.NewDecoder(stderr)
	return p
}

// wait reads the log up to the next line with the message, and returns that line.
func (p *process) wait(t *testing.T, msg string) map[string]any {
	t.Helper()
	for {
		var line map[string]any
		if err := p.log.Decode(&line); err != nil {
			t.Fatalf("the log ends without %q (after %q): %v", msg, p.seen, err)
		}
		p.said = append(p.said, line)
		if p.seen = append(p.seen, line["msg"].(string)); line["msg"] == msg {
			return line
		}
	}
}

// exit waits until the process ends, and returns its exit code.
func (p *process) exit() int {
	for line := map[string]any(nil); p.log.Decode(&line) == nil; line = nil {
		p.said = append(p.said, line)
	}
	p.Wait()
	return p.ProcessState.ExitCode()
}

func TestRunUntilTheSignal(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
	defer backend.Close()
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL+"/agent", "HOLDPOINT_DRAIN_DELAY=2s")

	res, err := http.Get("http://" + addr + "/capabilities")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "/agent/capabilities" {
		t.Errorf("the backend was asked for %q", body)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "draining")
	res, err = http.Get("http://" + addr + "/capabilities") // Holdpoint must still accept requests
	if err != nil {
		t.Errorf("not served just after the signal: %v", err)
	} else {
		res.Body.Close()
	}
	p.wait(t, "stopped")
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d after TERM, want 0", code)
	}
	if !slices.Contains(p.seen, "holdpoint") || slices.Contains(p.seen, "configuration") {
		t.Errorf("the configuration was not logged: %q", p.seen)
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	release := make(chan struct{})
	reached := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(reached); <-release }))
	defer backend.Close()
	defer close(release)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL)
	go http.Get("http://" + addr + "/slow")
	select {
	case <-reached:
	case <-time.After(10 * time.Second):
		t.Fatal("the request did not reach the backend")
	}
	p.Process.Signal(os.Interrupt)
	p.wait(t, "draining")
	p.Process.Signal(os.Interrupt)
	time.Sleep(300 * time.Millisecond) // signals that arrive faster count as one
	begun := time.Now()
	p.Process.Signal(os.Interrupt)
	if code := p.exit(); code != 1 {
		t.Errorf("exit %d after a second signal, want 1", code)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestAnAddressInUse(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, stderr, code := holdpoint(t, []string{upstream, "HOLDPOINT_LISTEN=" + strings.TrimPrefix(taken.URL, "http://")})
	if code != 1 || !strings.Contains(stderr, "cannot listen") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

func TestDemoWithoutTerminal(t *testing.T) {
	stdout, stderr, code := holdpoint(t, []string{"HOLDPOINT_UPSTREAM=is not read"}, "demo")
	if code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, stderr, stdout)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		if line = strings.TrimSpace(line); strings.Contains(line, "executed") || strings.Contains(line, "the backend was") {
			got = append(got, line)
		}
	}
	want := []string{
		"approve: send_email was executed once, to bob@example.org",
		"replay of approve: the backend was not called",
		"edit: send_email was executed once, to alice@example.org",
		"replay of edit: the backend was not called",
		"deny: send_email was not executed",
		"replay of deny: the backend was not called",
		"cancel: send_email was not executed",
		"replay of cancel: the backend was not called",
		"refused with PENDING_INTERRUPTS: the backend was not called",
	}
	if !slices.Equal(got, want) {
		t.Errorf("key lines\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), stdout)
	}
	for _, never := range []string{"\x1b", "%!"} {
		if strings.Contains(stdout, never) {
			t.Errorf("%q in the output", never)
		}
	}
	if !strings.HasSuffix(stdout, "Everything was as promised.\n") {
		t.Errorf("the end is missing in\n%s", stdout)
	}
}
