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
	maxOrigins     = 1024 // the number of keys whose Allowances are stored
	maxCredentials = 64   // the number of senders that are stored for one key
	// MaxOrigin bounds the length of an Origin in bytes. A host name has at most 253 letters.
	MaxOrigin = 512
	// AllowanceAge is how long a permission of the backend is used before it must be renewed.
	// Without this limit, a page whose browser sends no preflights could use a permission for as
	// long as the process runs, although the backend has withdrawn it.
	AllowanceAge = 10 * time.Minute
	// AskTimeout bounds how long Holdpoint waits for a preflight that it sends to the backend
	// itself.
	AskTimeout = 2 * time.Second
)

var (
	// without spaces, commas and asterisks
	browserOrigin = regexp.MustCompile(fmt.Sprintf(`^[!-)+\--~]{1,%d}$`, MaxOrigin))
	headerNames   = regexp.MustCompile(`^[ -~]{1,1000}$`) // a longer list is ignored

	// harmlessInVary matches names of headers in Vary that may be ignored. Either such a header is
	// part of the keys, or it does not decide who may read a response.
	harmlessInVary = regexp.MustCompile(`^(Origin|Host|Forwarded|X-Forwarded-Host|X-Forwarded-Proto|Authorization|Cookie|Content-Type|User-Agent|Accept|Accept-.*|Access-Control-Request-.*)$`)
)

// An allowance is what a response of the backend permits to one origin: the headers that permit the
// origin to read the response. They are nil if the origin may not read it.
type allowance struct {
	header http.Header
	at     time.Time
}

// allowances are what the backend last permitted to one origin at one address. One entry is from
// its response to a preflight. The others are from its later responses to requests, by the hash of
// the credentials in the request.
type allowances map[hash]allowance

// A hash replaces texts that clients choose, so that long texts need no memory.
type hash [sha256.Size]byte

var preflights hash // the key of the response to a preflight in allowances

func hashOf(texts ...[]string) hash { return sha256.Sum256(fmt.Appendf(nil, "%q", texts)) }

// Origin returns the origin of the page that sent a request. It returns "" if the request has no
// Origin, or a value that no browser would send.
func Origin(req *http.Request) string {
	if list := req.Header["Origin"]; len(list) == 1 && browserOrigin.MatchString(list[0]) {
		return list[0]
	}
	return ""
}

// keysOf returns two hashes of a request. address is a hash of everything by which a backend may
// decide about a preflight. who is a hash of the sender's credentials. A preflight has no
// credentials, so its who is zero.
func keysOf(req *http.Request) (address, who hash) {
	h, method := req.Header, req.Method
	if IsPreflight(req) {
		method = h.Get("Access-Control-Request-Method")
	} else {
		who = hashOf(h["Authorization"], h["Cookie"])
	}
	return hashOf(h["Origin"], []string{method, req.Host, req.URL.EscapedPath(), req.URL.RawQuery}, h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["Forwarded"]), who
}

// recordPermission records what a response of the backend permits to the origin of the request. A
// response to a preflight, and a response that permits nothing, replace everything that is recorded
// for the address. A response is not recorded if another request with the same keys could get a
// different one. If nothing is recorded, Holdpoint asks the backend by a preflight.
func (p *Policy) recordPermission(req *http.Request, res *http.Response) {
	word := allowance{permissionOf(req, res), p.now()}
	if Origin(req) == "" || word.header == nil && res.StatusCode >= http.StatusInternalServerError {
		return // the error may be from a part, such as an ingress, that sets no CORS headers
	}
	if IsPreflight(req) && (req.Header["Authorization"] != nil || req.Header["Cookie"] != nil) {
		return // browsers send no credentials in a preflight, so this changes nothing for pages
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

// permissionOf returns the headers by which a response permits its page to read it. It interprets
// them in the same way as a browser. It returns nil if the page may not read the response.
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

// dependsOn reports whether another request with the same keys could get a different response. This
// is so if Vary names a header that is not part of the keys. In a preflight this matters only if
// the preflight has that header. It is also so if the response permits nothing and the keys do not
// show why: because of the headers that a preflight names, or because of an error that may be a
// gateway's. A preflight with credentials always depends on them.
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

// permission returns the headers by which the backend permits the origin of a request to read
// responses. It is for a response that Holdpoint makes itself. If these headers are not known, it
// asks the backend. A page of Holdpoint's own origin needs no permission.
func (p *Policy) permission(req *http.Request) http.Header {
	last := p.recall(req)
	if p.now().Sub(last.at) >= AllowanceAge && Origin(req) != "" && req.Method != http.MethodOptions && req.Header.Get("Sec-Fetch-Site") != "same-origin" {
		p.ask(req)
		// if the backend did not answer, this is its last response, even if that is old
		last = p.recall(req)
	}
	return last.header
}

// recall returns what is recorded of the backend's last response for the request. It returns the
// zero allowance if nothing is recorded.
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

// ask sends a preflight to the backend that the browser has not sent to this process. The browser
// may still have the response to an earlier preflight, may have sent it to another replica, or may
// need no preflight for its request. The preflight contains only those values of the client's
// request that a browser would send, and names no headers.
func (p *Policy) ask(req *http.Request) {
	// with req's own context it would count as a run
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout)
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
