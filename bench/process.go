package main

import (
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
	"time"
)

// A process is a part of the measurement that runs as a process of its own: the origin, or a
// target.
type process struct {
	name    string
	address string
	cmd     *exec.Cmd
	output  *os.File // a file, so that nobody must read the log during a measurement
	exit    chan struct{}
}

// startTime is the maximum time from the start of a process until it listens.
const startTime = 30 * time.Second

// start starts a command and waits until it listens. The function told returns the address if a
// line of the command's output contains it, or "". If told is nil, the process listens on the
// parameter address.
func start(ctx context.Context, name, address string, env []string, addressIn func(line string) string, command ...string) (*process, error) {
	p := &process{name: name, address: address, cmd: exec.Command(command[0], command[1:]...), exit: make(chan struct{})}
	p.cmd.Env = env
	// The process ends when its standard input is closed. So it never runs longer than this
	// program.
	if _, err := p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var err error
	if p.output, err = os.CreateTemp("", "holdpoint-bench-"); err != nil {
		return nil, err
	}
	if err := os.Remove(p.output.Name()); err != nil { // the kernel keeps the file while it is open
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // the output shows how the process ended
		close(p.exit)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := p.await(ctx, addressIn); err != nil {
		defer p.stop()
		return nil, fmt.Errorf("%s does not start: %w\n%s", name, err, p.outputEnd())
	}
	return p, nil
}

// await waits until the process listens. If told is nil, the address is p.address. Otherwise told
// finds the address in the output.
func (p *process) await(ctx context.Context, addressIn func(line string) string) error {
	for {
		var err error
		if addressIn != nil {
			for line := range strings.Lines(p.outputEnd()) {
				whole, ok := strings.CutSuffix(line, "\n")
				if !ok {
					break // the line is not complete yet
				}
				if p.address = addressIn(whole); p.address != "" {
					return nil
				}
			}
		} else if conn, failed := dialer.DialContext(ctx, "tcp", p.address); failed == nil {
			return conn.Close()
		} else {
			err = failed
		}
		select {
		case <-p.exit:
			return errors.New("it ended")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// saidBytes is how many bytes of a process's output are shown in an error.
const saidBytes = 16 << 10

// outputEnd returns the end of the process's output.
func (p *process) outputEnd() string {
	size, err := p.output.Seek(0, io.SeekCurrent) // the process shares this offset when it writes
	if err != nil {
		return err.Error()
	}
	output := make([]byte, min(size, saidBytes))
	n, _ := p.output.ReadAt(output, size-int64(len(output)))
	return string(output[:n])
}

// stop ends the process and its children. It lists the children first, because they get another
// parent when their own parent has ended.
func (p *process) stop() {
	tree, err := p.tree()
	if err != nil {
		tree = []int{p.cmd.Process.Pid}
	}
	select {
	case <-p.exit:
		tree = nil // the process has ended, so another may have its id
	default:
	}
	for _, pid := range tree {
		if one, err := os.FindProcess(pid); err == nil {
			_ = one.Kill() // the process may already have ended
		}
	}
	<-p.exit
	p.output.Close()
}

// tree returns the ids of the process and of its children. nginx, for example, does its work in
// children.
func (p *process) tree() ([]int, error) {
	parents, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, path := range parents {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// The line is: pid (name) state ppid. The name may contain anything, even parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		// The pattern requires only that the first character is a digit. If there is an error, the path
		// is not that of a process.
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
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

// cpu returns the CPU time of the process and its children, user and system, in nanoseconds. It
// does not include threads that have ended, but Go, nginx and Node end no threads under load.
func (p *process) cpu() (time.Duration, error) {
	tree, err := p.tree()
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, pid := range tree {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(tasks) == 0 {
			return 0, fmt.Errorf("no /proc/%d/task/*/schedstat: %w (%s)", pid, err, p.outputEnd())
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

// memory returns the resident memory of the process and its children in bytes: now, and at its
// maximum.
func (p *process) memory() (current, peak int, err error) {
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
		current, peak = current+n, peak+m
	}
	return current, peak, nil
}

// kilobytes returns the value of a line of /proc/PID/status in bytes. The line has the value in kB.
func kilobytes(status []byte, name string) (int, error) {
	fields := bytes.Fields(status)
	at := slices.IndexFunc(fields, func(f []byte) bool { return string(f) == name })
	if at < 0 || at+1 >= len(fields) {
		return 0, fmt.Errorf("no %s in the status of a process", name)
	}
	n, err := strconv.Atoi(string(fields[at+1]))
	return n << 10, err
}
