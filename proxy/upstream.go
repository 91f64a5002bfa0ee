package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"holdpoint/internal/build/without"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
)

// transports has the transport for exchanges that carry answers (single) and the one for all other
// requests (shared), see backend.Transports. Its RoundTrip selects one of them.
type transports struct{ shared, single http.RoundTripper }

func (t *transports) RoundTrip(req *http.Request) (*http.Response, error) {
	b := bodyOf(req.Context())
	if b == nil {
		return t.shared.RoundTrip(req)
	}
	if err := b.claim.Stands(req.Context()); err != nil {
		return nil, err
	}
	e := b.exchange
	defer e.bound()()
	via := t.single
	if !b.claim.Held() {
		via = t.shared
	}
	if _, std := via.(*http.Transport); !std {
		mayHave := true // such a transport does not report connections, and may panic
		defer func() {
			if mayHave {
				e.noteReached()
			}
		}()
		res, err := via.RoundTrip(req)
		dial := (*net.OpError)(nil)
		mayHave = !errors.As(err, &dial) || dial.Op != "dial"
		return res, err
	}
	var conn *backend.Conn
	trace := &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			conn, _ = got.Conn.(*backend.Conn)
			e.conn = conn
			e.noteReached() // once there is a connection, bytes may have been sent
		},
		PutIdleConn: func(error) {
			if conn != nil {
				conn.BeforeWait(nil) // the whole stream has arrived, and the held header is sent with it
			}
		},
	}
	res, err := via.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		e.conn = nil
	}
	return res, err
}

// A destination is the address of the backend, and the changes that Holdpoint makes to each request
// to it.
type destination struct {
	upstream     *url.URL
	preserveHost bool
	gate         *principal.Gate
	headers      atomic.Pointer[http.Header] // set on every request
}

// rewrite turns a client's request into the request to the backend. It is the Rewrite of a
// ReverseProxy, not the Director, because hop-by-hop headers are removed before a Rewrite runs. So
// a client cannot have one of Holdpoint's headers removed by naming it in Connection.
func (d *destination) rewrite(pr *httputil.ProxyRequest) {
	in, out := pr.In, pr.Out
	out.URL = d.target(in.URL)
	if d.preserveHost {
		out.Host = in.Host
	} else {
		out.Host = ""
	}
	out.Header["X-Forwarded-For"] = in.Header["X-Forwarded-For"]
	pr.SetXForwarded()
	if prior := in.Header["X-Forwarded-For"]; prior != nil && out.Header["X-Forwarded-For"] == nil {
		out.Header["X-Forwarded-For"] = prior // a client on a unix socket has no address to append
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if v, ok := in.Header[name]; ok {
			out.Header[name] = v // set by an outer proxy, which has better information
		}
	}
	if up := out.Header.Get("Upgrade"); up != "" && !(strings.EqualFold(up, "websocket") && in.Method == http.MethodGet) {
		// After an upgrade to HTTP/2 a client would talk to the backend directly. A WebSocket is
		// opened by GET (RFC 6455).
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
		out.Header.Del("Http2-Settings")
	}
	d.gate.Clean(out.Header, in.Header)
	d.gate.Clean(out.Trailer, nil)
	for name, values := range *d.headers.Load() {
		out.Header[name] = values
	}
}

// rewrite turns a client's request into the request to the backend. For a run, the exchange decides
// what is sent.
func (h *Handler) rewrite(pr *httputil.ProxyRequest) {
	h.destination.rewrite(pr)
	if b := bodyOf(pr.In.Context()); b != nil {
		b.judge.sendID(pr.Out.Header)
		if span := b.judge.span; span != nil {
			span.Exchange(pr.Out.Header, h.opts.Upstream.Hostname())
		}
		b.exchange.address(pr.Out, h.destination.target)
	}
}

// address fills in the request that the dialect wants to send. target returns the address at the
// backend for an address of the client.
func (e *exchange) address(out *http.Request, target func(*url.URL) *url.URL) {
	want := e.Out
	out.Method = http.MethodPost
	if want.Method != "" {
		out.Method = want.Method
	}
	if want.Path != "" {
		out.URL = target(&url.URL{Path: want.Path, RawQuery: e.judge.request.http.URL.RawQuery})
	}
	body := want.Body
	if body == nil {
		body = e.judge.in.Raw
	}
	// The body is in memory, because with the client's own body a fast response would be cut off
	// (golang/go#40747).
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) == 0 { // a GET
		out.Body, out.GetBody = http.NoBody, nil
	}
	out.ContentLength = int64(len(body))
	out.TransferEncoding = nil
	out.Header.Del("Content-Length")
	out.Header.Del("Expect")
	out.Header.Del("Connection") // a run is never upgraded
	out.Header.Del("Upgrade")
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Accept", "text/event-stream") // */* would permit protobuf
	if e.judge.opts.isForeign() {
		out.Header.Set("Content-Type", "application/json") // the client's Content-Type describes its RunAgentInput
	}
	for name, values := range want.Header {
		out.Header[http.CanonicalHeaderKey(name)] = values
	}
	// net/http resends a POST by itself if the request has one of these headers and a reused
	// connection breaks (http.Request.isReplayable). It checks only the canonical spelling; the
	// backend accepts any.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := out.Header[name]; ok {
			delete(out.Header, name)
			out.Header[strings.ToLower(name)] = v
		}
	}
}

// target returns the address at the backend for the address of a request. The path of the request
// is appended to that of the upstream, without adding or doubling a slash. The query of the request
// is appended to that of the upstream, byte for byte.
func (d *destination) target(in *url.URL) *url.URL {
	up := d.upstream
	escaped := joinPath(up.EscapedPath(), in.EscapedPath())
	out := &url.URL{Scheme: up.Scheme, Host: up.Host, RawQuery: up.RawQuery, RawPath: escaped}
	if p, err := url.PathUnescape(escaped); err == nil {
		out.Path = p
	}
	if in.RawQuery != "" {
		if out.RawQuery != "" {
			out.RawQuery += "&"
		}
		out.RawQuery += in.RawQuery
	}
	return out
}

// joinPath appends a request's path to the upstream's. "/" adds nothing, because FastAPI redirects
// /agent/ to /agent, and clients do not follow the redirect of a POST.
func joinPath(base, path string) string {
	switch {
	case base == "" || base == "/":
		if path == "" {
			return "/"
		}
		return path
	case path == "" || path == "/":
		return base
	}
	return strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(path, "/")
}

// modifyResponse replaces the body of a run's response by the translated stream, and corrects
// headers of other responses.
func (h *Handler) modifyResponse(res *http.Response) error {
	target := res.Header.Get("Location")
	h.relocate(res)
	h.cors.Hear(clientOf(res.Request.Context()), res)
	b := bodyOf(res.Request.Context())
	if b == nil {
		h.passingHints(res)
		introduce(res)
		return nil
	}
	b.exchange.status = res.StatusCode
	b.judge.returnID(res.Header)
	if res.StatusCode < http.StatusOK {
		return errSwitched // a response that switches protocols has no stream to read
	}
	if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed {
		h.explainNotFound(res)
	}
	if target != "" && b.judge.leadsBack(res) {
		b.judge.stopRedirect(res, target)
	}
	if b.opened { // a later exchange of the same stream
		b.takeResult(b.exchange.stream(res))
		res.Body = http.NoBody
		return nil
	}
	b.opened = true
	if b.untouched = b.open(res); b.untouched {
		return nil
	}
	if b.exchange.status/100 == 2 {
		h.memory.agents.note(b.judge.request.path)
	} else {
		// Holdpoint makes the stream, and the error may come from a part of the backend that sets
		// no CORS headers.
		h.cors.Allow(res.Header, b.judge.request.http)
	}
	if b.exchange.conn != nil && !without.Hold {
		// The header is held back until there are frames, or until the stream waits for them, which
		// saves a write. Measured without this: 1.05 to 1.08 × the CPU time in the benchmark
		// first-byte.
		b.to.Hold()
	}
	res.Body = http.NoBody // pump writes the stream
	res.StatusCode, res.Status = http.StatusOK, ""
	stream.MakeHeader(res.Header)
	res.ContentLength = -1
	res.Uncompressed = true
	res.Trailer = nil
	return nil
}

// relocate rewrites a Location that names the upstream to the address that the client knows. For an
// agent with a prefix it also rewrites a Location without a host, which would otherwise lead out of
// the agent's path.
func (h *Handler) relocate(res *http.Response) {
	to, err := url.Parse(res.Header.Get("Location"))
	up := h.opts.Upstream
	switch {
	case err != nil:
		return
	case to.IsAbs() && (strings.EqualFold(to.Host, up.Host) || strings.EqualFold(to.Host, res.Request.Host)):
		out := res.Request.Header
		to.Scheme, to.Host = out.Get("X-Forwarded-Proto"), out.Get("X-Forwarded-Host")
	case h.opts.Prefix == "" || to.Scheme != "" || to.Host != "" || !strings.HasPrefix(to.EscapedPath(), "/"):
		return
	}
	base := strings.TrimSuffix(up.EscapedPath(), "/")
	if rest, ok := strings.CutPrefix(to.EscapedPath(), base); ok && base+h.opts.Prefix != "" && (rest == "" || rest[0] == '/') {
		escaped := h.opts.Prefix + "/" + strings.TrimPrefix(rest, "/")
		if plain, err := url.PathUnescape(escaped); err == nil {
			to.Path, to.RawPath = plain, escaped
		}
	}
	res.Header.Set("Location", to.String())
}

func (h *Handler) explainNotFound(res *http.Response) {
	address := *res.Request.URL
	if address.RawQuery != "" {
		address.RawQuery = "..." // it may contain a key of the client or the operator
	}
	args := []any{"status", res.StatusCode, "upstream_url", address.Redacted()}
	if half := doubledPath(res.Request.URL.Path); half != "" {
		args = append(args, "hint", fmt.Sprintf("the path holds %q twice: HOLDPOINT_UPSTREAM ends with it and the client's address does too", half))
	}
	h.log.Warn(logNoEndpoint, args...)
}

// doubledPath returns the repeated part of a path such as /agent/agent, "" if nothing is repeated.
func doubledPath(p string) string {
	parts := strings.Split(strings.Trim(p, "/"), "/")
	for n := len(parts) / 2; n > 0; n-- {
		for i := 0; i+2*n <= len(parts); i++ {
			if half := strings.Join(parts[i:i+n], "/"); half != "" && half == strings.Join(parts[i+n:i+2*n], "/") {
				return "/" + half
			}
		}
	}
	return ""
}

// upstreamFailed answers a request if the backend could not be reached, or broke off before its
// header.
func (h *Handler) upstreamFailed(w http.ResponseWriter, req *http.Request, err error) {
	b := bodyOf(req.Context())
	if b == nil {
		client := clientOf(req.Context())
		if refused := (*intake.Refusal)(nil); errors.As(err, &refused) { // the body must not be passed on
			h.refuse(w, client, refused)
			return
		}
		if !errors.Is(err, context.Canceled) {
			h.log.Warn(logPassingUnanswered, h.opts.withHint(err, "path", req.URL.Path, "err", err)...)
		}
		h.cors.Allow(w.Header(), client)
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	further := b.opened
	b.opened = true
	b.takeResult(answer{end: settle.End{Broken: b.exchange.unansweredFailure(req.Context(), err)}})
	if further {
		return
	}
	stream.MakeHeader(w.Header())
	b.judge.returnID(w.Header())
	h.cors.Allow(w.Header(), b.judge.request.http)
	w.WriteHeader(http.StatusOK)
}

// CloseIdleConnections closes the idle connections to the backend. New connections use the current
// result of Options.UpstreamTLS.
func (h *Handler) CloseIdleConnections() {
	for _, t := range []http.RoundTripper{h.transports.shared, h.transports.single} {
		if idle, ok := t.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
	}
}

// passPreflight sends the backend a preflight made by Holdpoint, unless some backends would read
// its path as another one.
func (h *Handler) passPreflight(w http.ResponseWriter, preflight *http.Request) {
	if !intake.Misleading(preflight.URL.EscapedPath()) {
		h.reverse.ServeHTTP(w, withClient(preflight))
	}
}

type clientKey struct{}

// withClient returns a request that is passed on, with the original in its context.
func withClient(req *http.Request) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), clientKey{}, req))
}

// clientOf returns the client's request that a response of the backend belongs to.
func clientOf(ctx context.Context) *http.Request {
	if b := bodyOf(ctx); b != nil {
		return b.judge.request.http
	}
	req, _ := ctx.Value(clientKey{}).(*http.Request)
	return req
}

// headerOnly is a ResponseWriter that keeps only the header. ReverseProxy writes into it when
// nothing is to be sent to the client (see body.next).
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h headerOnly) WriteHeader(int)             {}
