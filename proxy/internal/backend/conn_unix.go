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
	// burstBytes is the size of the buffer for one read from a connection that has much to read.
	burstBytes = 128 << 10
	// plainBuffer is the size of the buffer that net/http keeps for each connection to a backend,
	// whether the connection waits or not.
	plainBuffer = 4 << 10
)

// burstBuffers is a pool of read buffers. Measured without the pool: 1.8 × the CPU time in the
// benchmarks blast-1 and blast-20.
var burstBuffers sync.Pool // holds *[burstBytes]byte

// A Conn is a connection to a backend that is read in large pieces while there is much to read, and
// uses no buffer while it waits. net/http itself reads each connection into one buffer of fixed
// size: a small buffer means a system call for every few frames, and a large one is memory that
// each stream keeps after its first burst.
//
// Measured without Conn: with a wholeBuffer, 3.5 kB more for each stream in
// the benchmark idle-1000 and 117 kB more in idle-said; with a buffer of 4 KiB, 1.5 × the CPU time
// in blast-1 and 1.4 × in blast-20.
//
// Only one goroutine at a time may read, as net/http does.
type Conn struct {
	net.Conn
	raw syscall.RawConn
	try func(fd uintptr) bool // the method value c.tryRead, made once

	buf      []byte // borrowed from bursts; nil if everything in it was read
	at, end  int    // buf[at:end] is not read yet
	readALot bool   // the last read returned more than net/http asks for
	ended    bool   // tryRead has met the end or an error that Read has not returned yet

	idle func() // if set, called once before the next blocking read

	n      int // result of the last tryRead
	err    error
	closed error // why raw.Read did not call tryRead, or stopped waiting
}

// burst returns conn as a Conn if the system supports it, else conn itself.
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
	if c.buf == nil && !c.ended && c.idle == nil && (!c.readALot || len(p) >= burstBytes/2) {
		n, err := c.Conn.Read(p)
		c.readALot = n == len(p)
		return n, err
	}
	c.Wait()
	if c.buf != nil {
		return c.copyBuffered(p), nil
	}
	c.ended, c.readALot = false, false
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

// Wait blocks until a Read will not block. It uses no buffer while it waits.
func (c *Conn) Wait() {
	if c.buf == nil && !c.ended {
		c.closed = c.raw.Read(c.try)
		c.ended = c.buf == nil
		c.readALot = c.end > plainBuffer
	}
}

// tryRead reads once into a borrowed buffer. If the read would block, it returns the buffer to the
// pool and returns false; it is then called again when there is something to read.
func (c *Conn) tryRead(fd uintptr) bool {
	array, ok := burstBuffers.Get().(*[burstBytes]byte)
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
	burstBuffers.Put(array)
	if c.err != syscall.EAGAIN { //nolint:errorlint // the same
		return true
	}
	if do := c.idle; do != nil {
		c.idle = nil
		do()
	}
	return false
}

// copyBuffered copies from the buffer into p, and returns the number of bytes copied.
func (c *Conn) copyBuffered(p []byte) int {
	n := copy(p, c.buf[c.at:c.end])
	if c.at += n; c.at == c.end {
		poison.Bytes(c.buf)
		burstBuffers.Put((*[burstBytes]byte)(c.buf))
		c.buf = nil
	}
	return n
}

// ReadFrom implements io.ReaderFrom. net/http calls it for the body of a request. A Body is sent
// with one write. Without ReadFrom, net/http copies it through a new buffer of 32 kB, and writes
// each of these pieces.
func (c *Conn) ReadFrom(src io.Reader) (int64, error) {
	if limited, ok := src.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*Body); ok && int64(body.Len()) <= limited.N {
			n, err := body.WriteTo(c.Conn)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, src)
}

// BeforeWait sets the function that is called once before the next read that blocks. If no read
// blocks, it is not called.
func (c *Conn) BeforeWait(do func()) { c.idle = do }

// framingShare is the largest number of bytes on the connection for one byte of a body, if the body
// is sent in chunks that have at least as many bytes as their framing (seven). Smaller chunks do no
// harm, because net/http returns between two chunks if the next one has not arrived.
const framingShare = 2

// More returns a number of bytes of the body that can certainly be read without blocking, 0 if
// there are too few to be worth a Read. It is a lower bound: within a chunk net/http does not
// return before a Read is full, so a Read that asks for too much would wait for the rest of a chunk
// although whole frames are there.
func (c *Conn) More() int {
	if n := c.end - c.at; c.buf != nil && n >= plainBuffer {
		return n / framingShare
	}
	return 0
}

// CloseWrite closes the writing half of the connection. net/http calls it after the protocol was
// switched.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
