package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/proxy"
	"holdpoint/store/memory"
)

// A Probe is one harmless run: a message to an agent, without tools, on a thread of its own.
type Probe struct {
	URL     *url.URL
	Message string      // "": DefaultMessage
	Header  http.Header // more headers of the request, such as a token
	Options             // the dialect's request is sent, for a backend that does not speak AG-UI
	// Transport carries the request. Nil: one for the purpose, which follows no redirect.
	Transport http.RoundTripper
}

// Address reads the address of a backend.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the address cannot be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("want an address http://host/path or https://host/path")
	case u.User != nil:
		return nil, errors.New("user and password do not belong into the address: give them by -header")
	}
	return u, nil
}

// Fetch sends the run through a Holdpoint, so that the backend gets what it would get from it, and
// returns the backend's answer. When ctx is done the answer is what came until then. The error says
// that there was no answer.
func Fetch(ctx context.Context, p Probe) (Answer, error) {
	if p.Dialect == "" {
		p.Dialect = "auto"
	}
	list, err := options(p.Dialect)
	if err != nil {
		return Answer{}, err
	}
	d, err := list.New(p.Dialect, nil)
	if err != nil {
		return Answer{}, err
	}
	seen := &capture{to: p.Transport}
	if seen.to == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DisableCompression = true
		defer own.CloseIdleConnections()
		seen.to = own
	}
	h, err := proxy.New(proxy.Options{
		Upstream: p.URL, Dialect: d, Store: memory.New(memory.Options{}), Transport: seen,
		UpstreamHeaders: p.Header, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return Answer{}, err
	}
	o := p.Options
	body := input(&stream{}, o)
	body = agui.SetString(body, "threadId", "holdpoint-doctor-"+rand.Text())
	body = agui.SetString(body, "runId", "holdpoint-doctor-"+rand.Text())
	if p.Message != "" {
		body = agui.SetString(body, "messages.0.content", p.Message)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holdpoint/", bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	w := &written{header: http.Header{}}
	h.ServeHTTP(w, req)
	return seen.answer(ctx, w)
}

// capture carries one request, and keeps what comes back.
type capture struct {
	to http.RoundTripper

	mu    sync.Mutex // the body may be read on while the run has ended
	asked bool
	res   *http.Response
	err   error // of the request, or of its body
	body  bytes.Buffer
	whole bool
}

// errOnce refuses all but the first request: the run is one.
var errOnce = errors.New("doctor sends one request")

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	again := c.asked
	c.asked = true
	c.mu.Unlock()
	if again {
		return nil, errOnce
	}
	res, err := c.to.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = err
		return nil, err
	}
	head := *res
	head.Header = res.Header.Clone()
	c.res = &head
	res.Body = &captured{ReadCloser: res.Body, c: c}
	return res, nil
}

type captured struct {
	io.ReadCloser
	c *capture
}

func (b *captured) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	b.c.body.Write(p[:n])
	switch {
	case errors.Is(err, io.EOF):
		b.c.whole = true
	case err != nil:
		b.c.err = err
	case b.c.body.Len() > MaxBytes:
		err = errors.New("doctor: enough was read")
	}
	return n, err
}

// answer is what came.
func (c *capture) answer(ctx context.Context, w *written) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case c.res == nil && late:
		return Answer{Cut: true, Late: true}, nil
	case c.res == nil && c.err != nil:
		return Answer{}, fmt.Errorf("the backend cannot be reached: %s", clean(c.err.Error()))
	case c.res == nil:
		return Answer{}, errors.New("Holdpoint refuses the run: " + clean(strings.TrimSpace(w.body.String())))
	}
	body := c.body.Bytes()
	a := Answer{Status: c.res.StatusCode, Header: c.res.Header, Cut: !c.whole, Late: late && !c.whole}
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
	}
	a.Body = body
	return a.unpacked(), nil
}

// unpacked is the answer without gzip. What Holdpoint cannot unpack stays, and is told.
func (a Answer) unpacked() Answer {
	if !strings.EqualFold(a.Header.Get("Content-Encoding"), "gzip") {
		return a
	}
	z, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return a
	}
	body, cut, _ := readBody(z)
	a.Header = a.Header.Clone()
	a.Header.Del("Content-Encoding")
	a.Body, a.Cut = body, a.Cut || cut
	return a
}
