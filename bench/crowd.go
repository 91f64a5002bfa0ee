package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// A crowd is a group of streams that wait at the origin's gate.
type crowd struct {
	bench   *bench
	target  *target
	cancel  context.CancelFunc
	readers sync.WaitGroup
	size    int

	mu       sync.Mutex
	received int // bytes that arrived in all streams, without heartbeats
	firstErr error
}

// gather opens n streams and waits until each of them has received the head of its script.
func (b *bench) gather(t *target, n int, script string, cycles int) (*crowd, error) {
	ctx, cancel := context.WithCancel(b.ctx)
	g := &crowd{bench: b, target: t, cancel: cancel, size: n}
	c := b.client(4 << 10)
	head := 0
	gate := make(chan struct{}, 64) // at most 64 streams connect at the same time
	for range n {
		ord := c.withIDs(order{script: script, cycles: cycles, bursts: 1})
		s, err := ord.makeScript()
		if err != nil {
			return nil, err
		}
		check := newChecker(s, t.kind.form)
		head += len(check.parts[0].bytes)
		gate <- struct{}{}
		g.readers.Go(func() {
			body, err := c.post(ctx, t.address, ord.path(), ord.input(""))
			<-gate
			if err == nil {
				err = g.read(body, check)
			}
			if err != nil && ctx.Err() == nil {
				g.noteError(voidError(t, ord, err))
			}
		})
	}
	return g, g.awaitBytes(head)
}

// read reads a stream to its end and checks it.
func (g *crowd) read(body io.ReadCloser, check *checker) error {
	defer body.Close()
	for p := make([]byte, 4<<10); ; {
		n, err := body.Read(p)
		matched := check.matched
		if _, wrong := check.Write(p[:n]); wrong != nil {
			return wrong
		}
		g.mu.Lock()
		g.received += check.matched - matched
		g.mu.Unlock()
		if errors.Is(err, io.EOF) {
			return check.checkComplete()
		}
		if err != nil {
			return err
		}
	}
}

func (g *crowd) noteError(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firstErr == nil {
		g.firstErr = err
	}
}

// state returns the number of bytes that have arrived in all streams, and the first error.
func (g *crowd) state() (received int, firstErr error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.received, g.firstErr
}

// awaitBytes waits until the given number of bytes has arrived in all streams together.
func (g *crowd) awaitBytes(bytes int) error {
	for {
		received, failed := g.state()
		switch {
		case failed != nil:
			return failed
		case received >= bytes:
			return nil
		case g.bench.ctx.Err() != nil:
			return g.bench.ctx.Err()
		}
		time.Sleep(samplingInterval)
	}
}

// gate waits until held streams wait at the origin's gate, and then sends the command to all of
// them.
func (b *bench) gate(command string, waiters int) error {
	for {
		res, err := http.Get("http://" + b.origin.address + "/gate")
		if err != nil {
			return err
		}
		n := 0
		err = json.NewDecoder(res.Body).Decode(&n)
		res.Body.Close()
		if err != nil {
			return err
		}
		if n == waiters {
			break
		}
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
	res, err := http.Post("http://"+b.origin.address+"/gate/"+command, "", nil)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the origin's gate for %s: %s", command, res.Status)
	}
	return nil
}

// finishStreams lets the streams run to their regular end and waits for it.
func (g *crowd) finishStreams() error {
	err := g.bench.gate("end", g.size)
	if err == nil {
		g.readers.Wait()
		err = g.awaitBytes(0)
	}
	g.cancel()
	return err
}
