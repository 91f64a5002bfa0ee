package cors

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxOrigins     = 1024 // number of keys of Allowances that are kept
	maxCredentials = 64   // number of senders that are kept for one key
	// MaxOrigin bounds the length of an Origin in bytes. A host name has at most 253 letters.
	MaxOrigin = 512
	// AllowanceAge is the time for which a permission of the backend is used without being renewed.
	// A client that sends requests without preflights would otherwise never notice that the
	// permission was withdrawn.
	AllowanceAge = 10 * time.Minute
	// AskTimeout bounds the time for a preflight that Holdpoint itself sends to the backend.
	AskTimeout = 2 * time.Second
)

var (
	browserOrigin = regexp.MustCompile(fmt.Sprintf(`^[!-)+\--~]{1,%d}$`, MaxOrigin)) // without spaces, commas and asterisks
	headerNames   = regexp.MustCompile(`^[ -~]{1,1000}$`)                            // a longer list is ignored

	// harmlessInVary matches the names of headers that are part of the keys, or that do not decide
	// who may read a response.
	harmlessInVary = regexp.MustCompile(`^(Origin|Host|Forwarded|X-Forwarded-Host|X-Forwarded-Proto|Authorization|Cookie|Content-Type|User-Agent|Accept|Accept-.*|Access-Control-Request-.*)$`)
)

// An allowance is a response of the backend to one origin: the headers that permit the origin to
// read, nil if it may not.
type allowance struct {
	header http.Header
	at     time.Time
}

// allowances are the backend's responses to one origin at one address: to a preflight, and since
// then to requests, by their credentials.
type allowances map[hash]allowance

// A hash replaces texts that clients choose, so that long texts use no memory.
type hash [sha256.Size]byte

var preflights hash // the key of preflights in allowances

func hashOf(texts ...[]string) hash { return sha256.Sum256(fmt.Appendf(nil, "%q", texts)) }

// Origin returns the origin of the page that sent a request. It is "" if there is none, or if no
// browser would send such a value.
func Origin(req *http.Request) string {
	if list := req.Header["Origin"]; len(list) == 1 && browserOrigin.MatchString(list[0]) {
		return list[0]
	}
	return ""
}

// keysOf returns two hashes: address, of everything that a backend may use to decide about a
// preflight, and who, of the sender's credentials. A preflight has no credentials, and the zero
// who.
func keysOf(req *http.Request) (address, who hash) {
	h, method := req.Header, req.Method
	if IsPreflight(req) {
		method = h.Get("Access-Control-Request-Method")
	} else {
		who = hashOf(h["Authorization"], h["Cookie"])
	}
	return hashOf(h["Origin"], []string{method, req.Host, req.URL.EscapedPath(), req.URL.RawQuery}, h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["Forwarded"]), who
}

// recordPermission records what a response of the backend permits to the origin of the request. The
// response to a preflight, and one that permits nothing, replace everything recorded for the
// address. A response that could differ for another request with the same keys is not recorded. If
// nothing is recorded, Holdpoint asks the backend.
func (p *Policy) recordPermission(req *http.Request, res *http.Response) {
	word := allowance{permissionOf(req, res), p.now()}
	if Origin(req) == "" || word.header == nil && res.StatusCode >= http.StatusInternalServerError {
		return // the error may come from a part in front of the one that sets CORS headers, such as Starlette's error handler or an ingress
	}
	if IsPreflight(req) && (req.Header["Authorization"] != nil || req.Header["Cookie"] != nil) {
		return // no browser sends such a preflight, so it changes nothing for pages
	}
	address, who := keysOf(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known.Get(address)
	if !ok || word.header == nil || IsPreflight(req) {
		known = allowances{}
		p.known.Add(address, known)
	}
	if delete(known, who); len(known) < maxCredentials && !dependsOn(req, res, word.header != nil) {
		known[who] = word
	}
}

// permissionOf returns the headers by which a response permits its page to read it, as a browser
// would interpret them; nil if it does not.
func permissionOf(req *http.Request, res *http.Response) http.Header {
	allow := res.Header["Access-Control-Allow-Origin"]
	preflight := IsPreflight(req)
	if len(allow) != 1 || allow[0] != "*" && allow[0] != Origin(req) || preflight && res.StatusCode/100 != 2 {
		return nil
	}
	permission := http.Header{"Access-Control-Allow-Origin": {strings.Clone(allow[0])}}
	if slices.Equal(res.Header["Access-Control-Allow-Credentials"], []string{"true"}) {
		permission.Set("Access-Control-Allow-Credentials", "true")
	}
	if names := strings.Join(res.Header["Access-Control-Expose-Headers"], ", "); !preflight && headerNames.MatchString(names) {
		permission.Set("Access-Control-Expose-Headers", strings.Clone(names))
	}
	return permission
}

// dependsOn reports whether another request with the same keys could get another response. That is
// so if Vary names a header that is not part of the keys; a browser's preflight has no such header,
// and no credentials. It is also so if the response permits nothing for another reason: the headers
// that a preflight names, or an error that may be a gateway's.
func dependsOn(req *http.Request, res *http.Response, allows bool) bool {
	h, preflight := req.Header, IsPreflight(req)
	switch {
	case preflight && (h["Authorization"] != nil || h["Cookie"] != nil || !allows && h["Access-Control-Request-Headers"] != nil):
		return true
	case !preflight && !allows:
		return res.StatusCode >= http.StatusBadRequest
	}
	return slices.ContainsFunc(listOf(res.Header["Vary"]), func(name string) bool {
		name = http.CanonicalHeaderKey(name)
		return name == "*" || !harmlessInVary.MatchString(name) && (!preflight || h[name] != nil)
	})
}

// permission returns the headers that the backend sends to the origin of a request that Holdpoint
// answers itself. If they are not known, it asks the backend. A page of Holdpoint's own origin
// needs no permission.
func (p *Policy) permission(req *http.Request) http.Header {
	last := p.recall(req)
	if p.now().Sub(last.at) >= AllowanceAge && Origin(req) != "" && req.Method != http.MethodOptions && req.Header.Get("Sec-Fetch-Site") != "same-origin" {
		p.ask(req)
		last = p.recall(req) // if the backend did not answer, this is its last response, however old
	}
	return last.header
}

// recall returns the last recorded response of the backend for the request, the zero allowance if
// there is none.
func (p *Policy) recall(req *http.Request) allowance {
	address, who := keysOf(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	known, _ := p.known.Get(address)
	if word, ok := known[who]; ok {
		return word
	}
	return known[preflights]
}

// ask sends the backend the preflight that the browser has not sent to this process: the browser
// has the response to an earlier one, or has asked another replica, or needs no preflight for its
// request. The preflight has only those values of the client's request that a browser would send,
// and names no headers.
func (p *Policy) ask(req *http.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout) // with req's own context it would count as a run
	defer cancel()
	preflight := &http.Request{
		Method: http.MethodOptions, URL: req.URL, Host: req.Host, RemoteAddr: req.RemoteAddr, TLS: req.TLS,
		Header: http.Header{"Access-Control-Request-Method": {req.Method}, "Accept": {"*/*"}},
	}
	for _, name := range []string{"Origin", "User-Agent", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := req.Header[name]; ok {
			preflight.Header[name] = values
		}
	}
	p.backend.ServeHTTP(headerWriter{}, preflight.WithContext(ctx))
}
