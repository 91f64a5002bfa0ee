//go:build unix

package servers

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// A Program is a process that listens on a port of the loopback address, such as the program that
// is tested.
type Program struct {
	process
	port int
}

// StartProgram starts the program at path, and returns when it accepts connections. The function
// env gets the program's address, and returns environment variables that are added to those of the
// test. The program ends with the test, by SIGKILL.
func StartProgram(t testing.TB, name, path string, env func(address string) []string) *Program {
	t.Helper()
	p := &Program{process: process{
		t: t, name: name, path: path, dir: t.TempDir(), stopSignal: syscall.SIGTERM, endSignal: syscall.SIGKILL,
	}}
	p.ready = func() error {
		c, err := net.DialTimeout("tcp", p.Addr(), time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
	t.Cleanup(p.cleanUp)
	onFreePort(t, func(port int) error {
		p.port = port
		p.env = env(p.Addr())
		return p.start()
	})
	return p
}

// Addr returns the host and the port. A restart does not change them.
func (p *Program) Addr() string { return address(p.port) }

// Setenv sets a variable for the next start, in the form NAME=value. It overrides an earlier value.
func (p *Program) Setenv(variable string) { p.env = append(p.env, variable) }

// Drain sends SIGTERM once, and waits until the program has ended.
func (p *Program) Drain() {
	p.t.Helper()
	if !p.running() {
		return
	}
	p.Thaw()
	_ = syscall.Kill(p.cmd.Process.Pid, p.stopSignal)
	p.awaitExit("drain")
}
