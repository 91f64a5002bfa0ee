//go:build unix

package backend

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

const (
	// burstBytes is what is read at once of a connection that has much to read.
	burstBytes = 128 << 10
	// plainBuffer is the buffer that net/http keeps for each connection to a backend, whether it
	// waits or not.
	plainBuffer = 4 << 10
)

// Without the pool: 1.8 × the CPU time in blast-1 and blast-20.
var bursts sync.Pool // of *[burstBytes]byte

// A Conn is a connection to a backend. It is read in large pieces while there is much to read, and
// holds no memory while it waits. net/http reads a connection into one buffer, whose size never
// changes: a small one means a system call for every few frames, and a large one is memory that
// each stream keeps after its first burst.
//
// Without it, with a wholeBuffer: 3.5 kB more for a stream in idle-1000, 117 kB in idle-said. With
// a buffer of 4 KiB in its place: 1.5 × the CPU time in blast-1, 1.4 in blast-20.
//
// It is for one reader at a time, as net/http reads.
type Conn struct {
	net.Conn
	raw syscall.RawConn
	try func(fd uintptr) bool // tryRead, made once

	buf     []byte // borrowed, nil when all of it was handed on
	at, end int    // buf[at:end] waits
	much    bool   // the last read got more than net/http asks for
	ended   bool   // tryRead met the end, or err, which is to be told

	idle func() // called once, when it is waited for; for whoever has something to do before

	n      int // of tryRead
	err    error
	closed error // why it was not called, or waits no more
}

// burst makes conn one that is read in large pieces, where the system allows it.
func burst(conn net.Conn) net.Conn {
	tcp, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	c := &Conn{Conn: conn, raw: raw}
	c.try = c.tryRead
	return c
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if c.buf == nil && !c.ended && c.idle == nil && (!c.much || len(p) >= burstBytes/2) {
		n, err := c.Conn.Read(p)
		c.much = n == len(p)
		return n, err
	}
	c.Wait()
	if c.buf != nil {
		return c.hand(p), nil
	}
	c.ended, c.much = false, false
	switch {
	case c.closed != nil:
		return 0, c.closed
	case c.err != nil:
		return 0, &net.OpError{
			Op: "read", Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(),
			Err: os.NewSyscallError("read", c.err),
		}
	}
	return 0, io.EOF
}

// Wait returns when a Read will not wait. It holds no memory until there is something to read.
func (c *Conn) Wait() {
	if c.buf == nil && !c.ended {
		c.closed = c.raw.Read(c.try)
		c.ended = c.buf == nil
		c.much = c.end > plainBuffer
	}
}

// tryRead reads once into a borrowed buffer. It returns false if it would have to wait, and gives
// the buffer back: it is called, and borrows, again when there is something to read.
func (c *Conn) tryRead(fd uintptr) bool {
	array, ok := bursts.Get().(*[burstBytes]byte)
	if !ok || without.BurstPool {
		array = new([burstBytes]byte)
	}
	for {
		c.n, c.err = syscall.Read(int(fd), array[:])
		if c.err != syscall.EINTR { //nolint:errorlint // it is the bare number, and this is on every frame's way
			break
		}
	}
	if c.n > 0 {
		c.buf, c.at, c.end = array[:], 0, c.n
		return true
	}
	bursts.Put(array)
	if c.err != syscall.EAGAIN { //nolint:errorlint // the same
		return true
	}
	if do := c.idle; do != nil {
		c.idle = nil
		do()
	}
	return false
}

// hand gives p what it can take of the buffer.
func (c *Conn) hand(p []byte) int {
	n := copy(p, c.buf[c.at:c.end])
	if c.at += n; c.at == c.end {
		poison.Bytes(c.buf)
		bursts.Put((*[burstBytes]byte)(c.buf))
		c.buf = nil
	}
	return n
}

// BeforeWait has do called once, just before this connection is waited for the next time. It is not
// called if there is no need to wait.
func (c *Conn) BeforeWait(do func()) { c.idle = do }

// framingShare is how many bytes of a connection one byte of a body takes at the most, where the
// body comes in chunks of at least the seven bytes that frame one. Smaller chunks do no harm:
// net/http returns between two chunks if the next one has not come.
const framingShare = 2

// More returns how many bytes of a body wait here for sure, 0 if they are not worth a Read. It says
// less than what waits. Within a chunk net/http does not return before a Read is full: a Read that
// asks for too much would wait for the rest of a chunk with whole frames in hand.
func (c *Conn) More() int {
	if n := c.end - c.at; c.buf != nil && n >= plainBuffer {
		return n / framingShare
	}
	return 0
}

// CloseWrite ends our half of a tunnel: net/http asks for it where the protocol was switched.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
