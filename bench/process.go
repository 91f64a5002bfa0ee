package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A process is a part of the measurement that runs on its own: the origin, or a target.
type process struct {
	name    string
	address string
	cmd     *exec.Cmd
	ended   chan struct{}

	mu   sync.Mutex
	last []string // what it said last, for an error
}

// startTime is how long a process may take until it listens.
const startTime = 30 * time.Second

// start runs a command. told finds the address in a line of its output; nil: it listens on the address given.
func start(ctx context.Context, name, address string, env []string, told func(line string) string, command ...string) (*process, error) {
	p := &process{name: name, address: address, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	p.cmd.Env = env
	// It ends when its standard input does, so that it does not outlive this program.
	if _, err := p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	p.cmd.WaitDelay = time.Second // a child of it may hold its output open
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	heard := make(chan string, 1)
	go p.listen(out, told, heard)
	go func() {
		_ = p.cmd.Wait() // how it ended shows in what it said
		in.Close()
		close(p.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var err error
	if told == nil {
		err = p.dial(ctx)
	} else {
		select {
		case p.address = <-heard:
		case <-p.ended:
			err = errors.New("it ended")
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s does not start: %w\n%s", name, err, p.said())
	}
	return p, nil
}

// listen reads what the process says.
func (p *process) listen(out io.Reader, told func(string) string, heard chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.mu.Lock()
		if len(p.last) == 20 {
			p.last = p.last[1:]
		}
		p.last = append(p.last, lines.Text())
		p.mu.Unlock()
		if told == nil {
			continue
		}
		if address := told(lines.Text()); address != "" {
			heard <- address
			told = nil
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line too long ends the scanner; the process must not block on it
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.last, "\n")
}

// dial waits until somebody listens on the address.
func (p *process) dial(ctx context.Context) error {
	for {
		conn, err := dialer.DialContext(ctx, "tcp", p.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process and what it started. The children first known, for they are nobody's once it has ended.
func (p *process) stop() {
	tree, err := p.tree()
	if err != nil {
		tree = []int{p.cmd.Process.Pid}
	}
	select {
	case <-p.ended:
		tree = nil // its number may be somebody else's by now
	default:
	}
	for _, pid := range tree {
		if one, err := os.FindProcess(pid); err == nil {
			_ = one.Kill() // it may have ended just now
		}
	}
	<-p.ended
}

// tree is the process and those it started: nginx's work is done by its children.
func (p *process) tree() ([]int, error) {
	parents, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, path := range parents {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended just now
		}
		// pid (name) state ppid; the name may hold anything, parentheses too.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2]) // the pattern asks for a digit; anything else is no process
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			return nil, fmt.Errorf("%s: %q", path, stat)
		}
		children[parent] = append(children[parent], pid)
	}
	list := []int{p.cmd.Process.Pid}
	for n := 0; n < len(list); n++ {
		list = append(list, children[list[n]]...)
	}
	return list, nil
}

// cpu is how long the processors worked for the process and its children, user and system, to the nanosecond. A thread
// that has ended is not counted; neither Go nor nginx nor Node ends threads under load.
func (p *process) cpu() (time.Duration, error) {
	tree, err := p.tree()
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, pid := range tree {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(tasks) == 0 {
			return 0, fmt.Errorf("no /proc/%d/task/*/schedstat: %w (%s)", pid, err, p.said())
		}
		for _, path := range tasks {
			stat, err := os.ReadFile(path)
			if err != nil {
				return 0, err
			}
			ns, err := strconv.ParseInt(string(bytes.Fields(stat)[0]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %q", path, stat)
			}
			total += time.Duration(ns)
		}
	}
	return total, nil
}

// memory is the resident memory in bytes, now and the most that it ever was.
func (p *process) memory() (now, most int, err error) {
	tree, err := p.tree()
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range tree {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, 0, err
		}
		n, err := kilobytes(status, "VmRSS:")
		if err != nil {
			return 0, 0, err
		}
		m, err := kilobytes(status, "VmHWM:")
		if err != nil {
			return 0, 0, err
		}
		now, most = now+n, most+m
	}
	return now, most, nil
}

// kilobytes reads a line of /proc/PID/status, in bytes.
func kilobytes(status []byte, name string) (int, error) {
	fields := bytes.Fields(status)
	at := slices.IndexFunc(fields, func(f []byte) bool { return string(f) == name })
	if at < 0 || at+1 >= len(fields) {
		return 0, fmt.Errorf("no %s in the status of a process", name)
	}
	n, err := strconv.Atoi(string(fields[at+1]))
	return n << 10, err
}
