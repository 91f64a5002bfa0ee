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

// A mistake in the configuration often appears as an error of the backend. Then a hint in the log
// names the variable that corrects it. Clients do not get the hint, because it contains the
// backend's address.

// connectionHint returns a hint about err, an error of a connection to the backend. The hint says
// how to correct the cause. It is "" if the cause is not known.
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

// withHint returns the arguments of a log line about err. If there is a hint about err, it follows
// args.
func (o *Options) withHint(err error, args ...any) []any {
	if hint := connectionHint(err, o.Upstream); hint != "" {
		return append(args, "hint", hint)
	}
	return args
}

// answerHint returns a hint about a response to a run that is not a stream. The hint says how to
// correct the cause. It is "" if the cause is not known. head is the start of the response's body.
// named is the dialect of HOLDPOINT_DIALECT, or "" for auto.
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

// hintAtAnswer logs the hint about a response to a run that is not a stream. If there is no hint,
// it logs nothing.
func (j *judge) hintAtAnswer(res *http.Response, head []byte) {
	if hint := answerHint(res, head, j.memory.routes.finder.Speaks("")); hint != "" {
		j.log.Warn(logNoStream, "status", res.StatusCode, "hint", hint)
	}
}

// leadsBack reports whether the response redirects a run to the address that its client requested.
// A client would follow such a redirect forever. The Location of res must be the one that the
// client would get.
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

// stopRedirect changes a redirect that leads back into a response with status 502. target is the
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

// shownTarget returns an address without its query, because the query may contain a key.
func shownTarget(target string) string {
	before, _, _ := strings.Cut(target, "?")
	return before
}

// passingHints logs a hint about a response to a request that is not a run, once for each problem.
// The problems are a preflight that the backend refuses, and a stream of the AI SDK, which
// Holdpoint does not read.
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
