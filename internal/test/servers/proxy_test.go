//go:build unix

package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// An echo is a server that sends each line back. It records the lines.
type echo struct {
	net.Listener
	serving sync.WaitGroup
	mu      sync.Mutex
	seen    []string
}

func startEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: l}
	e.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			e.serving.Go(func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					line, err := r.ReadString('\n')
					e.mu.Lock()
					if line != "" {
						e.seen = append(e.seen, line)
					}
					e.mu.Unlock()
					if err != nil {
						return
					}
					conn.Write([]byte(line))
				}
			})
		}
	})
	t.Cleanup(e.end)
	return e
}

// end closes the listener, and waits until the server has read everything that was sent.
func (e *echo) end() {
	e.Close()
	e.serving.Wait()
}

func (e *echo) lines() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprintf("%q", e.seen)
}

// say sends a line. It returns what arrives within the given time.
func say(t *testing.T, conn net.Conn, line string, within time.Duration) (string, error) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(within))
	if _, err := conn.Write([]byte(line)); err != nil {
		return "", err
	}
	b := make([]byte, 64)
	n, err := conn.Read(b)
	if n > 0 && n < len(line) {
		_, err = conn.Read(b[n:])
	}
	return string(b[:n]), err
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestProxyBreaksAtAMoment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault       servers.Fault
		got, server string
	}{
		{servers.Fault{Moment: servers.BeforeRequest}, "", `["one\n" "three\n"]`},
		{servers.Fault{Moment: servers.WithinRequest}, "", `["one\n" "three\n" "tw"]`},
		{servers.Fault{Moment: servers.AfterRequest}, "", `["one\n" "three\n" "two\n"]`},
		{servers.Fault{Moment: servers.WithinReply}, "tw", `["one\n" "three\n" "two\n"]`},
		{servers.Fault{Moment: servers.BeforeRequest, Hang: true}, "", `["one\n" "three\n"]`},
		{servers.Fault{Moment: servers.AfterRequest, Hang: true}, "", `["one\n" "three\n" "two\n"]`},
	} {
		t.Run(fmt.Sprintf("%v, hangs %v", c.fault.Moment, c.fault.Hang), func(t *testing.T) {
			e := startEcho(t)
			p := servers.StartProxy(t, e.Addr().String())
			c.fault.Skip = 1
			p.Arm(c.fault)
			conn := dial(t, p.Addr())
			if got, err := say(t, conn, "one\n", time.Minute); got != "one\n" || err != nil {
				t.Fatalf("the first line: %q, %v", got, err)
			}
			within := time.Minute
			if c.fault.Hang {
				within = 100 * time.Millisecond
			}
			got, err := say(t, conn, "two\n", within)
			if got != c.got || err == nil || errors.Is(err, os.ErrDeadlineExceeded) != c.fault.Hang {
				t.Errorf("the second line: %q, %v", got, err)
			}
			conn.Close()
			if !p.Disarm() {
				t.Error("the fault did not strike")
			}
			if got, err := say(t, dial(t, p.Addr()), "three\n", time.Minute); got != "three\n" || err != nil {
				t.Errorf("another connection: %q, %v", got, err)
			}
			p.Sever()
			e.end()
			slices.Sort(e.seen)
			if e.lines() != c.server {
				t.Errorf("the server saw %s, want %s", e.lines(), c.server)
			}
		})
	}
}

func TestProxyFreezesAndRefuses(t *testing.T) {
	t.Parallel()
	e := startEcho(t)
	p := servers.StartProxy(t, e.Addr().String())
	conn := dial(t, p.Addr())
	p.Freeze()
	if got, err := say(t, conn, "one\n", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) || e.lines() != "[]" {
		t.Errorf("frozen: %q, %v, the server saw %s", got, err, e.lines())
	}
	p.Thaw()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "one\n" {
		t.Errorf("thawed: %q, %v", line, err)
	}
	p.Refuse()
	if got, err := say(t, conn, "two\n", time.Minute); err == nil {
		t.Errorf("an open connection is not broken: %q", got)
	}
	if refused, err := net.Dial("tcp", p.Addr()); err == nil {
		if got, err := say(t, refused, "three\n", time.Minute); err == nil {
			t.Errorf("a new connection is not refused: %q", got)
		}
		refused.Close()
	}
	p.Accept()
	if got, err := say(t, dial(t, p.Addr()), "four\n", time.Minute); got != "four\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if p.Disarm() {
		t.Error("a fault struck that nobody set")
	}
}
