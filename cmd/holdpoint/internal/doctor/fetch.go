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

// A Probe describes one harmless run: a message to an agent, without tools, on a new thread.
type Probe struct {
	URL     *url.URL
	Message string      // "" means DefaultMessage
	Header  http.Header // additional headers of the request, such as a token
	Options             // if Dialect is set, the request is one that the dialect's backend reads
	// Transport sends the request. If it is nil, Fetch uses a transport that follows no redirects.
	Transport http.RoundTripper
}

// Address parses the URL of a backend. Its error says what is wrong, for the user.
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

// Fetch sends the run through a Holdpoint, so that the backend gets the same request as from a real
// Holdpoint. It returns the backend's answer. If ctx ends first, the answer has the part that was
// received before. Fetch returns an error if there was no answer.
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
	seen := &capture{transport: p.Transport, maxRequests: 1}
	if p.needsSeveralRequests() {
		seen.maxRequests = maxExchanges
	}
	if seen.transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DisableCompression = true
		defer own.CloseIdleConnections()
		seen.transport = own
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

// maxExchanges is the largest number of requests to the backend that doctor sends for one run.
const maxExchanges = 8

// capture is a transport that sends the requests of one run to the backend and keeps the answers.
type capture struct {
	transport   http.RoundTripper
	maxRequests int // the largest number of requests that it sends

	mu        sync.Mutex // needed because a body may still be read after the run has ended
	exchanges []*exchange
}

// An exchange is one request and its answer.
type exchange struct {
	c          *capture
	res        *http.Response
	err        error // error of the request, or of reading its response's body
	body       bytes.Buffer
	isComplete bool
}

// errTooManyRequests is the error of a request beyond capture.maxRequests.
var errTooManyRequests = errors.New(failedSecondRun)

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	e := &exchange{c: c}
	c.mu.Lock()
	again := len(c.exchanges) >= c.maxRequests
	if !again {
		c.exchanges = append(c.exchanges, e)
	}
	c.mu.Unlock()
	if again {
		return nil, errTooManyRequests
	}
	res, err := c.transport.RoundTrip(r)
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
		b.e.isComplete = true
	case err != nil:
		b.e.err = err
	case b.e.body.Len() > MaxBytes:
		err = errors.New(failedEnough)
	}
	return n, err
}

// answer returns the answer that is an event stream, or the last answer if none is an event stream.
func (c *capture) answer(ctx context.Context, w *clientView) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if len(c.exchanges) == 0 {
		return Answer{}, fmt.Errorf(refusedOwnRun, clean(strings.TrimSpace(w.body.String())))
	}
	var all []Answer
	which := -1
	for n, e := range c.exchanges {
		switch {
		case e.res == nil && late:
			all = append(all, Answer{Incomplete: true, TimedOut: true})
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
	if c.maxRequests > 1 {
		a.RunAnswers = all
	}
	return a, nil
}

func (e *exchange) answer(timedOut bool) Answer {
	body := e.body.Bytes()
	a := Answer{Status: e.res.StatusCode, Header: e.res.Header, Incomplete: !e.isComplete, TimedOut: timedOut && !e.isComplete}
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
	}
	a.Body = body
	return a.withoutGzip()
}

// withoutGzip returns the answer with its body unpacked if the body is gzip. If the body cannot be
// unpacked, the answer is returned unchanged, and the report names its encoding.
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
	a.Body, a.Incomplete = body, a.Incomplete || cut
	return a
}
