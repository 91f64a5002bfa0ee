//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// exampleStacks lists the folders of examples/. Each is the name of a stack, and the example uses
// the packages of that stack.
var exampleStacks = []stack{
	{"langgraph", "0.0.47"}, {"agentframework", "1.7.0"}, {"strands", "1.62.0"}, {"strands-ts", "1.19.0"},
	{"pydanticai", "2.68.0"}, {"mastra", "1.1.2"}, {"ag2", "1.2.1"}, {"crewai", "1.0.0"}, {"adk", "0.11.0"},
	{"agno", "3.1.10"}, {"langgraph-server-py", "0.16.7"},
}

// TestExamples starts each example with the one command of its README. It denies one question. Then
// it follows the README: it gets a second question, approves it, and sends the approval again. The
// agent prints a line for each file that it deletes. It must have deleted the approved file once,
// and the denied file not at all.
func TestExamples(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../examples/*/run.sh")
	if err != nil || len(folders) != len(exampleStacks) {
		t.Fatalf("%d folders in examples/ have a run.sh (%v), and this test knows %d", len(folders), err, len(exampleStacks))
	}
	for _, s := range exampleStacks {
		t.Run(s.framework, func(t *testing.T) {
			t.Parallel()
			samePins(t, s)
			says := readExample(t, s)
			e := startExample(t, s)
			thread := s.framework + "-no"
			e.answers(t, e.post(t, says.deny(thread, e.asks(t, e.post(t, ask(thread, "no.txt"))))))
			dir := t.TempDir()
			e.asks(t, e.shell(t, dir, says.ask))
			if n := e.deleted("a.txt"); n != 0 {
				t.Fatalf("the file was deleted %d times before anybody said yes", n)
			}
			e.answers(t, e.shell(t, dir, says.approve))
			if !eventually(func() bool { return e.deleted("a.txt") > 0 }) {
				t.Fatalf("nothing was deleted after a yes:\n%s", e.log.tail(40))
			}
			e.answers(t, e.shell(t, dir, says.approve))
			e.end(t)
			if n := e.deleted("a.txt"); n != 1 {
				t.Errorf("the file was deleted %d times after one yes, said twice", n)
			}
			if n := e.deleted("no.txt"); n != 0 {
				t.Errorf("the file was deleted %d times after a no", n)
			}
		})
	}
}

// An exampleReadme has the commands in an example's README that ask and approve, and the payload of
// a no.
type exampleReadme struct{ ask, approve, no string }

var (
	shownBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	shownNo    = regexp.MustCompile("a\\s+no\\s+is\\s+`([^`]+)`")
)

func readExample(t *testing.T, s stack) exampleReadme {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "examples", s.framework, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, no := shownBlock.FindAllStringSubmatch(string(b), -1), shownNo.FindStringSubmatch(string(b))
	if len(blocks) != 3 || no == nil || strings.TrimSpace(blocks[0][1]) != "./run.sh" {
		t.Fatalf("the README of %s does not have run.sh, a question, an answer and what a no is", s.framework)
	}
	return exampleReadme{ask: blocks[1][1], approve: blocks[2][1], no: no[1]}
}

func ask(thread, file string) string {
	return `{"protocolVersion":"1.0","threadId":"` + thread + `","runId":"r1","state":{},"tools":[],"context":[],
		"forwardedProps":{},"messages":[{"id":"m1","role":"user","content":"Delete ` + file + `"}]}`
}

func (r exampleReadme) deny(thread, question string) string {
	return fmt.Sprintf(`{"protocolVersion":"1.0","threadId":%q,"runId":"r2","state":{},"tools":[],"context":[],
		"forwardedProps":{},"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]}`, thread, question, r.no)
}

// samePins checks that an example pins the same versions as the tests.
func samePins(t *testing.T, s stack) {
	t.Helper()
	there := filepath.Join("..", "examples", s.framework)
	if !s.node() {
		want, err := os.ReadFile(filepath.Join(s.framework, "requirements-"+s.version+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(there, "requirements.txt")); err != nil || string(got) != string(want) {
			t.Fatalf("%s/requirements.txt is not that of e2e (%v)", there, err)
		}
		return
	}
	want, got := locked(t, s.framework), locked(t, there)
	if len(got) < 5 {
		t.Fatalf("%s: %d packages are locked", there, len(got))
	}
	for name, version := range got {
		if want[name] != version {
			t.Errorf("%s: %s is %s, and %q in e2e", there, name, version, want[name])
		}
	}
}

// locked returns what a folder's package-lock.json installs: versions by path.
func locked(t *testing.T, folder string) map[string]string {
	t.Helper()
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	b, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err == nil {
		err = json.Unmarshal(b, &lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for path, p := range lock.Packages {
		if path != "" {
			versions[path] = p.Version
		}
	}
	return versions
}

// An example is a running example. The output of all its processes is in the log.
type example struct {
	*process
	stack
	address   string // Holdpoint's address
	agentPort string
}

// startExample runs run.sh in a copy of examples/, so that nothing is written into the repository,
// and installed packages can be linked in.
func startExample(t *testing.T, s stack) *example {
	t.Helper()
	d := onDemand[s]
	if d == nil {
		d = &demand{}
	}
	d.install(s)
	if d.err != nil {
		t.Fatal(d.err)
	}
	examples := filepath.Join(t.TempDir(), "examples")
	folder := filepath.Join(examples, s.framework)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "examples", s.framework))); err != nil {
		t.Fatal(err)
	}
	start, err := os.ReadFile("../examples/start.sh")
	if err == nil {
		err = os.WriteFile(filepath.Join(examples, "start.sh"), start, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	more := []string{}
	if s.node() {
		packages, err := filepath.Abs(filepath.Join(s.framework, "node_modules"))
		if err == nil {
			err = os.RemoveAll(filepath.Join(folder, "node_modules"))
		}
		if err == nil {
			err = os.Symlink(packages, filepath.Join(folder, "node_modules"))
		}
		if err != nil {
			t.Fatal(err)
		}
	} else {
		more = append(more, "VENV="+filepath.Dir(filepath.Dir(interpreter(s))))
	}
	for attempt := 0; ; attempt++ {
		e, err := tryExample(s, folder, more)
		if err == nil {
			t.Cleanup(e.kill)
			return e
		}
		if attempt == 2 { // in the first attempt another process may have used the port
			t.Fatal(err)
		}
	}
}

var (
	exampleListens = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	openQuestion   = regexp.MustCompile(`"interrupts":\[{"id":"([^"]+)"`)
)

func tryExample(s stack, folder string, more []string) (*example, error) {
	port, err := quietPort()
	if err != nil {
		return nil, err
	}
	// The background part of this shell ends the example when the test's end of the pipe is closed,
	// however the tests end. The example replaces the shell, because in the background of the shell
	// it would not get Ctrl-C.
	const watch = `exec 3<&0 1>&2; { read -r _ <&3; kill -TERM $$; } >/dev/null 2>&1 & exec "$0" 3<&- </dev/null`
	cmd := exec.Command("/bin/sh", "-c", watch, filepath.Join(folder, "run.sh"))
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(folder),
		"LANGSMITH_TRACING=false", "HOLDPOINT=" + shared.binary, "AGENT_PORT=" + port,
		"HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_DRAIN_DELAY=0s",
	}, more...)
	p, err := startProcess("example "+s.framework, cmd)
	if err != nil {
		return nil, err
	}
	e := &example{process: p, stack: s, agentPort: port}
	ready := func() bool {
		line, ok := p.log.find(func(line string) bool {
			return strings.Contains(line, "listening") && exampleListens.MatchString(line) && !strings.Contains(line, ":"+port)
		})
		if ok {
			e.address = "http://" + exampleListens.FindString(line)
		}
		return ok
	}
	eventually(func() bool {
		select {
		case <-p.gone:
			return true
		default:
			return ready()
		}
	})
	if e.address == "" {
		p.kill()
		return nil, fmt.Errorf("%s did not start:\n%s", p.name, p.log.tail(40))
	}
	return e, nil
}

// quietPort returns a free port below those that the system uses for outgoing connections. With one
// of those, start.sh could connect to itself when it checks whether the agent listens: a connection
// to a free local port can get that port as its source, and then it succeeds.
func quietPort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		var free net.Listener
		if free, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			free.Close()
			return port, nil
		}
	}
	return "", err
}

// end sends Ctrl-C. Every process must end, including the agent. A terminal would signal all of
// them. Here only run.sh gets the signal, so it must end the others.
func (e *example) end(t *testing.T) {
	t.Helper()
	e.cmd.Process.Signal(os.Interrupt)
	if !eventually(func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+e.agentPort)
		if err == nil {
			c.Close()
			return false
		}
		c, err = net.Dial("tcp", strings.TrimPrefix(e.address, "http://"))
		if err == nil {
			c.Close()
		}
		return err != nil
	}) {
		t.Errorf("the agent or Holdpoint still listens after Ctrl-C:\n%s", e.log.tail(20))
	}
}

// deleted counts the lines in which the agent reports that it deleted the file.
func (e *example) deleted(file string) int {
	n := 0
	e.log.find(func(line string) bool {
		if strings.TrimSpace(line) == "deleted "+file {
			n++
		}
		return false
	})
	return n
}

// asks returns the id of the question at the end of a stream.
func (e *example) asks(t *testing.T, stream string) string {
	t.Helper()
	found := openQuestion.FindStringSubmatch(stream)
	if found == nil {
		t.Fatalf("no question came:\n%s\n%s", stream, e.log.tail(40))
	}
	return found[1]
}

// answers checks that a stream ends without another question or an error.
func (e *example) answers(t *testing.T, stream string) {
	t.Helper()
	if !strings.Contains(stream, "RUN_FINISHED") || strings.Contains(stream, "RUN_ERROR") || openQuestion.MatchString(stream) {
		t.Fatalf("the answer did not end the run:\n%s\n%s", stream, e.log.tail(40))
	}
}

// shell runs commands of the README at the example's address.
func (e *example) shell(t *testing.T, dir, commands string) string {
	t.Helper()
	if !strings.Contains(commands, "localhost:7080") {
		t.Fatalf("these commands do not reach Holdpoint:\n%s", commands)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", strings.ReplaceAll(commands, "localhost:7080", e.address))
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, commands, e.log.tail(40))
	}
	return string(out)
}

func (e *example) post(t *testing.T, body string) string {
	t.Helper()
	client := &http.Client{Timeout: patience}
	response, err := client.Post(e.address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, e.log.tail(40))
	}
	defer response.Body.Close()
	stream, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(stream)
}
