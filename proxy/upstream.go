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

// transports has the transport for exchanges that carry answers (single), and the transport for all
// other requests (shared), see backend.Transports. Its RoundTrip uses one of the two.
type transports struct{ shared, single http.RoundTripper }

func (t *transports) RoundTrip(req *http.Request) (*http.Response, error) {
	b := bodyOf(req.Context())
	if b == nil {
		return t.shared.RoundTrip(req)
	}
	if err := b.claim.CheckLease(req.Context()); err != nil {
		return nil, err
	}
	e := b.exchange
	defer e.bound()()
	via := t.single
	if !b.claim.Held() {
		via = t.shared
	}
	if _, std := via.(*http.Transport); !std {
		// such a transport does not report connections, and may panic: bytes may have been sent
		mayHave := true
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

// A destination is the address of the backend, together with the changes that Holdpoint makes to
// each request to the backend.
type destination struct {
	upstream     *url.URL
	preserveHost bool
	gate         *principal.Gate
	headers      atomic.Pointer[http.Header] // set on every request to the backend
}

// rewrite turns a client's request into the request to the backend. It is the Rewrite of a
// ReverseProxy and not its Director, because a Rewrite runs after the hop-by-hop headers were
// removed. With a Director, a client could name one of Holdpoint's headers in Connection, and the
// header would be removed.
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
		// SetXForwarded could append no address for a client on a unix socket
		out.Header["X-Forwarded-For"] = prior
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if v, ok := in.Header[name]; ok {
			out.Header[name] = v // an outer proxy has set it, and knows more about the client
		}
	}
	if up := out.Header.Get("Upgrade"); up != "" && !(strings.EqualFold(up, "websocket") && in.Method == http.MethodGet) {
		// After an upgrade to HTTP/2 a client would talk to the backend directly, without
		// Holdpoint. Only a WebSocket may be opened, and only by GET (RFC 6455).
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
		out.Header.Del("Http2-Settings")
	}
	d.gate.CleanHeader(out.Header, in.Header)
	d.gate.CleanHeader(out.Trailer, nil)
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

// address changes out to the request that the dialect wants to send. The function target returns
// the backend's address for the address of a client's request.
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
	// The body is sent from memory. With the client's own body, a response that arrives early would
	// be cut off (golang/go#40747).
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) == 0 { // the request is a GET
		out.Body, out.GetBody = http.NoBody, nil
	}
	out.ContentLength = int64(len(body))
	out.TransferEncoding = nil
	out.Header.Del("Content-Length")
	out.Header.Del("Expect")
	out.Header.Del("Connection") // a run is never upgraded
	out.Header.Del("Upgrade")
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Accept", "text/event-stream") // */* would permit a response in protobuf
	if e.judge.opts.isForeign() {
		// the client's Content-Type describes its RunAgentInput and not this body
		out.Header.Set("Content-Type", "application/json")
	}
	for name, values := range want.Header {
		out.Header[http.CanonicalHeaderKey(name)] = values
	}
	// If a request has one of these headers and a reused connection breaks, net/http sends the POST
	// again by itself (http.Request.isReplayable). It checks only the canonical spelling of the
	// headers, so they are sent in lower case. The backend accepts any spelling.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := out.Header[name]; ok {
			delete(out.Header, name)
			out.Header[strings.ToLower(name)] = v
		}
	}
}

// target returns the backend's address for a request. It appends the path of the request to the
// path of the backend, without adding or doubling a slash. It appends the query of the request to
// the query of the backend, byte for byte.
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

// joinPath appends the path of a request to the path of the backend, which is base. The path "/"
// adds nothing. If it did, FastAPI would redirect /agent/ to /agent, and clients do not follow the
// redirect of a POST.
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

// modifyResponse replaces the body of a run's response by the translated stream. It also corrects
// the headers of other responses.
func (h *Handler) modifyResponse(res *http.Response) error {
	target := res.Header.Get("Location")
	h.relocate(res)
	h.cors.Hear(clientOf(res.Request.Context()), res)
	b := bodyOf(res.Request.Context())
	if b == nil {
		h.passingHints(res)
		putPage(res)
		return nil
	}
	b.exchange.status = res.StatusCode
	b.judge.returnID(res.Header)
	if res.StatusCode < http.StatusOK {
		// after such a status the connection switches protocols, so there is no stream to read
		return errSwitched
	}
	if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed {
		h.explainNotFound(res)
	}
	if target != "" && b.judge.leadsBack(res) {
		b.judge.stopRedirect(res, target)
	}
	if b.opened { // a later exchange of the same run
		b.takeResult(b.exchange.stream(res))
		res.Body = http.NoBody
		return nil
	}
	b.opened = true
	if b.passedUnchanged = b.open(res); b.passedUnchanged {
		return nil
	}
	if b.exchange.status/100 == 2 {
		h.memory.agents.note(b.judge.request.path)
	} else {
		// Holdpoint itself makes the stream. The error of the backend may come from a part of the
		// backend that sets no CORS headers.
		h.cors.Allow(res.Header, b.judge.request.http)
	}
	if b.exchange.conn != nil && !without.Hold {
		// The header is held back until the first frame, or until the stream waits for a frame.
		// This saves a write. Without it, the benchmark first-byte takes 1.05 to 1.08 × the CPU
		// time.
		b.to.Hold()
	}
	res.Body = http.NoBody // body.pump writes the stream
	res.StatusCode, res.Status = http.StatusOK, ""
	stream.MakeHeader(res.Header)
	res.ContentLength = -1
	res.Uncompressed = true
	res.Trailer = nil
	return nil
}

// relocate changes a Location header that names the backend's address, so that it names the address
// that the client knows. If the agent has a prefix, it also changes a Location without a host,
// because that would lead to a path outside of the agent's prefix.
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
		address.RawQuery = "..." // the query may contain a key of the client or of the operator
	}
	args := []any{"status", res.StatusCode, "upstream_url", address.Redacted()}
	if half := doubledPath(res.Request.URL.Path); half != "" {
		args = append(args, "hint", fmt.Sprintf(hintPathTwice, half))
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

// upstreamFailed answers a request if the backend could not be reached, or if the connection broke
// before the backend had sent its header.
func (h *Handler) upstreamFailed(w http.ResponseWriter, req *http.Request, err error) {
	b := bodyOf(req.Context())
	if b == nil {
		client := clientOf(req.Context())
		// Holdpoint refused the body while it was sent
		if refused := (*intake.Refusal)(nil); errors.As(err, &refused) {
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

// CloseIdleConnections closes the idle connections to the backend. After that, new connections use
// what Options.UpstreamTLS returns then.
func (h *Handler) CloseIdleConnections() {
	for _, t := range []http.RoundTripper{h.transports.shared, h.transports.single} {
		if idle, ok := t.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
	}
}

// passPreflight sends the backend a preflight that Holdpoint has made. It sends nothing if some
// backends would read the path of the preflight as another path.
func (h *Handler) passPreflight(w http.ResponseWriter, preflight *http.Request) {
	if !intake.IsMisleading(preflight.URL.EscapedPath()) {
		h.reverseProxy.ServeHTTP(w, withClient(preflight))
	}
}

type clientKey struct{}

// withClient returns a copy of a request that is passed on. The context of the copy has the
// original request.
func withClient(req *http.Request) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), clientKey{}, req))
}

// clientOf returns the client's request to which the backend's response belongs. ctx is the context
// of the request to the backend.
func clientOf(ctx context.Context) *http.Request {
	if b := bodyOf(ctx); b != nil {
		return b.judge.request.http
	}
	req, _ := ctx.Value(clientKey{}).(*http.Request)
	return req
}

// headerOnly is a ResponseWriter that keeps only the header. ReverseProxy writes into it if the
// client must not get what it writes (see body.next).
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h headerOnly) WriteHeader(int)             {}
