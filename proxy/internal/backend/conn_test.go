//go:build unix

package backend

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// connected returns a Conn (ours) and the other side of its connection (theirs).
func connected(t *testing.T) (ours *Conn, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	ours, ok := burst(dialled).(*Conn)
	if !ok {
		t.Fatal("no Conn")
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// TestBurstIsReadWhole checks that all bytes arrive, and then the end of the stream. This must hold
// for each size of a read, and whether or not the reader calls Wait before each read.
func TestBurstIsReadWhole(t *testing.T) {
	sent := []byte(strings.Repeat("0123456789abcdef", 1<<16)) // 1 MiB
	for _, size := range []int{1, 100, plainBuffer, 20_000, burstBytes / 2, 300_000} {
		for _, waits := range []bool{false, true} {
			ours, theirs := connected(t)
			length := min(len(sent), 10_000*size)
			go func() {
				for from := 0; from < length; from += 70_000 {
					theirs.Write(sent[from:min(from+70_000, length)])
				}
				theirs.Close()
			}()
			var got bytes.Buffer
			p := make([]byte, size)
			more := false
			for {
				if waits && !more {
					ours.Wait()
				}
				n, err := ours.Read(p)
				got.Write(p[:n])
				if more && n < min(size, plainBuffer) {
					t.Fatalf("reads of %d: more was promised, %d came", size, n)
				}
				more = ours.More() > 0
				if err == io.EOF {
					break
				}
				if err != nil || n == 0 {
					t.Fatalf("reads of %d: %d, %v", size, n, err)
				}
			}
			if !bytes.Equal(got.Bytes(), sent[:length]) {
				t.Errorf("reads of %d, waits %v: %d bytes of %d, or others", size, waits, got.Len(), length)
			}
		}
	}
}

// TestBurstHoldsNothingWhileItWaits checks that a Conn has a buffer only while the buffer contains
// bytes.
func TestBurstHoldsNothingWhileItWaits(t *testing.T) {
	ours, theirs := connected(t)
	p := make([]byte, 100)
	for range 3 {
		if ours.buf != nil || ours.More() != 0 {
			t.Fatal("a buffer is held")
		}
		waited := make(chan struct{})
		go func() {
			ours.Wait()
			close(waited)
		}()
		theirs.Write([]byte("some"))
		<-waited
		if n, err := ours.Read(p); string(p[:n]) != "some" || err != nil {
			t.Fatalf("%q, %v", p[:n], err)
		}
	}
}

// TestBurstEndsByAnError checks a connection that was reset, or that was closed while its Conn
// waited. The next two calls of Read must return an error.
func TestBurstEndsByAnError(t *testing.T) {
	ours, theirs := connected(t)
	waited := make(chan struct{})
	go func() {
		ours.Wait()
		close(waited)
	}()
	theirs.(*net.TCPConn).SetLinger(0)
	theirs.Close()
	<-waited
	var op *net.OpError
	if _, err := ours.Read(make([]byte, 10)); !errors.As(err, &op) {
		t.Errorf("after a reset: %v", err)
	}

	ours, _ = connected(t)
	waited = make(chan struct{})
	go func() {
		ours.Wait()
		close(waited)
	}()
	ours.Close()
	<-waited
	for range 2 {
		if _, err := ours.Read(make([]byte, 10)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after a close: %v", err)
		}
	}
}
