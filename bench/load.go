package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A client generates load. It checks that each stream is complete.
type client struct {
	http   *http.Client
	buffer int
	runs   *atomic.Int64 // number of runs of all clients; shared
}

// client returns a client that reads up to buffer bytes at a time.
func (b *bench) client(buffer int) *client {
	return &client{
		runs: &b.runs,
		http: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: 1024,
			ReadBufferSize:      buffer,
			WriteBufferSize:     4 << 10,
			DisableCompression:  true,
		}},
		buffer: buffer,
	}
}

// close closes idle connections.
func (c *client) close() { c.http.CloseIdleConnections() }

// withIDs returns a copy of o with a run id that no other run has. If o has no thread id, the copy
// also gets a new thread id.
func (c *client) withIDs(o order) order {
	n := c.runs.Add(1)
	if o.thread == "" {
		o.thread = fmt.Sprintf("thread-%d", n)
	}
	o.run = fmt.Sprintf("run-%d", n)
	return o
}

// input returns the request body of a run: the history, and one new user message. more is appended
// to the members of the body.
func (o order) input(more string) []byte {
	message := o.message
	if message == "" {
		message = o.run
	}
	body := fmt.Appendf(nil, `{"threadId":"%s","runId":"%s","state":{},"messages":[`, o.thread, o.run)
	for n := range o.history {
		body = fmt.Appendf(body, `{"id":"h-%d","role":"%s","content":"%s"},`, n, [...]string{"user", "assistant"}[n%2], paragraph)
	}
	return fmt.Appendf(body, `{"id":"u-%s","role":"user","content":"Clean up the reports"}],"tools":[],"context":[],"forwardedProps":{}%s}`, message, more)
}

// paragraph is the content of a message in the history, as JSON text. It has the length of a
// paragraph that a person or a model writes.
var paragraph = strings.Repeat(`The reports of \"Q3\" lie in two folders; the drafts among them are older than a month.\n\n`, 11)

// post sends a run and returns the body of the response. It returns an error if the response is not
// an event stream.
func (c *client) post(ctx context.Context, address, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		head, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		res.Body.Close()
		return nil, fmt.Errorf("%s, %s: %s", res.Status, res.Header.Get("Content-Type"), head)
	}
	return res.Body, nil
}

// A result describes one stream that has ended.
type result struct {
	run           string
	frames        int
	firstByteTime time.Duration // time until the first byte
	pauseEnd      []byte        // if the run paused behind Holdpoint: the end of its stream
}

// stream sends an order through a target and checks the stream. If progress is not nil, it is
// called with the number of frames that have arrived so far.
func (c *client) stream(ctx context.Context, t *target, ord order, more string, progress func(frames int)) (result, error) {
	ord = c.withIDs(ord)
	s, err := ord.makeScript()
	if err != nil {
		return result{}, err
	}
	check := newChecker(s, t.kind.form)
	input := ord.input(more)
	begin := time.Now()
	body, err := c.post(ctx, t.address, ord.path(), input)
	if err != nil {
		return result{}, voidError(t, ord, err)
	}
	defer body.Close()
	r := result{run: ord.run, frames: s.frames()}
	for p := make([]byte, c.buffer); ; {
		n, err := body.Read(p)
		if n > 0 && r.firstByteTime == 0 {
			r.firstByteTime = time.Since(begin)
		}
		if _, wrong := check.Write(p[:n]); wrong != nil {
			return r, voidError(t, ord, wrong)
		}
		if progress != nil {
			progress(check.frames)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, voidError(t, ord, err)
		}
	}
	if err := check.checkComplete(); err != nil {
		return r, voidError(t, ord, err)
	}
	r.pauseEnd = check.rest
	return r, nil
}

// voidError returns the error that makes a whole measurement void. It is used if a stream was not
// as expected.
func voidError(t *target, ord order, err error) error {
	return fmt.Errorf("void: %s, %s of %s: %w", t.name, ord.run, ord.script, err)
}

// streamConcurrently runs n concurrent streams, and each of them the given number of times, one
// after the other. It returns the number of frames of all of them.
func (c *client) streamConcurrently(ctx context.Context, t *target, ord order, n, times int) (frames int, err error) {
	var total atomic.Int64
	err = runConcurrently(n, func(int) error {
		for range times {
			r, err := c.stream(ctx, t, ord, "", nil)
			if err != nil {
				return err
			}
			total.Add(int64(r.frames))
		}
		return nil
	})
	return int(total.Load()), err
}

// runConcurrently calls do n times concurrently. It waits for all calls and returns an error of one
// of them.
func runConcurrently(n int, do func(n int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// interruptIDs returns the ids of the interrupts in the last event of a run. rest is the end of the
// run's stream.
func interruptIDs(rest []byte) ([]string, error) {
	rest = bytes.TrimSuffix(rest, []byte("\n\n"))
	_, last, _ := bytes.Cut(rest[bytes.LastIndex(rest, []byte("\n\n"))+1:], []byte("data: "))
	var end struct {
		Outcome struct {
			Interrupts []struct {
				ID string `json:"id"`
			} `json:"interrupts"`
		} `json:"outcome"`
	}
	if err := json.Unmarshal(last, &end); err != nil {
		return nil, fmt.Errorf("the last event %.300q: %w", last, err)
	}
	var ids []string
	for _, i := range end.Outcome.Interrupts {
		ids = append(ids, i.ID)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no interrupt in %.300q", last)
	}
	return ids, nil
}
