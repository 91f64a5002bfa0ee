//go:build e2e

package desk

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// patience is how long tests wait for something that must happen. No test checks that it happens
// sooner.
const patience = 90 * time.Second

// patienceFor returns how long a scene may take. The scenes in the file languages look at every
// text of the page, and for that bring the page into more than a hundred states.
func patienceFor(file string) time.Duration {
	if file == "languages" {
		return 4 * patience
	}
	return patience
}

var update = flag.Bool("update", false, "write the pictures of docs/desk anew")

// pictures is the folder of the pictures that docs/desk-page.md shows.
const pictures = "../../docs/desk"

// people are the users of the desk. The values are their tokens.
var people = map[string]string{
	"maria.okafor": "maria-0123456789abcdef0123456789abcdef",
	"jonas.lind":   "jonas-0123456789abcdef0123456789abcdef",
}

// A stage is what the Go part of the test passes to a scene.
type stage struct {
	Desk   string            `json:"desk"`  // the address of the desk
	Agent  string            `json:"agent"` // the address of Holdpoint
	Fake   string            `json:"fake"`  // the address of the backend
	Tokens map[string]string `json:"tokens"`
	Shots  string            `json:"shots"` // the folder for the pictures of the documentation, or ""
	Keep   string            `json:"keep"`  // a folder for other pictures
}

// startChild starts a process that is killed at the end of the test. It returns the process's
// standard input and its output.
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

// newStage starts a backend, and in front of it a Holdpoint with a desk.
func newStage(t *testing.T, binary string, more ...string) stage {
	t.Helper()
	s := newBackendStage(t)
	env := append([]string{
		"HOLDPOINT_UPSTREAM=" + s.Fake, "HOLDPOINT_NAME=billing-eu", "HOLDPOINT_DIALECT=agui",
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE=" + tokenFile(t),
	}, more...)
	said := startHoldpoint(t, exec.Command(binary), env, "desk", "listening")
	s.Desk, s.Agent = "http://"+said["desk"].Desk, "http://"+said["listening"].Addr
	return s
}

// newStageApart starts a backend, a Holdpoint in front of it, and a desk as a separate process that
// serves no agent. The Holdpoint and the desk share a Redis.
func newStageApart(t *testing.T, binary string, more ...string) stage {
	t.Helper()
	s := newBackendStage(t)
	redis := servers.StartRedis(t, servers.RedisOptions{})
	servers.StartRedis(t, servers.RedisOptions{ReplicaOf: redis})
	shared := append([]string{
		"HOLDPOINT_STORE=" + redis.URL(), "HOLDPOINT_STORE_REPLICAS=1", "HOLDPOINT_STORE_KEYS=a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	}, more...)
	agent := startHoldpoint(t, exec.Command(binary), append(shared, "HOLDPOINT_UPSTREAM="+s.Fake, "HOLDPOINT_NAME=billing-eu", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DESK_LISTEN=elsewhere"), "listening")
	desk := startHoldpoint(t, exec.Command(binary, "desk"), append(shared, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE="+tokenFile(t)), "desk")
	s.Desk, s.Agent = "http://"+desk["desk"].Desk, "http://"+agent["listening"].Addr
	return s
}

// newBackendStage starts a backend and returns a stage that has no Holdpoint yet.
func newBackendStage(t *testing.T) stage {
	t.Helper()
	fake := httptest.NewServer(newBackend())
	t.Cleanup(fake.Close)
	s := stage{Fake: fake.URL, Tokens: people, Keep: os.Getenv("E2E_DESK_SHOTS")}
	if *update {
		s.Shots = pictures
	}
	return s
}

// tokenFile writes the desk's token file, with a line for each entry of people, and returns the
// path of the file.
func tokenFile(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	for name, token := range people {
		fmt.Fprintf(&lines, "%s sha256:%x\n", name, sha256.Sum256([]byte(token)))
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A line has the members of a line in Holdpoint's log that the tests read.
type line struct {
	Msg  string
	Addr string
	Desk string `json:"desk_addr"`
}

// startHoldpoint starts a process and waits until its log has a line with each of the messages. It
// returns the lines by message.
func startHoldpoint(t *testing.T, cmd *exec.Cmd, env []string, messages ...string) map[string]line {
	t.Helper()
	cmd.Env = append([]string{"HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_DRAIN_DELAY=0s"}, env...)
	cmd.Stderr = io.Discard
	_, log := startChild(t, cmd)
	said := map[string]line{}
	for !containsAll(said, messages) {
		text, err := log.ReadBytes('\n')
		var one line
		if err != nil || json.Unmarshal(text, &one) != nil {
			t.Fatalf("Holdpoint did not start: %v %s", err, text)
		}
		said[one.Msg] = one
	}
	go io.Copy(io.Discard, log)
	return said
}

func containsAll(said map[string]line, messages []string) bool {
	return !slices.ContainsFunc(messages, func(m string) bool { _, ok := said[m]; return !ok })
}

// A driver is a Node process that plays scenes in one browser.
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

// play plays one scene: the one called name in a file of the folder scenes. It returns what was
// wrong, or "".
func (d *driver) play(t *testing.T, file, name string, s stage) (complaint string) {
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
			return a.Error + "\n" + strings.Join(a.Log, "\n")
		}
	case <-time.After(patienceFor(file)):
		t.Fatal("the scene did not end")
	}
	return ""
}
