package doctor

import (
	"bytes"
	"cmp"
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
		return nil, errors.New(refusedAddress)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New(refusedScheme)
	case u.User != nil:
		return nil, errors.New(refusedUser)
	}
	return u, nil
}

// Fetch sends the run through a Holdpoint, so that the backend gets what it would get from it, and
// returns the backend's answer. When ctx is done the answer is what came until then. The error says
// that there was no answer.
func Fetch(ctx context.Context, p Probe) (Answer, error) {
	p.Dialect = cmp.Or(p.Dialect, "auto")
	list, err := options(p.Options)
	if err != nil {
		return Answer{}, err
	}
	d, err := list.New(p.Dialect, nil)
	if err != nil {
		return Answer{}, err
	}
	seen := &capture{to: p.Transport, most: 1}
	if p.several() {
		seen.most = maxExchanges
	}
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
	w := &clientView{header: http.Header{}}
	h.ServeHTTP(w, req)
	return seen.answer(ctx, w)
}

// maxExchanges bounds the requests of a run that is several.
const maxExchanges = 8

// capture carries the requests of one run, and keeps what comes back.
type capture struct {
	to   http.RoundTripper
	most int // requests that it carries

	mu   sync.Mutex // a body may be read on while the run has ended
	list []*exchange
}

// An exchange is one request, and what came back.
type exchange struct {
	c     *capture
	res   *http.Response
	err   error // of the request, or of its body
	body  bytes.Buffer
	whole bool
}

// errEnough refuses requests behind the last of a run.
var errEnough = errors.New("doctor sends one run")

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	e := &exchange{c: c}
	c.mu.Lock()
	again := len(c.list) >= c.most
	if !again {
		c.list = append(c.list, e)
	}
	c.mu.Unlock()
	if again {
		return nil, errEnough
	}
	res, err := c.to.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		e.err = err
		return nil, err
	}
	head := *res
	head.Header = res.Header.Clone()
	e.res = &head
	res.Body = &capturedBody{ReadCloser: res.Body, e: e}
	return res, nil
}

type capturedBody struct {
	io.ReadCloser
	e *exchange
}

func (b *capturedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.e.c.mu.Lock()
	defer b.e.c.mu.Unlock()
	b.e.body.Write(p[:n])
	switch {
	case errors.Is(err, io.EOF):
		b.e.whole = true
	case err != nil:
		b.e.err = err
	case b.e.body.Len() > MaxBytes:
		err = errors.New("doctor: enough was read")
	}
	return n, err
}

// answer returns what came: of several answers the event stream, or else the last one.
func (c *capture) answer(ctx context.Context, w *clientView) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if len(c.list) == 0 {
		return Answer{}, fmt.Errorf(refusedOwnRun, clean(strings.TrimSpace(w.body.String())))
	}
	var all []Answer
	which := -1
	for n, e := range c.list {
		switch {
		case e.res == nil && late:
			all = append(all, Answer{Cut: true, Late: true})
		case e.res == nil && e.err != nil:
			return Answer{}, fmt.Errorf(failedReason, clean(e.err.Error()))
		case e.res == nil:
			return Answer{}, errors.New(failedUnreachable)
		default:
			all = append(all, e.answer(late))
		}
		if which < 0 && mediaType(all[n].Header) == eventStream {
			which = n
		}
	}
	if which < 0 {
		which = len(all) - 1
	}
	a := all[which]
	if c.most > 1 {
		a.Run = all
	}
	return a, nil
}

func (e *exchange) answer(late bool) Answer {
	body := e.body.Bytes()
	a := Answer{Status: e.res.StatusCode, Header: e.res.Header, Cut: !e.whole, Late: late && !e.whole}
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
	}
	a.Body = body
	return a.withoutGzip()
}

// withoutGzip returns the answer without gzip. What Holdpoint cannot unpack stays, and is told.
func (a Answer) withoutGzip() Answer {
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
