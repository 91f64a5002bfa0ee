//go:build unix

package backend

import (
	"cmp"
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
	// burstBytes is the size of the buffer for one read from a connection on which much has
	// arrived.
	burstBytes = 128 << 10
	// plainBuffer is the size of the read buffer that net/http has for each connection to a
	// backend, even while the connection waits.
	plainBuffer = 4 << 10
)

// burstBuffers is a pool of read buffers. Measured without the pool: 1.8 × the CPU time in the
// benchmarks blast-1 and blast-20.
var burstBuffers sync.Pool // contains *[burstBytes]byte

// A Conn is a connection to a backend. It reads large pieces while much arrives, and uses no buffer
// while it waits. net/http itself reads each connection into one buffer of fixed size. If that
// buffer is small, every few frames need a system call. If it is large, each stream holds that
// memory even while it waits.
//
// Measured without Conn: with a wholeBuffer, 3.5 kB more for each stream in the benchmark idle-1000
// and 117 kB more in idle-said; with a buffer of 4 KiB, 1.5 × the CPU time in blast-1 and 1.4 × in
// blast-20.
//
// Only one goroutine at a time may read. net/http keeps to this.
type Conn struct {
	net.Conn
	raw syscall.RawConn
	try func(fd uintptr) bool // the method value c.tryRead, which is created only once

	buf      []byte // borrowed from burstBuffers; nil if all its bytes were read
	at, end  int    // buf[at:end] are the bytes that were not read yet
	readALot bool   // the last read returned more than net/http requests at a time
	ended    bool   // tryRead has met the end or an error, and Read has not returned it yet

	idle func() // if not nil, called once before the next read that blocks

	n      int // n and err are the result of the last tryRead
	err    error
	closed error // why raw.Read did not call tryRead or stopped waiting
}

// burst returns conn as a Conn if the system supports this, and otherwise conn itself.
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

// tryRead reads once into a borrowed buffer. If the read would block, it gives the buffer back and
// returns false. It is called again when there is something to read.
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

// copyBuffered copies bytes from the buffer into p. It returns how many bytes it has copied.
func (c *Conn) copyBuffered(p []byte) int {
	n := copy(p, c.buf[c.at:c.end])
	if c.at += n; c.at == c.end {
		poison.Bytes(c.buf)
		burstBuffers.Put((*[burstBytes]byte)(c.buf))
		c.buf = nil
	}
	return n
}

// ReadFrom implements io.ReaderFrom. net/http calls it for the body of a request, or for the rest
// of a body whose beginning it sends with the header. A body in memory is sent with one write.
// Without ReadFrom, net/http copies it through a new buffer of 32 kB, and writes each of these
// pieces. Measured without it: 1.05 × the CPU time in first-byte-history, and 1.06 × the time until
// the first byte.
func (c *Conn) ReadFrom(src io.Reader) (int64, error) {
	if limited, ok := src.(*io.LimitedReader); ok && !without.BodyWrite {
		if body, ok := limited.R.(io.WriterTo); ok { // io.NopCloser hides a bytes.Reader, but not its WriteTo
			return body.WriteTo(boundedWriter{c.Conn, &limited.N})
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, src)
}

// A boundedWriter writes at most left bytes. It counts them down, as an io.LimitedReader does.
type boundedWriter struct {
	io.Writer
	left *int64
}

func (w boundedWriter) Write(p []byte) (n int, err error) {
	if int64(len(p)) > *w.left {
		p, err = p[:*w.left], io.ErrShortWrite
	}
	n, failed := w.Writer.Write(p)
	*w.left -= int64(n)
	return n, cmp.Or(failed, err)
}

// BeforeWait sets the function do, which is called once before the next read that blocks. If no
// read blocks, it is not called.
func (c *Conn) BeforeWait(do func()) { c.idle = do }

// framingShare is the largest number of bytes on the connection for one byte of a body that is sent
// in chunks. It assumes that each chunk has at least as many bytes as its framing (seven). Smaller
// chunks do no harm, because net/http returns between two chunks if the next chunk has not arrived.
const framingShare = 2

// More returns how many bytes of the body a Read can certainly return without blocking. It returns
// 0 if these are too few to be worth a Read. The number is a lower bound. Inside a chunk, net/http
// does not return before a Read is full. So a Read that requests too many bytes would wait for the
// rest of a chunk although complete frames have arrived.
func (c *Conn) More() int {
	if n := c.end - c.at; c.buf != nil && n >= plainBuffer {
		return n / framingShare
	}
	return 0
}

// CloseWrite closes the writing half of the connection. net/http calls it after the protocol of the
// connection was switched.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
