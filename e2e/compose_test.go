//go:build e2e

package e2e

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// composeStacks has the compose files of deploy/compose as keys. The value is the stack of package
// e2e that has the packages of that file's agent.
var composeStacks = map[string]stack{"langgraph": {"langgraph", "0.0.47"}, "pydanticai": {"pydanticai", "2.68.0"}}

// A composeFile has the parts of a compose file that this test reads. The tests in deploy validate
// the whole file with compose-go.
type composeFile struct {
	Services struct {
		Agent struct {
			Build       struct{ Context, Dockerfile string }
			Healthcheck struct{ Test []string }
		}
		Holdpoint struct {
			Environment map[string]string
			Healthcheck struct{ Test []string }
		}
		Page struct {
			Build       string
			Environment map[string]string
			Healthcheck struct{ Test []string }
		}
	}
}

func readCompose(t *testing.T, name string) (f composeFile) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../deploy/compose", name+".yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestComposeStacks plays each compose file without containers. It builds what the Dockerfiles
// describe, and starts that on loopback with the environment of the compose file. In a browser, a
// person denies the deletion of one file and approves the deletion of another. Holdpoint is killed
// and restarted while the second question is open. Only the second file must be deleted, and only
// once.
func TestComposeStacks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../deploy/compose/*.yaml")
	if err != nil || len(files) != len(composeStacks) {
		t.Fatalf("deploy/compose has %d files (%v), and this test knows %d", len(files), err, len(composeStacks))
	}
	chats.Do(func() { chats.err = startChats() })
	if chats.err != nil {
		t.Fatal(chats.err)
	}
	page := buildPage(t)
	for name, s := range composeStacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readCompose(t, name)
			agent := startComposeAgent(t, f, s)
			holdpoint := startComposeHoldpoint(t, f, agent.port, "127.0.0.1:0")
			front := startComposePage(t, f, page, holdpoint.address)

			c := &chat{name: fresh("chat"), kind: copilotKit}
			c.open(t, map[string]any{"at": "http://localhost:" + front.port})
			c.say(t, "Delete no.txt")
			c.asks(t, "the first question", "no.txt")
			c.click(t, "deny")
			c.shows(t, "the denial", map[string]string{"langgraph": "The person said no.", "pydanticai": "That is all."}[name])
			c.say(t, "Delete a.txt")
			c.asks(t, "the second question", "a.txt")
			if n := agent.count("deleted a.txt"); n != 0 {
				t.Fatalf("the file was deleted %d times before anybody said yes", n)
			}
			holdpoint.kill()
			startComposeHoldpoint(t, f, agent.port, strings.TrimPrefix(holdpoint.address, "http://"))
			c.click(t, "approve")
			if !eventually(func() bool { return agent.count("deleted a.txt") > 0 }) {
				t.Fatalf("nothing was deleted after a yes: %s\n%s", c.look(t), agent.log.tail(40))
			}
			c.sees(t, "the approval", map[string]any{"card": ""})
			front.ends(t)
			agent.ends(t)
			if yes, no := agent.count("deleted a.txt"), agent.count("deleted no.txt"); yes != 1 || no != 0 {
				t.Errorf("the file that was approved was deleted %d times, the one that was denied %d times", yes, no)
			}
		})
	}
}

// buildPage builds the page as its Dockerfile does, but with the npm packages of the folder
// copilotkit. These include all packages in the lock file of the page, in the same versions.
func buildPage(t *testing.T) *composeImage {
	t.Helper()
	const folder = "../deploy/compose/page"
	want, got := locked(t, "copilotkit"), locked(t, folder)
	if len(got) < 100 {
		t.Fatalf("%s locks %d packages", folder, len(got))
	}
	for name, version := range got {
		if want[name] != version {
			t.Errorf("%s: %s is %s, and %q in e2e", folder, name, version, want[name])
		}
	}
	packages, err := filepath.Abs("copilotkit/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	return composeBuild(t, folder, "Dockerfile", map[string]func(string) error{
		"npm ci": func(dir string) error { return os.Symlink(packages, filepath.Join(dir, "node_modules")) },
	})
}

// A composeService is a process that stands for a container.
type composeService struct {
	*process
	port string // its port on loopback
}

func startComposeAgent(t *testing.T, f composeFile, s stack) *composeService {
	t.Helper()
	samePins(t, s)
	onDemand[s].install(s)
	if err := onDemand[s].err; err != nil {
		t.Fatal(err)
	}
	build := f.Services.Agent.Build
	context := filepath.Join("../deploy/compose", build.Context)
	image := composeBuild(t, context, build.Dockerfile, map[string]func(string) error{
		"pip install --no-cache-dir --no-deps -r requirements.txt": func(string) error { return nil }, // the packages are installed already, and samePins compares their versions
	})
	port, err := quietPort()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("0.0.0.0", "127.0.0.1", "8000", port)
	one := &composeService{startComposed(t, "agent", image, interpreter(s), here, "LANGSMITH_TRACING=false"), port}
	healthy(t, one.process, f.Services.Agent.Healthcheck.Test, interpreter(s), here, nil)
	return one
}

func startComposeHoldpoint(t *testing.T, f composeFile, agent, listen string) *holdpoint {
	t.Helper()
	admin := filepath.Join(shared.dir, fresh("admin")+".sock")
	env := map[string]string{"HOLDPOINT_LISTEN": listen, "HOLDPOINT_ADMIN_LISTEN": "unix://" + admin}
	volume := filepath.Join(shared.dir, "volume-"+agent)
	if err := os.MkdirAll(volume, 0o700); err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("http://agent:8000", "http://127.0.0.1:"+agent, "/var/lib/holdpoint", volume)
	for k, v := range f.Services.Holdpoint.Environment {
		env[k] = here.Replace(v)
	}
	h := ownHoldpoint(t, env["HOLDPOINT_UPSTREAM"], env)
	healthy(t, h.process, f.Services.Holdpoint.Healthcheck.Test, shared.binary, here, []string{"HOLDPOINT_ADMIN_LISTEN=" + env["HOLDPOINT_ADMIN_LISTEN"]})
	return h
}

var pageListens = regexp.MustCompile(`^listening on port (\d+)$`)

func startComposePage(t *testing.T, f composeFile, image *composeImage, upstream string) *composeService {
	t.Helper()
	if f.Services.Page.Build != "page" {
		t.Fatalf("the page is built of %q", f.Services.Page.Build)
	}
	env := []string{"PORT=0"}
	for k, v := range f.Services.Page.Environment {
		env = append(env, k+"="+strings.Replace(v, "http://holdpoint:7080", upstream, 1))
	}
	one := &composeService{process: startComposed(t, "page", image, "node", strings.NewReplacer(), env...)}
	if !eventually(func() bool {
		line, ok := one.log.find(pageListens.MatchString)
		if ok {
			one.port = pageListens.FindStringSubmatch(line)[1]
		}
		return ok || one.isGone()
	}) || one.port == "" {
		t.Fatalf("the page did not start:\n%s", one.log.tail(20))
	}
	healthy(t, one.process, f.Services.Page.Healthcheck.Test, "node", strings.NewReplacer("3000", one.port), nil)
	return one
}

// startComposed runs the command of an image in the image's folder. program replaces the first word
// of the command.
func startComposed(t *testing.T, name string, image *composeImage, program string, here *strings.Replacer, env ...string) *process {
	t.Helper()
	// The background part of this shell command reads from a pipe. When the tests end, in whatever
	// way, their end of the pipe is closed. Then the background part kills the process, which is by
	// then the command of the image.
	const watch = `exec 3<&0 1>&2; { read -r _ <&3; kill -KILL $$; } >/dev/null 2>&1 & exec "$0" "$@" 3<&- </dev/null`
	args := []string{"-c", watch, program}
	for _, a := range image.command[1:] {
		args = append(args, here.Replace(a))
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = image.folder
	// A container of a new image compiles its Python modules, because the image has none that are
	// compiled. The Python environments of these tests have compiled modules, and may get more.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + image.folder}, append(image.env, env...)...)
	cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=")
	p, err := startProcess("compose "+name, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, p.log.tail(40))
		}
		p.kill()
	})
	return p
}

// healthy waits until the command of a service's healthcheck succeeds.
func healthy(t *testing.T, p *process, test []string, program string, here *strings.Replacer, env []string) {
	t.Helper()
	if len(test) < 3 || test[0] != "CMD" {
		t.Fatalf("%s: the healthcheck is %q", p.name, test)
	}
	var args []string
	for _, a := range test[2:] {
		args = append(args, here.Replace(a))
	}
	var said []byte
	if !eventually(func() bool {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
		var err error
		said, err = cmd.CombinedOutput()
		return err == nil || p.isGone()
	}) || p.isGone() {
		t.Fatalf("%s is not healthy: %s\n%s", p.name, said, p.log.tail(40))
	}
}

func (p *process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// count returns how many lines the service has printed that equal want.
func (s *composeService) count(want string) int {
	n := 0
	s.log.find(func(line string) bool {
		if strings.TrimSpace(line) == want {
			n++
		}
		return false
	})
	return n
}

// ends sends SIGTERM, as a container engine does. It checks that the process exits, and that
// nothing listens on its port afterwards.
func (s *composeService) ends(t *testing.T) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if !eventually(s.isGone) {
		t.Errorf("%s goes on after TERM:\n%s", s.name, s.log.tail(20))
	}
	if c, err := net.Dial("tcp", "127.0.0.1:"+s.port); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%s listens after TERM: %v", s.name, err)
		if err == nil {
			c.Close()
		}
	}
}
