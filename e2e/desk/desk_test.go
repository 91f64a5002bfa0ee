//go:build e2e

package desk

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. It is no expectation of speed.
const patience = 90 * time.Second

var update = flag.Bool("update", false, "write the pictures of docs/desk anew")

// pictures is the folder of those that docs/desk.md shows.
const pictures = "../../docs/desk"

// people have a token each.
var people = map[string]string{
	"maria.okafor": "maria-0123456789abcdef0123456789abcdef",
	"jonas.lind":   "jonas-0123456789abcdef0123456789abcdef",
}

// A scene gets these.
type stage struct {
	Desk   string            `json:"desk"`  // the address of the desk
	Agent  string            `json:"agent"` // and of the proxy
	Fake   string            `json:"fake"`  // and of what is behind it
	Tokens map[string]string `json:"tokens"`
	Shots  string            `json:"shots"` // a folder for pictures, if any are to be made
	Keep   string            `json:"keep"`  // a folder for pictures that nobody keeps
}

// process is a child that ends with the test.
func startChild(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Stdout == nil && cmd.Stderr == nil {
		cmd.Stdout, cmd.Stderr = write, os.Stderr
	} else {
		cmd.Stdout, cmd.Stderr = nil, write
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		read.Close()
	})
	return in, bufio.NewReaderSize(read, 1<<20)
}

// newStage starts a Holdpoint with a desk before a backend.
func newStage(t *testing.T, binary string, more ...string) stage {
	t.Helper()
	backend := newBackend()
	fake := httptest.NewServer(backend)
	t.Cleanup(fake.Close)
	dir := t.TempDir()
	var lines strings.Builder
	for name, token := range people {
		fmt.Fprintf(&lines, "%s sha256:%x\n", name, sha256.Sum256([]byte(token)))
	}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append([]string{
		"HOLDPOINT_UPSTREAM=" + fake.URL, "HOLDPOINT_NAME=billing-eu", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off",
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE=" + tokens, "HOLDPOINT_DRAIN_DELAY=0s",
	}, more...)
	cmd.Stderr = io.Discard
	_, log := startChild(t, cmd)
	s := stage{Fake: fake.URL, Tokens: people, Keep: os.Getenv("E2E_DESK_SHOTS")}
	if *update {
		s.Shots = pictures
	}
	for s.Agent == "" || s.Desk == "" {
		text, err := log.ReadBytes('\n')
		var line struct {
			Msg  string
			Addr string
			Desk string `json:"desk_addr"`
		}
		if err != nil || json.Unmarshal(text, &line) != nil {
			t.Fatalf("Holdpoint did not start: %v %s", err, text)
		}
		switch line.Msg {
		case "desk":
			s.Desk = "http://" + line.Desk
		case "listening":
			s.Agent = "http://" + line.Addr
		}
	}
	go io.Copy(io.Discard, log)
	return s
}

// A driver runs scenes in one browser.
type driver struct {
	mu   sync.Mutex
	in   io.Writer
	seq  int
	wait map[int]chan answer
}

type answer struct {
	Seq   int
	Error string
	Log   []string
}

func startDriver(t *testing.T, chromium string) *driver {
	t.Helper()
	cmd := exec.Command("node", "driver.mjs", chromium)
	in, out := startChild(t, cmd)
	d := &driver{in: in, wait: map[int]chan answer{}}
	if line, err := out.ReadBytes('\n'); err != nil {
		t.Fatalf("the browser did not start: %v %s", err, line)
	}
	go func() {
		for {
			text, err := out.ReadBytes('\n')
			var a answer
			if err == nil {
				err = json.Unmarshal(text, &a)
			}
			d.mu.Lock()
			if err != nil {
				for _, c := range d.wait {
					close(c)
				}
				d.wait = nil
				d.mu.Unlock()
				return
			}
			if c := d.wait[a.Seq]; c != nil {
				c <- a
			}
			delete(d.wait, a.Seq)
			d.mu.Unlock()
		}
	}()
	return d
}

// play has a scene played.
func (d *driver) play(t *testing.T, file, name string, s stage) {
	t.Helper()
	c := make(chan answer, 1)
	d.mu.Lock()
	if d.wait == nil {
		d.mu.Unlock()
		t.Fatal("the browser is gone")
	}
	d.seq++
	d.wait[d.seq] = c
	text, err := json.Marshal(map[string]any{"seq": d.seq, "file": file, "scene": name, "stage": s})
	if err == nil {
		_, err = d.in.Write(append(text, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case a, ok := <-c:
		if !ok {
			t.Fatal("the browser is gone")
		}
		if a.Error != "" {
			t.Errorf("%s\n%s", a.Error, strings.Join(a.Log, "\n"))
		}
	case <-time.After(patience):
		t.Fatal("the scene did not end")
	}
}
