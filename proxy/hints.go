package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"holdpoint/proxy/internal/cors"
)

// A mistake in the configuration often shows as an error of the backend. A hint in the log names
// the variable that corrects it. Clients get no hint, because it contains the backend's address.

// connectionHint returns how to correct the cause of an error of a connection to the backend, or ""
// if the cause is not known.
func connectionHint(err error, upstream *url.URL) string {
	var (
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		lookup    *net.DNSError
	)
	secure := upstream.Scheme == "https"
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return hintNotTLS
	case errors.As(err, &authority):
		return hintAuthority
	case errors.As(err, &name):
		return hintServerName
	case errors.As(err, &invalid):
		return hintCertificate
	case errors.As(err, &lookup):
		return fmt.Sprintf(hintNoHost, upstream.Hostname())
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf(hintNothingListens, upstream.Host)
	case !secure && strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`):
		return hintTLS
	case !secure && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)):
		return hintIfTLS
	}
	return ""
}

// withHint returns the arguments of a log line, followed by a hint if there is one.
func (o *Options) withHint(err error, args ...any) []any {
	if hint := connectionHint(err, o.Upstream); hint != "" {
		return append(args, "hint", hint)
	}
	return args
}

// answerHint returns how to correct the cause of a response to a run that is not a stream, or "" if
// the cause is not known. head is the start of its body. named is the dialect of HOLDPOINT_DIALECT,
// or "" for auto.
func answerHint(res *http.Response, head []byte, named string) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 == 2 && kind == "text/html":
		return hintWebPage
	case res.StatusCode == http.StatusBadRequest && strings.Contains(string(head), "HTTP request") && strings.Contains(string(head), "HTTPS"):
		return hintTLS
	case named != "" && (res.StatusCode == http.StatusUnprocessableEntity || res.StatusCode == http.StatusBadRequest):
		return fmt.Sprintf(hintOtherDialect, named)
	}
	return ""
}

// hintAtAnswer logs the hint about a response to a run that is not a stream, if there is one.
func (j *judge) hintAtAnswer(res *http.Response, head []byte) {
	if hint := answerHint(res, head, j.memory.routes.finder.Speaks("")); hint != "" {
		j.log.Warn(logNoStream, "status", res.StatusCode, "hint", hint)
	}
}

// leadsBack reports whether the response redirects a run to the address that its client requested.
// A client would follow it for ever. The Location of res is the one that the client would get.
func (j *judge) leadsBack(res *http.Response) bool {
	if res.StatusCode/100 != 3 {
		return false
	}
	to, err := url.Parse(res.Header.Get("Location"))
	asked := j.request.http.URL
	return err == nil && to.Path != "" && to.Path == cmp.Or(j.opts.Prefix+asked.Path, "/") && to.RawQuery == asked.RawQuery &&
		(to.Scheme == "" || strings.EqualFold(to.Scheme, res.Request.Header.Get("X-Forwarded-Proto"))) &&
		(to.Host == "" || strings.EqualFold(to.Host, j.request.http.Host) || strings.EqualFold(to.Host, res.Request.Header.Get("X-Forwarded-Host")))
}

// stopRedirect replaces a redirect that leads back by a response with status 502. target is the
// Location that the backend sent.
func (j *judge) stopRedirect(res *http.Response, target string) {
	j.log.Warn(logRedirectLoop, "status", res.StatusCode, "location", shownTarget(target),
		"hint", hintSlash)
	res.Body.Close()
	res.StatusCode, res.Status = http.StatusBadGateway, ""
	res.Header.Del("Location")
	res.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(textRedirect)), int64(len(textRedirect))
}

// shownTarget returns an address without its query, which may contain a key.
func shownTarget(target string) string {
	before, _, _ := strings.Cut(target, "?")
	return before
}

// passingHints logs, once for each kind, a problem with a response to a request that is not a run:
// a preflight that the backend refuses, or a stream of the AI SDK, which Holdpoint does not read.
func (h *Handler) passingHints(res *http.Response) {
	if res.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "" {
		h.memory.logOnce("ai-sdk", func() {
			h.log.Warn(logAISDK,
				"path", res.Request.URL.Path)
		})
	}
	asked := clientOf(res.Request.Context())
	if !cors.IsPreflight(asked) || res.Header.Get("Access-Control-Allow-Origin") != "" {
		return
	}
	h.memory.logOnce("preflight", func() {
		h.log.Warn(logPreflightRefused, "origin", cors.Origin(asked), "status", res.StatusCode,
			"hint", hintOrigins)
	})
}
