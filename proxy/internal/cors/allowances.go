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
	maxOrigins     = 1024 // at their addresses
	maxCredentials = 64   // of one of them
	// MaxOrigin bounds an Origin in bytes: a host has 253 letters at most.
	MaxOrigin = 512
	// AllowanceAge is how long the backend's word counts without being said again. A client that
	// sends requests without preflights would otherwise never see that it was taken back.
	AllowanceAge = 10 * time.Minute
	// AskTimeout is how long the backend may take to answer a preflight of Holdpoint's own.
	AskTimeout = 2 * time.Second
)

var (
	browserOrigin = regexp.MustCompile(fmt.Sprintf(`^[!-)+\--~]{1,%d}$`, MaxOrigin)) // without blanks, "," and "*"
	headerNames   = regexp.MustCompile(`^[ -~]{1,1000}$`)                            // a longer list is left out

	// harmlessInVary are the names of headers that are part of the keys, or do not decide who may
	// read.
	harmlessInVary = regexp.MustCompile(`^(Origin|Host|Forwarded|X-Forwarded-Host|X-Forwarded-Proto|Authorization|Cookie|Content-Type|User-Agent|Accept|Accept-.*|Access-Control-Request-.*)$`)
)

// An allowance is what the backend said to one origin: the headers that allow it to read, nil if
// nothing does.
type allowance struct {
	header http.Header
	at     time.Time
}

// Allowances are what the backend said to one origin at one address: to preflights, and in answers
// since then, by the credentials of their requests.
type allowances map[hash]allowance

// A hash stands for texts that clients choose. So they cost nothing.
type hash [sha256.Size]byte

var preflights hash // their key in allowances

func hashOf(texts ...[]string) hash { return sha256.Sum256(fmt.Appendf(nil, "%q", texts)) }

// Origin returns the origin of the page that sent a request. It is "" if there is none, or if no
// browser would write it so.
func Origin(req *http.Request) string {
	if list := req.Header["Origin"]; len(list) == 1 && browserOrigin.MatchString(list[0]) {
		return list[0]
	}
	return ""
}

// keysOf returns the hash of everything that a backend may go by in its answer to a preflight, and
// the hash of who asks: somebody's credentials, or a preflight, which has none.
func keysOf(req *http.Request) (address, who hash) {
	h, method := req.Header, req.Method
	if IsPreflight(req) {
		method = h.Get("Access-Control-Request-Method")
	} else {
		who = hashOf(h["Authorization"], h["Cookie"])
	}
	return hashOf(h["Origin"], []string{method, req.Host, req.URL.EscapedPath(), req.URL.RawQuery}, h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["Forwarded"]), who
}

// hear notes what an answer of the backend says to the origin of the request. A preflight's answer,
// and one that allows nothing, end what was said at the address before. An answer that may have
// been another for another request with these keys is not kept. Where nothing is kept, the backend
// is asked.
func (p *Policy) hear(req *http.Request, res *http.Response) {
	word := allowance{read(req, res), p.now()}
	if Origin(req) == "" || word.header == nil && res.StatusCode >= http.StatusInternalServerError {
		return // who failed there may stand before, or around, who allows: Starlette's 500, an ingress's 502
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

// read returns the headers by which an answer allows its page to read, as a browser takes them.
func read(req *http.Request, res *http.Response) http.Header {
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

// dependsOn reports whether another request with the same keys may get another answer. It may if
// Vary names something that is not part of the keys; a preflight of a browser has nothing of that
// kind, and no credentials. It also may if the answer allows nothing because of something else: the
// headers that a preflight names, or an error that may be a gateway's.
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

// permission returns what the backend says to the origin of a request that Holdpoint answers
// itself. It asks the backend if that is not known. A page of Holdpoint's own origin needs no
// permission.
func (p *Policy) permission(req *http.Request) http.Header {
	last := p.recall(req)
	if p.now().Sub(last.at) >= AllowanceAge && Origin(req) != "" && req.Method != http.MethodOptions && req.Header.Get("Sec-Fetch-Site") != "same-origin" {
		p.ask(req)
		last = p.recall(req) // if the backend did not answer: what it said last, however long ago
	}
	return last.header
}

// recall returns what the backend said last.
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

// ask passes the preflight to the backend that the browser did not send to this process: it knows
// the answer to an earlier one, or has sent that to another replica, or the request needs none. The
// preflight has nothing of the client's but what a browser's would have, and names no headers.
func (p *Policy) ask(req *http.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout) // req's own context would make it a run
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
