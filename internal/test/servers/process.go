//go:build unix

package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// maxWait is the longest time that a server may take to start, to stop or to reach a state.
const maxWait = time.Minute

// A process is a server that can be ended and started again with the same command. Only one
// goroutine at a time may call its methods.
type process struct {
	t          testing.TB
	name       string
	path       string
	args       []string
	env        []string
	dir        string
	user       *syscall.Credential
	stopSignal syscall.Signal // ends the server cleanly
	endSignal  syscall.Signal // ends the server at once, but lets it release what it has in the kernel
	ready      func() error   // sends a request to the server; nil if the response is right
	log        lockedBuffer
	cmd        *exec.Cmd
	exit       chan struct{} // closed after cmd has ended
	frozenIDs  []int
}

// errPortInUse is the error of start if another process uses the port.
var errPortInUse = errors.New("the port is taken")

// startAgain starts a process on the port of its last run. If the port is in use, it waits until
// the port is free. It cannot choose another port, because clients already know this one.
func (p *process) startAgain() error {
	deadline := time.Now().Add(maxWait)
	for {
		err := p.start()
		if !errors.Is(err, errPortInUse) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// start starts the process and waits until ready returns nil. It returns errPortInUse if the port
// is in use.
func (p *process) start() error {
	mark := p.log.Len()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &p.log, &p.log
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = attributes(p.user, p.endSignal)
	// Linux sends the signal Pdeathsig when the thread that started the process ends
	// (golang/go#27505). So the thread that starts the process also waits for the end of the
	// process.
	started := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(gone)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the server's log shows why it ended
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.cmd, p.exit = cmd, gone
	err := await(time.Now().Add(maxWait), func() error {
		select {
		case <-gone:
			said := p.log.From(mark)
			if strings.Contains(strings.ToLower(said), "address already in use") {
				return finalError{errPortInUse}
			}
			return finalError{fmt.Errorf("it ended: %s", tail(said))}
		default:
			return p.ready()
		}
	})
	if err != nil {
		said := p.log.From(mark)
		p.Kill()
		return fmt.Errorf("%s did not start: %w\n%s", p.name, err, tail(said))
	}
	return nil
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exit:
		return false
	default:
		return true
	}
}

// processIDs returns the ids of the process and of its children. The process itself is the first:
// once it is stopped, it starts no more children.
func (p *process) processIDs() []int {
	pid := p.cmd.Process.Pid
	return append([]int{pid}, children(pid)...)
}

// Kill ends the server in the same way as a crash of the machine: at once, with all its processes.
// It returns when they have ended.
func (p *process) Kill() {
	p.t.Helper()
	if !p.running() {
		return
	}
	p.Freeze() // so that no process reacts to the end of another process
	for _, pid := range p.frozenIDs {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	// A child that was started just before the freeze is not in p.frozen. It would leave the log's
	// file open, so it is killed too.
	awaitState(p.t, p.name+" does not end", func() error {
		for _, pid := range processesIn(p.dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-p.exit:
			return nil
		default:
			return errors.New(tail(p.Log()))
		}
	})
	p.frozenIDs = nil
}

// Stop ends the server cleanly and waits for its end.
func (p *process) Stop() {
	p.t.Helper()
	if !p.running() {
		return
	}
	p.Thaw()
	// Redis ignores the signal while it writes its first file as a replica, so the signal is sent
	// repeatedly.
	awaitState(p.t, p.name+" does not stop", func() error {
		_ = syscall.Kill(p.cmd.Process.Pid, p.stopSignal)
		select {
		case <-p.exit:
			return nil
		case <-time.After(200 * time.Millisecond):
			return errors.New(tail(p.Log()))
		}
	})
}

// Restart stops the server if it runs, and starts it again on the same port and with the same data.
// It returns when the server answers.
func (p *process) Restart() {
	p.t.Helper()
	p.Stop()
	if err := p.startAgain(); err != nil {
		p.t.Fatal(err)
	}
}

// RestartAhead restarts the server with a clock that is ahead of the machine's clock by d (needs
// FakeTime).
func (p *process) RestartAhead(d time.Duration) {
	p.t.Helper()
	p.env = append(p.env, aheadEnvironment(p.t, d)...)
	p.Restart()
}

// Freeze stops the server's processes without ending them. The server's connections stay open, but
// the server does not answer.
func (p *process) Freeze() {
	p.t.Helper()
	if !p.running() {
		return
	}
	pid := p.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	p.frozenIDs = p.processIDs()
	for _, child := range p.frozenIDs[1:] {
		_ = syscall.Kill(child, syscall.SIGSTOP)
	}
}

// Thaw lets a frozen server continue.
func (p *process) Thaw() {
	for _, pid := range p.frozenIDs {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	p.frozenIDs = nil
}

// Log returns everything that the server has printed.
func (p *process) Log() string { return p.log.From(0) }

// cleanUp ends the server at the end of the test. If the test has failed, cleanUp prints the log.
func (p *process) cleanUp() {
	if p.running() {
		p.Thaw()
		_ = syscall.Kill(p.cmd.Process.Pid, p.endSignal)
		select {
		case <-p.exit:
		case <-time.After(10 * time.Second):
			p.Kill()
		}
	}
	if p.t.Failed() {
		p.t.Logf("%s wrote at last:\n%s", p.name, tail(p.Log()))
	}
}

func (p *process) awaitExit(what string) {
	p.t.Helper()
	select {
	case <-p.exit:
	case <-time.After(maxWait):
		p.t.Fatalf("%s: %s took longer than %v\n%s", p.name, what, maxWait, tail(p.Log()))
	}
}

// finalError is an error after which await does not try again.
type finalError struct{ error }

func (f finalError) Unwrap() error { return f.error }

// await calls ask repeatedly, until ask returns nil or a final error, or until the deadline. It
// returns the last error.
func await(deadline time.Time, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		var f finalError
		if errors.As(err, &f) {
			return f.error
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitState calls ask repeatedly, until ask returns nil. If that takes longer than maxWait,
// awaitState fails the test. what describes the failure.
func awaitState(t testing.TB, what string, ask func() error) {
	t.Helper()
	if err := await(time.Now().Add(maxWait), ask); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// folder creates a folder that the server's user can write to. It does not use the test's own
// temporary folder: other users cannot enter that folder, and its name is too long for a Unix
// socket.
func folder(t testing.TB, as *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t testing.TB, path, text string, as *syscall.Credential) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// tail returns the last 30 lines of a log.
func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// A lockedBuffer contains the output of a process. It is safe for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Len()
}

func (b *lockedBuffer) From(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.b.Bytes()[n:])
}
