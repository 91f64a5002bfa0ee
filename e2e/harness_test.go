//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long tests wait for something that must happen. No test checks that it happens
// sooner.
const patience = 90 * time.Second

// shared has what all tests use. TestMain fills it. Of these parts, only the backends keep state.
// They keep it for each thread, and every test uses threads of its own.
var shared struct {
	binary    string
	dir       string   // for files of the processes; removed at the end
	python    sync.Map // maps a stack to its Python interpreter or its node
	backends  []*backend
	proxies   map[string]*holdpoint // by the name of the backend
	agents    []*backend            // every version of Agent Framework in every mode
	tooOld    *backend              // the version of Agent Framework before 1.0.0rc7
	auto      *holdpoint            // in front of every Agent Framework
	strandsPy []*server             // every version of Strands in Python
	strands   *strandsTS
	through   *driver // clients of Holdpoint, which must never get a broken stream
	direct    *driver // clients of a backend without Holdpoint
}

// A stack is one version of a framework's adapter. framework is the folder with its server, and
// version is the pinned version.
type stack struct{ framework, version string }

// tooOld is a version of agent-framework-ag-ui before 1.0.0rc7. Holdpoint refuses the questions of
// such a version.
var tooOld = stack{"agentframework", "1.0.0b260116"}

// stacks are installed and started before the tests, and all tests share them.
var stacks = []stack{
	{"langgraph", "0.0.42"}, {"langgraph", "0.0.43"},
	tooOld, {"agentframework", "1.0.0rc7"}, {"agentframework", "1.0.0rc8"}, {"agentframework", "1.7.0"},
	{"strands", "1.40.0"}, {"strands", "1.62.0"}, {"strands-ts", "1.19.0"},
}

// served returns the stacks that are started. If E2E_FRAMEWORKS is set, these are only the stacks
// of the frameworks in it, which saves time while you write a test. The tests of other frameworks
// are then skipped, and the output says so.
func served() []stack {
	only, ok := os.LookupEnv("E2E_FRAMEWORKS")
	if !ok {
		return stacks
	}
	fmt.Fprintf(os.Stderr, "e2e: E2E_FRAMEWORKS: only %q is served, and nothing is tested with the others\n", only)
	names := strings.Split(only, ",")
	return slices.DeleteFunc(slices.Clone(stacks), func(s stack) bool { return !slices.Contains(names, s.framework) })
}

// node reports whether the stack's server runs in Node, with the packages in its package-lock.json.
func (s stack) node() bool {
	_, err := os.Stat(filepath.Join(s.framework, "package-lock.json"))
	return err == nil
}

// moreAtOnce sets -parallel to three tests for each core, because the tests spend most of their
// time waiting for processes. If -parallel is given, it stays.
func moreAtOnce() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if cores := flag.Lookup("test.parallel").Value; !given {
		n, _ := strconv.Atoi(cores.String())
		_ = cores.Set(strconv.Itoa(3 * n))
	}
}

func TestMain(m *testing.M) {
	moreAtOnce()
	code := 1
	set := setUp
	if os.Getenv(newestRow) != "" || os.Getenv(newestAll) != "" {
		set = setUpNewest
	}
	err := set()
	if err == nil {
		code = m.Run()
		if strays := shared.through.strayed(); len(strays) > 0 {
			fmt.Fprintf(os.Stderr, "e2e: clients behind Holdpoint threw %d times what no caller could catch, first: %s\n", len(strays), strays[0])
			code = 1
		}
		if broken := shared.through.broken(); len(broken) > 0 {
			fmt.Fprintf(os.Stderr, "e2e: %d answers broke off at clients, whose runs say so: %q\n", len(broken), broken)
		}
	} else {
		fmt.Fprintln(os.Stderr, "e2e:", err)
	}
	if code != 0 {
		saidByServers()
	}
	stopAll()
	os.Exit(code)
}

func setUp() error {
	python, err := requireTools()
	if err != nil {
		return err
	}
	unlock, err := lockCache()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdpoint-e2e-")
	if err != nil {
		return err
	}
	atEnd(func() { os.RemoveAll(dir) })
	shared.dir = dir
	shared.binary = filepath.Join(dir, "holdpoint")
	build := func() error { return buildBinary(shared.binary) }
	if ready := os.Getenv("E2E_BINARY"); ready != "" {
		shared.binary, build = ready, func() error { return nil }
	}
	stacks := served()
	interpreters, servers := make([]string, len(stacks)), make([]*server, len(stacks))
	install, start := []func() error{build, func() error { return installPackages("client") }}, []func() error{
		func() (err error) { shared.through, err = startDriver("through"); return },
		func() (err error) { shared.direct, err = startDriver("direct"); return },
	}
	for i, s := range stacks {
		install = append(install, func() (err error) { interpreters[i], err = environment(python, s); return })
		ledger := ""
		if strings.HasPrefix(s.framework, "strands") {
			ledger = filepath.Join(dir, s.framework+"-"+s.version) // the files and sessions are next to it
		}
		start = append(start, func() (err error) { servers[i], err = startServer(s, ledger); return })
	}
	err = inParallel(install...)
	unlock()
	if err != nil {
		return err
	}
	for i, s := range stacks {
		shared.python.Store(s, interpreters[i])
	}
	if err := inParallel(start...); err != nil {
		return err
	}
	if len(stacks) > 0 && stacks[0].framework == "langgraph" {
		old, current := servers[0], servers[1]
		shared.backends = []*backend{
			{name: "0.0.42", mode: "default", server: old},
			{name: "0.0.43", mode: "default", server: current},
			{name: "0.0.43-outcome", mode: "outcome", server: current},
			{name: "0.0.43-quiet", mode: "quiet", server: current},
		}
	}
	shared.proxies = map[string]*holdpoint{}
	for _, b := range shared.backends {
		h, err := startHoldpoint(b.name, b.url(), nil)
		if err != nil {
			return err
		}
		shared.proxies[b.name] = h
	}
	if err := setUpAgents(servers); err != nil {
		return err
	}
	installAhead()
	shared.strandsPy = slices.DeleteFunc(slices.Clone(servers), func(s *server) bool { return s.framework != "strands" })
	return setUpStrandsTS(servers)
}

// The functions below find required programs and install packages.

// requireTools returns the Python from which environments are made. If programs are missing, it
// returns an error that lists them in one line.
func requireTools() (string, error) {
	var missing []string
	python := ""
	for _, name := range []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11"} {
		out, err := exec.Command(name, "-c", "import sys, venv, ensurepip; print(sys.version_info >= (3, 11))").Output()
		if err == nil && strings.TrimSpace(string(out)) == "True" {
			python = name
			break
		}
	}
	if python == "" {
		missing = append(missing, "python3 >= 3.11 with venv")
	}
	out, err := exec.Command("node", "--version").Output()
	major, _ := strconv.Atoi(strings.SplitN(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".", 2)[0])
	if err != nil || major < 20 {
		missing = append(missing, "node >= 20")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		missing = append(missing, "npm")
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("missing on this machine: %s", strings.Join(missing, ", "))
	}
	return python, nil
}

// lockCache takes a lock, so that two test processes do not install into the same folders at once.
// unlock releases the lock.
func lockCache() (unlock func(), err error) {
	if err := os.MkdirAll(".cache", 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(".cache", "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

func buildBinary(to string) error {
	args := []string{"build", "-o", to}
	if os.Getenv("E2E_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "holdpoint/cmd/holdpoint")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
	return nil
}

// environment finds or makes the virtual environment of a stack, and returns the interpreter in it.
// The name of the environment contains a digest of the pinned packages and of the Python, so that a
// change of either makes a new environment. A marker file, written last, shows that an environment
// is complete. For a Node stack, the interpreter is the Node among its packages, because Strands
// needs a newer Node than the clients.
func environment(python string, s stack) (string, error) {
	if s.node() {
		node, err := filepath.Abs(filepath.Join(s.framework, "node_modules", ".bin", "node"))
		if err != nil {
			return "", err
		}
		return node, installPackages(s.framework)
	}
	requirements := filepath.Join(s.framework, "requirements-"+s.version+".txt")
	pins, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	about, err := exec.Command(python, "-c", "import sys; print(sys.version, sys.executable)").Output()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Join(".cache", fmt.Sprintf("venv-%s-%s", s.version, digest(pins, about))))
	if err != nil {
		return "", err
	}
	interpreter, marker := filepath.Join(dir, "bin", "python"), filepath.Join(dir, ".complete")
	if _, err := os.Stat(marker); err == nil {
		return interpreter, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := install(python, dir, requirements); err != nil {
		return "", err
	}
	return interpreter, os.WriteFile(marker, nil, 0o644)
}

// uvVersion is the version of uv. uv makes an environment in one second, and pip in ten: uv writes
// each package to the disk once, and links it into every environment.
const uvVersion = "0.13.9"

// uv installs the program uv, and returns its path.
var uv = sync.OnceValues(func() (string, error) {
	python, err := requireTools()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Join(".cache", "uv-"+uvVersion))
	if err != nil {
		return "", err
	}
	path, interpreter := filepath.Join(dir, "bin", "uv"), filepath.Join(dir, "bin", "python")
	if exec.Command(path, "--version").Run() == nil {
		return path, nil
	}
	if out, err := exec.Command(python, "-m", "venv", "--clear", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s -m venv: %w\n%s", python, err, out)
	}
	return path, insist(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv=="+uvVersion)
})

// install makes an environment from a file of requirements. The file lists all packages with their
// versions, so nothing is resolved, and exactly these versions are installed. If uv fails, install
// uses pip, because uv does not read pip's configuration.
func install(python, dir, requirements string) error {
	err := installByUV(python, dir, requirements)
	if err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "e2e: uv did not make an environment of %s, so pip does: %v\n", requirements, err)
	if out, err := exec.Command(python, "-m", "venv", "--clear", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%s -m venv: %w\n%s", python, err, out)
	}
	return insist(filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements)
}

func installByUV(python, dir, requirements string) error {
	path, err := uv()
	if err != nil {
		return err
	}
	cache, err := filepath.Abs(filepath.Join(".cache", "uv-packages"))
	if err != nil {
		return err
	}
	more := []string{"--quiet", "--no-config", "--no-python-downloads", "--cache-dir", cache}
	if out, err := exec.Command(path, append([]string{"venv", "--clear", "--python", python, dir}, more...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("uv venv: %w\n%s", err, out)
	}
	return insist(path, append([]string{"pip", "install", "--no-deps", "--python", filepath.Join(dir, "bin", "python"), "-r", requirements}, more...)...)
}

// installing has a mutex for each folder of packages, because two tests may need the packages of
// the same folder.
var installing sync.Map

// installPackages installs the npm packages in the package-lock.json of a folder.
func installPackages(folder string) error {
	one, _ := installing.LoadOrStore(folder, new(sync.Mutex))
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return err
	}
	marker := filepath.Join(folder, "node_modules", ".complete-"+digest(lock))
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	if err := insist("npm", "ci", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o644)
}

// insist runs a command that uses the network. If the command fails, insist tries it again, three
// times in all.
func insist(name string, args ...string) error {
	var err error
	for attempt := range 3 {
		time.Sleep(time.Duration(attempt) * 2 * time.Second)
		var out []byte
		if out, err = exec.Command(name, args...).CombinedOutput(); err == nil {
			return nil
		}
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return err
}

func digest(parts ...[]byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(bytes.Join(parts, []byte{0})))[:12]
}

func inParallel(jobs ...func() error) error {
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { errs[i] = job() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Processes that the tests start.

var ending struct {
	sync.Mutex
	todo []func()
}

func atEnd(f func()) {
	ending.Lock()
	defer ending.Unlock()
	ending.todo = append(ending.todo, f)
}

func stopAll() {
	ending.Lock()
	todo := ending.todo
	ending.todo = nil
	ending.Unlock()
	for i := len(todo) - 1; i >= 0; i-- {
		todo[i]()
	}
}

// A process is an operating system process that the tests have started. It has a process group of
// its own. It exits when its standard input is closed, so it never outlives the tests.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	log   lines
	once  sync.Once
	gone  chan struct{} // closed when the process has ended
}

func startProcess(name string, cmd *exec.Cmd) (*process, error) {
	p := &process{name: name, cmd: cmd, gone: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// cmd.StdoutPipe is not used here, because cmd.Wait would close it while it is still being
	// read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	cmd.Stderr = &p.log
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w.Close()
	p.out = bufio.NewReaderSize(r, 1<<20)
	go func() { cmd.Wait(); close(p.gone) }()
	atEnd(p.kill)
	return p, nil
}

// kill ends the process group at once with SIGKILL, like a crash.
func (p *process) kill() {
	p.once.Do(func() {
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.stdin.Close()
		<-p.gone
	})
}

// A lines keeps the last lines that a process has written to its standard error. It can wait for a
// line.
type lines struct {
	mu   sync.Mutex
	rest []byte
	all  []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.rest = bytes.Clone(rest)
		l.all = append(l.all, string(line))
		if len(l.all) > 4000 {
			l.all = l.all[1000:]
		}
	}
}

func (l *lines) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all[max(0, len(l.all)-n):], "\n")
}

func (l *lines) find(match func(string) bool) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if match(line) {
			return line, true
		}
	}
	return "", false
}

// eventually calls ok until it returns true. If that takes longer than patience, eventually returns
// false.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// Backends of the tests.

// A server is one process of a stack's server.py or server.mjs. It serves its adapter in all modes.
type server struct {
	*process
	stack
	ledger string
	args   []string // additional arguments
	env    []string // additional variables
	port   int
	modes  []string // the modes that it serves
}

// interpreter returns the program that runs the servers of an installed stack, such as its Python.
func interpreter(s stack) string {
	found, _ := shared.python.Load(s)
	name, _ := found.(string)
	return name
}

// everyServer lists all servers that the tests have started.
var everyServer struct {
	sync.Mutex
	all []*process
}

// saidByServers prints the last lines of each server's output, which may show why a test failed.
func saidByServers() {
	everyServer.Lock()
	defer everyServer.Unlock()
	for _, p := range everyServer.all {
		if said := p.log.tail(25); strings.TrimSpace(said) != "" {
			fmt.Fprintf(os.Stderr, "e2e: %s said at last:\n%s\n", p.name, said)
		}
	}
}

func startServer(s stack, ledger string) (*server, error) {
	one := &server{stack: s, ledger: ledger}
	return one, one.start()
}

func (s *server) start() error {
	program := "server.py"
	if s.node() {
		program = "server.mjs"
	}
	args := []string{filepath.Join(s.framework, program), "--port", strconv.Itoa(s.port)}
	if s.ledger != "" {
		args = append(args, "--ledger", s.ledger)
	}
	cmd := exec.Command(interpreter(s.stack), append(args, s.args...)...)
	cmd.Env = append(append(os.Environ(), "LANGSMITH_TRACING=false", "LANGCHAIN_TRACING_V2=false"), s.env...)
	p, err := startProcess("backend "+s.framework+" "+s.version, cmd)
	if err != nil {
		return err
	}
	everyServer.Lock()
	everyServer.all = append(everyServer.all, p)
	everyServer.Unlock()
	var ready struct {
		Port  int
		Modes []string
	}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		p.kill()
		return fmt.Errorf("%s did not start: %w\n%s", p.name, err, p.log.tail(20))
	}
	s.process, s.port, s.modes = p, ready.Port, ready.Modes
	return nil
}

// crash kills the server. If the server keeps its threads in memory, they are lost.
func (s *server) crash() { s.kill() }

// back starts the killed server again at the same address. Its ledger is still there. What the
// server had in memory is lost.
func (s *server) back(t *testing.T) {
	t.Helper()
	var err error
	if !eventually(func() bool { err = s.start(); return err == nil }) {
		t.Fatal(err)
	}
}

func (s *server) base() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

// A backend is one version of an adapter in one mode (a set of options).
type backend struct {
	name, mode string
	server     *server
}

func (b *backend) url() string { return b.server.base() + "/" + b.mode }

// showsIDs reports whether the backend's stream has LangGraph's ids of questions. In the mode quiet
// the stream has neither raw events nor the interrupt outcome, so it has no such ids.
func (b *backend) showsIDs() bool { return b.mode != "quiet" }

// A ledger is what a backend has recorded about a thread.
type ledger struct {
	Counts  map[string]int
	Effects []struct {
		Name, Type string
		Answer     any            // graphs: the answer that the graph got
		Args       map[string]any // agents: the arguments of the tool
	}
	Nodes []string
	Runs  []struct {
		Mode, Graph string
		Session     string // native Strands: the session header
		Prompt      any    // native Strands: the prompt
		Resume      any    // adapters of Strands and LangGraph: the resume array
		Command     any    // LangGraph's adapter: command.resume
		Key, Auth   string // of LangGraph's own server: x-api-key and Authorization
	}
	Files []string // files that the thread still has
	Seen  []struct {
		Complaints []string // of an agent: the parts of its model's input that a provider would refuse
		Results    []string // of an agent: the results in its model's input
	}
}

func (b *backend) ledger(t *testing.T, thread string) ledger {
	t.Helper()
	var l ledger
	getJSON(t, b.server.base()+"/effects/"+url.PathEscape(thread), &l)
	return l
}

// reached waits until a node of the graph waits at the gate with this name.
func (b *backend) reached(t *testing.T, gate string) {
	t.Helper()
	if !eventually(func() bool {
		var g struct{ Reached bool }
		getJSON(t, b.server.base()+"/gates/"+gate, &g)
		return g.Reached
	}) {
		t.Fatalf("no node came to gate %s", gate)
	}
}

func (b *backend) open(t *testing.T, gate string) {
	t.Helper()
	res, err := http.Post(b.server.base()+"/gates/"+gate, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func getJSON(t *testing.T, address string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatalf("GET %s: %v", address, err)
	}
}

// The built binary of Holdpoint.

type holdpoint struct {
	*process
	address string // http://host:port
}

// startHoldpoint starts the built binary in front of upstream. env has additional HOLDPOINT_*
// variables.
func startHoldpoint(name, upstream string, env map[string]string) (*holdpoint, error) {
	// The test process holds the other side of the stdin of the shell. That side is closed whenever
	// the test process exits, even if it crashes. The shell waits for this, and then kills the
	// binary.
	const watch = `exec 3<&0; "$0" 3<&- & p=$!; { read -r _ <&3; kill -KILL $p; } >/dev/null 2>&1 & wait $p`
	cmd := exec.Command("/bin/sh", "-c", watch, shared.binary)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(),
		"HOLDPOINT_UPSTREAM=" + upstream, "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off",
		"HOLDPOINT_DRAIN_DELAY=1s", "HOLDPOINT_DRAIN_TIMEOUT=3s",
	}
	for key, value := range env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	p, err := startProcess("holdpoint "+name, cmd)
	if err != nil {
		return nil, err
	}
	h := &holdpoint{process: p}
	ended := func() bool {
		select {
		case <-p.gone:
			return true
		default:
			return false
		}
	}
	if !eventually(func() bool {
		_, ok := p.log.find(func(line string) bool {
			var l struct{ Msg, Addr string }
			if json.Unmarshal([]byte(line), &l) != nil || l.Msg != "listening" || !addressPattern.MatchString(l.Addr) {
				return false
			}
			h.address = "http://" + l.Addr
			return true
		})
		return ok || ended()
	}) || h.address == "" {
		p.kill()
		return nil, fmt.Errorf("%s did not say where it listens:\n%s", p.name, p.log.tail(20))
	}
	return h, nil
}

var addressPattern = regexp.MustCompile(`^127\.0\.0\.1:[0-9]+$`)

// ownHoldpoint starts a Holdpoint that only one test uses, and kills it at the end of the test.
func ownHoldpoint(t *testing.T, upstream string, env map[string]string) *holdpoint {
	t.Helper()
	h, err := startHoldpoint(t.Name(), upstream, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s", h.name, h.log.tail(40))
		}
		h.kill()
	})
	return h
}
